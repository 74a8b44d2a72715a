"""Trees of several nodes merged into sums: what they cost together and add to each coupling.

A node's trees become points (value of every coupling, cost). Points that price out above the best known plans
cannot be in better ones; of points in one small box of values only the cheapest is kept. Two nodes' points make
the points of both, and so on; among the last two the cheapest pair that keeps the couplings is the answer. What
the boxes may hide is bounded by their width, so that the answer comes with a bound.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from foretree.constraints.place import Coupling, Floats, Mask
from foretree.mio.blocks import ROUNDING, Block, Integers, LabelledPlan, labelled
from foretree.solve import Plan

# The most pairs that are written down at once, and the most points kept of them.
MOST_PAIRS = 2_000_000
MOST_POINTS = 40_000
# The most numbers that their values may be: with a coupling for every two of many groups, pairs are wide.
MOST_NUMBERS = 40_000_000
# Boxes along each coupling, by how many there are.
BOXES = {1: 16_384, 2: 1_024}
FEWEST_BOXES = 256


@dataclass(frozen=True, slots=True)
class Options:
    """Labelled pairs: (n, 5) side, root, child and the two labels; costs (n,); values (m, n); above (n,).

    `above` is what choosing the option costs over the node's best plan, couplings paid for.
    """

    labels: Integers
    costs: Floats
    values: Floats
    above: Floats


@dataclass(frozen=True, slots=True)
class Points:
    """Sums of values (m, n) and costs (n,), `above` (n,) as priced, and what each is made of, picks (n, 2).

    `made_of` are the two Points merged, or the block and its options, where a pick of (-1, d) is a leaf saying d.
    `width` (m,) is how far a point's values may be from those of the points it stands for; no better plans are
    missing but such as lie more than `margin` above the bound.
    """

    values: Floats
    costs: Floats
    above: Floats
    picks: Integers
    made_of: "tuple[Points, Points] | tuple[Block, Options]"
    width: Floats
    margin: float


def priced_pairs(block: Block, duals: Floats) -> tuple[Floats, Floats]:
    """Return what each labelled pair (2, p, p, D, D), and each leaf (D,), lies above the block's best plan."""
    paid = block.costs - np.tensordot(duals, block.values, 1)
    leaf = block.leaf_costs - duals @ block.leaf_values
    pairs = paid[:, 0, :, :, :, None] + paid[:, 1, :, :, None, :]
    pairs = np.where(block.allowed[..., None, None], pairs, np.inf)
    if not block.n_splits:
        return pairs, leaf - leaf.min()
    sides = pairs.min(axis=(2, 3, 4))
    roots = sides.sum(axis=0)
    best = min(float(leaf.min()), float(roots.min()))
    with np.errstate(invalid="ignore"):
        above = pairs - sides[:, :, None, None, None] + (roots - best)[None, :, None, None, None]
    return np.where(np.isfinite(above), above, np.inf), leaf - best


def options_of(block: Block, above: Floats, usable: Mask) -> Options:
    """Return the pairs marked in `usable` (2, p, p, D, D), sorted by side and root; of equals only the cheapest."""
    side, root, child, low, high = np.nonzero(usable)
    costs = block.costs[side, 0, root, child, low] + block.costs[side, 1, root, child, high]
    values = block.values[:, side, 0, root, child, low] + block.values[:, side, 1, root, child, high]
    keys = [costs, *np.round(values, 12), root, side]
    order = np.lexsort(keys)
    same = np.ones(max(order.size - 1, 0), dtype=np.bool_)
    for key in keys[1:]:
        same &= key[order[1:]] == key[order[:-1]]
    kept = np.sort(order[np.concatenate([[True], ~same])]) if order.size else order
    labels = np.stack([side, root, child, low, high], axis=1)[kept]
    return Options(labels, costs[kept], values[:, kept], above[usable][kept])


def starts_of(options: Options, n_splits: int) -> Integers:
    """Return where the options of each (side, root) start, (2 p + 1,)."""
    place = options.labels[:, 0] * n_splits + options.labels[:, 1]
    return np.searchsorted(place, np.arange(2 * n_splits + 1))


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Two lists whose members make pairs: what each lies above the best, and their numbers."""

    above_first: Floats
    above_second: Floats
    first: Integers
    second: Integers

    def count(self, margin: float) -> int:
        """Return how many pairs lie at most `margin` above the best."""
        return int(np.searchsorted(np.sort(self.above_second), margin - self.above_first, side="right").sum())

    def within(self, margin: float) -> Integers:
        """Return the pairs (n, 2) that lie at most `margin` above the best."""
        order = np.argsort(self.above_second, kind="stable")
        ends = np.searchsorted(self.above_second[order], margin - self.above_first, side="right")
        first = np.repeat(np.arange(ends.size), ends)
        second = order[np.arange(first.size) - np.repeat(np.cumsum(ends) - ends, ends)]
        return np.stack([self.first[first], self.second[second]], axis=1)


def points_of(block: Block, duals: Floats, margin: float) -> Points:
    """Return a node's trees that price at most `margin` above its best, or as many as can be written down."""
    above, leaf = priced_pairs(block, duals)
    options = options_of(block, above, np.isfinite(above) & (above <= margin))
    starts = starts_of(options, block.n_splits)
    # Both sides count what a root's best tree lies above the node's best plan; one is enough.
    once = np.zeros(options.costs.size)
    pairs = []
    for root in range(block.n_splits):
        low = np.arange(starts[root], starts[root + 1])
        high = np.arange(starts[block.n_splits + root], starts[block.n_splits + root + 1])
        if low.size and high.size:
            once[high] = options.above[low].min()
            pairs.append(_Pairs(options.above[low], options.above[high] - once[high], low, high))
    margin = _affordable(pairs, margin, len(duals))
    leaves = np.flatnonzero(leaf <= margin)
    trees = np.concatenate([np.empty((0, 2), np.int64), *(pair.within(margin) for pair in pairs)])
    low, high = trees.T
    return _thinned(
        Points(
            np.hstack([block.leaf_values[:, leaves], options.values[:, low] + options.values[:, high]]),
            np.concatenate([block.leaf_costs[leaves], options.costs[low] + options.costs[high]]),
            np.concatenate([leaf[leaves], options.above[low] + options.above[high] - once[high]]),
            np.concatenate([np.stack([np.full(leaves.size, -1), leaves], axis=1), trees]),
            (block, options),
            np.zeros(len(duals)),
            margin,
        )
    )


def merged(one: Points, other: Points, margin: float) -> Points:
    """Return the sums of two nodes' points that price at most `margin` above the best."""
    pairs = _Pairs(one.above, other.above, np.arange(one.costs.size), np.arange(other.costs.size))
    margin = _affordable([pairs], min(margin, one.margin, other.margin), one.width.size)
    picks = pairs.within(margin)
    first, second = picks.T
    return _thinned(
        Points(
            one.values[:, first] + other.values[:, second],
            one.costs[first] + other.costs[second],
            one.above[first] + other.above[second],
            picks,
            (one, other),
            one.width + other.width,
            margin,
        )
    )


def _affordable(pairs: Sequence[_Pairs], margin: float, n_couplings: int) -> float:
    """Return the largest margin, up to this one, within which there are no more pairs than can be written down."""

    def count(within: float) -> int:
        return sum(pair.count(within) for pair in pairs)

    most = min(MOST_PAIRS, MOST_NUMBERS // max(n_couplings, 1))
    if count(margin) <= most:
        return margin
    low, high = (
        0.0,
        min(margin, max(float(pair.above_first.max() + pair.above_second.max()) for pair in pairs)),
    )
    for _ in range(24):
        middle = (low + high) / 2
        low, high = (middle, high) if count(middle) <= most else (low, middle)
    return low


def _thinned(points: Points) -> Points:
    """Keep the cheapest of points with equal values, then of those in one box, then those that price best."""
    points = _cheapest_of(points, np.round(points.values, 12))
    if points.costs.size <= MOST_POINTS:
        return points
    boxes = BOXES.get(points.values.shape[0], FEWEST_BOXES)
    width = np.ptp(points.values, axis=1) / boxes
    places = np.floor(points.values / np.where(width > 0, width, 1.0)[:, None])
    points = replace(_cheapest_of(points, places), width=points.width + width)
    if points.costs.size <= MOST_POINTS:
        return points
    cut = float(np.partition(points.above, MOST_POINTS)[MOST_POINTS])
    return replace(_chosen(points, points.above < cut), margin=min(points.margin, cut))


def _cheapest_of(points: Points, keys: Floats) -> Points:
    """Keep the cheapest of points with equal keys (m, n)."""
    order = np.lexsort([points.costs, *keys])
    sorted_keys = keys[:, order]
    first = np.ones(order.size, dtype=np.bool_)
    first[1:] = (sorted_keys[:, 1:] != sorted_keys[:, :-1]).any(axis=0)
    kept = np.zeros(order.size, dtype=np.bool_)
    kept[order[first]] = True
    return _chosen(points, kept)


def _chosen(points: Points, kept: Mask) -> Points:
    return replace(
        points,
        values=points.values[:, kept],
        costs=points.costs[kept],
        above=points.above[kept],
        picks=points.picks[kept],
    )


@dataclass(frozen=True, slots=True)
class Pair:
    """The points chosen of two, what they cost and by how much they miss the couplings together."""

    first: int
    second: int
    cost: float
    excess: float


def best_pair_of(
    one: Points, other: Points, couplings: Sequence[Coupling], margin: float
) -> tuple[Pair | None, float, float]:
    """Return the cheapest pair that keeps the couplings (else the one that misses least), the least cost that pairs
    may have where boxes hide values, and the margin up to which none is missed.
    """  # fmt: skip
    if len(couplings) == 1:
        return _swept_pair(one, other, couplings[0])
    pairs = _Pairs(one.above, other.above, np.arange(one.costs.size), np.arange(other.costs.size))
    margin = _affordable([pairs], min(margin, one.margin, other.margin), len(couplings))
    first, second = pairs.within(margin).T
    if not first.size:
        return None, np.inf, margin
    costs = one.costs[first] + other.costs[second]
    values = one.values[:, first] + other.values[:, second]
    lower = np.array([[coupling.lower] for coupling in couplings])
    upper = np.array([[coupling.upper] for coupling in couplings])
    excess = np.maximum(0.0, np.maximum(lower - values, values - upper))
    missed = excess.max(axis=0)
    hidden = (one.width + other.width)[:, None]
    may = (excess <= hidden + ROUNDING).all(axis=0)
    at_least = float(costs[may].min()) if may.any() else np.inf
    merit = np.where(missed <= ROUNDING, 0.0, excess.sum(axis=0))
    best = int(np.lexsort([costs, merit])[0])
    pair = Pair(int(first[best]), int(second[best]), float(costs[best]), float(merit[best]))
    return pair, at_least, margin


def _swept_pair(one: Points, other: Points, coupling: Coupling) -> tuple[Pair | None, float, float]:
    """For each of the first points, the cheapest of the second whose value fits: no pair is left out."""
    order = np.argsort(other.values[0], kind="stable")
    values, costs = other.values[0][order], other.costs[order]
    margin = min(one.margin, other.margin)

    def best_within(widened: float) -> tuple[Integers, Floats]:
        begin = np.searchsorted(values, coupling.lower - one.values[0] - widened, side="left")
        end = np.searchsorted(values, coupling.upper - one.values[0] + widened, side="right")
        partner = range_least(costs, begin, end)
        return partner, np.where(partner >= 0, one.costs + costs[partner], np.inf)

    partner, total = best_within(1e-12)
    at_least = float(best_within(float(one.width[0] + other.width[0]) + 1e-12)[1].min(initial=np.inf))
    if not total.size:
        return None, at_least, margin
    best = int(total.argmin())
    if np.isfinite(total[best]):
        return Pair(best, int(order[partner[best]]), float(total[best]), 0.0), at_least, margin
    return _nearest_pair(one, other, coupling), at_least, margin


def _nearest_pair(one: Points, other: Points, coupling: Coupling) -> Pair | None:
    """Return the pair whose value misses the coupling least."""
    if not one.costs.size or not other.costs.size:
        return None
    order = np.argsort(other.values[0], kind="stable")
    values = other.values[0][order]
    best: Pair | None = None
    for wanted in {bound for bound in (coupling.lower, coupling.upper) if np.isfinite(bound)}:
        place = np.searchsorted(values, wanted - one.values[0])
        for step in (-1, 0):
            at = np.clip(place + step, 0, values.size - 1)
            sums = one.values[0] + values[at]
            missed = np.maximum(0.0, np.maximum(coupling.lower - sums, sums - coupling.upper))
            costs = one.costs + other.costs[order[at]]
            first = int(np.lexsort([costs, missed])[0])
            pair = Pair(first, int(order[at[first]]), float(costs[first]), float(missed[first]))
            if best is None or (pair.excess, pair.cost) < (best.excess, best.cost):
                best = pair
    return best


def range_least(costs: Floats, begin: Integers, end: Integers) -> Integers:
    """Return the place of the least cost in each [begin, end), -1 where that is empty: a sparse table."""
    table = [np.arange(costs.size)]
    while 2 ** len(table) <= costs.size:
        half = 2 ** (len(table) - 1)
        left, right = table[-1][:-half], table[-1][half:]
        table.append(np.where(costs[right] < costs[left], right, left))
    found = np.full(begin.size, -1, dtype=np.int64)
    for level, places in enumerate(table):
        inside = np.flatnonzero((end - begin >= 2**level) & (end - begin < 2 ** (level + 1)))
        left, right = places[begin[inside]], places[end[inside] - 2**level]
        found[inside] = np.where(costs[right] < costs[left], right, left)
    return found


def plans_of(points: Points, place: int) -> dict[int, LabelledPlan]:
    """Return the plans that a point stands for, by the identity of their blocks."""
    first, second = (int(pick) for pick in points.picks[place])
    one, other = points.made_of
    if isinstance(one, Points):
        assert isinstance(other, Points)
        return {**plans_of(one, first), **plans_of(other, second)}
    assert isinstance(other, Options)
    if first < 0:
        return {id(one): labelled(one, None, ((second, second), (second, second)))}
    return {id(one): plan_from(one, other, first, second)}


def plan_from(block: Block, options: Options, low: int, high: int) -> LabelledPlan:
    """Return the tree made of one option for either side of a root."""
    (_, root, k, *of_low), (_, _, m, *of_high) = options.labels[[low, high]].tolist()
    return labelled(block, Plan(root, k, m, 0.0), ((of_low[0], of_low[1]), (of_high[0], of_high[1])))
