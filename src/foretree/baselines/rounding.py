"""From a fractional point of a formulation to a good tree: follow its weights, then climb."""

import numpy as np
from numpy.typing import NDArray

from foretree.baselines.heap import LEAF, HeapTree, grown, n_branch, objective, pruned
from foretree.baselines.points import Floats, Indices, Points


def rounded(points: Points, weights: Floats, depth: int) -> HeapTree:
    """The tree of each node's heaviest split in `weights` (branch nodes, p), with the best at the bottom."""
    bottom = n_branch(depth - 1)

    def choose(node: int, rows: Indices, separates: NDArray[np.bool_]) -> int:
        score = -_errors(points, rows) if node >= bottom else weights[node]
        return int(np.argmax(np.where(separates, score, -np.inf)))

    return grown(points, depth, choose)


def _errors(points: Points, rows: Indices) -> Floats:
    """(p,) the misclassified weight when these rows are split once, per split."""
    weights = points.weights[rows]
    ones = weights.T @ points.rows[rows]
    zeros = weights.sum(axis=0)[:, None] - ones
    left: Floats = weights.sum() - ones.max(axis=0) - zeros.max(axis=0)
    return left


def climbed(tree: HeapTree, points: Points, regularization: float, rounds: int = 3) -> HeapTree:
    """The tree after exchanging one split at a time, bottom splits refitted, while that improves it."""
    best = pruned(tree, points, regularization)
    value = objective(best, points, regularization)
    upper = n_branch(tree.depth - 1)
    n_splits = points.rows.shape[1]
    for _ in range(rounds):
        before = value
        for node in range(upper):
            for split in range(n_splits):
                candidate = pruned(_exchanged(best, points, node, split), points, regularization)
                reached = objective(candidate, points, regularization)
                if reached > value + 1e-9:
                    best, value = candidate, reached
        if value <= before:
            break
    return best


def _exchanged(tree: HeapTree, points: Points, changed: int, split: int) -> HeapTree:
    bottom = n_branch(tree.depth - 1)

    def choose(node: int, rows: Indices, separates: NDArray[np.bool_]) -> int:
        kept = split if node == changed else int(tree.splits[node])
        if node < bottom and kept != LEAF and separates[kept]:
            return kept
        errors = np.where(separates, _errors(points, rows), np.inf)
        return int(np.argmin(errors))

    return grown(points, tree.depth, choose)
