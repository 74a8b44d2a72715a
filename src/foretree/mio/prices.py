"""Prices on the couplings, at which every node solved alone bounds what all nodes can reach together.

Column generation: the trees seen so far are mixed by a small linear program, whose duals pay for the couplings;
nodes answer with their best trees at these prices, until no answer is cheaper than the mixture.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from foretree.constraints.place import Coupling, Floats
from foretree.mio.blocks import Block, LabelledPlan, Together, cheapest, combined, keeps
from foretree.mio.oct2 import exponent

# A coupling's excess of 1 costs as much as this many times all rows: paid only where nothing else is left.
PENALTY = 1e3
MOST_ROUNDS = 200
# How many of a node's best roots join the mixture at once.
ROOTS = 8


@dataclass(frozen=True, slots=True)
class Prices:
    """What a unit of each coupling earns (m,), the bound this proves, and the best plans met that keep them.

    `feasible` tells whether mixtures of trees keep the couplings: if not, no trees do.
    """

    duals: Floats
    bound: float
    feasible: bool
    met: Together | None


def price(
    blocks: Sequence[Block],
    couplings: Sequence[Coupling],
    known: Sequence[LabelledPlan],
    is_late: Callable[[], bool],
) -> Prices:
    """Return the prices of the best bound."""
    lower = np.array([coupling.lower for coupling in couplings])
    upper = np.array([coupling.upper for coupling in couplings])
    scale = scale_of(blocks)
    pool = [[plan] for plan in known]
    start = combined(known, couplings)
    met = start if keeps(start) else None
    bound, best_duals, feasible = -np.inf, np.zeros(len(couplings)), True
    for _ in range(MOST_ROUNDS):
        value, duals, missed = _mixed(pool, (lower, upper), scale)
        feasible = missed <= 1e-7
        answers = [cheapest(block, duals, ROOTS) for block in blocks]
        reached = sum(least for _, least in answers) + _earned(duals, lower, upper)
        if reached > bound:
            bound, best_duals = reached, duals
        together = combined([plans[0] for plans, _ in answers], couplings)
        if keeps(together) and (met is None or together.cost < met.cost):
            met = together
        new = [
            [plan for plan in plans if not any(_same(plan, other) for other in old)]
            for (plans, _), old in zip(answers, pool, strict=True)
        ]
        if value - bound <= 1e-9 * scale or not any(new) or is_late():
            break
        pool = [[*old, *more] for old, more in zip(pool, new, strict=True)]
    return Prices(best_duals, bound, feasible, met)


def scale_of(blocks: Sequence[Block]) -> float:
    """Return the most that leaves could cost, by which rounding is measured."""
    return max(sum(float(block.leaf_costs.max()) for block in blocks), 1e-300)


def _same(one: LabelledPlan, other: LabelledPlan) -> bool:
    return one.cost == other.cost and one.values == other.values


def _earned(duals: Floats, lower: Floats, upper: Floats) -> float:
    """Return what the couplings' bounds are worth at these duals."""
    bounds = np.where(duals > 0, lower, upper)
    return float((duals * np.where(duals == 0, 0.0, bounds)).sum())


def _mixed(
    pool: Sequence[Sequence[LabelledPlan]], bounds: tuple[Floats, Floats], scale: float
) -> tuple[float, Floats, float]:
    """Mix each node's trees at least cost: what it costs, the couplings' duals (m,), and how far they are missed."""
    # SciPy comes with scikit-learn; its HiGHS is quick for such small programs.
    from scipy.optimize import linprog

    lower, upper = bounds
    plans = [plan for of_node in pool for plan in of_node]
    values = np.array([plan.values for plan in plans]).reshape(len(plans), lower.size).T
    owner = np.repeat(np.arange(len(pool)), [len(of_node) for of_node in pool])
    below, above = np.flatnonzero(np.isfinite(upper)), np.flatnonzero(np.isfinite(lower))
    rows = np.concatenate([values[below], -values[above]])
    limits = np.concatenate([upper[below], -lower[above]])
    # One more column a row makes up for what it misses.
    rows = np.hstack([rows, -np.eye(limits.size)])
    one_each = np.hstack([owner == np.arange(len(pool))[:, None], np.zeros((len(pool), limits.size))])
    power = exponent(np.array([scale]))
    costs = np.concatenate([[plan.cost for plan in plans], np.full(limits.size, PENALTY * scale)])
    costs = np.ldexp(costs, -power)
    answer = linprog(costs, rows, limits, one_each, np.ones(len(pool)), method="highs-ds")
    if answer.x is None:
        raise ArithmeticError(f"The mixture of trees has no optimum: {answer.message}.")
    duals = np.zeros(lower.size)
    duals[below] += answer.ineqlin.marginals[: below.size]
    duals[above] -= answer.ineqlin.marginals[below.size :]
    return float(np.ldexp(answer.fun, power)), np.ldexp(duals, power), float(answer.x[len(plans) :].sum())
