"""[OCT-2] in the place of the closed form: what a looker asks for one node, answered by a solver."""

from collections.abc import Callable

import numpy as np

from foretree.costs import PairCosts
from foretree.mio.model import Limits
from foretree.mio.oct2 import first_tied, oct2_model, read_plan, scaled
from foretree.mio.solvers import solver_named
from foretree.solve import Plan, lacking

# The closed form's share of a node's weight within which costs are equal; a solver's answer is rounder.
TOLERANCE = 1e-10


def pair_solver(solver: str = "highs", relax: bool = True) -> Callable[[PairCosts, bool], Plan | None]:
    """A stand-in for `solve.best_pair` that solves [OCT-2] as LP (`relax`) or MIP and decides ties alike."""
    solve = solver_named(solver)

    def best_pair(pairs: PairCosts, tie_by_gini: bool = True) -> Plan | None:
        costs = np.where(pairs.separates[None, :, None], pairs.costs, np.inf)
        if not np.isfinite(costs.min(axis=2)).all(axis=0).any():
            return None
        model, labels = oct2_model(scaled(costs))
        plan = read_plan(costs, labels, solve(model, relax, Limits()))
        tie_breaks = [lacking(pairs).astype(np.float64)] + ([pairs.ginis] if tie_by_gini else [])
        plan = first_tied(costs, plan, tie_breaks, TOLERANCE * pairs.weight)
        low, high = (
            plan.root if pairs.empty[side, plan.root, child] else child
            for side, child in enumerate((plan.low, plan.high))
        )
        return Plan(plan.root, low, high, plan.cost)

    return best_pair
