"""Accuracy against the parity gap on Adult: trees under ParityGap beside fairlearn's reductions, at equal depth.

    python benchmarks/fairness.py [--depths 2 4] [--bounds 0 0.02 0.05 0.1 0.15 0.2] [--no-peer]

Trained on two thirds of the rows, measured on these and on the rest; `sex` is the sensitive column and also a
feature. The peer is ExponentiatedGradient over scikit-learn's tree, on foretree's own 0/1 questions: a random mixture
of trees, of which each row draws one. Writes a figure to docs/figures.
"""

import argparse
import os
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from foretree import LookaheadTreeClassifier, SplitEncoder
from foretree.constraints import ParityGap
from tables import data_folder, keep

FIGURES = Path(__file__).parents[1] / "docs" / "figures"


def gap(said, group):
    """Return the largest difference between the groups' shares of rows said to earn more."""
    shares = [np.mean(said[group == g]) for g in np.unique(group)]
    return float(max(shares) - min(shares))


def measured(predict, parts, began):
    """Return accuracy and gap on both parts; `parts` are (table, classes, groups) of training and test."""
    seconds = time.perf_counter() - began
    row = {"seconds": seconds}
    for name, (table, y, group) in zip(("train", "test"), parts, strict=True):
        said = np.asarray(predict(table))
        row |= {f"{name}_accuracy": float((said == y).mean()), f"{name}_gap": gap(said, group)}
    return row


def ours(depth, bound, parts):
    table, y, _ = parts[0]
    began = time.perf_counter()
    constraints = None if bound is None else [ParityGap("sex", at_most=bound)]
    model = LookaheadTreeClassifier(max_depth=depth, constraints=constraints).fit(table, y)
    row = measured(model.predict, parts, began)
    return {"model": "foretree", **row, "leaves": model.get_n_leaves(), "unproven": model.optimality_gap_}


def peer(depth, bound, parts):
    """Fit on the questions' answers as a 0/1 matrix, as both libraries can."""
    from fairlearn.reductions import DemographicParity, ExponentiatedGradient

    table, y, group = parts[0]
    encoder = SplitEncoder().fit(table)
    answers = [(encoder.transform(part[0]).astype(np.float32), *part[1:]) for part in parts]
    tree = DecisionTreeClassifier(max_depth=depth, random_state=0)
    began = time.perf_counter()
    if bound is None:
        model = tree.fit(answers[0][0], y)
        return {
            "model": "CART",
            **measured(model.predict, answers, began),
            "leaves": int(model.get_n_leaves()),
        }
    # Its own bound is on each group's distance from all rows; half a gap of two groups is the nearest.
    model = ExponentiatedGradient(
        tree, DemographicParity(difference_bound=bound / 2), eps=max(bound / 2, 0.001)
    )
    model.fit(answers[0][0], y, sensitive_features=group)
    row = measured(lambda bits: model.predict(bits, random_state=0), answers, began)
    return {"model": "fairlearn", **row, "leaves": None, "trees": int((model.weights_ > 1e-6).sum())}


def line(row):
    bound = "none" if row["bound"] is None else f"{row['bound']:.2f}"
    return (
        f"depth {row['depth']}  bound {bound}  {row['model']:10s}"
        f"train {100 * row['train_accuracy']:6.2f} % gap {row['train_gap']:.4f}   "
        f"test {100 * row['test_accuracy']:6.2f} % gap {row['test_gap']:.4f}   {row['seconds']:7.2f} s"
        + (f"   {row['trees']} trees" if "trees" in row else f"   {row['leaves']} leaves")
        + (f", at most {100 * row['unproven']:.2f} points unproven" if row.get("unproven") else "")
    )


def draw(rows, depths, path):
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    looks = {"foretree": ("#1f6fb2", "o"), "fairlearn": ("#c8553d", "s"), "CART": ("#777777", "D")}
    fig, axes = plt.subplots(
        1, len(depths), figsize=(4.6 * len(depths), 3.8), sharey=True, layout="constrained"
    )
    for ax, depth in zip(np.atleast_1d(axes), depths, strict=True):
        for model, (colour, marker) in looks.items():
            mine = [row for row in rows if row["depth"] == depth and row["model"] == model]
            if not mine:
                continue
            mine.sort(key=lambda row: row["test_gap"])
            x, y = [row["test_gap"] for row in mine], [100 * row["test_accuracy"] for row in mine]
            ax.plot(x, y, color=colour, marker=marker, linewidth=1.2, markersize=5, label=model)
        ax.set_title(f"depth {depth}", loc="left")
        ax.set_xlabel("parity gap between the sexes, test rows")
        ax.grid(alpha=0.3)
        ax.spines[["top", "right"]].set_visible(False)
    np.atleast_1d(axes)[0].set_ylabel("accuracy on test rows, %")
    np.atleast_1d(axes)[0].legend(frameon=False)
    path.parent.mkdir(exist_ok=True)
    fig.savefig(path.with_suffix(".png"), dpi=150)
    plt.close(fig)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--depths", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--bounds", type=float, nargs="+", default=[0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2])
    parser.add_argument("--no-peer", action="store_true", help="leave fairlearn out")
    options = parser.parse_args()
    adult = pd.read_csv(data_folder() / "adult.csv")
    table, classes = adult.iloc[:, :-1], adult.iloc[:, -1]
    y = (classes == classes.unique()[1]).to_numpy().astype(int)
    group = table["sex"].to_numpy()
    split = train_test_split(table, y, group, test_size=1 / 3, random_state=0, stratify=y)
    parts = [(split[0], split[2], split[4]), (split[1], split[3], split[5])]
    rows = []
    for depth in options.depths:
        for bound in [None, *options.bounds]:
            for fit in (ours,) if options.no_peer else (ours, peer):
                rows.append({"depth": depth, "bound": bound, **fit(depth, bound, parts)})
                print(line(rows[-1]), flush=True)
    draw(rows, options.depths, FIGURES / "parity-gap")
    print("kept in", keep("fairness", rows), "and", FIGURES / "parity-gap.png")


if __name__ == "__main__":
    main()
