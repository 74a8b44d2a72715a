"""The optimal tree of three steps: every root's two sides, solved from one masked count and one subtraction."""

from typing import NamedTuple

import numpy as np

from foretree._kernels.bits import WORD
from foretree._kernels.clock import seconds
from foretree._kernels.exact import (
    BOUND,
    EMPTY,
    GINI,
    GUESS,
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
    weight_in,
)  # fmt: skip
from foretree._kernels.jit import inner, kernel
from foretree._kernels.node import compact, gather, padded
from foretree._kernels.pairs import LANES, add_pairs, clear_pairs
from foretree._kernels.steps import (
    SIZES,
    WORDS,
    Groups,
    Space,
    Step,
    best_step,
    bound_roots,
    cannot_be_beaten,
    leaf_step,
    least_known,
    margin_of,
    next_root,
    separates,
    slack_of,
    solve_two,
    stays_leaf,
    take_diagonal,
    weigh_margins,
)  # fmt: skip

# Places of `clock` behind the two that the clock itself writes.
LATE = 2


class Sides(NamedTuple):
    """The two sides of one root of a three-step tree; the tables are as a node's."""

    counts: np.ndarray  # (2 G, width, width) int32, side 0 first
    ones: np.ndarray  # (G, width) int32
    marks: (
        np.ndarray
    )  # (2, G + 1) int64: where each group of `rows` begins, and the entries of the side at hand
    rows: np.ndarray  # (n_rows + 1,) int32
    real: np.ndarray
    whole: np.ndarray
    clock: np.ndarray  # (3,) int64: the clock's two words, and whether a deadline cut the last search short


@inner
def make_sides(n_rows: int, n_splits: int, n_groups: int, n_classes: int) -> Sides:
    """Allocate for nodes of up to `n_rows` rows and `n_splits` splits."""
    lanes = padded(n_splits)
    wide = max(lanes, padded(n_classes))
    return Sides(
        np.empty((2 * n_groups, lanes, lanes), np.int32),
        np.empty((n_groups, lanes), np.int32),
        np.zeros((2, n_groups + 1), np.int64),
        np.empty(n_rows + 1, np.int32),
        np.empty((ONES + 2 * n_classes, wide), np.float64),
        np.empty((N_INDEX, wide), np.int64),
        np.zeros(3, np.int64),
    )


@kernel
def sides_for(n_rows: int, n_splits: int, n_groups: int, n_classes: int) -> Sides:
    """Allocate as `make_sides` does, for Python."""
    return make_sides(n_rows, n_splits, n_groups, n_classes)


@inner
def _take_side(
    words: np.ndarray, rows: np.ndarray, starts: np.ndarray, ends: np.ndarray, split: int, side: int,
    sides: Sides,
) -> None:  # fmt: skip
    """Copy the node's rows that answer `side` to the split, group by group."""
    word = split // WORD
    bit = np.uint32(split % WORD)
    at = 0
    taken = sides.rows
    for group in range(starts.size):
        sides.marks[WORDS, group] = at
        for place in range(starts[group], ends[group]):
            taken[at] = rows[place]
            at += np.int64((words[rows[place], word] >> bit) & np.uint32(1)) == side
    sides.marks[WORDS, starts.size] = at


@inner
def _count_smaller_side(
    words: np.ndarray, rows: np.ndarray, starts: np.ndarray, ends: np.ndarray, root: int, n_splits: int,
    space: Space, sides: Sides,
) -> int:  # fmt: skip
    """Count the pairs of the side with fewer rows; return which it is."""
    side = 1 if 2 * space.whole[ROWS, root] <= space.whole[N_ROWS, 0] else 0
    _take_side(words, rows, starts, ends, space.whole[KEPT, root], side, sides)
    width = padded(n_splits)
    n_groups = starts.size
    counts = sides.counts[side * n_groups : (side + 1) * n_groups]
    clear_pairs(counts, n_splits, width)
    begin = np.int64(0)  # a literal would compile the callees once more
    step = space.columns.shape[0] * WORD
    first_of = sides.marks[WORDS]
    for group in range(n_groups):
        for first in range(first_of[group], first_of[group + 1], step):
            last = min(first + step, first_of[group + 1])
            at = gather(words, sides.rows, first, last, space.columns, begin)
            compact(space.columns, at, space.whole[KEPT], n_splits)
            add_pairs(space.columns, begin, at, n_splits, width, counts[group])
    return side


@inner
def _subtract_side(whole: np.ndarray, n_splits: int, side: int, counts: np.ndarray) -> None:
    """Write to the other side's half of counts (2 G, ., .) what `whole` has beyond the given side's."""
    width = padded(n_splits)
    n_groups = whole.shape[0]
    for group in range(n_groups):
        for split in range(n_splits):
            start = split - split % LANES
            minuend = whole[group, split, start:width]
            subtrahend = counts[side * n_groups + group, split, start:width]
            rest = counts[(1 - side) * n_groups + group, split, start:width]
            for k in range(rest.size):
                rest[k] = minuend[k] - subtrahend[k]


@inner
def _weigh_side(
    side: int, counted: int, starts: np.ndarray, ends: np.ndarray, groups: Groups, n_splits: int, n_classes: int,
    sides: Sides,
) -> np.ndarray:  # fmt: skip
    """Fill the tables of one side from the diagonal of its pair counts, which are returned."""
    n_groups = starts.size
    for group in range(n_groups):
        entries = sides.marks[WORDS, group + 1] - sides.marks[WORDS, group]
        whole = ends[group] - starts[group]
        sides.marks[SIZES, group] = entries if side == counted else whole - entries
    counts = sides.counts[side * n_groups : (side + 1) * n_groups]
    take_diagonal(counts, n_splits, sides.ones)
    weigh_margins(sides.ones, sides.marks[SIZES], groups, n_splits, n_classes, sides.real, sides.whole)
    return counts


@inner
def _most_per_weight(rules: Rules) -> float:
    """Return the most that one unit of weight adds to a tree's loss, or infinity where nothing is known."""
    if rules.loss == MISCLASSIFICATION:
        return 1.0
    return 2.0 if rules.loss == GINI else np.inf


@inner
def _is_free(rules: Rules) -> bool:
    """Tell whether every split that separates rows may be made, so that bounds of two steps are attained."""
    return rules.min_leaf <= 1 and rules.min_internal <= 2 and rules.min_weight == 0


@inner
def _trust_bound(real: np.ndarray, index: np.ndarray, root: int) -> None:
    """Take one root's bound for its cost, which decides no ties and says nothing of its children."""
    real[ROOT_COST, root] = np.rint(real[BOUND, root])
    real[ROOT_GINI, root] = 0.0
    real[LOW_COST, root] = 0.0
    real[HIGH_COST, root] = 0.0
    index[EMPTY, root] = 0
    index[LOW_CHILD, root] = LEAF
    index[HIGH_CHILD, root] = LEAF


@inner
def _score_root(
    words: np.ndarray, rows: np.ndarray, starts: np.ndarray, ends: np.ndarray, root: int, n_splits: int, rules: Rules,
    groups: Groups, space: Space, sides: Sides, upper: float,
) -> None:  # fmt: skip
    """Solve both sides of one root as `solve_two` does and write what they cost to the node's tables."""
    real, index = space.real, space.whole
    n_classes = rules.prices.shape[0]
    side = _count_smaller_side(words, rows, starts, ends, root, n_splits, space, sides)
    _subtract_side(space.counts, n_splits, side, sides.counts)
    real[ROOT_COST, root] = 0.0
    real[ROOT_GINI, root] = 0.0
    index[EMPTY, root] = 0
    for answer in range(2):
        counts = _weigh_side(answer, side, starts, ends, groups, n_splits, n_classes, sides)
        step = solve_two(rules, None, counts, groups, n_splits, sides.real, sides.whole, space.single, upper)
        real[ROOT_COST, root] += step.cost
        real[ROOT_GINI, root] += step.gini
        index[EMPTY, root] += step.empty
        real[LOW_COST + answer, root] = step.cost
        index[LOW_CHILD + answer, root] = step.root


@inner
def _bound_side(
    answer: int, counted: int, starts: np.ndarray, ends: np.ndarray, groups: Groups, n_splits: int, rules: Rules,
    space: Space, sides: Sides,
) -> float:  # fmt: skip
    """Return a lower bound of the two-step loss of one side of the root whose side `counted` is counted."""
    if answer != counted:
        _subtract_side(space.counts, n_splits, counted, sides.counts)
    counts = _weigh_side(answer, counted, starts, ends, groups, n_splits, rules.prices.shape[0], sides)
    return bound_roots(rules, counts, groups, n_splits, sides.real, space.single)


@inner
def _bound_three(
    words: np.ndarray, rows: np.ndarray, starts: np.ndarray, ends: np.ndarray, n_splits: int, rules: Rules,
    groups: Groups, space: Space, sides: Sides, upper: float, deadline: float,
) -> int:  # fmt: skip
    """Write a lower bound of each root's three-step loss to BOUND of the node, the likeliest roots first.

    Rows that a root takes away from its larger side lower that side's two-step loss by no more than
    they can cost: loss(larger side) >= loss(node) - most * weight(smaller side). A root that seems to
    cost nothing is scored at once: where nothing can beat it, only the roots before it, whose number is
    returned, are still of interest.
    """
    n_classes = rules.prices.shape[0]
    real, index = space.real, space.whole
    two_steps = bound_roots(rules, space.counts, groups, n_splits, real, space.single)
    guesses, bounds = real[GUESS], real[BOUND]
    for k in range(n_splits):
        guesses[k] = bounds[k]
        bounds[k] = np.inf
        real[ROOT_COST, k] = np.inf
    total = weight_in(real[TOTAL], n_classes)
    slack, margin = slack_of(rules, groups, total), margin_of(rules, groups, total, upper)
    most = _most_per_weight(rules)
    free = _is_free(rules)
    exact = free and margin < 0
    best = least_known(upper, margin)
    sides.clock[LATE] = 0
    last = n_splits
    while True:
        root = next_root(guesses, last, np.inf)
        if root == LEAF:
            break
        guesses[root] = np.inf
        if not separates(rules, real, index, root):
            continue
        if deadline < np.inf and seconds(sides.clock) > deadline:
            sides.clock[LATE] = 1
            break
        if two_steps == -np.inf:
            bounds[root] = -np.inf
            continue
        weight = 0.0
        for c in range(n_classes):
            weight += real[ONES + c, root]
        lost = two_steps - most * min(weight, total - weight)
        if lost > best + margin:
            continue
        side = _count_smaller_side(words, rows, starts, ends, root, n_splits, space, sides)
        # The larger side costs most: where nothing is known of it, it alone rules out most roots.
        answer, other = (side, max(lost, 0.0)) if lost > 0 else (1 - side, 0.0)
        first = _bound_side(answer, side, starts, ends, groups, n_splits, rules, space, sides)
        if first + other > best + margin:
            continue
        second = _bound_side(1 - answer, side, starts, ends, groups, n_splits, rules, space, sides)
        bounds[root] = first + second
        if free:
            best = min(best, first + second)
        if bounds[root] <= slack and not exact:
            bounds[root] = np.inf
            _score_root(words, rows, starts, ends, root, n_splits, rules, groups, space, sides, upper)
            best = min(best, real[ROOT_COST, root])
            if cannot_be_beaten(real, index, root, TOLERANCE * total):
                last = root
    return last


@inner
def solve_three(
    words: np.ndarray, rows: np.ndarray, starts: np.ndarray, ends: np.ndarray, n_splits: int, rules: Rules,
    groups: Groups, space: Space, sides: Sides, upper: float, deadline: float,
) -> Step:  # fmt: skip
    """Return the optimal three-step tree of the node counted in `space`.

    With a finite `upper`, any tree that costs the least, or any at all where none costs less than `upper`.
    """
    real, index = space.real, space.whole
    leaf = leaf_step(rules, real, np.int64(3))
    if stays_leaf(rules, leaf, index):
        return leaf
    last = _bound_three(words, rows, starts, ends, n_splits, rules, groups, space, sides, upper, deadline)
    weight = weight_in(real[TOTAL], rules.prices.shape[0])
    tolerance = TOLERANCE * weight
    margin = margin_of(rules, groups, weight, upper)
    best = least_known(upper, margin)
    for k in range(n_splits):
        best = min(best, real[ROOT_COST, k])
    if margin < 0 and _is_free(rules):
        root = next_root(real[BOUND], last, best + margin)
        if root != LEAF:
            _trust_bound(real, index, root)
            best = real[ROOT_COST, root]
    while True:
        root = next_root(real[BOUND], last, best + margin)
        if root == LEAF:
            break
        if deadline < np.inf and real[BOUND, root] == -np.inf and seconds(sides.clock) > deadline:
            sides.clock[LATE] = 1
            break
        real[BOUND, root] = np.inf
        limit = best if upper < np.inf else np.inf
        _score_root(words, rows, starts, ends, root, n_splits, rules, groups, space, sides, limit)
        best = min(best, real[ROOT_COST, root])
        if cannot_be_beaten(real, index, root, tolerance):
            last = root
    three = best_step(real, index, n_splits, leaf, tolerance)
    if sides.clock[LATE]:
        # Two steps are at hand in any case, and may be better than the three-step roots that were reached.
        two = solve_two(rules, None, space.counts, groups, n_splits, real, index, space.single, np.inf)
        return two if two.cost < three.cost - tolerance else three
    return three
