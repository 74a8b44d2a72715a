"""What one node costs by closed form, LP and MIP, beside the paper's two minutes for a whole tree of depth 8.

python benchmarks/mio.py            [OCT-2] at p = 15, 40, 135 and 300, over random costs with ties
python benchmarks/mio.py --three    [OCT-3] at p = 5, 10, 15
python benchmarks/mio.py --pricing  column pricing at p = 200 to 2,000
"""

import argparse
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from foretree.losses import LOSSES
from foretree.mio import TableSource, oct2, oct3, priced_oct2
from foretree.mio.model import Limits
from foretree.mio.oct2 import oct2_model
from foretree.mio.solvers import installed, solver_named

PAPERS_SECONDS = 107.171  # the paper's Table 4: HybridRST at depth 8, all its nodes, averaged over datasets


def median_seconds(act: Callable[[], object], repeats: int) -> float:
    taken = []
    for _ in range(repeats):
        began = time.perf_counter()
        act()
        taken.append(time.perf_counter() - began)
    return float(np.median(taken))


def closed(costs: np.ndarray) -> float:
    """The closed form in NumPy: the least of every branch, then of every root."""
    return float(costs.min(axis=2).sum(axis=0).min())


def closed3(costs3: np.ndarray) -> float:
    """The same over three steps."""
    return float(costs3.min(axis=4).sum(axis=1).min(axis=2).sum(axis=0).min())


def two_steps(repeats: int) -> None:
    print("p\tcolumns\tclosed ms\tLP ms\tMIP ms\tLP/closed\tMIP/closed\tpaper/closed")
    for p in (15, 40, 135, 300):
        costs = np.random.default_rng(p).integers(0, 1000, (2, p, p)).astype(float)
        best = closed(costs)
        by_lp, by_mip = oct2(costs), oct2(costs, relax=False)
        assert by_lp == by_mip
        assert by_lp.cost == best
        model, _ = oct2_model(costs)
        solve = solver_named("highs")
        lp = median_seconds(partial(oct2, costs), repeats)
        mip = median_seconds(partial(solve, model, False, Limits()), max(1, repeats // 5))
        form = median_seconds(partial(closed, costs), 10 * repeats)
        print(
            f"{p}\t{2 * p * p}\t{1e3 * form:.3f}\t{1e3 * lp:.1f}\t{1e3 * mip:.1f}"
            f"\t{lp / form:.0f}\t{mip / form:.0f}\t{PAPERS_SECONDS / form:.0f}",
            flush=True,
        )


def other_solvers(repeats: int) -> None:
    print("\nsolver\tp\tLP ms\tMIP ms")
    for name in installed():
        for p in (15, 40, 135):
            if (name == "gurobi" and 2 * p * p > 2000) or (name == "scip" and p > 40):
                continue
            costs = np.random.default_rng(p).integers(0, 1000, (2, p, p)).astype(float)
            lp, mip = (
                median_seconds(partial(oct2, costs, name, relax), max(1, repeats // 3))
                for relax in (True, False)
            )
            print(f"{name}\t{p}\t{1e3 * lp:.1f}\t{1e3 * mip:.1f}", flush=True)


def three_steps(repeats: int) -> None:
    print("p\tcolumns\tclosed ms\tLP ms\tMIP ms")
    for p in (5, 10, 15):
        costs3 = np.random.default_rng(p).integers(0, 1000, (2, 2, p, p, p)).astype(float)
        best = closed3(costs3)
        assert oct3(costs3).cost == oct3(costs3, relax=False).cost == best
        times = [
            median_seconds(partial(closed3, costs3), repeats),
            median_seconds(partial(oct3, costs3), repeats),
            median_seconds(partial(oct3, costs3, relax=False), max(1, repeats // 5)),
        ]
        print(f"{p}\t{4 * p**3}\t" + "\t".join(f"{1e3 * t:.3f}" for t in times), flush=True)


def pricing() -> None:
    print("rows\tp\tones\tloss\tcolumns\tpriced\tshare\tbranches\trounds\tseconds")
    rng = np.random.default_rng(1)
    for n, p, ones in ((2000, 2000, 0.01), (2000, 2000, 0.03), (2000, 500, 0.1), (2000, 200, 0.5)):
        X = rng.random((n, p)) < ones
        y = (X[:, 7] | X[:, 11] | X[:, 13]) ^ (rng.random(n) < 0.05)
        for loss in ("misclassification", "gini"):
            began = time.perf_counter()
            found = priced_oct2(TableSource.of(X, y.astype(int), LOSSES[loss].of))
            print(
                f"{n}\t{p}\t{ones}\t{loss}\t{found.columns}\t{found.columns_priced}"
                f"\t{found.columns_priced / found.columns:.4f}\t{found.branches_priced}\t{found.rounds}"
                f"\t{time.perf_counter() - began:.2f}",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--three", action="store_true")
    parser.add_argument("--pricing", action="store_true")
    asked = parser.parse_args()
    if asked.three:
        three_steps(asked.repeats)
    elif asked.pricing:
        pricing()
    else:
        two_steps(asked.repeats)
        other_solvers(asked.repeats)


if __name__ == "__main__":
    main()
