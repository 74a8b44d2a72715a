"""What a time limit gives: optimal trees cut short, beside rolling trees of two steps, and how well the limit holds.

    python benchmarks/limits.py [--tables adult spambase wdbc] [--limits 0.5 1 3]

A limit holds within 10 % or 0.2 s, whatever is larger.
"""

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import time

import numpy as np

from foretree import LookaheadTreeClassifier
from tables import keep, load_all


def measure(name, bits, labels, depth, limit, loss):
    """Fit once within the limit, and two steps ahead without one."""
    cut = LookaheadTreeClassifier(depth, "optimal", loss, time_limit=limit)
    began = time.perf_counter()
    cut.fit(bits, labels)
    took = time.perf_counter() - began
    two = LookaheadTreeClassifier(depth, 2, loss).fit(bits, labels)
    return {
        "table": name, "depth": depth, "limit": limit, "loss": loss,
        "seconds": took, "holds": took <= max(1.1 * limit, limit + 0.2),
        "value": cut.loss_value_, "gap": cut.optimality_gap_, "two_steps": two.loss_value_,
    }  # fmt: skip


def line(row):
    over = "" if row["holds"] else "  OVER"
    return (
        f"{row['table']:12s}depth {row['depth']}  {row['loss']:18s}limit {row['limit']:4.1f} s"
        f"  took {row['seconds']:6.3f} s{over}   loss {row['value']:.5f}, unproven {row['gap']:.5f}"
        f"   two steps {row['two_steps']:.5f}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tables", nargs="+", default=["adult", "spambase", "wdbc"])
    parser.add_argument("--limits", type=float, nargs="+", default=[0.5, 1.0, 3.0])
    parser.add_argument("--depths", type=int, nargs="+", default=[5, 8])
    options = parser.parse_args()
    small = np.random.default_rng(0).integers(0, 2, (64, 6)).astype(np.float32)
    LookaheadTreeClassifier(5, "optimal", time_limit=1.0).fit(small, np.arange(64) % 2)  # compiles
    rows = []
    for name, bits, labels in load_all():
        if name in options.tables:
            for depth in options.depths:
                for limit in options.limits:
                    for loss in ("misclassification", "entropy"):
                        rows.append(measure(name, bits, labels, depth, limit, loss))
                        print(line(rows[-1]), flush=True)
    print("kept in", keep("limits", rows))


if __name__ == "__main__":
    main()
