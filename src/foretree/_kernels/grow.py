"""The rolling tree in one kernel: for rows in memory, built-in losses and up to three steps of lookahead."""

import numpy as np

from foretree._kernels.bits import WORD
from foretree._kernels.clock import seconds
from foretree._kernels.exact import LEAF, TOLERANCE, Rules, leaf_loss
from foretree._kernels.jit import kernel
from foretree._kernels.node import padded, split_rows
from foretree._kernels.steps import (
    CHUNK_WORDS, Groups, Space, Step, bound_roots, count_node, make_space, separates, solve_one, solve_two,
    weigh_margins,
)  # fmt: skip
from foretree._kernels.three import Sides, make_sides, solve_three

# Columns of the two tables a grown tree comes in.
SPLIT, LOW, HIGH, ROWS, SPLITS_SEEN, STEPS = range(6)
LOSS, PLANNED, SECONDS, WEIGHTS = range(4)
# What a waiting node carries: who its parent is, which side, its level, and its split if planned already.
_PARENT, _SIDE, _LEVEL, _KNOWN, _ENTRY = range(5)
_UNKNOWN = -2


@kernel
def stops(rules: Rules, leaf: float, planned: float, tolerance: float) -> bool:
    """Tell whether a node of loss `leaf` stays a leaf though a plan of loss `planned` exists."""
    if rules.stop_without_gain and planned >= leaf - tolerance:
        return True
    return rules.min_decrease > 0 and leaf - planned < rules.min_decrease - tolerance


@kernel
def _is_pure(totals: np.ndarray) -> bool:
    present = 0
    for weight in totals:
        present += weight > 0
    return present <= 1


@kernel
def look(
    words: np.ndarray, rows: np.ndarray, starts: np.ndarray, ends: np.ndarray, n_splits: int, steps: int,
    rules: Rules, groups: Groups, space: Space, sides: Sides, upper: float, deadline: float,
) -> tuple[Step, int]:  # fmt: skip
    """Return the optimal tree of up to three steps at a node, in the table's own splits, and how many it had.

    Of three steps, roots that cost more than `upper` may be left out, and the deadline (in seconds of
    the kernels' clock) may cut the search short, which sides.late[0] then tells.
    """
    n_kept = count_node(words, rows, starts, ends, n_splits, steps > 1, space)
    weigh_margins(space.ones, ends - starts, groups, n_kept, space.margins)
    if steps == 1:
        step = solve_one(rules, n_kept, space)
    elif steps == 2:
        step = solve_two(rules, space.counts, groups, n_kept, space.margins, space)
    else:
        step = solve_three(
            words, rows, starts, ends, n_kept, rules, groups, space, sides, upper, deadline
        )
    kept = space.kept
    named = Step(
        step.cost, step.empty, step.gini, kept[step.root] if step.root >= 0 else LEAF,
        kept[step.low] if step.low >= 0 else LEAF, kept[step.high] if step.high >= 0 else LEAF,
        step.low_cost, step.high_cost,
    )  # fmt: skip
    return named, n_kept


@kernel
def survey(
    words: np.ndarray, rows: np.ndarray, starts: np.ndarray, n_splits: int, rules: Rules, groups: Groups,
    space: Space,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Return the splits that may be a node's root, a lower bound of each one's two-step loss, and its weight."""
    first, last = starts[:-1], starts[1:]
    n_kept = count_node(words, rows, first, last, n_splits, True, space)
    weigh_margins(space.ones, last - first, groups, n_kept, space.margins)
    bound_roots(rules, space.counts, groups, n_kept, space.margins, space.bounds)
    splits = np.empty(n_kept, np.int64)
    bounds = np.empty(n_kept)
    weights = np.zeros(n_kept)
    found = 0
    for k in range(n_kept):
        if separates(rules, space.margins, k):
            splits[found] = space.kept[k]
            bounds[found] = space.bounds.roots[k]
            for c in range(space.margins.total.size):
                weights[found] += space.margins.ones[c, k]
            found += 1
    return splits[:found], bounds[:found], weights[:found]


@kernel
def workspace(
    row_words: int, n_splits: int, starts: np.ndarray, n_classes: int, pairs: bool, third: bool
) -> tuple[Space, Sides]:
    """Allocate for nodes of the rows grouped at `starts` (G + 1,), with pair counts and a third step as asked."""
    n_groups = starts.size - 1
    n_words = 0
    for group in range(n_groups):
        n_words += (starts[group + 1] - starts[group] + WORD - 1) // WORD
    lanes = padded(n_splits)
    space = make_space(
        min(n_words, CHUNK_WORDS), row_words * WORD, n_groups, n_classes, lanes if pairs else 0
    )
    n_rows = starts[n_groups] if third else 0
    return space, make_sides(n_rows + 1, lanes if third else 0, n_groups, n_classes)


@kernel
def _longer(table: np.ndarray) -> np.ndarray:
    out = np.empty((2 * table.shape[0], table.shape[1]), table.dtype)
    out[: table.shape[0]] = table
    return out


@kernel
def grow_tree(
    words: np.ndarray, n_splits: int, rows: np.ndarray, starts: np.ndarray, groups: Groups, rules: Rules,
    max_depth: int, lookahead: int,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Grow a tree over words (n_rows, n_words); rows holds group g at starts[g]:starts[g + 1] and is reordered.

    Returns the nodes in preorder as integers (n_nodes, 6) and floats (n_nodes, 3 + C).
    """
    n_groups, n_classes = groups.classes.size, rules.prices.shape[0]
    space, sides = workspace(words.shape[1], n_splits, starts, n_classes, lookahead > 1, lookahead > 2)
    scratch = np.empty(rows.size, np.int32)
    clock = np.empty(2, np.int64)
    whole = np.empty((64, 6), np.int64)
    real = np.empty((64, WEIGHTS + n_classes), np.float64)
    depth = min(max_depth, n_splits, rows.size)
    waiting = np.empty((depth + 2, _ENTRY + 2 * n_groups), np.int64)
    known_costs = np.empty(depth + 2, np.float64)
    waiting[0, :_ENTRY] = (LEAF, 0, 0, _UNKNOWN)
    waiting[0, _ENTRY : _ENTRY + n_groups] = starts[:-1]
    waiting[0, _ENTRY + n_groups :] = starts[1:]
    n_waiting, n_nodes = 1, 0
    middle = np.empty(n_groups, np.int64)
    while n_waiting > 0:
        n_waiting -= 1
        entry = waiting[n_waiting]
        level, known, known_cost = entry[_LEVEL], entry[_KNOWN], known_costs[n_waiting]
        first = entry[_ENTRY : _ENTRY + n_groups].copy()
        last = entry[_ENTRY + n_groups :].copy()
        if n_nodes == whole.shape[0]:
            whole = _longer(whole)
            real = _longer(real)
        node = n_nodes
        n_nodes += 1
        if entry[_PARENT] >= 0:
            whole[entry[_PARENT], HIGH if entry[_SIDE] else LOW] = node
        totals = real[node, WEIGHTS:]
        totals[:] = 0
        size = 0
        for group in range(n_groups):
            totals[groups.classes[group]] += groups.weights[group] * (last[group] - first[group])
            size += groups.sizes[group] * (last[group] - first[group])
        began = seconds(clock)
        leaf = leaf_loss(rules.loss, rules.prices, totals)
        whole[node] = (LEAF, LEAF, LEAF, size, 0, 0)
        real[node, :WEIGHTS] = (leaf, leaf, 0.0)
        left = depth - level
        if left <= 0 or known == LEAF or size < rules.min_internal or _is_pure(totals):
            continue
        tolerance = TOLERANCE * totals.sum()
        steps = min(lookahead, left)
        plan = Step(known_cost, 0, 0.0, known, LEAF, LEAF, 0.0, 0.0)
        if known == _UNKNOWN:
            plan, seen = look(
                words, rows, first, last, n_splits, steps, rules, groups, space, sides, np.inf, np.inf
            )
            whole[node, SPLITS_SEEN] = seen
            whole[node, STEPS] = steps
        if plan.root == LEAF or stops(rules, leaf, plan.cost, tolerance):
            real[node, SECONDS] = seconds(clock) - began
            continue
        whole[node, SPLIT] = plan.root
        real[node, PLANNED] = plan.cost
        for group in range(n_groups):
            middle[group] = split_rows(words, rows, first[group], last[group], plan.root, scratch)
        settled = known != _UNKNOWN or (steps == left and steps < 3)
        for side in (1, 0):
            child = waiting[n_waiting]
            child[:_ENTRY] = (node, side, level + 1, _UNKNOWN)
            if settled:
                child[_KNOWN] = plan.high if side else plan.low
            known_costs[n_waiting] = plan.high_cost if side else plan.low_cost
            child[_ENTRY : _ENTRY + n_groups] = middle if side else first
            child[_ENTRY + n_groups :] = last if side else middle
            n_waiting += 1
        real[node, SECONDS] = seconds(clock) - began
    return whole[:n_nodes].copy(), real[:n_nodes].copy()
