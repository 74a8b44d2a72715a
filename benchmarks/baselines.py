"""Accuracy and gap of the mixed-integer baselines within a time limit, cold and warm, beside the optimum.

python benchmarks/baselines.py --time-limit 60 --data ../shared/data --models benders-scip
Every run is appended to --store as a row, and rows that are there are not run again: stop and go on at will.
"""

import argparse
import csv
import time
from pathlib import Path

import numpy as np

from foretree.baselines import BendersOCTClassifier, BinOCTClassifier, FlowOCTClassifier

KINDS = {"benders": BendersOCTClassifier, "flow": FlowOCTClassifier, "binoct": BinOCTClassifier}
COLUMNS = (
    "data",
    "depth",
    "model",
    "start",
    "limit",
    "accuracy",
    "bound",
    "gap",
    "status",
    "nodes",
    "seconds",
)


def binary(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """The table's one-hot columns, one column for two categories, and its classes."""
    with path.open() as lines:
        rows = np.array(list(csv.reader(lines))[1:])
    columns = []
    for column in rows[:, :-1].T:
        kinds = np.unique(column)
        columns += [column == kind for kind in (kinds[1:] if kinds.size == 2 else kinds)]
    return np.array(columns).T.astype(float), rows[:, -1]


def known_optimum(X: np.ndarray, y: np.ndarray, depth: int, limit: float) -> dict[str, object]:
    """The optimal tree by lookahead over all levels, or the best within the limit."""
    from foretree import LookaheadTreeClassifier

    began = time.perf_counter()
    model = LookaheadTreeClassifier(
        max_depth=depth, lookahead="optimal", loss="misclassification", time_limit=limit
    ).fit(X, y)
    gap = model.optimality_gap_
    return {
        "accuracy": model.score(X, y),
        "bound": np.nan,
        "gap": gap,
        "status": "optimal" if gap == 0 else "time limit reached",
        "nodes": 0,
        "seconds": time.perf_counter() - began,
    }


def solved(
    X: np.ndarray, y: np.ndarray, name: str, depth: int, start: str, limit: float
) -> dict[str, object]:
    """One run of a baseline named kind-solver."""
    kind, solver = name.split("-")
    began = time.perf_counter()
    model = KINDS[kind](
        depth, solver=solver, time_limit=limit, warm_start=None if start == "cold" else start
    ).fit(X, y)
    return {
        "accuracy": model.score(X, y),
        "bound": model.bound_ / y.size,
        "gap": model.gap_,
        "status": model.status_,
        "nodes": model.nodes_,
        "seconds": time.perf_counter() - began,
    }


def stored(store: Path) -> list[dict[str, str]]:
    """The rows of earlier runs."""
    if not store.exists():
        return []
    with store.open() as lines:
        return list(csv.DictReader(lines))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--budget", type=float, default=np.inf, help="begin no run after so many seconds")
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[1] / "../shared/data")
    parser.add_argument("--store", type=Path, default=Path("baselines.csv"))
    parser.add_argument(
        "--datasets", nargs="+", default=["monks-1", "balance-scale", "tic-tac-toe", "car-evaluation"]
    )
    parser.add_argument("--depths", nargs="+", type=int, default=[2, 3, 4])
    parser.add_argument(
        "--models", nargs="+", default=["optimal", "benders-scip", "flow-highs", "binoct-highs"]
    )
    parser.add_argument("--starts", nargs="+", default=["cold", "lookahead"])
    return parser.parse_args()


def main() -> None:
    asked = arguments()
    began = time.monotonic()
    for data in asked.datasets:
        X, y = binary(asked.data / f"{data}.csv")
        for depth in asked.depths:
            for name in asked.models:
                for start in ["cold"] if name == "optimal" else asked.starts:
                    key = (data, str(depth), name, start, str(asked.time_limit))
                    known = stored(asked.store)
                    if any(tuple(row[c] for c in COLUMNS[:5]) == key for row in known):
                        continue
                    if time.monotonic() - began > asked.budget:
                        return
                    found = (
                        known_optimum(X, y, depth, asked.time_limit)
                        if name == "optimal"
                        else solved(X, y, name, depth, start, asked.time_limit)
                    )
                    row = dict(zip(COLUMNS, key, strict=False)) | {
                        c: f"{v:.4f}" if isinstance(v, float) else v for c, v in found.items()
                    }
                    with asked.store.open("a", newline="") as out:
                        writer = csv.DictWriter(out, COLUMNS)
                        if not known:
                            writer.writeheader()
                        writer.writerow(row)
                    print(*(row[c] for c in COLUMNS), sep="\t", flush=True)


if __name__ == "__main__":
    main()
