"""Open nodes solved together: the cheapest labelled trees whose sums keep the couplings.

One coupling at one node: sorted sweeps. Otherwise the couplings are priced, which bounds what is possible, and the
nodes' trees that can still win are merged, or handed to a mixed-integer program.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from foretree.constraints.place import Coupling
from foretree.mio.blocks import (
    ROUNDING,
    Block,
    LabelledPlan,
    Together,
    cheapest,
    combined,
    keeps,
    labelled,
    leaf_block,
)
from foretree.mio.merge import (
    best_pair_of,
    merged,
    options_of,
    plan_from,
    plans_of,
    points_of,
    priced_pairs,
    range_least,
    starts_of,
)  # fmt: skip
from foretree.mio.prices import Prices, price, scale_of
from foretree.mio.program import solve_program

# How often the search is repeated among the fewer trees that better plans leave.
MOST_REPEATS = 3


@dataclass(frozen=True, slots=True)
class Effort:
    """How a search goes about it: by merging ("closed") or a program ("mip"), until when, and what is fine enough.

    `deadline` is in seconds of perf_counter. No two sums of costs differ by less than `grain` (0: unknown), which
    ends the search for better ones early.
    """

    solver: str = "closed"
    deadline: float = np.inf
    grain: float = 0.0

    def left(self) -> float:
        """Return the seconds that are left."""
        return self.deadline - perf_counter()

    def is_late(self) -> bool:
        """Tell whether the deadline has passed."""
        return self.left() < 0


def coupled(
    blocks: Sequence[Block],
    couplings: Sequence[Coupling] = (),
    effort: Effort | None = None,
    known: Sequence[LabelledPlan] | None = None,
) -> Together:
    """Return the cheapest plans that keep the couplings together, or those that miss them least.

    The answer is never worse than the plans that are `known`.
    """
    effort = effort or Effort()
    unpaid = np.zeros(len(couplings))
    free = combined([cheapest(block, unpaid)[0][0] for block in blocks], couplings)
    if keeps(free):
        return free
    if len(blocks) == 1 and len(couplings) == 1 and effort.solver == "closed":
        swept = _swept(blocks[0], couplings[0])
        if swept is not None:
            return combined([swept], couplings)
    before = combined(known, couplings) if known else free
    for label in range(blocks[0].leaf_costs.size):
        # One class for everyone leaves no gap: an answer before any search, should the time be short.
        before = better(before, combined(_all_saying(label, blocks, free.plans), couplings))
    prices = price(blocks, couplings, before.plans, effort.is_late)
    best = better(before, prices.met)
    bound = prices.bound
    # Sums differ by the grain but for what breaks ties, which is far less than a hundredth of it.
    enough = max(0.99 * effort.grain, ROUNDING * scale_of(blocks))
    by_program = effort.solver == "mip" and prices.feasible
    for search in (_programmed, _merged) if by_program else (_merged,) * MOST_REPEATS:
        margin = best.cost - bound + enough if keeps(best) else np.inf
        if margin <= 2 * enough or effort.is_late():
            break
        found, reached = search(blocks, couplings, prices, margin, effort)
        best, bound = better(best, found), max(bound, reached)
        if best.cost - bound > 0.7 * margin:
            break
    done = best.cost - bound <= enough
    return replace(best, bound=best.cost if done else min(bound, best.cost))


def _all_saying(label: int, blocks: Sequence[Block], plans: Sequence[LabelledPlan]) -> list[LabelledPlan]:
    """Return the plans with one class in all their leaves."""
    labels = ((label, label), (label, label))
    return [labelled(block, plan.plan, labels) for block, plan in zip(blocks, plans, strict=True)]


def better(one: Together, other: Together | None) -> Together:
    """Return the plans that miss the couplings less, or cost less where neither misses them."""

    def merit(found: Together) -> tuple[float, float]:
        return (0.0 if keeps(found) else sum(found.excess), found.cost)

    return one if other is None or merit(one) <= merit(other) else other


def _merged(
    blocks: Sequence[Block], couplings: Sequence[Coupling], prices: Prices, margin: float, effort: Effort
) -> tuple[Together | None, float]:
    """Merge the blocks' points, the fewest first, and choose among the last two; return a bound beside it."""
    waiting = []
    for block in blocks:
        waiting.append(points_of(block, prices.duals, margin))
        if effort.is_late():
            return None, prices.bound
    while len(waiting) > 2:
        waiting.sort(key=lambda points: points.costs.size)
        waiting = [merged(waiting[0], waiting[1], margin), *waiting[2:]]
        if effort.is_late():
            return None, prices.bound
    if len(waiting) == 1:
        waiting.append(points_of(_nothing(blocks[0]), prices.duals, np.inf))
    pair, at_least, margin = best_pair_of(waiting[0], waiting[1], couplings, margin)
    reached = min(at_least, prices.bound + margin)
    if pair is None:
        return None, reached
    plans = {**plans_of(waiting[0], pair.first), **plans_of(waiting[1], pair.second)}
    return combined([plans[id(block)] for block in blocks], couplings), reached


def _nothing(block: Block) -> Block:
    """Return a block that costs and adds nothing, to stand beside one that is alone."""
    return leaf_block(np.zeros(1), np.zeros((block.leaf_values.shape[0], 1)))


def _programmed(
    blocks: Sequence[Block], couplings: Sequence[Coupling], prices: Prices, margin: float, effort: Effort
) -> tuple[Together | None, float]:
    """Choose by a mixed-integer program among the options that price within the margin."""
    above = [priced_pairs(block, prices.duals)[0] for block in blocks]
    options = [
        options_of(block, pairs, np.isfinite(pairs) & (pairs <= margin))
        for block, pairs in zip(blocks, above, strict=True)
    ]
    plans, proven = solve_program(blocks, options, couplings, "highs", effort.left())
    if plans is None:
        return None, np.inf if proven else prices.bound
    found = combined(plans, couplings)
    return found, found.cost if proven else prices.bound


def _swept(block: Block, coupling: Coupling) -> LabelledPlan | None:
    """For each root, every option of one side beside the cheapest of the other whose value fits."""
    everything = np.broadcast_to(
        block.allowed[..., None, None], (*block.allowed.shape, *(2 * (block.leaf_costs.size,)))
    )
    options = options_of(block, np.zeros(everything.shape), everything)
    starts, values, costs = starts_of(options, block.n_splits), options.values[0], options.costs
    fits = [coupling.excess(float(value)) <= 0 for value in block.leaf_values[0]]
    best = float(np.where(fits, block.leaf_costs, np.inf).min())
    chosen: tuple[int, int] | None = None
    for root in range(block.n_splits):
        low = np.arange(starts[root], starts[root + 1])
        high = np.arange(starts[block.n_splits + root], starts[block.n_splits + root + 1])
        if not low.size or not high.size or costs[low].min() + costs[high].min() >= best:
            continue
        high = high[np.argsort(values[high], kind="stable")]
        begin = np.searchsorted(values[high], coupling.lower - values[low] - 1e-12, side="left")
        end = np.searchsorted(values[high], coupling.upper - values[low] + 1e-12, side="right")
        partner = range_least(costs[high], begin, end)
        total = np.where(partner >= 0, costs[low] + costs[high[partner]], np.inf)
        place = int(np.argmin(total))
        if total[place] < best:
            best, chosen = float(total[place]), (int(low[place]), int(high[partner[place]]))
    if chosen is not None:
        return plan_from(block, options, *chosen)
    if not np.isfinite(best):
        return None
    label = int(np.where(fits, block.leaf_costs, np.inf).argmin())
    return labelled(block, None, ((label, label), (label, label)))
