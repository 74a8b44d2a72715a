"""The optimal tree of one, two or three steps at one node."""

from typing import NamedTuple

import numpy as np

from foretree._kernels.bits import WORD
from foretree._kernels.exact import (
    GINI, LEAF, MISCLASSIFICATION, TOLERANCE, Margins, Pairs, Rules, best_child, best_root, gini_loss,
    leaf_loss, side_of_root,
)  # fmt: skip
from foretree._kernels.jit import kernel
from foretree._kernels.node import (
    add_ones, compact, gather, keep_distinct, keep_splitting, padded,
)  # fmt: skip
from foretree._kernels.pairs import LANES, add_pairs, clear_pairs
from foretree._kernels.screen import FAR, lower_row

# Nodes of more words are counted in passes of this many, so that memory stays small and columns cached.
CHUNK_WORDS = 2048
# The lower bounds are float32 sums: what they may lack of the true loss, as a share of the weight.
_SLACK = 4e-6


class Groups(NamedTuple):
    """Rows of one class and one weight are a group; its rows stand together."""

    classes: np.ndarray  # (G,) int64
    weights: np.ndarray  # (G,) float64, class weights included
    sizes: np.ndarray  # (G,) int64, the rows that one entry stands for


class Bounds(NamedTuple):
    """Arrays of the float32 lower bounds."""

    both: np.ndarray  # (C, width)
    ones: np.ndarray  # (C, width)
    total: np.ndarray  # (C,)
    low: np.ndarray  # (width,)
    high: np.ndarray  # (width,)
    roots: np.ndarray  # (width,) float64: the bound of each root


class Scores(NamedTuple):
    """What is known exactly of each root, (width,)."""

    costs: np.ndarray
    empties: np.ndarray
    ginis: np.ndarray
    low: np.ndarray  # child splits, or LEAF
    high: np.ndarray
    low_costs: np.ndarray
    high_costs: np.ndarray


class Space(NamedTuple):
    """The arrays one grower works in."""

    columns: np.ndarray  # (words, width) uint32
    words: np.ndarray  # (G + 1,) where each group's words begin
    sizes: np.ndarray  # (G,) entries of each group
    kept: np.ndarray  # (width,) the original splits of the columns
    again: np.ndarray  # (width,)
    ones: np.ndarray  # (G, width) int32
    counts: np.ndarray  # (G, width, width) int32
    margins: Margins
    pairs: Pairs
    bounds: Bounds
    scores: Scores


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


@kernel
def make_space(n_words: int, width: int, n_groups: int, n_classes: int, pairs_width: int) -> Space:
    """Allocate for nodes of up to `n_words` words per pass and `width` splits."""
    margins = Margins(
        np.empty((n_classes, width)),
        np.empty(width, np.int64),
        np.empty(n_classes),
        np.empty(1, np.int64),
    )
    pairs = Pairs(
        np.empty((n_classes, width)),
        np.empty(width, np.int64),
        np.empty(width),
        np.empty(width),
        np.empty((3, n_classes)),
    )
    bounds = Bounds(
        np.empty((n_classes, width), np.float32),
        np.empty((n_classes, width), np.float32),
        np.empty(n_classes, np.float32),
        np.empty(width, np.float32),
        np.empty(width, np.float32),
        np.empty(width),
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
    return Space(
        np.empty((n_words, width), np.uint32),
        np.zeros(n_groups + 1, np.int64),
        np.zeros(n_groups, np.int64),
        np.empty(width, np.int64),
        np.empty(width, np.int64),
        np.empty((n_groups, width), np.int32),
        np.empty((n_groups, pairs_width, pairs_width), np.int32),
        margins,
        pairs,
        bounds,
        scores,
    )


@kernel
def _words_of(starts: np.ndarray, ends: np.ndarray) -> int:
    total = 0
    for group in range(starts.size):
        total += (ends[group] - starts[group] + WORD - 1) // WORD
    return total


@kernel
def _load_node(
    words: np.ndarray, rows: np.ndarray, starts: np.ndarray, ends: np.ndarray, n_splits: int, space: Space
) -> int:
    """Gather a node that fits in one pass; keep and count its distinct splits; return their number."""
    at = 0
    entries = 0
    for group in range(starts.size):
        space.words[group] = at
        at = gather(words, rows, starts[group], ends[group], space.columns, at)
        space.sizes[group] = ends[group] - starts[group]
        entries += space.sizes[group]
    space.words[starts.size] = at
    ones = space.ones
    ones[:] = 0
    for group in range(starts.size):
        add_ones(space.columns, space.words[group], space.words[group + 1], ones[group])
    kept = space.kept
    n_kept = keep_splitting(ones, entries, n_splits, kept)
    compact(space.columns, at, kept, n_kept)
    n_distinct = keep_distinct(space.columns, space.words, space.sizes, n_kept, space.again)
    if n_distinct < n_kept:
        compact(space.columns, at, space.again, n_distinct)
        for k in range(n_distinct):
            kept[k] = kept[space.again[k]]
    for group in range(starts.size):
        for k in range(n_distinct):
            ones[group, k] = ones[group, kept[k]]
    return n_distinct


@kernel
def _count_in_passes(
    words: np.ndarray, rows: np.ndarray, starts: np.ndarray, ends: np.ndarray, n_splits: int, pairs: bool,
    space: Space,
) -> None:  # fmt: skip
    """Count all splits of a node, or all their pairs, a pass of rows at a time."""
    width = padded(n_splits)
    space.ones[:] = 0
    if pairs:
        clear_pairs(space.counts, n_splits, width)
    step = space.columns.shape[0] * WORD
    for group in range(starts.size):
        for first in range(starts[group], ends[group], step):
            at = gather(words, rows, first, min(first + step, ends[group]), space.columns, 0)
            if pairs:
                add_pairs(space.columns, 0, at, n_splits, width, space.counts[group])
            else:
                add_ones(space.columns, 0, at, space.ones[group])
    if pairs:
        for group in range(starts.size):
            for k in range(n_splits):
                space.ones[group, k] = space.counts[group, k, k]


@kernel
def count_node(
    words: np.ndarray, rows: np.ndarray, starts: np.ndarray, ends: np.ndarray, n_splits: int, pairs: bool,
    space: Space,
) -> int:  # fmt: skip
    """Fill ones, kept and, where `pairs`, counts with what splits the node; return how many splits do."""
    if _words_of(starts, ends) > space.columns.shape[0]:
        _count_in_passes(words, rows, starts, ends, n_splits, pairs, space)
        for k in range(n_splits):
            space.kept[k] = k
        return n_splits
    n_kept = _load_node(words, rows, starts, ends, n_splits, space)
    if pairs:
        width = padded(n_kept)
        clear_pairs(space.counts, n_kept, width)
        for group in range(starts.size):
            add_pairs(
                space.columns, space.words[group], space.words[group + 1], n_kept, width, space.counts[group]
            )
    return n_kept


@kernel
def weigh_margins(
    ones: np.ndarray, sizes: np.ndarray, groups: Groups, n_splits: int, margins: Margins
) -> None:
    """Turn ones[g, k] and the groups' entries into class weights and rows."""
    margins.total[:] = 0
    margins.n_rows[0] = 0
    margins.rows[:n_splits] = 0
    for c in range(margins.total.size):
        margins.ones[c, :n_splits] = 0
    for group in range(groups.classes.size):
        c = groups.classes[group]
        weight = groups.weights[group]
        size = groups.sizes[group]
        margins.total[c] += weight * sizes[group]
        margins.n_rows[0] += size * sizes[group]
        row = margins.ones[c]
        mine = ones[group]
        for k in range(n_splits):
            row[k] += weight * mine[k]
            margins.rows[k] += size * mine[k]


@kernel
def _weigh_pairs(counts: np.ndarray, groups: Groups, n_splits: int, root: int, pairs: Pairs) -> None:
    """Write the class weights and rows of `root` with every split, from the upper triangle of counts."""
    pairs.rows[:n_splits] = 0
    for c in range(pairs.cells.shape[1]):
        pairs.both[c, :n_splits] = 0
    for group in range(groups.classes.size):
        row = pairs.both[groups.classes[group]]
        weight = groups.weights[group]
        size = groups.sizes[group]
        table = counts[group]
        for k in range(root):
            row[k] += weight * table[k, root]
            pairs.rows[k] += size * table[k, root]
        for k in range(root, n_splits):
            row[k] += weight * table[root, k]
            pairs.rows[k] += size * table[root, k]


@kernel
def bound_roots(
    rules: Rules, counts: np.ndarray, groups: Groups, n_splits: int, margins: Margins, bounds: Bounds
) -> float:
    """Write a lower bound of each root's two-step loss; return the least."""
    gini = rules.loss == GINI
    if not gini and rules.loss != MISCLASSIFICATION:
        bounds.roots[:n_splits] = -np.inf
        return -np.inf
    width = padded(n_splits)
    bounds.low[:width] = FAR
    bounds.high[:width] = FAR
    for c in range(margins.total.size):
        bounds.total[c] = margins.total[c]
        for k in range(n_splits):
            bounds.ones[c, k] = margins.ones[c, k]
        bounds.ones[c, n_splits:width] = 0
    plain = groups.classes.size == margins.total.size
    for group in range(groups.classes.size):
        plain = plain and groups.classes[group] == group
    for split in range(n_splits):
        start = split - split % LANES
        if not plain:
            for c in range(margins.total.size):
                bounds.both[c, start:width] = 0
        for group in range(groups.classes.size):
            out = bounds.both[groups.classes[group], start:width]
            mine = counts[group, split, start:width]
            weight = np.float32(groups.weights[group])
            if plain:
                for k in range(out.size):
                    out[k] = weight * np.float32(mine[k])
            else:
                for k in range(out.size):
                    out[k] += weight * np.float32(mine[k])
        lower_row(gini, bounds.both, bounds.ones, bounds.total, split, width, bounds.low, bounds.high)
    scale = 2.0 if gini and margins.total.size == 2 else 1.0
    least = np.inf
    for split in range(n_splits):
        bounds.roots[split] = scale * (np.float64(bounds.low[split]) + np.float64(bounds.high[split]))
        least = min(least, bounds.roots[split])
    return least


@kernel
def slack_of(rules: Rules, groups: Groups, margins: Margins) -> float:
    """Return what a lower bound may exceed the least loss by and still belong to the best root."""
    if rules.loss == MISCLASSIFICATION:
        whole = True
        for weight in groups.weights:
            whole = whole and weight == 1.0
        if whole and margins.total.sum() < 2**23:
            return 0.25
    return _SLACK * margins.total.sum()


@kernel
def leaf_step(rules: Rules, margins: Margins, steps: int) -> Step:
    """Return the node as a leaf; all but one of the 2**steps leaves it might have had are empty."""
    cost = leaf_loss(rules.loss, rules.prices, margins.total)
    gini = gini_loss(margins.total) if rules.tie_by_gini else 0.0
    return Step(cost, 2**steps - 1, gini, LEAF, LEAF, LEAF, 0.0, 0.0)


@kernel
def separates(rules: Rules, margins: Margins, split: int) -> bool:
    """Tell whether the split leaves enough rows on both sides."""
    ones = margins.rows[split]
    zeros = margins.n_rows[0] - ones
    return ones > 0 and zeros > 0 and ones >= rules.min_leaf and zeros >= rules.min_leaf


@kernel
def solve_one(rules: Rules, n_splits: int, space: Space) -> Step:
    """Return the best single split of the node whose margins are in `space`."""
    margins = space.margins
    scores = space.scores
    leaf = leaf_step(rules, margins, 1)
    cells = space.pairs.cells
    if margins.n_rows[0] < rules.min_internal:
        return leaf
    for root in range(n_splits):
        scores.costs[root] = np.inf
        if not separates(rules, margins, root):
            continue
        side_of_root(margins, root, 0, cells[1])
        side_of_root(margins, root, 1, cells[2])
        low = leaf_loss(rules.loss, rules.prices, cells[1])
        high = leaf_loss(rules.loss, rules.prices, cells[2])
        scores.costs[root] = low + high
        scores.low_costs[root] = low
        scores.high_costs[root] = high
        scores.empties[root] = 0
        scores.low[root] = LEAF
        scores.high[root] = LEAF
        scores.ginis[root] = gini_loss(cells[1]) + gini_loss(cells[2]) if rules.tie_by_gini else 0.0
    return best_step(scores, n_splits, leaf, TOLERANCE * margins.total.sum())


@kernel
def best_step(scores: Scores, n_splits: int, leaf: Step, tolerance: float) -> Step:
    """Return the best scored root as a Step, or `leaf` where none is feasible or it costs less."""
    root = best_root(scores.costs, scores.empties, scores.ginis, n_splits, tolerance)
    if root == LEAF or scores.costs[root] > leaf.cost + tolerance:
        return leaf
    return Step(
        scores.costs[root], scores.empties[root], scores.ginis[root], root, scores.low[root],
        scores.high[root], scores.low_costs[root], scores.high_costs[root],
    )  # fmt: skip


@kernel
def next_root(bounds: np.ndarray, n_splits: int, most: float) -> int:
    """Return the root with the least bound (the first of equals), or LEAF when that exceeds `most`."""
    least = np.inf
    root = LEAF
    for j in range(n_splits):
        if bounds[j] < least:
            least = bounds[j]
            root = j
    return root if least <= most else LEAF


@kernel
def forget_after(root: int, bounds: np.ndarray, n_splits: int) -> None:
    """Strike the roots after one that nothing can beat: of equals the smallest wins."""
    for j in range(root + 1, n_splits):
        bounds[j] = np.inf


@kernel
def solve_two(
    rules: Rules, counts: np.ndarray, groups: Groups, n_splits: int, margins: Margins, space: Space
) -> Step:
    """Return the optimal two-step tree of the node with these counts and margins (eq. (1), in closed form)."""
    leaf = leaf_step(rules, margins, 2)
    if margins.n_rows[0] < rules.min_internal:
        return leaf
    scores, roots = space.scores, space.bounds.roots
    bound_roots(rules, counts, groups, n_splits, margins, space.bounds)
    tolerance = TOLERANCE * margins.total.sum()
    slack = slack_of(rules, groups, margins)
    scores.costs[:n_splits] = np.inf
    best = np.inf
    while True:
        root = next_root(roots, n_splits, best + slack)
        if root == LEAF:
            break
        roots[root] = np.inf
        if not separates(rules, margins, root):
            continue
        _weigh_pairs(counts, groups, n_splits, root, space.pairs)
        low = best_child(rules, margins, space.pairs, n_splits, root, 0)
        high = best_child(rules, margins, space.pairs, n_splits, root, 1)
        scores.costs[root] = low[0] + high[0]
        scores.empties[root] = low[1] + high[1]
        scores.ginis[root] = low[2] + high[2]
        scores.low_costs[root], scores.low[root] = low[0], low[3]
        scores.high_costs[root], scores.high[root] = high[0], high[3]
        best = min(best, scores.costs[root])
        if scores.costs[root] <= tolerance and scores.empties[root] == 0 and scores.ginis[root] <= tolerance:
            forget_after(root, roots, n_splits)
    return best_step(scores, n_splits, leaf, tolerance)
