"""Fit the hybrid lookahead tree and CART on scikit-learn's breast cancer table, and print what comes of it."""

from time import perf_counter

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from foretree import LookaheadTreeClassifier, SplitEncoder, export_text


def least_time(step, *data):
    """Return the least milliseconds of five runs."""
    times = []
    for _ in range(5):
        began = perf_counter()
        step(*data)
        times.append(1e3 * (perf_counter() - began))
    return min(times)


def main():
    data = load_breast_cancer(as_frame=True)
    y = data.target_names[data.target]
    X, X_held_out, y, y_held_out = train_test_split(data.data, y, random_state=0, stratify=y)

    # The first fit on a machine compiles the kernels and says so; the times below are of later ones.
    tree = LookaheadTreeClassifier(max_depth=4, verbose=1).fit(X, y).set_params(verbose=0)
    cart = DecisionTreeClassifier(max_depth=4, random_state=0)
    times = [least_time(model.fit, X, y) for model in (tree, cart)]
    asking = least_time(SplitEncoder().fit_pack, X)

    print(f"\nA hybrid tree of depth 4 from {len(X)} rows and {X.shape[1]} columns:\n")
    print(export_text(tree))
    print(f"\n{'':24s}{'train':>10s}{'held out':>10s}{'leaves':>8s}{'fit':>12s}")
    for name, model, time in zip(
        ("foretree, two steps", "scikit-learn's CART"), (tree, cart), times, strict=True
    ):
        train, held_out = model.score(X, y), model.score(X_held_out, y_held_out)
        print(f"{name:24s}{train:10.1%}{held_out:10.1%}{model.get_n_leaves():8d}{time:9.2f} ms")
    print(
        f"\nOf foretree's time, {asking:.2f} ms make {len(tree.splits_)} yes/no questions of the table's columns."
    )


if __name__ == "__main__":
    main()
