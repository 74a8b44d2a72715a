"""Losses of leaves, and the exact choice of a root and its children with every tie decided.

Ties, in this order: lowest loss, fewest empty leaves, lowest Gini, smallest split. A branch that costs nothing stays
a leaf, and lacks none. Losses within TOLERANCE of the node's weight count as equal, so that rounding decides nothing.
"""

from typing import NamedTuple

import numpy as np

from foretree._kernels.jit import inner, kernel

MISCLASSIFICATION, GINI, ENTROPY, MATRIX = range(4)
TOLERANCE = 1e-10
LEAF = -1


class Rules(NamedTuple):
    """What a tree minimises and must obey; min_leaf and min_internal are in rows, the others in weight."""

    loss: int
    prices: np.ndarray  # (C, C): the price of calling class c class d, for MATRIX
    tie_by_gini: bool
    stop_without_gain: bool
    min_leaf: int
    min_internal: int
    min_weight: float
    min_decrease: float


# The kernels work in two tables, (., width) with a column a split (or a class): few arrays travel
# from kernel to kernel, which compiles in half the time that one array a quantity took.
#
# Rows of the float64 table: what each child split costs below the root at hand; what is known exactly of each
# root; its bound; class weights of the node, of a branch and of the branch's two cells; then, a row a class, the
# weight with each split and the weight with both the root and the split.
(
    CHILD_COST, CHILD_GINI, ROOT_COST, ROOT_GINI, LOW_COST, HIGH_COST, BOUND, GUESS,
    TOTAL, BRANCH, CELL_LOW, CELL_HIGH, ONES,
) = range(13)  # fmt: skip
# Rows of the int64 table: rows with each split, and with both; the table's own number of each split; scratch; the
# empty leaves and children of each root; and, in its first place, the node's number of rows.
ROWS, BOTH_ROWS, KEPT, AGAIN, EMPTY, LOW_CHILD, HIGH_CHILD, N_ROWS, N_INDEX = range(9)


@inner
def gini_loss(weights: np.ndarray, n_classes: int) -> float:
    """Return the Gini impurity of class weights (C,), times their sum."""
    total = 0.0
    squares = 0.0
    for c in range(n_classes):
        total += weights[c]
        squares += weights[c] * weights[c]
    return total - squares / total if total > 0 else 0.0


@kernel
def leaf_loss(rules: Rules, weights: np.ndarray) -> float:
    """Return the loss of a leaf of class weights (C,)."""
    n_classes = rules.prices.shape[0]
    if rules.loss == GINI:
        return gini_loss(weights, n_classes)
    total = 0.0
    most = 0.0
    for c in range(n_classes):
        total += weights[c]
        most = max(most, weights[c])
    if rules.loss == MISCLASSIFICATION:
        return total - most
    if rules.loss == ENTROPY:
        out = 0.0
        for c in range(n_classes):
            if weights[c] > 0:
                out -= weights[c] * np.log2(weights[c] / total)
        return out
    least = np.inf
    for called in range(n_classes):
        price = 0.0
        for actual in range(n_classes):
            price += weights[actual] * rules.prices[actual, called]
        least = min(least, price)
    return least


@inner
def weight_in(weights: np.ndarray, n_classes: int) -> float:
    """Return the sum of class weights (C,)."""
    total = 0.0
    for c in range(n_classes):
        total += weights[c]
    return total


@inner
def tie_gini(rules: Rules, weights: np.ndarray) -> float:
    """Return the Gini loss where it decides ties, else 0."""
    return gini_loss(weights, rules.prices.shape[0]) if rules.tie_by_gini else 0.0


@inner
def weigh_branch(rules: Rules, real: np.ndarray, root: int, side: int) -> float:
    """Write the class weights of one side of the root; return its loss as a leaf."""
    for c in range(rules.prices.shape[0]):
        ones = real[ONES + c, root]
        real[BRANCH, c] = ones if side else real[TOTAL, c] - ones
    return leaf_loss(rules, real[BRANCH])


@inner
def price_children(
    rules: Rules, real: np.ndarray, index: np.ndarray, n_splits: int, root: int, side: int
) -> None:
    """Write what the weighed branch costs with each child split, infinite where none may stand."""
    n_classes = rules.prices.shape[0]
    branch, low, high = real[BRANCH], real[CELL_LOW], real[CELL_HIGH]
    costs, ginis = real[CHILD_COST], real[CHILD_GINI]
    rows, both_rows = index[ROWS], index[BOTH_ROWS]
    n_rows = rows[root] if side else index[N_ROWS, 0] - rows[root]
    for k in range(n_splits):
        costs[k] = np.inf
        n_high = both_rows[k] if side else rows[k] - both_rows[k]
        n_low = n_rows - n_high
        if n_high == 0 or n_low == 0 or n_high < rules.min_leaf or n_low < rules.min_leaf:
            continue
        if n_rows < rules.min_internal:
            continue
        for c in range(n_classes):
            both = real[ONES + n_classes + c, k]
            high[c] = both if side else real[ONES + c, k] - both
            low[c] = branch[c] - high[c]
        if rules.min_weight > 0 and (
            weight_in(low, n_classes) < rules.min_weight or weight_in(high, n_classes) < rules.min_weight
        ):
            continue
        # With losses within the tolerance equal, the Gini decides: it is at hand while the cells are.
        ginis[k] = tie_gini(rules, low) + tie_gini(rules, high)
        costs[k] = (
            ginis[k]
            if rules.loss == GINI and rules.tie_by_gini
            else leaf_loss(rules, low) + leaf_loss(rules, high)
        )


@inner
def choose_child(
    rules: Rules, real: np.ndarray, n_splits: int, leaf: float, tolerance: float
) -> tuple[float, int, float, int]:
    """Return the priced branch's least loss, its empty leaves, their Gini and the child split (or LEAF)."""
    costs, ginis = real[CHILD_COST], real[CHILD_GINI]
    best = leaf
    for k in range(n_splits):
        best = min(best, costs[k])
    chosen = LEAF
    least = np.inf
    for k in range(n_splits):
        if costs[k] <= best + tolerance:
            least = min(least, ginis[k])
    for k in range(n_splits - 1, -1, -1):
        if costs[k] <= best + tolerance and ginis[k] <= least + tolerance:
            chosen = k
    if chosen == LEAF or best == np.inf:
        return best, 1, tie_gini(rules, real[BRANCH]), LEAF
    return best, 0, least, chosen


@inner
def best_child(
    rules: Rules, real: np.ndarray, index: np.ndarray, n_splits: int, root: int, side: int
) -> tuple[float, int, float, int]:
    """Return the branch's least loss, its empty leaves, their Gini and the child split (or LEAF)."""
    leaf = weigh_branch(rules, real, root, side)
    tolerance = TOLERANCE * weight_in(real[TOTAL], rules.prices.shape[0])
    if leaf <= tolerance:
        return leaf, 0, tie_gini(rules, real[BRANCH]), LEAF
    price_children(rules, real, index, n_splits, root, side)
    return choose_child(rules, real, n_splits, leaf, tolerance)


@inner
def best_root(real: np.ndarray, index: np.ndarray, n_splits: int, tolerance: float) -> int:
    """Return the root with the least (cost, empty leaves, gini, index), or LEAF where every cost is infinite."""
    costs, ginis, empties = real[ROOT_COST], real[ROOT_GINI], index[EMPTY]
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
