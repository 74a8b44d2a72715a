"""Fit time of the hybrid lookahead tree beside greedy CART and LGDT, on the paper's tables, one thread.

    python benchmarks/greedy.py [--lookahead 2] [--depths 2 4 8] [--lgdt]

Through the public `fit` of each, the same float32 0/1 matrix, best of several, in one process.
"""

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from foretree import LookaheadTreeClassifier
from tables import best_of, geometric_mean, keep, load_all


def compare(lookahead, depths, with_lgdt):
    rows = []
    for name, bits, labels in load_all():
        for depth in depths:
            ours = LookaheadTreeClassifier(max_depth=depth, lookahead=lookahead)
            cart = DecisionTreeClassifier(max_depth=depth, random_state=0)
            row = {
                "table": name, "rows": len(labels), "splits": bits.shape[1], "depth": depth,
                "foretree": best_of(lambda: ours.fit(bits, labels)),  # noqa: B023 - called at once
                "cart": best_of(lambda: cart.fit(bits, labels)),  # noqa: B023
                "accuracy": ours.score(bits, labels), "cart_accuracy": cart.score(bits, labels),
            }  # fmt: skip
            if with_lgdt:
                from pytrees import LGDTClassifier

                lgdt = LGDTClassifier(max_depth=depth, min_sup=1)
                matrix = bits.astype(np.float64)
                row["lgdt"] = best_of(lambda: lgdt.fit(matrix, labels), most=20)  # noqa: B023
            rows.append(row)
            print(line(row), flush=True)
    return rows


def line(row):
    text = (
        f"{row['table']:24s}{row['rows']:6d}{row['splits']:5d}  depth {row['depth']}"
        f"{row['foretree'] * 1e3:9.3f} ms {100 * row['accuracy']:6.1f} %   CART{row['cart'] * 1e3:9.3f} ms"
        f"{100 * row['cart_accuracy']:6.1f} %  x{row['cart'] / row['foretree']:5.1f}"
    )
    return text + (
        f"   LGDT{row['lgdt'] * 1e3:10.2f} ms  x{row['lgdt'] / row['foretree']:6.1f}" if "lgdt" in row else ""
    )


def summary(rows, peer):
    ratios = [row[peer] / row["foretree"] for row in rows]
    large = [row[peer] / row["foretree"] for row in rows if row["rows"] >= 1000]
    depths = sorted({row["depth"] for row in rows})
    by_depth = {
        depth: geometric_mean([row[peer] / row["foretree"] for row in rows if row["depth"] == depth])
        for depth in depths
    }
    least = min(rows, key=lambda row: row[peer] / row["foretree"])
    return {
        "peer": peer, "geometric_mean": geometric_mean(ratios), "of_1000_rows_or_more": geometric_mean(large),
        "by_depth": by_depth,
        "least": least[peer] / least["foretree"], "least_at": f"{least['table']}, depth {least['depth']}",
    }  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lookahead", type=int, default=2)
    parser.add_argument("--depths", type=int, nargs="+", default=[2, 3, 4, 5, 6, 7, 8])
    parser.add_argument("--lgdt", action="store_true", help="also time pytrees-rs' LGDTClassifier")
    options = parser.parse_args()
    small = np.random.default_rng(0).integers(0, 2, (64, 4)).astype(np.float32)
    for depth in (4, 8):
        LookaheadTreeClassifier(depth, options.lookahead).fit(
            small, np.arange(64) % 2
        )  # compile outside the timing
    rows = compare(options.lookahead, options.depths, options.lgdt)
    found = [summary(rows, peer) for peer in ("cart", "lgdt") if peer in rows[0]]
    for each in found:
        print(
            f"{each['peer'].upper():5s} takes {each['geometric_mean']:.1f} times as long (geometric mean), "
            f"{each['of_1000_rows_or_more']:.1f} times over 1,000 rows or more, least {each['least']:.2f} "
            f"({each['least_at']})"
        )
        print("      by depth:", "  ".join(f"{d}: {ratio:.2f}" for d, ratio in each["by_depth"].items()))
    print("kept in", keep(f"greedy-lookahead-{options.lookahead}", rows, summary=found))


if __name__ == "__main__":
    main()
