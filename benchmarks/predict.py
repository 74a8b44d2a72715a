"""Predicting a million 0/1 rows at depth 8: ours beside scikit-learn's tree, on the very same matrix, one thread.

    python benchmarks/predict.py [--rows 1000000] [--depth 8]

Both are fitted on the first 100,000 rows. "unchecked" is scikit-learn without its look for NaN
(assume_finite) and without all of its checks (check_input=False, which needs float32).
"""

import argparse
import os
import tempfile
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("NUMBA_NUM_THREADS", "1")

import numpy as np
from sklearn import config_context
from sklearn.tree import DecisionTreeClassifier

from foretree import LookaheadTreeClassifier
from large import read_table, write_table
from tables import best_of, keep


def unchecked(cart: DecisionTreeClassifier, bits: np.ndarray) -> np.ndarray:
    with config_context(assume_finite=True):
        return cart.predict(bits)


def compare(ours, cart, bits: np.ndarray, seconds: float) -> dict:
    """Time both on one matrix, in turns, so that what slows the machine slows both."""
    calls = {
        "foretree": lambda: ours.predict(bits), "cart": lambda: cart.predict(bits),
        "cart_assume_finite": lambda: unchecked(cart, bits),
        "foretree_proba": lambda: ours.predict_proba(bits), "cart_proba": lambda: cart.predict_proba(bits),
    }  # fmt: skip
    if bits.dtype == np.float32:
        calls["cart_check_input_false"] = lambda: cart.predict(bits, check_input=False)
    found = {}
    for _ in range(2):
        for name, call in calls.items():
            found[name] = min(best_of(call, seconds / 2), found.get(name, np.inf))
    return found


def line(row: dict) -> str:
    unchecked_too = row.get("cart_check_input_false")
    return (
        f"{row['dtype']:8s} depth {row['depth']}: foretree {row['foretree'] * 1e3:7.1f} ms   scikit-learn "
        f"{row['cart'] * 1e3:7.1f} ms  x{row['cart'] / row['foretree']:5.2f}   unchecked "
        f"{row['cart_assume_finite'] * 1e3:6.1f} ms"
        + (f" / {unchecked_too * 1e3:6.1f} ms" if unchecked_too else f"{'':12s}")
        + f"   predict_proba {row['foretree_proba'] * 1e3:6.1f} / {row['cart_proba'] * 1e3:6.1f} ms"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--depth", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--dtype", nargs="+", default=["float32", "uint8"])
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        write_table(Path(folder), options.rows)
        for dtype in options.dtype:
            bits, labels = read_table(Path(folder), dtype)
            ours = LookaheadTreeClassifier(options.depth).fit(bits[:100_000], labels[:100_000])
            cart = DecisionTreeClassifier(max_depth=options.depth, random_state=0)
            cart.fit(bits[:100_000], labels[:100_000])
            row = {"dtype": dtype, "rows": len(labels), "splits": bits.shape[1], "depth": options.depth}
            row |= {"leaves": ours.get_n_leaves(), "cart_leaves": int(cart.get_n_leaves())}
            row |= compare(ours, cart, bits, options.seconds)
            rows.append(row)
            print(line(row), flush=True)
    print("kept in", keep("predict", rows))


if __name__ == "__main__":
    main()
