"""What constraints that a node keeps alone cost: fits under masks beside free ones and scikit-learn's CART.

python benchmarks/masked.py [--tables adult spambase wdbc] [--depths 4 8]
"""

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

from sklearn.tree import DecisionTreeClassifier

from foretree import LookaheadTreeClassifier
from foretree.constraints import Forbidden, Monotone
from tables import best_of, keep, load_all

MASKS = {"none": None, "forbidden pairs": [Forbidden([(0, 1), (2, 9)])], "monotone": [Monotone(0)]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tables", nargs="+", default=["adult", "spambase", "wdbc"])
    parser.add_argument("--depths", type=int, nargs="+", default=[4, 8])
    options = parser.parse_args()
    rows = []
    for name, bits, labels in load_all():
        if name not in options.tables:
            continue
        for depth in options.depths:
            cart = DecisionTreeClassifier(max_depth=depth, random_state=0)
            row = {"table": name, "depth": depth, "cart": best_of(lambda: cart.fit(bits, labels))}  # noqa: B023
            for label, wishes in MASKS.items():
                model = LookaheadTreeClassifier(depth, constraints=wishes)
                row[label] = best_of(lambda: model.fit(bits, labels))  # noqa: B023 - called at once
            rows.append(row)
            times = "".join(f"   {label} {1e3 * row[label]:7.2f} ms" for label in (*MASKS, "cart"))
            print(f"{name:12s}depth {depth}{times}", flush=True)
    print("kept in", keep("masked", rows))


if __name__ == "__main__":
    main()
