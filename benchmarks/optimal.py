"""Optimal trees beside STreeD, on the paper's tables: the same optimum, the time to it, and the proof.

    python benchmarks/optimal.py [--depth 3] [--limit 60] [--tables monks-1 adult ...]

Misclassification, the public `fit` of each, one process, best of several (of one where it takes long).
"""

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import time

import numpy as np
from pystreed import STreeDClassifier

from foretree import LookaheadTreeClassifier
from tables import best_of, geometric_mean, keep, load_all


def timed(call):
    """Return the least seconds of a call, repeated only where it is quick."""
    began = time.perf_counter()
    call()
    took = time.perf_counter() - began
    return took if took > 2 else min(took, best_of(call))


def compare(depth, limit, wanted):
    rows = []
    for name, bits, labels in load_all(np.int32):
        if wanted and name not in wanted:
            continue
        ours = LookaheadTreeClassifier(
            max_depth=depth, lookahead="optimal", loss="misclassification", time_limit=limit
        )
        peer = STreeDClassifier(max_depth=depth, time_limit=limit)
        narrow = bits.astype(np.uint8)
        row = {
            "table": name, "rows": len(labels), "splits": bits.shape[1], "depth": depth,
            "foretree": timed(lambda: ours.fit(narrow, labels)),  # noqa: B023 - called at once
            "streed": timed(lambda: peer.fit(bits, labels)),  # noqa: B023
        }  # fmt: skip
        row["errors"] = int((ours.predict(narrow) != labels).sum())
        row["proven"] = ours.optimality_gap_ == 0
        row["streed_errors"] = int((peer.predict(bits) != labels).sum())
        rows.append(row)
        print(line(row), flush=True)
    return rows


def line(row):
    return (
        f"{row['table']:24s}{row['rows']:6d}{row['splits']:5d}  depth {row['depth']}"
        f"{row['foretree'] * 1e3:11.2f} ms {row['errors']:6d} wrong {'proven' if row['proven'] else 'open  '}"
        f"   STreeD{row['streed'] * 1e3:11.2f} ms {row['streed_errors']:6d} wrong"
        f"  x{row['streed'] / row['foretree']:6.1f}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--depth", type=int, default=3)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each fit")
    parser.add_argument("--tables", nargs="+", default=[])
    options = parser.parse_args()
    small = np.random.default_rng(0).integers(0, 2, (64, 4)).astype(np.uint8)
    LookaheadTreeClassifier(options.depth, "optimal", time_limit=9.0).fit(
        small, np.arange(64) % 2
    )  # compiles
    rows = compare(options.depth, options.limit, options.tables)
    ratio = geometric_mean([row["streed"] / row["foretree"] for row in rows])
    same = sum(row["errors"] == row["streed_errors"] for row in rows)
    print(
        f"STreeD takes {ratio:.1f} times as long (geometric mean); the same optimum on {same} of {len(rows)} tables; "
        f"proven on {sum(row['proven'] for row in rows)}"
    )
    print("kept in", keep(f"optimal-depth-{options.depth}", rows, ratio=ratio))


if __name__ == "__main__":
    main()
