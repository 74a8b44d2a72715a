"""The rolling tree in one kernel: for rows in memory, built-in losses and up to three steps of lookahead."""

import numpy as np

from foretree._kernels.clock import seconds
from foretree._kernels.exact import BOUND, KEPT, LEAF, ONES, TOLERANCE, Rules, leaf_loss
from foretree._kernels.fences import Fence
from foretree._kernels.jit import inner, kernel
from foretree._kernels.node import padded, split_rows
from foretree._kernels.steps import (
    CHUNK_WORDS,
    SIZES,
    Groups,
    Space,
    Step,
    bound_roots,
    count_node,
    make_space,
    separates,
    solve_one,
    solve_two,
    weigh_margins,
    words_of,
)  # fmt: skip
from foretree._kernels.three import Sides, make_sides, solve_three

# Columns of the two tables a grown tree comes in.
SPLIT, LOW, HIGH, ROWS, SPLITS_SEEN, STEPS, N_WHOLE = range(7)
LOSS, PLANNED, SECONDS, WEIGHTS = range(4)
# What a waiting node carries: who its parent is, which side, its level, its split if planned already, how many steps
# it may look ahead, and then where each group of its rows begins and ends.
_PARENT, _SIDE, _LEVEL, _KNOWN, _REACH, _ENTRY = range(6)
_UNKNOWN = -2


@inner
def _stops(rules: Rules, leaf: float, planned: float, tolerance: float) -> bool:
    """Tell whether a node of loss `leaf` stays a leaf though a plan of loss `planned` exists."""
    if rules.stop_without_gain and planned >= leaf - tolerance:
        return True
    return rules.min_decrease > 0 and leaf - planned < rules.min_decrease - tolerance


@inner
def _is_pure(totals: np.ndarray) -> bool:
    present = 0
    for c in range(totals.size):
        present += totals[c] > 0
    return present <= 1


@inner
def _count_and_weigh(
    words: np.ndarray, rows: np.ndarray, starts: np.ndarray, ends: np.ndarray, n_splits: int, pairs: bool,
    n_classes: int, groups: Groups, space: Space,
) -> int:  # fmt: skip
    """Fill the tables of a node with what its splits have alone, and counts with their pairs; the number of splits."""
    n_kept = count_node(words, rows, starts, ends, n_splits, pairs, space)
    for group in range(starts.size):
        space.marks[SIZES, group] = ends[group] - starts[group]
    weigh_margins(space.ones, space.marks[SIZES], groups, n_kept, n_classes, space.real, space.whole)
    return n_kept


@inner
def _named(kept: np.ndarray, step: Step) -> Step:
    """Return the step in the table's own splits."""
    root = kept[step.root] if step.root >= 0 else LEAF
    low = kept[step.low] if step.low >= 0 else LEAF
    high = kept[step.high] if step.high >= 0 else LEAF
    return Step(step.cost, step.empty, step.gini, root, low, high, step.low_cost, step.high_cost)


@inner
def _look_two(
    words: np.ndarray, rows: np.ndarray, starts: np.ndarray, ends: np.ndarray, n_splits: int, steps: int,
    rules: Rules, fence: Fence | None, groups: Groups, space: Space,
) -> tuple[Step, int]:  # fmt: skip
    """Return the optimal tree of one or two steps at a node, in the table's own splits, and how many it had.

    Below a fence single splits are pairs whose children all stay leaves, as the fence then says.
    """
    pairs = steps > 1
    if fence is not None:
        pairs = space.counts.size > 0
    n_kept = _count_and_weigh(
        words, rows, starts, ends, n_splits, pairs, rules.prices.shape[0], groups, space
    )
    if pairs:
        step = solve_two(
            rules, fence, space.counts, groups, n_kept, space.real, space.whole, space.single, np.inf
        )
    else:
        step = solve_one(rules, n_kept, space.real, space.whole)
    return _named(space.whole[KEPT], step), n_kept


@inner
def _look_three(
    words: np.ndarray, rows: np.ndarray, starts: np.ndarray, ends: np.ndarray, n_splits: int, rules: Rules,
    groups: Groups, space: Space, sides: Sides, upper: float, deadline: float,
) -> tuple[Step, int]:  # fmt: skip
    """Return the optimal tree of three steps at a node, in the table's own splits, and how many it had.

    Trees that cost no less than `upper` may be left out; where it is finite, equal trees are not decided between
    and any of the cheapest is returned. The deadline (in seconds of the kernels'
    clock) may cut the search short, which sides.clock[LATE] then tells.
    """
    pairs = space.counts.size > 0  # always, but a literal would compile the callees once more
    n_kept = _count_and_weigh(
        words, rows, starts, ends, n_splits, pairs, rules.prices.shape[0], groups, space
    )
    step = solve_three(words, rows, starts, ends, n_kept, rules, groups, space, sides, upper, deadline)
    return _named(space.whole[KEPT], step), n_kept


@kernel
def survey(
    words: np.ndarray, rows: np.ndarray, starts: np.ndarray, ends: np.ndarray, n_splits: int, rules: Rules,
    groups: Groups, space: Space,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Return the splits that may be a node's root, a lower bound of each one's two-step loss, and its weight."""
    real, index = space.real, space.whole
    n_classes = rules.prices.shape[0]
    pairs = space.counts.size > 0  # as in _look_three
    n_kept = _count_and_weigh(words, rows, starts, ends, n_splits, pairs, n_classes, groups, space)
    bound_roots(rules, space.counts, groups, n_kept, real, space.single)
    splits = np.empty(n_kept, np.int64)
    bounds = np.empty(n_kept)
    weights = np.zeros(n_kept)
    found = 0
    for k in range(n_kept):
        if separates(rules, real, index, k):
            splits[found] = index[KEPT, k]
            bounds[found] = real[BOUND, k]
            for c in range(n_classes):
                weights[found] += real[ONES + c, k]
            found += 1
    return splits[:found], bounds[:found], weights[:found]


@inner
def _workspace(
    starts: np.ndarray, ends: np.ndarray, n_splits: int, n_classes: int, pairs: bool, keep_twins: bool
) -> Space:
    """Allocate for nodes of the rows grouped at starts:ends (G,), with pair counts or without."""
    n_words = min(words_of(starts, ends), CHUNK_WORDS)
    lanes = padded(n_splits) if pairs else 0
    return make_space(n_words, n_splits, starts.size, n_classes, lanes, keep_twins)


@inner
def _longer_whole(table: np.ndarray) -> np.ndarray:
    out = np.empty((2 * table.shape[0], table.shape[1]), np.int64)
    for row in range(table.shape[0]):
        for column in range(table.shape[1]):
            out[row, column] = table[row, column]
    return out


@inner
def _longer_real(table: np.ndarray) -> np.ndarray:
    out = np.empty((2 * table.shape[0], table.shape[1]), np.float64)
    for row in range(table.shape[0]):
        for column in range(table.shape[1]):
            out[row, column] = table[row, column]
    return out


@inner
def _weigh_node(
    first: np.ndarray, last: np.ndarray, rules: Rules, groups: Groups, whole: np.ndarray, real: np.ndarray
) -> None:
    """Write a node's record as a leaf: its class weights, rows and loss."""
    totals = real[WEIGHTS:]
    for c in range(totals.size):
        totals[c] = 0.0
    size = 0
    for group in range(first.size):
        entries = last[group] - first[group]
        totals[groups.classes[group]] += groups.weights[group] * entries
        size += groups.sizes[group] * entries
    whole[SPLIT] = LEAF
    whole[LOW] = LEAF
    whole[HIGH] = LEAF
    whole[ROWS] = size
    whole[SPLITS_SEEN] = 0
    whole[STEPS] = 0
    real[LOSS] = leaf_loss(rules, totals)
    real[PLANNED] = real[LOSS]
    real[SECONDS] = 0.0


@inner
def _wait(
    child: np.ndarray, node: int, side: int, level: int, known: int, reach: int, first: np.ndarray,
    last: np.ndarray,
) -> None:  # fmt: skip
    """Fill the entry of a waiting node."""
    child[_PARENT] = node
    child[_SIDE] = side
    child[_LEVEL] = level
    child[_KNOWN] = known
    child[_REACH] = reach
    for group in range(first.size):
        child[_ENTRY + group] = first[group]
        child[_ENTRY + first.size + group] = last[group]


@kernel
def grow_tree(
    words: np.ndarray, n_splits: int, rows: np.ndarray, starts: np.ndarray, ends: np.ndarray, groups: Groups,
    rules: Rules, max_depth: int, lookahead: int, reach: int, third: bool | None,
) -> tuple[np.ndarray, np.ndarray, int]:  # fmt: skip
    """Grow a tree over words (n_rows, n_words); rows holds group g at starts[g]:ends[g] and is reordered.

    The root looks `reach` steps ahead at most, and so does a child whose plan costs nothing: only parents of impure
    leaves are solved anew (Algorithm 1).

    `third` is None where the lookahead is below three: then Numba compiles without the third step,
    in half the time.

    Returns the nodes in preorder as integers (., 6) and floats (., 3 + C), and how many there are.
    """
    n_groups, n_classes = groups.classes.size, rules.prices.shape[0]
    keep_twins = lookahead < 1  # never, but a literal would compile the callees once more
    space = _workspace(starts, ends, n_splits, n_classes, lookahead > 1, keep_twins)
    if third is not None:
        sides = make_sides(rows.size, n_splits, n_groups, n_classes)
    scratch = np.empty(rows.size, np.int32)
    clock = np.empty(2, np.int64)
    whole = np.empty((64, N_WHOLE), np.int64)
    real = np.empty((64, WEIGHTS + n_classes), np.float64)
    depth = min(max_depth, n_splits, rows.size)
    waiting = np.empty((depth + 2, _ENTRY + 2 * n_groups), np.int64)
    known_costs = np.empty(depth + 2, np.float64)
    first, last, middle = (
        np.empty(n_groups, np.int64),
        np.empty(n_groups, np.int64),
        np.empty(n_groups, np.int64),
    )
    n_waiting, n_nodes = 1, 0
    top = np.int64(0)  # literals would compile the callee once more
    _wait(waiting[0], np.int64(LEAF), top, top, np.int64(_UNKNOWN), reach, starts, ends)
    while n_waiting > 0:
        n_waiting -= 1
        entry = waiting[n_waiting]
        level, known, known_cost = entry[_LEVEL], entry[_KNOWN], known_costs[n_waiting]
        for group in range(n_groups):
            first[group] = entry[_ENTRY + group]
            last[group] = entry[_ENTRY + n_groups + group]
        if n_nodes == whole.shape[0]:
            whole = _longer_whole(whole)
            real = _longer_real(real)
        node = n_nodes
        n_nodes += 1
        if entry[_PARENT] >= 0:
            whole[entry[_PARENT], HIGH if entry[_SIDE] else LOW] = node
        _weigh_node(first, last, rules, groups, whole[node], real[node])
        totals = real[node, WEIGHTS:]
        left = depth - level
        if left <= 0 or known == LEAF or whole[node, ROWS] < rules.min_internal or _is_pure(totals):
            continue
        began = seconds(clock)
        steps = min(lookahead, left, entry[_REACH])
        plan = Step(known_cost, 0, 0.0, known, LEAF, LEAF, 0.0, 0.0)
        if known == _UNKNOWN:
            seen = 0
            # Numba leaves out what `third is not None` guards alone.
            if third is not None:  # noqa: SIM102
                if steps > 2:
                    plan, seen = _look_three(
                        words, rows, first, last, n_splits, rules, groups, space, sides, np.inf, np.inf
                    )
            if steps < 3:
                plan, seen = _look_two(words, rows, first, last, n_splits, steps, rules, None, groups, space)
            whole[node, SPLITS_SEEN] = seen
            whole[node, STEPS] = steps
        weight = 0.0
        for c in range(n_classes):
            weight += totals[c]
        if plan.root == LEAF or _stops(rules, real[node, LOSS], plan.cost, TOLERANCE * weight):
            real[node, SECONDS] = seconds(clock) - began
            continue
        whole[node, SPLIT] = plan.root
        real[node, PLANNED] = plan.cost
        for group in range(n_groups):
            middle[group] = split_rows(words, rows, first[group], last[group], plan.root, scratch)
        # A look of two steps that reaches the bottom has settled its children; one of three looks again, which is
        # cheap beside it and finds the same.
        settled = known != _UNKNOWN or (steps == left and steps < 3)
        for side in range(1, -1, -1):
            child, cost = (plan.high, plan.high_cost) if side else (plan.low, plan.low_cost)
            known_costs[n_waiting] = cost
            begin, end = (middle, last) if side else (first, middle)
            reach = max(steps - 1, 1) if cost <= TOLERANCE * weight else lookahead
            _wait(
                waiting[n_waiting], node, side, level + 1, child if settled else _UNKNOWN, reach, begin, end
            )
            n_waiting += 1
        real[node, SECONDS] = seconds(clock) - began
    return whole, real, n_nodes


# What Python calls: wrappers for Python are compiled for these alone, and only where they are used.


@kernel
def look_two(
    words: np.ndarray, rows: np.ndarray, starts: np.ndarray, ends: np.ndarray, n_splits: int, steps: int,
    rules: Rules, fence: Fence | None, groups: Groups, space: Space,
) -> tuple[Step, int]:  # fmt: skip
    """Return the optimal tree of one or two steps at a node, in the table's own splits, and how many it had."""
    return _look_two(words, rows, starts, ends, n_splits, steps, rules, fence, groups, space)


@kernel
def look_three(
    words: np.ndarray, rows: np.ndarray, starts: np.ndarray, ends: np.ndarray, n_splits: int, rules: Rules,
    groups: Groups, space: Space, sides: Sides, upper: float, deadline: float,
) -> tuple[Step, int]:  # fmt: skip
    """Return the optimal tree of three steps at a node, in the table's own splits, and how many it had."""
    return _look_three(words, rows, starts, ends, n_splits, rules, groups, space, sides, upper, deadline)


@kernel
def workspace(
    starts: np.ndarray, ends: np.ndarray, n_splits: int, n_classes: int, pairs: bool, keep_twins: bool
) -> Space:
    """Allocate for nodes of the rows grouped at starts:ends (G,), with pair counts or without."""
    return _workspace(starts, ends, n_splits, n_classes, pairs, keep_twins)
