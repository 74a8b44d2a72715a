"""The optimal tree of one or two steps at a node where some pairs of splits are forbidden."""

import numpy as np

from foretree._kernels.exact import (
    BOUND,
    BRANCH,
    CHILD_COST,
    EMPTY,
    KEPT,
    LEAF,
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
from foretree._kernels.steps import (
    Groups,
    Space,
    Step,
    best_step,
    bound_roots,
    cannot_be_beaten,
    leaf_step,
    margin_of,
    next_root,
    separates,
    weigh_pairs,
)  # fmt: skip


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
def _price_branch(
    rules: Rules, fence: Fence, real: np.ndarray, index: np.ndarray, n_splits: int, root: int, side: int,
    steps: int, ordered: bool,
) -> tuple[float, int, float, int]:  # fmt: skip
    """Return what `best_child` does, of the children that the fence allows (of none, where one step is left)."""
    kept = index[KEPT]
    alone = price_children(rules, real, index, n_splits, root, side)
    if not fence.pairs[side, kept[root], kept[root]]:
        alone = np.inf
    if steps < 2:
        for k in range(n_splits):
            real[CHILD_COST, k] = np.inf
    else:
        _forbid_children(fence, real, kept, n_splits, root, side)
        if ordered:
            _forbid_disorder(fence, real, kept, n_splits, root, side)
    return choose_child(rules, real, n_splits, alone)


@inner
def _knows_order(fence: Fence, kept: np.ndarray, n_splits: int) -> bool:
    for k in range(n_splits):
        if fence.signs[kept[k]] != 0:
            return True
    return fence.least > 0 or fence.most < 1


@inner
def solve_fenced(
    rules: Rules, fence: Fence, counts: np.ndarray, groups: Groups, n_splits: int, steps: int, real: np.ndarray,
    index: np.ndarray, single: np.ndarray,
) -> Step:  # fmt: skip
    """Return the optimal allowed tree of one or two steps of the node with these counts and tables.

    What forbids pairs makes no tree cheaper, so that the bounds of `solve_two` are bounds here too.
    """
    leaf = leaf_step(rules, real, np.int64(steps))
    if index[N_ROWS, 0] < rules.min_internal:
        return leaf
    n_classes = rules.prices.shape[0]
    bound_roots(rules, counts, groups, n_splits, real, single)
    weight = weight_in(real[TOTAL], n_classes)
    tolerance = TOLERANCE * weight
    margin = margin_of(rules, groups, weight, np.inf)
    kept, bounds, costs = index[KEPT], real[BOUND], real[ROOT_COST]
    ordered = _knows_order(fence, kept, n_splits)
    for k in range(n_splits):
        costs[k] = np.inf
    best = np.inf
    last = n_splits
    while True:
        root = next_root(bounds, last, best + margin)
        if root == LEAF:
            break
        bounds[root] = np.inf
        if not separates(rules, real, index, root) or not _allows_root(fence, real, kept, root, ordered):
            continue
        weigh_pairs(counts, groups, n_splits, root, n_classes, real, index)
        costs[root] = 0.0
        real[ROOT_GINI, root] = 0.0
        index[EMPTY, root] = 0
        for side in range(2):
            cost, empty, tie, child = _price_branch(
                rules, fence, real, index, n_splits, root, side, steps, ordered
            )
            costs[root] += cost
            real[ROOT_GINI, root] += tie
            index[EMPTY, root] += empty
            real[LOW_COST + side, root] = cost
            index[LOW_CHILD + side, root] = child
        best = min(best, costs[root])
        if cannot_be_beaten(real, index, root, tolerance):
            last = root
    return best_step(real, index, n_splits, leaf, tolerance)


@kernel
def look_fenced(
    words: np.ndarray, rows: np.ndarray, starts: np.ndarray, ends: np.ndarray, n_splits: int, steps: int,
    rules: Rules, fence: Fence, groups: Groups, space: Space,
) -> tuple[Step, int]:  # fmt: skip
    """Return the optimal allowed tree of one or two steps at a node, in the table's own splits, and how many it had."""
    pairs = space.counts.size > 0
    n_kept = count_and_weigh(words, rows, starts, ends, n_splits, pairs, rules.prices.shape[0], groups, space)
    step = solve_fenced(
        rules, fence, space.counts, groups, n_kept, steps, space.real, space.whole, space.single
    )
    return named(space.whole[KEPT], step), n_kept
