"""The slow truth, in NumPy alone: brute force over all trees of a few steps, and the rolling tree over it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

TOLERANCE = 1e-10
LEAF = -1


def misclassification(weights):
    return weights.sum() - weights.max()


def gini(weights):
    total = weights.sum()
    return total - (weights**2).sum() / total if total > 0 else 0.0


def entropy(weights):
    total = weights.sum()
    return float(-sum(w * np.log2(w / total) for w in weights if w > 0 and w / total > 0))


@dataclass(frozen=True)
class Task:
    """Rows x (n, p) of 0/1, class weights per row (n, C), the rows each stands for (n,), and the rules."""

    x: np.ndarray
    weights: np.ndarray
    sizes: np.ndarray
    loss: Callable
    min_leaf: int = 1
    min_internal: int = 2
    tie_by_gini: bool = True
    stop_without_gain: bool = False
    min_decrease: float = 0.0
    min_weight: float = 0.0


def task(x, y, n_classes=None, row_weights=None, sizes=None, loss=misclassification, **rules):
    """Make a Task from classes y (n,)."""
    n_classes = n_classes or int(y.max()) + 1
    weights = np.zeros((len(y), n_classes))
    weights[np.arange(len(y)), y] = 1.0 if row_weights is None else row_weights
    return Task(np.asarray(x), weights, np.ones(len(y), int) if sizes is None else sizes, loss, **rules)


def best(task, rows, steps):
    """Return (cost, empty leaves, gini, tree) of the best tree of `steps` steps on the rows, ties decided."""
    total = task.weights[rows].sum(axis=0)
    leaf_gini = gini(total) if task.tie_by_gini else 0.0
    # What costs nothing needs no more leaves than one.
    free = task.loss(total) <= TOLERANCE * total.sum()
    leaf = (task.loss(total), 0 if free else 2**steps - 1, leaf_gini, None)
    if free or steps == 0 or task.sizes[rows].sum() < task.min_internal:
        return leaf
    found = []
    for root in range(task.x.shape[1]):
        sides = [rows[task.x[rows, root] == answer] for answer in (0, 1)]
        sizes = [task.sizes[side].sum() for side in sides]
        if min(len(side) for side in sides) == 0 or min(sizes) < task.min_leaf:
            continue
        if min(task.weights[side].sum() for side in sides) < task.min_weight:
            continue
        low, high = (best(task, side, steps - 1) for side in sides)
        found.append((low[0] + high[0], low[1] + high[1], low[2] + high[2], (root, low[3], high[3])))
    if not found:
        return leaf
    tolerance = TOLERANCE * total.sum()
    cost = min(f[0] for f in found)
    if cost > leaf[0] + tolerance:
        return leaf
    found = [f for f in found if f[0] <= cost + tolerance]
    empty = min(f[1] for f in found)
    found = [f for f in found if f[1] == empty]
    least = min(f[2] for f in found)
    return next(f for f in found if f[2] <= least + tolerance)


def rolling(task, max_depth, lookahead, rows=None, reach=np.inf):
    """Return the rolling tree as nested (split, low, high), None for a leaf; what costs nothing looks no further."""
    rows = np.arange(len(task.x)) if rows is None else rows
    total = task.weights[rows].sum(axis=0)
    if max_depth == 0 or (total > 0).sum() <= 1 or task.sizes[rows].sum() < task.min_internal:
        return None
    steps = min(lookahead, max_depth, reach)
    cost, _, _, tree = best(task, rows, steps)
    loss = task.loss(total)
    tolerance = TOLERANCE * total.sum()
    if tree is None or (task.stop_without_gain and cost >= loss - tolerance):
        return None
    if task.min_decrease > 0 and loss - cost < task.min_decrease - tolerance:
        return None
    split = tree[0]
    sides = [rows[task.x[rows, split] == answer] for answer in (0, 1)]
    free = [total_loss(task, plan, side) <= tolerance for plan, side in zip(tree[1:], sides, strict=True)]
    low, high = (
        rolling(task, max_depth - 1, lookahead, side, max(steps - 1, 1) if costs_nothing else np.inf)
        for side, costs_nothing in zip(sides, free, strict=True)
    )
    return split, low, high


def total_loss(task, tree, rows=None):
    """Return the loss of a nested tree."""
    rows = np.arange(len(task.x)) if rows is None else rows
    if tree is None:
        return task.loss(task.weights[rows].sum(axis=0))
    split, low, high = tree
    return total_loss(task, low, rows[task.x[rows, split] == 0]) + total_loss(
        task, high, rows[task.x[rows, split] == 1]
    )
