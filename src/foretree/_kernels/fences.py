"""What a node's constraints allow, and the best branches among it."""

from typing import NamedTuple

import numpy as np

from foretree._kernels.exact import (
    BRANCH,
    CHILD_COST,
    KEPT,
    LEAF,
    ONES,
    TOLERANCE,
    TOTAL,
    Rules,
    choose_child,
    price_children,
    tie_gini,
    weigh_branch,
    weight_in,
)  # fmt: skip
from foretree._kernels.jit import inner


class Fence(NamedTuple):
    """What a node's constraints allow, in the table's own splits.

    pairs (2, p, p) are the pairs (branch, root, child), child == root a branch that stays a leaf. signs (p,) say
    which answers ask for a larger (1) or smaller (-1) share of the second class, and no leaf's share
    may lie outside least to most. After one step both branches are leaves.
    """

    pairs: np.ndarray
    signs: np.ndarray
    least: float
    most: float
    one_step: bool


@inner
def knows_order(fence: Fence, kept: np.ndarray, n_splits: int) -> bool:
    """Tell whether any of the node's splits, or a question above it, asks for an order of shares."""
    for k in range(n_splits):
        if fence.signs[kept[k]] != 0:
            return True
    return fence.least > 0 or fence.most < 1


@inner
def _share(real: np.ndarray, row: int, split: int) -> float:
    """Return the second class's share of the two rows of weights that begin at `row`, at one split."""
    return real[row + 1, split] / (real[row, split] + real[row + 1, split])


@inner
def _low_share(real: np.ndarray, split: int) -> float:
    """Return the second class's share where the split is 0."""
    first = real[TOTAL, 0] - real[ONES, split]
    second = real[TOTAL, 1] - real[ONES + 1, split]
    return second / (first + second)


@inner
def _forbid_children(
    fence: Fence, real: np.ndarray, kept: np.ndarray, n_splits: int, root: int, side: int
) -> None:
    """Make the children infinitely dear that the fence forbids below the root."""
    costs = real[CHILD_COST]
    allowed = fence.pairs[side, kept[root]]
    for k in range(n_splits):
        if not allowed[kept[k]]:
            costs[k] = np.inf


@inner
def _forbid_disorder(
    fence: Fence, real: np.ndarray, kept: np.ndarray, n_splits: int, root: int, side: int
) -> None:
    """Make the children infinitely dear whose leaves' shares cross a border or stand in the wrong order."""
    costs, branch = real[CHILD_COST], real[BRANCH]
    least, most = fence.least, fence.most
    sign = fence.signs[kept[root]]
    if sign != 0:
        middle = (_low_share(real, root) + _share(real, ONES, root)) / 2
        if (sign > 0) == (side == 1):
            least = max(least, middle)
        else:
            most = min(most, middle)
    both = ONES + 2
    for k in range(n_splits):
        if costs[k] == np.inf:
            continue
        first = real[both, k] if side else real[ONES, k] - real[both, k]
        second = real[both + 1, k] if side else real[ONES + 1, k] - real[both + 1, k]
        high = second / (first + second)
        low = (branch[1] - second) / (branch[0] - first + branch[1] - second)
        inside = least <= low and low <= most and least <= high and high <= most
        if not inside or fence.signs[kept[k]] * (high - low) < 0:
            costs[k] = np.inf


@inner
def allows_root(fence: Fence, real: np.ndarray, kept: np.ndarray, root: int, ordered: bool) -> bool:
    """Tell whether the root's branches stand in order, which all that is below them then does too."""
    if not ordered:
        return True
    sign = fence.signs[kept[root]]
    low, high = _low_share(real, root), _share(real, ONES, root)
    return sign * (high - low) >= 0 and min(low, high) >= fence.least and max(low, high) <= fence.most


@inner
def best_allowed_child(
    rules: Rules, fence: Fence, real: np.ndarray, index: np.ndarray, n_splits: int, root: int, side: int,
    ordered: bool,
) -> tuple[float, int, float, int]:  # fmt: skip
    """Return what `exact.best_child` does, of the children that the fence allows."""
    kept = index[KEPT]
    alone = weigh_branch(rules, real, root, side)
    tolerance = TOLERANCE * weight_in(real[TOTAL], rules.prices.shape[0])
    if not fence.pairs[side, kept[root], kept[root]]:
        alone = np.inf
    if alone <= tolerance or fence.one_step:
        return alone, 0, tie_gini(rules, real[BRANCH]), LEAF
    price_children(rules, real, index, n_splits, root, side)
    _forbid_children(fence, real, kept, n_splits, root, side)
    if ordered:
        _forbid_disorder(fence, real, kept, n_splits, root, side)
    return choose_child(rules, real, n_splits, alone, tolerance)
