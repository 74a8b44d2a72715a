"""The optimal tree of one or two steps at one node."""

from typing import NamedTuple

import numpy as np

from foretree._kernels import screen
from foretree._kernels.bits import WORD
from foretree._kernels.exact import (
    AGAIN,
    BOTH_ROWS,
    BOUND,
    CELL_HIGH,
    CELL_LOW,
    EMPTY,
    GINI,
    HIGH_CHILD,
    HIGH_COST,
    KEPT,
    LEAF,
    LOW_CHILD,
    LOW_COST,
    MISCLASSIFICATION,
    N_INDEX,
    N_ROWS,
    ONES,
    ROOT_COST,
    ROOT_GINI,
    ROWS,
    TOLERANCE,
    TOTAL,
    Rules,
    best_child,
    best_root,
    leaf_loss,
    tie_gini,
    weight_in,
)  # fmt: skip
from foretree._kernels.fences import Fence, allows_root, best_allowed_child, knows_order
from foretree._kernels.jit import inner
from foretree._kernels.node import (
    add_ones,
    compact,
    gather,
    keep_distinct,
    keep_splitting,
    padded,
)  # fmt: skip
from foretree._kernels.pairs import LANES, add_pairs, clear_pairs
from foretree._kernels.screen import FAR, lower_row

# Nodes of more words are counted in passes of this many, so that memory stays small and columns cached.
CHUNK_WORDS = 2048
# The lower bounds are float32 sums: what they may lack of the true loss, as a share of the weight.
_SLACK = 4e-6
# The same where losses are whole numbers, and so are their bounds.
_WHOLE_SLACK = 0.25
# Rows of `marks`: the word at which each group begins, and its entries.
WORDS, SIZES = range(2)


class Groups(NamedTuple):
    """Rows of one class and one weight are a group; its rows stand together."""

    classes: np.ndarray  # (G,) int64
    weights: np.ndarray  # (G,) float64, class weights included
    sizes: np.ndarray  # (G,) int64, the rows that one entry stands for


class Space(NamedTuple):
    """The arrays one grower works in; `exact` names the rows of real and whole, `screen` those of single."""

    columns: np.ndarray  # (words, width) uint32
    marks: np.ndarray  # (2, G + 1) int64
    ones: np.ndarray  # (G, width) int32
    counts: np.ndarray  # (G, width, width) int32
    real: np.ndarray  # float64
    whole: np.ndarray  # int64
    single: np.ndarray  # float32
    keep_twins: bool  # whether equal and complementary splits all stand, which a fence may tell apart


class Step(NamedTuple):
    """The best tree of a node: its loss, empty leaves and Gini, its first splits, and their branches' losses."""

    cost: float
    empty: int
    gini: float
    root: int
    low: int
    high: int
    low_cost: float
    high_cost: float


@inner
def make_space(
    n_words: int, n_splits: int, n_groups: int, n_classes: int, lanes: int, keep_twins: bool
) -> Space:
    """Allocate for passes of up to `n_words` words; `lanes` is the width of pair counts, 0 for none."""
    width = padded((n_splits + WORD - 1) // WORD * WORD)
    wide = max(width, padded(n_classes))
    return Space(
        np.empty((n_words, width), np.uint32),
        np.zeros((2, n_groups + 1), np.int64),
        np.empty((n_groups, width), np.int32),
        np.empty((n_groups, lanes, lanes), np.int32),
        np.empty((ONES + 2 * n_classes, wide), np.float64),
        np.empty((N_INDEX, wide), np.int64),
        np.empty((screen.ONES + 2 * n_classes, wide), np.float32),
        keep_twins,
    )


@inner
def words_of(starts: np.ndarray, ends: np.ndarray) -> int:
    """Return how many words the groups starts[g]:ends[g] take as columns."""
    total = 0
    for group in range(starts.size):
        total += (ends[group] - starts[group] + WORD - 1) // WORD
    return total


@inner
def _clear_ones(ones: np.ndarray) -> None:
    for group in range(ones.shape[0]):
        row = ones[group]
        for k in range(row.size):
            row[k] = 0


@inner
def _load_node(
    words: np.ndarray, rows: np.ndarray, starts: np.ndarray, ends: np.ndarray, n_splits: int, space: Space
) -> int:
    """Gather a node that fits in one pass; keep and count the splits that part it; return their number."""
    at = entries = np.int64(0)  # literals would compile the callees once more
    n_groups = starts.size
    marks, columns, ones = space.marks, space.columns, space.ones
    for group in range(n_groups):
        marks[WORDS, group] = at
        at = gather(words, rows, starts[group], ends[group], columns, at)
        marks[SIZES, group] = ends[group] - starts[group]
        entries += marks[SIZES, group]
    marks[WORDS, n_groups] = at
    _clear_ones(ones)
    for group in range(n_groups):
        add_ones(columns, marks[WORDS, group], marks[WORDS, group + 1], ones[group])
    kept, again = space.whole[KEPT], space.whole[AGAIN]
    n_kept = keep_splitting(ones, entries, n_splits, kept)
    compact(columns, at, kept, n_kept)
    if not space.keep_twins:
        n_distinct = keep_distinct(columns, marks[WORDS], marks[SIZES], n_groups, n_kept, again)
        if n_distinct < n_kept:
            compact(columns, at, again, n_distinct)
            for k in range(n_distinct):
                kept[k] = kept[again[k]]
            n_kept = n_distinct
    for group in range(n_groups):
        for k in range(n_kept):
            ones[group, k] = ones[group, kept[k]]
    return n_kept


@inner
def _count_in_passes(
    words: np.ndarray, rows: np.ndarray, starts: np.ndarray, ends: np.ndarray, n_splits: int, pairs: bool,
    space: Space,
) -> None:  # fmt: skip
    """Count all splits of a node, or all their pairs, a pass of rows at a time."""
    width = padded(n_splits)
    columns, ones, counts = space.columns, space.ones, space.counts
    _clear_ones(ones)
    if pairs:
        clear_pairs(counts, n_splits, width)
    start = np.int64(0)  # a literal would compile the callees once more
    step = columns.shape[0] * WORD
    for group in range(starts.size):
        for first in range(starts[group], ends[group], step):
            at = gather(words, rows, first, min(first + step, ends[group]), columns, start)
            if pairs:
                add_pairs(columns, start, at, n_splits, width, counts[group])
            else:
                add_ones(columns, start, at, ones[group])
    if pairs:
        take_diagonal(counts, n_splits, ones)
    for k in range(n_splits):
        space.whole[KEPT, k] = k


@inner
def take_diagonal(counts: np.ndarray, n_splits: int, ones: np.ndarray) -> None:
    """Copy what each split has alone from the pair counts (G, ., .)."""
    for group in range(ones.shape[0]):
        for k in range(n_splits):
            ones[group, k] = counts[group, k, k]


@inner
def count_node(
    words: np.ndarray, rows: np.ndarray, starts: np.ndarray, ends: np.ndarray, n_splits: int, pairs: bool,
    space: Space,
) -> int:  # fmt: skip
    """Fill ones, KEPT and, where `pairs`, counts with what splits the node; return how many splits do."""
    if words_of(starts, ends) > space.columns.shape[0]:
        _count_in_passes(words, rows, starts, ends, n_splits, pairs, space)
        return n_splits
    n_kept = _load_node(words, rows, starts, ends, n_splits, space)
    if pairs:
        width = padded(n_kept)
        marks, counts = space.marks, space.counts
        clear_pairs(counts, n_kept, width)
        for group in range(starts.size):
            first, last = marks[WORDS, group], marks[WORDS, group + 1]
            add_pairs(space.columns, first, last, n_kept, width, counts[group])
    return n_kept


@inner
def weigh_margins(
    ones: np.ndarray, sizes: np.ndarray, groups: Groups, n_splits: int, n_classes: int, real: np.ndarray,
    index: np.ndarray,
) -> None:  # fmt: skip
    """Turn ones[g, k] and the groups' entries into class weights and rows."""
    for c in range(n_classes):
        real[TOTAL, c] = 0.0
        row = real[ONES + c]
        for k in range(n_splits):
            row[k] = 0.0
    index[N_ROWS, 0] = 0
    rows = index[ROWS]
    for k in range(n_splits):
        rows[k] = 0
    for group in range(groups.classes.size):
        c = groups.classes[group]
        weight = groups.weights[group]
        size = groups.sizes[group]
        real[TOTAL, c] += weight * sizes[group]
        index[N_ROWS, 0] += size * sizes[group]
        row = real[ONES + c]
        mine = ones[group]
        for k in range(n_splits):
            row[k] += weight * mine[k]
            rows[k] += size * mine[k]


@inner
def _weigh_pairs(
    counts: np.ndarray, groups: Groups, n_splits: int, root: int, n_classes: int, real: np.ndarray,
    index: np.ndarray,
) -> None:  # fmt: skip
    """Write the class weights and rows of `root` with every split, from the upper triangle of counts."""
    rows = index[BOTH_ROWS]
    for k in range(n_splits):
        rows[k] = 0
    first = ONES + n_classes
    for c in range(n_classes):
        row = real[first + c]
        for k in range(n_splits):
            row[k] = 0.0
    for group in range(groups.classes.size):
        row = real[first + groups.classes[group]]
        weight = groups.weights[group]
        size = groups.sizes[group]
        table = counts[group]
        for k in range(root):
            row[k] += weight * table[k, root]
            rows[k] += size * table[k, root]
        mine = table[root]
        for k in range(root, n_splits):
            row[k] += weight * mine[k]
            rows[k] += size * mine[k]


@inner
def bound_roots(
    rules: Rules, counts: np.ndarray, groups: Groups, n_splits: int, real: np.ndarray, single: np.ndarray
) -> float:
    """Write a lower bound of each root's two-step loss to BOUND of the table `real`; return the least."""
    bounds = real[BOUND]
    gini = rules.loss == GINI
    known = gini or rules.loss == MISCLASSIFICATION
    if not known or weight_in(real[TOTAL], rules.prices.shape[0]) <= 0:
        for k in range(n_splits):
            bounds[k] = -np.inf
        return -np.inf
    n_classes = rules.prices.shape[0]
    width = padded(n_splits)
    low, high = single[screen.LOW], single[screen.HIGH]
    for k in range(width):
        low[k] = FAR
        high[k] = FAR
    # A power of two brings the node's weight to 1 to 2, which rounds nothing and keeps products of weights in range.
    unit = 1.0
    total = weight_in(real[TOTAL], n_classes)
    while total * unit >= 2:
        unit *= 0.5
    while total * unit < 1:
        unit *= 2
    for c in range(n_classes):
        single[screen.TOTAL, c] = unit * real[TOTAL, c]
        ones = single[screen.ONES + c]
        for k in range(n_splits):
            ones[k] = unit * real[ONES + c, k]
        for k in range(n_splits, width):
            ones[k] = 0
    plain = groups.classes.size == n_classes
    for group in range(groups.classes.size):
        plain = plain and groups.classes[group] == group
    both = screen.ONES + n_classes
    for split in range(n_splits):
        start = split - split % LANES
        if not plain:
            for c in range(n_classes):
                out = single[both + c, start:width]
                for k in range(out.size):
                    out[k] = 0
        for group in range(groups.classes.size):
            out = single[both + groups.classes[group], start:width]
            mine = counts[group, split, start:width]
            weight = np.float32(unit * groups.weights[group])
            if plain:
                for k in range(out.size):
                    out[k] = weight * np.float32(mine[k])
            else:
                for k in range(out.size):
                    out[k] += weight * np.float32(mine[k])
        lower_row(gini, single, n_classes, split, width)
    scale = (2.0 if gini and n_classes == 2 else 1.0) / unit
    least = np.inf
    for split in range(n_splits):
        bounds[split] = scale * (np.float64(low[split]) + np.float64(high[split]))
        least = min(least, bounds[split])
    return least


@inner
def slack_of(rules: Rules, groups: Groups, weight: float) -> float:
    """Return what a lower bound may exceed the least loss by and still belong to the best root."""
    if rules.loss == MISCLASSIFICATION and weight < 2**23:
        whole = True
        for group in range(groups.weights.size):
            whole = whole and groups.weights[group] == 1.0
        if whole:
            return _WHOLE_SLACK
    return _SLACK * weight


@inner
def margin_of(rules: Rules, groups: Groups, weight: float, upper: float) -> float:
    """Return what a bound may exceed the least loss known by and still be of interest.

    Below a finite `upper` only a lower loss is, not an equal one: of whole numbers, lower by 1.
    """
    slack = slack_of(rules, groups, weight)
    return -0.5 if upper < np.inf and slack == _WHOLE_SLACK else slack


@inner
def least_known(upper: float, margin: float) -> float:
    """Return the loss that trees must be below, a whole number where losses are."""
    return np.ceil(upper) if margin < 0 else upper


@inner
def leaf_step(rules: Rules, real: np.ndarray, steps: int) -> Step:
    """Return the node as a leaf; all but one of the 2**steps leaves it might have had are empty.

    Of a node that costs nothing none are: it needs no more leaves than one.
    """
    cost = leaf_loss(rules, real[TOTAL])
    gini = tie_gini(rules, real[TOTAL])
    free = cost <= TOLERANCE * weight_in(real[TOTAL], rules.prices.shape[0])
    return Step(cost, 0 if free else 2**steps - 1, gini, LEAF, LEAF, LEAF, 0.0, 0.0)


@inner
def stays_leaf(rules: Rules, leaf: Step, index: np.ndarray) -> bool:
    """Tell whether no look need be taken at a node: it costs nothing, or has too few rows to be split."""
    return leaf.empty == 0 or index[N_ROWS, 0] < rules.min_internal


@inner
def separates(rules: Rules, real: np.ndarray, index: np.ndarray, split: int) -> bool:
    """Tell whether the split leaves enough rows and weight on both sides."""
    ones = index[ROWS, split]
    zeros = index[N_ROWS, 0] - ones
    if rules.min_weight > 0:
        n_classes = rules.prices.shape[0]
        high = 0.0
        for c in range(n_classes):
            high += real[ONES + c, split]
        if high < rules.min_weight or weight_in(real[TOTAL], n_classes) - high < rules.min_weight:
            return False
    return ones > 0 and zeros > 0 and ones >= rules.min_leaf and zeros >= rules.min_leaf


@inner
def best_step(real: np.ndarray, index: np.ndarray, n_splits: int, leaf: Step, tolerance: float) -> Step:
    """Return the best scored root as a Step, or `leaf` where none is feasible or it costs less."""
    root = best_root(real, index, n_splits, tolerance)
    if root == LEAF or real[ROOT_COST, root] > leaf.cost + tolerance:
        return leaf
    return Step(
        real[ROOT_COST, root], index[EMPTY, root], real[ROOT_GINI, root], root, index[LOW_CHILD, root],
        index[HIGH_CHILD, root], real[LOW_COST, root], real[HIGH_COST, root],
    )  # fmt: skip


@inner
def solve_one(rules: Rules, n_splits: int, real: np.ndarray, index: np.ndarray) -> Step:
    """Return the best single split of the node in the tables."""
    leaf = leaf_step(rules, real, np.int64(1))
    if stays_leaf(rules, leaf, index):
        return leaf
    n_classes = rules.prices.shape[0]
    low, high = real[CELL_LOW], real[CELL_HIGH]
    for root in range(n_splits):
        real[ROOT_COST, root] = np.inf
        if not separates(rules, real, index, root):
            continue
        for c in range(n_classes):
            high[c] = real[ONES + c, root]
            low[c] = real[TOTAL, c] - high[c]
        real[LOW_COST, root] = leaf_loss(rules, low)
        real[HIGH_COST, root] = leaf_loss(rules, high)
        real[ROOT_COST, root] = real[LOW_COST, root] + real[HIGH_COST, root]
        real[ROOT_GINI, root] = tie_gini(rules, low) + tie_gini(rules, high)
        index[EMPTY, root] = 0
        index[LOW_CHILD, root] = LEAF
        index[HIGH_CHILD, root] = LEAF
    return best_step(real, index, n_splits, leaf, TOLERANCE * weight_in(real[TOTAL], n_classes))


@inner
def next_root(bounds: np.ndarray, n_splits: int, most: float) -> int:
    """Return the root with the least bound (the first of equals), or LEAF when that exceeds `most`."""
    least = np.inf
    root = LEAF
    for j in range(n_splits):
        if bounds[j] < least:
            least = bounds[j]
            root = j
    return root if least <= most else LEAF


@inner
def cannot_be_beaten(real: np.ndarray, index: np.ndarray, root: int, tolerance: float) -> bool:
    """Tell whether a scored root costs nothing: of the roots that do, the smallest wins."""
    free = real[ROOT_COST, root] <= tolerance and real[ROOT_GINI, root] <= tolerance
    return free and index[EMPTY, root] == 0


@inner
def solve_two(
    rules: Rules, fence: Fence | None, counts: np.ndarray, groups: Groups, n_splits: int, real: np.ndarray,
    index: np.ndarray, single: np.ndarray, upper: float,
) -> Step:  # fmt: skip
    """Return the optimal two-step tree of the node with these counts and tables (eq. (1), in closed form).

    With a finite `upper`, any tree that costs the least, or any at all where none costs less than `upper`. A fence
    makes no tree cheaper, so that bounds stay bounds; without one, Numba leaves out what it guards.
    """
    leaf = leaf_step(rules, real, np.int64(2))
    if stays_leaf(rules, leaf, index):
        return leaf
    n_classes = rules.prices.shape[0]
    bound_roots(rules, counts, groups, n_splits, real, single)
    weight = weight_in(real[TOTAL], n_classes)
    tolerance = TOLERANCE * weight
    margin = margin_of(rules, groups, weight, upper)
    bounds, costs = real[BOUND], real[ROOT_COST]
    for k in range(n_splits):
        costs[k] = np.inf
    if fence is not None:
        ordered = knows_order(fence, index[KEPT], n_splits)
    best = least_known(upper, margin)
    last = n_splits
    while True:
        root = next_root(bounds, last, best + margin)
        if root == LEAF:
            break
        bounds[root] = np.inf
        if not separates(rules, real, index, root):
            continue
        # Numba leaves out what `fence is not None` guards alone.
        if fence is not None:  # noqa: SIM102
            if not allows_root(fence, real, index[KEPT], root, ordered):
                continue
        _weigh_pairs(counts, groups, n_splits, root, n_classes, real, index)
        costs[root] = 0.0
        real[ROOT_GINI, root] = 0.0
        index[EMPTY, root] = 0
        for side in range(2):
            if fence is not None:
                cost, empty, tie, child = best_allowed_child(
                    rules, fence, real, index, n_splits, root, side, ordered
                )
            else:
                cost, empty, tie, child = best_child(rules, real, index, n_splits, root, side)
            costs[root] += cost
            real[ROOT_GINI, root] += tie
            index[EMPTY, root] += empty
            real[LOW_COST + side, root] = cost
            index[LOW_CHILD + side, root] = child
        best = min(best, costs[root])
        if cannot_be_beaten(real, index, root, tolerance):
            last = root
    return best_step(real, index, n_splits, leaf, tolerance)
