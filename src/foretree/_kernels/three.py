"""The optimal tree of three steps: every root's two sides, solved from one masked count and one subtraction."""

from typing import NamedTuple

import numpy as np

from foretree._kernels.bits import WORD
from foretree._kernels.clock import seconds
from foretree._kernels.exact import GINI, LEAF, MISCLASSIFICATION, TOLERANCE, Margins, Rules
from foretree._kernels.jit import kernel
from foretree._kernels.node import compact, gather, padded
from foretree._kernels.pairs import LANES, add_pairs, clear_pairs
from foretree._kernels.steps import (
    Groups, Scores, Space, Step, best_step, bound_roots, forget_after, leaf_step, next_root, separates,
    slack_of, solve_two, weigh_margins,
)  # fmt: skip


class Sides(NamedTuple):
    """The two sides of one root of a three-step tree, and what is known of every such root."""

    counts: np.ndarray  # (2, G, width, width) int32
    ones: np.ndarray  # (G, width) int32
    margins: Margins
    rows: np.ndarray  # (n_rows,) int32
    starts: np.ndarray  # (G + 1,)
    entries: np.ndarray  # (G,)
    scores: Scores
    bounds: np.ndarray  # (width,)
    guesses: np.ndarray  # (width,)
    clock: np.ndarray  # (2,) int64
    late: np.ndarray  # (1,) whether a deadline cut the last search short


@kernel
def make_sides(n_rows: int, width: int, n_groups: int, n_classes: int) -> Sides:
    """Allocate for nodes of up to `n_rows` rows and `width` splits."""
    margins = Margins(
        np.empty((n_classes, width)),
        np.empty(width, np.int64),
        np.empty(n_classes),
        np.empty(1, np.int64),
    )
    scores = Scores(
        np.empty(width),
        np.empty(width, np.int64),
        np.empty(width),
        np.empty(width, np.int64),
        np.empty(width, np.int64),
        np.empty(width),
        np.empty(width),
    )
    return Sides(
        np.empty((2, n_groups, width, width), np.int32),
        np.empty((n_groups, width), np.int32),
        margins,
        np.empty(n_rows, np.int32),
        np.zeros(n_groups + 1, np.int64),
        np.zeros(n_groups, np.int64),
        scores,
        np.empty(width),
        np.empty(width),
        np.empty(2, np.int64),
        np.zeros(1, np.bool_),
    )


@kernel
def _take_side(
    words: np.ndarray, rows: np.ndarray, starts: np.ndarray, ends: np.ndarray, split: int, side: int,
    sides: Sides,
) -> None:  # fmt: skip
    """Copy the node's rows that answer `side` to the split, group by group."""
    word = split // WORD
    bit = np.uint32(split % WORD)
    at = 0
    for group in range(starts.size):
        sides.starts[group] = at
        for place in range(starts[group], ends[group]):
            sides.rows[at] = rows[place]
            at += np.int64((words[rows[place], word] >> bit) & np.uint32(1)) == side
    sides.starts[starts.size] = at


@kernel
def _count_sides(
    words: np.ndarray, rows: np.ndarray, starts: np.ndarray, ends: np.ndarray, root: int, n_splits: int,
    space: Space, sides: Sides,
) -> int:  # fmt: skip
    """Count the pairs of the side with fewer rows, counts[side], and return that side."""
    side = 1 if 2 * space.margins.rows[root] <= space.margins.n_rows[0] else 0
    _take_side(words, rows, starts, ends, space.kept[root], side, sides)
    width = padded(n_splits)
    counts = sides.counts[side]
    clear_pairs(counts, n_splits, width)
    step = space.columns.shape[0] * WORD
    for group in range(starts.size):
        for first in range(sides.starts[group], sides.starts[group + 1], step):
            last = min(first + step, sides.starts[group + 1])
            at = gather(words, sides.rows, first, last, space.columns, 0)
            compact(space.columns, at, space.kept, n_splits)
            add_pairs(space.columns, 0, at, n_splits, width, counts[group])
    return side


@kernel
def _subtract(whole: np.ndarray, part: np.ndarray, n_splits: int, out: np.ndarray) -> None:
    """Write to out what is left of the pair counts `whole` without `part`, each (G, width, width)."""
    width = padded(n_splits)
    for group in range(whole.shape[0]):
        for split in range(n_splits):
            start = split - split % LANES
            minuend = whole[group, split, start:width]
            subtrahend = part[group, split, start:width]
            rest = out[group, split, start:width]
            for k in range(rest.size):
                rest[k] = minuend[k] - subtrahend[k]


@kernel
def _weigh_side(
    side: int, counted: int, ends: np.ndarray, starts: np.ndarray, groups: Groups, n_splits: int, sides: Sides
) -> None:
    """Fill the margins of one side from the diagonal of its pair counts."""
    for group in range(starts.size):
        counted_rows = sides.starts[group + 1] - sides.starts[group]
        sides.entries[group] = counted_rows if side == counted else ends[group] - starts[group] - counted_rows
        for k in range(n_splits):
            sides.ones[group, k] = sides.counts[side, group, k, k]
    weigh_margins(sides.ones, sides.entries, groups, n_splits, sides.margins)


@kernel
def _most_per_weight(rules: Rules) -> float:
    """Return the most that one unit of weight adds to a tree's loss, or infinity where nothing is known."""
    if rules.loss == MISCLASSIFICATION:
        return 1.0
    return 2.0 if rules.loss == GINI else np.inf


@kernel
def _bound_three(
    words: np.ndarray, rows: np.ndarray, starts: np.ndarray, ends: np.ndarray, n_splits: int, rules: Rules,
    groups: Groups, space: Space, sides: Sides, upper: float, deadline: float,
) -> None:  # fmt: skip
    """Write a lower bound of each root's three-step loss to sides.bounds, the likeliest roots first.

    Rows that a root takes away from its larger side lower that side's two-step loss by no more than
    they can cost: loss(larger side) >= loss(node) - most * weight(smaller side).
    """
    two_steps = bound_roots(rules, space.counts, groups, n_splits, space.margins, space.bounds)
    guesses = sides.guesses
    guesses[:n_splits] = space.bounds.roots[:n_splits]
    slack = slack_of(rules, groups, space.margins)
    most = _most_per_weight(rules)
    free = rules.min_leaf <= 1 and rules.min_internal <= 2
    total = space.margins.total.sum()
    best = upper
    sides.bounds[:n_splits] = np.inf
    sides.late[0] = False
    while True:
        root = next_root(guesses, n_splits, np.inf)
        if root == LEAF:
            break
        guesses[root] = np.inf
        if not separates(rules, space.margins, root):
            continue
        if deadline < np.inf and seconds(sides.clock) > deadline:
            sides.late[0] = True
            break
        if two_steps == -np.inf:
            sides.bounds[root] = -np.inf
            continue
        weight = 0.0
        for c in range(space.margins.total.size):
            weight += space.margins.ones[c, root]
        lost = two_steps - most * min(weight, total - weight)
        if lost > best + slack:
            continue
        side = _count_sides(words, rows, starts, ends, root, n_splits, space, sides)
        _weigh_side(side, side, ends, starts, groups, n_splits, sides)
        small = bound_roots(rules, sides.counts[side], groups, n_splits, sides.margins, space.bounds)
        if small + max(lost, 0.0) > best + slack:
            continue
        _subtract(space.counts, sides.counts[side], n_splits, sides.counts[1 - side])
        _weigh_side(1 - side, side, ends, starts, groups, n_splits, sides)
        large = bound_roots(rules, sides.counts[1 - side], groups, n_splits, sides.margins, space.bounds)
        sides.bounds[root] = small + large
        if free:
            best = min(best, small + large)


@kernel
def solve_three(
    words: np.ndarray, rows: np.ndarray, starts: np.ndarray, ends: np.ndarray, n_splits: int, rules: Rules,
    groups: Groups, space: Space, sides: Sides, upper: float, deadline: float,
) -> Step:  # fmt: skip
    """Return the optimal three-step tree of the node counted in `space`; roots that cost over `upper` may be left out."""
    leaf = leaf_step(rules, space.margins, 3)
    if space.margins.n_rows[0] < rules.min_internal:
        return leaf
    _bound_three(words, rows, starts, ends, n_splits, rules, groups, space, sides, upper, deadline)
    scores = sides.scores
    tolerance = TOLERANCE * space.margins.total.sum()
    slack = slack_of(rules, groups, space.margins)
    scores.costs[:n_splits] = np.inf
    best = upper
    while True:
        root = next_root(sides.bounds, n_splits, best + slack)
        if root == LEAF:
            break
        if deadline < np.inf and sides.bounds[root] == -np.inf and seconds(sides.clock) > deadline:
            sides.late[0] = True
            break
        sides.bounds[root] = np.inf
        side = _count_sides(words, rows, starts, ends, root, n_splits, space, sides)
        _subtract(space.counts, sides.counts[side], n_splits, sides.counts[1 - side])
        scores.costs[root], scores.empties[root], scores.ginis[root] = 0.0, 0, 0.0
        for answer in (0, 1):
            _weigh_side(answer, side, ends, starts, groups, n_splits, sides)
            step = solve_two(rules, sides.counts[answer], groups, n_splits, sides.margins, space)
            scores.costs[root] += step.cost
            scores.empties[root] += step.empty
            scores.ginis[root] += step.gini
            if answer:
                scores.high[root], scores.high_costs[root] = step.root, step.cost
            else:
                scores.low[root], scores.low_costs[root] = step.root, step.cost
        best = min(best, scores.costs[root])
        if scores.costs[root] <= tolerance and scores.empties[root] == 0 and scores.ginis[root] <= tolerance:
            forget_after(root, sides.bounds, n_splits)
    if sides.late[0]:
        # Two steps are at hand in any case, and may be better than the three-step roots that were reached.
        two = solve_two(rules, space.counts, groups, n_splits, space.margins, space)
        three = best_step(scores, n_splits, leaf, tolerance)
        return two if two.cost < three.cost - tolerance else three
    return best_step(scores, n_splits, leaf, tolerance)
