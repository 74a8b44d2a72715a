"""The optimal tree of one or two steps at a node where some pairs of splits are forbidden."""

import numpy as np

from foretree._kernels.exact import (
    BRANCH,
    CHILD_COST,
    EMPTY,
    HIGH_CHILD,
    KEPT,
    LOW_CHILD,
    LOW_COST,
    N_ROWS,
    ONES,
    ROOT_COST,
    ROOT_GINI,
    TOLERANCE,
    TOTAL,
    Rules,
    choose_child,
    price_children,
    weight_in,
)  # fmt: skip
from foretree._kernels.fences import Fence
from foretree._kernels.grow import count_and_weigh, named
from foretree._kernels.jit import inner, kernel
from foretree._kernels.steps import Groups, Space, Step, best_step, leaf_step, separates, weigh_pairs


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
def _allows_root(fence: Fence, real: np.ndarray, kept: np.ndarray, root: int, ordered: bool) -> bool:
    """Tell whether the root's branches stand in order, which all that is below them then does too."""
    if not ordered:
        return True
    sign = fence.signs[kept[root]]
    low, high = _low_share(real, root), _share(real, ONES, root)
    return sign * (high - low) >= 0 and min(low, high) >= fence.least and max(low, high) <= fence.most


@inner
def solve_fenced(
    rules: Rules, fence: Fence, counts: np.ndarray, groups: Groups, n_splits: int, steps: int, real: np.ndarray,
    index: np.ndarray,
) -> Step:  # fmt: skip
    """Return the optimal allowed tree of one or two steps of the node with these counts and tables."""
    leaf = leaf_step(rules, real, np.int64(steps))
    if index[N_ROWS, 0] < rules.min_internal:
        return leaf
    n_classes = rules.prices.shape[0]
    kept = index[KEPT]
    costs = real[ROOT_COST]
    ordered = False
    for k in range(n_splits):
        costs[k] = np.inf
        ordered = ordered or fence.signs[kept[k]] != 0
    ordered = ordered or fence.least > 0 or fence.most < 1
    for root in range(n_splits):
        if not separates(rules, real, index, root) or not _allows_root(fence, real, kept, root, ordered):
            continue
        weigh_pairs(counts, groups, n_splits, root, n_classes, real, index)
        total, ties, empties = 0.0, 0.0, 0
        for side in range(2):
            alone = price_children(rules, real, index, n_splits, root, side)
            if not fence.pairs[side, kept[root], kept[root]]:
                alone = np.inf
            if steps < 2:
                for k in range(n_splits):
                    real[CHILD_COST, k] = np.inf
            _forbid_children(fence, real, kept, n_splits, root, side)
            if ordered:
                _forbid_disorder(fence, real, kept, n_splits, root, side)
            cost, empty, tie, child = choose_child(rules, real, n_splits, alone)
            total += cost
            ties += tie
            empties += empty
            real[LOW_COST + side, root] = cost
            index[LOW_CHILD if side == 0 else HIGH_CHILD, root] = child
        costs[root] = total
        real[ROOT_GINI, root] = ties
        index[EMPTY, root] = empties
    return best_step(real, index, n_splits, leaf, TOLERANCE * weight_in(real[TOTAL], n_classes))


@kernel
def look_fenced(
    words: np.ndarray, rows: np.ndarray, starts: np.ndarray, ends: np.ndarray, n_splits: int, steps: int,
    rules: Rules, fence: Fence, groups: Groups, space: Space,
) -> tuple[Step, int]:  # fmt: skip
    """Return the optimal allowed tree of one or two steps at a node, in the table's own splits, and how many it had."""
    pairs = space.counts.size > 0
    n_kept = count_and_weigh(words, rows, starts, ends, n_splits, pairs, rules.prices.shape[0], groups, space)
    step = solve_fenced(rules, fence, space.counts, groups, n_kept, steps, space.real, space.whole)
    return named(space.whole[KEPT], step), n_kept
