"""Trees for a solver to begin from."""

from typing import Any

import numpy as np

from foretree.baselines.heap import LEAF, HeapTree, n_branch, n_nodes
from foretree.baselines.points import Indices
from foretree.baselines.skeleton import Task

STARTS = ("cart", "lookahead")


def warm_tree(name: str, task: Task) -> HeapTree:
    """The greedy tree of scikit-learn ("cart") or the tree of two steps of foresight ("lookahead")."""
    return _cart(task) if name == "cart" else _lookahead(task)


def _cart(task: Task) -> HeapTree:
    from sklearn.tree import DecisionTreeClassifier

    row, label = task.points.pairs
    tree = DecisionTreeClassifier(max_depth=task.depth, random_state=0)
    tree.fit(task.points.rows[row], label, sample_weight=task.points.weights[row, label])
    inner = tree.tree_
    return in_heap(inner.feature, inner.children_left, inner.children_right, task)


def _lookahead(task: Task) -> HeapTree:
    try:
        from foretree import LookaheadTreeClassifier
    except ImportError as missing:
        raise ImportError(
            "warm_start='lookahead' needs foretree's LookaheadTreeClassifier: pip install --upgrade foretree."
        ) from missing
    row, label = task.points.pairs
    repeats = task.points.weights[row, label].astype(np.intp)
    rows, labels = np.repeat(task.points.rows[row], repeats, axis=0), np.repeat(label, repeats)
    model: Any = LookaheadTreeClassifier(max_depth=task.depth, loss="misclassification")
    grown = model.fit(rows.astype(np.float64), labels).tree_
    return in_heap(grown.split, grown.low, grown.high, task)


def in_heap(split: Indices, low: Indices, high: Indices, task: Task) -> HeapTree:
    """A tree of flat arrays (negative splits are leaves) in heap order; its labels are left at 0."""
    splits = np.full(n_branch(task.depth), LEAF, dtype=np.intp)
    place = {0: 0}
    for node in range(splits.size):
        here = place.get(node)
        if here is None or split[here] < 0:
            continue
        splits[node] = split[here]
        place[2 * node + 1], place[2 * node + 2] = int(low[here]), int(high[here])
    return HeapTree(task.depth, splits, np.zeros(n_nodes(task.depth), dtype=np.intp))
