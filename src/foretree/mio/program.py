"""Open nodes together by mixed-integer programming: one [OCT-2] block per node, the couplings as rows across."""

from collections.abc import Sequence

import numpy as np

from foretree.constraints.place import Coupling
from foretree.mio.blocks import Block, LabelledPlan, labelled
from foretree.mio.merge import Options, plan_from
from foretree.mio.model import Builder, Limits
from foretree.mio.oct2 import exponent
from foretree.mio.solvers import solver_named

# Solvers keep rows to 1e-6; in these units that is 1e-9 of a share.
ROW_UNIT = 1e3


def solve_program(
    blocks: Sequence[Block],
    options: Sequence[Options],
    couplings: Sequence[Coupling],
    solver: str,
    seconds: float,
) -> tuple[list[LabelledPlan] | None, bool]:
    """Return the cheapest plans among the options, None where none keep the couplings, and whether that is proven."""
    builder = Builder()
    lower, upper = (np.array([getattr(c, side) for c in couplings]) for side in ("lower", "upper"))
    rows = builder.rows((len(couplings),), ROW_UNIT * lower, ROW_UNIT * upper)
    power = exponent(
        np.concatenate([np.append(o.costs, b.leaf_costs) for b, o in zip(blocks, options, strict=True)])
    )
    numbers = []
    for block, columns in zip(blocks, options, strict=True):
        side, root = columns.labels[:, 0], columns.labels[:, 1]
        pairs = builder.columns((side.size,), np.ldexp(columns.costs, -power), integral=True)
        leaves = builder.columns(block.leaf_costs.shape, np.ldexp(block.leaf_costs, -power), integral=True)
        branches = builder.rows((2,), 1.0, 1.0)
        builder.entries(branches[:, None], leaves[None, :])
        builder.entries(rows[:, None], leaves[None, :], ROW_UNIT * block.leaf_values)
        if side.size:
            used, place = np.unique(root, return_inverse=True)
            shared = builder.rows((used.size,), 0.0, 0.0)
            builder.entries(branches[side], pairs)
            builder.entries(shared[place], pairs, np.where(side == 0, 1.0, -1.0))
            builder.entries(rows[:, None], pairs[None, :], ROW_UNIT * columns.values)
        numbers.append((pairs, leaves))
    solution = solver_named(solver)(builder.model(), False, Limits(max(seconds, 0.05)))
    if solution.status == "interrupted":
        raise KeyboardInterrupt
    if solution.values is None:
        return None, "infeasible" in solution.status
    plans = []
    for block, columns, (pairs, leaves) in zip(blocks, options, numbers, strict=True):
        leaf = np.flatnonzero(solution.values[leaves] > 0.5)
        if leaf.size:
            label = int(leaf[0])
            plans.append(labelled(block, None, ((label, label), (label, label))))
        else:
            low, high = np.flatnonzero(solution.values[pairs] > 0.5).tolist()
            plans.append(plan_from(block, columns, low, high))
    return plans, "optimal" in solution.status
