"""Losses of leaves, and the exact choice of a root and its children with every tie decided.

Ties, in this order: lowest loss, fewest empty leaves, lowest Gini, smallest split. Losses within
TOLERANCE of the node's weight count as equal, so that rounding decides nothing.
"""

from typing import NamedTuple

import numpy as np

from foretree._kernels.jit import kernel

MISCLASSIFICATION, GINI, ENTROPY, MATRIX = range(4)
TOLERANCE = 1e-10
LEAF = -1


class Rules(NamedTuple):
    """What a tree minimises and must obey; sizes are in rows, the decrease in weight."""

    loss: int
    prices: np.ndarray  # (C, C): the price of calling class c class d, for MATRIX
    tie_by_gini: bool
    stop_without_gain: bool
    min_leaf: int
    min_internal: int
    min_decrease: float


class Margins(NamedTuple):
    """What a node's splits weigh alone: per class and split, rows per split, and both in total."""

    ones: np.ndarray  # (C, width)
    rows: np.ndarray  # (width,)
    total: np.ndarray  # (C,)
    n_rows: np.ndarray  # (1,)


class Pairs(NamedTuple):
    """What one root's pairs weigh, per class and split, and their rows; then scratch."""

    both: np.ndarray  # (C, width)
    rows: np.ndarray  # (width,)
    costs: np.ndarray  # (width,)
    ginis: np.ndarray  # (width,)
    cells: np.ndarray  # (3, C)


@kernel
def gini_loss(weights: np.ndarray) -> float:
    """Return the Gini impurity of class weights (C,), times their sum."""
    total = 0.0
    squares = 0.0
    for weight in weights:
        total += weight
        squares += weight * weight
    return total - squares / total if total > 0 else 0.0


@kernel
def leaf_loss(loss: int, prices: np.ndarray, weights: np.ndarray) -> float:
    """Return the loss of a leaf of class weights (C,)."""
    if loss == GINI:
        return gini_loss(weights)
    if loss == MISCLASSIFICATION:
        total = 0.0
        most = 0.0
        for weight in weights:
            total += weight
            most = max(most, weight)
        return total - most
    if loss == ENTROPY:
        total = weights.sum()
        out = 0.0
        for weight in weights:
            if weight > 0:
                out -= weight * np.log2(weight / total)
        return out
    least = np.inf
    for called in range(weights.size):
        price = 0.0
        for actual in range(weights.size):
            price += weights[actual] * prices[actual, called]
        least = min(least, price)
    return least


@kernel
def side_of_root(margins: Margins, root: int, side: int, weights: np.ndarray) -> int:
    """Write the class weights (C,) of the rows that answer `side` to the root; return their number."""
    for c in range(weights.size):
        ones = margins.ones[c, root]
        weights[c] = ones if side else margins.total[c] - ones
    return margins.rows[root] if side else margins.n_rows[0] - margins.rows[root]


@kernel
def _write_cells(margins: Margins, pairs: Pairs, side: int, k: int) -> None:
    """Write to cells[1] and cells[2] how the branch in cells[0] falls apart by split k."""
    cells = pairs.cells
    for c in range(cells.shape[1]):
        both = pairs.both[c, k]
        cells[2, c] = both if side else margins.ones[c, k] - both
        cells[1, c] = cells[0, c] - cells[2, c]


@kernel
def best_child(
    rules: Rules, margins: Margins, pairs: Pairs, n_splits: int, root: int, side: int
) -> tuple[float, int, float, int]:
    """Return the branch's least loss, its empty leaves, their Gini and the child split (or LEAF)."""
    cells = pairs.cells
    n_rows = side_of_root(margins, root, side, cells[0])
    best = leaf_loss(rules.loss, rules.prices, cells[0])
    if n_rows < rules.min_internal:
        return best, 1, gini_loss(cells[0]) if rules.tie_by_gini else 0.0, LEAF
    tolerance = TOLERANCE * margins.total.sum()
    for k in range(n_splits):
        pairs.costs[k] = np.inf
        n_high = pairs.rows[k] if side else margins.rows[k] - pairs.rows[k]
        n_low = n_rows - n_high
        if n_high == 0 or n_low == 0 or n_high < rules.min_leaf or n_low < rules.min_leaf:
            continue
        _write_cells(margins, pairs, side, k)
        cost = leaf_loss(rules.loss, rules.prices, cells[1]) + leaf_loss(rules.loss, rules.prices, cells[2])
        pairs.costs[k] = cost
        best = min(best, cost)
    least = np.inf
    for k in range(n_splits):
        pairs.ginis[k] = np.inf
        if pairs.costs[k] <= best + tolerance:
            _write_cells(margins, pairs, side, k)
            pairs.ginis[k] = gini_loss(cells[1]) + gini_loss(cells[2]) if rules.tie_by_gini else 0.0
            least = min(least, pairs.ginis[k])
    for k in range(n_splits):
        if pairs.ginis[k] <= least + tolerance and pairs.costs[k] <= best + tolerance:
            return best, 0, least, k
    return best, 1, gini_loss(cells[0]) if rules.tie_by_gini else 0.0, LEAF


@kernel
def best_root(
    costs: np.ndarray, empties: np.ndarray, ginis: np.ndarray, n_splits: int, tolerance: float
) -> int:
    """Return the split with the least (cost, empties, gini, index), or LEAF where every cost is infinite."""
    cost = np.inf
    for j in range(n_splits):
        cost = min(cost, costs[j])
    if cost == np.inf:
        return LEAF
    empty = np.int64(2**62)
    for j in range(n_splits):
        if costs[j] <= cost + tolerance:
            empty = min(empty, empties[j])
    gini = np.inf
    for j in range(n_splits):
        if costs[j] <= cost + tolerance and empties[j] == empty:
            gini = min(gini, ginis[j])
    for j in range(n_splits):
        if costs[j] <= cost + tolerance and empties[j] == empty and ginis[j] <= gini + tolerance:
            return j
    return LEAF
