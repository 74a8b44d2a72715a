"""BendersOCT on Gurobi: minimum cuts from its lazy-constraint callback."""

from typing import Any

import numpy as np

from foretree.baselines.heap import HeapTree
from foretree.baselines.lazy import Cutter, build_master, priorities, start_values
from foretree.baselines.skeleton import Skeleton, Task
from foretree.mio import gurobi
from foretree.mio.model import Limits, Solution


def solve(task: Task, limits: Limits, begin: HeapTree | None) -> tuple[Solution, Skeleton]:
    """Solve the task; `begin` is offered as the first incumbent."""
    gurobipy = gurobi.load()
    builder, master = build_master(task, limits.check)
    engine, columns = gurobi.load_model(gurobipy, builder.model(), False, limits)
    engine.Params.LazyConstraints = 1
    engine.update()
    variables = columns.tolist()
    for column, priority in priorities(master.skeleton).items():
        variables[column].BranchPriority = priority
    if begin is not None:
        columns.Start = start_values(master, begin)
    cutter = Cutter(master)

    def callback(model: Any, where: int) -> None:
        code = gurobipy.GRB.Callback
        if where == code.MIPSOL:
            values = np.asarray(model.cbGetSolution(columns))
        elif where == code.MIPNODE and model.cbGet(code.MIPNODE_STATUS) == gurobipy.GRB.OPTIMAL:
            values = np.asarray(model.cbGetNodeRel(columns))
            _offer(model, columns, cutter, values)
        else:
            return
        for cut in cutter.cuts(values, slack=1e-6 if where == code.MIPSOL else 1e-3):
            bound = sum(w * variables[c] for c, w in zip(cut.columns, cut.weights, strict=True))
            model.cbLazy(variables[master.gains[cut.label]] <= bound)

    return gurobi.run(gurobipy, engine, columns, callback), master.skeleton


def _offer(model: Any, columns: Any, cutter: Cutter, values: Any) -> None:
    tree = cutter.improved(values)
    if tree is not None:
        model.cbSetSolution(columns, start_values(cutter.master, tree))
