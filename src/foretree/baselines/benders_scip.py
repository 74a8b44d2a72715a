"""BendersOCT on SCIP: minimum cuts from a constraint handler, and trees from a rounding heuristic."""

from collections.abc import Callable
from typing import Any

import numpy as np

from foretree.baselines.heap import HeapTree
from foretree.baselines.lazy import VIOLATED, Cut, Cutter, build_master, priorities, start_values
from foretree.baselines.points import Floats
from foretree.baselines.skeleton import Skeleton, Task
from foretree.mio import scip
from foretree.mio.model import Limits, Solution

# Rounds of cuts at fractional points, at the root and below it; what share of the rows makes one worth it.
ROOT_ROUNDS, NODE_ROUNDS, WORTH_CUTTING = 200, 2, 0.002


def solve(task: Task, limits: Limits, begin: HeapTree | None) -> tuple[Solution, Skeleton]:
    """Solve the task; `begin` is offered as the first incumbent."""
    pyscipopt = scip.load()
    builder, master = build_master(task, limits.check)
    engine, columns = scip.load_model(builder.model(), False, limits)
    # SCIP sees no cut yet: symmetries and dual arguments of what it does see would be wrong.
    engine.setParam("misc/usesymmetry", 0)
    engine.setParam("misc/allowstrongdualreds", False)
    engine.setParam("misc/allowweakdualreds", False)
    for column, priority in priorities(master.skeleton).items():
        engine.chgVarBranchPriority(columns[column], priority)
    cutter = Cutter(master)
    _include_cuts(pyscipopt, engine, columns, cutter)
    _include_rounding(pyscipopt, engine, columns, cutter)
    if begin is not None:
        scip.offer_start(engine, columns, start_values(master, begin))
    return scip.run(engine, columns), master.skeleton


def _plugin(base: Any, **methods: Callable[..., Any]) -> Any:
    """An instance of a subclass of SCIP's plugin class with these methods."""
    return type(base.__name__, (base,), methods)()


def _include_cuts(pyscipopt: Any, engine: Any, columns: list[Any], cutter: Cutter) -> None:
    """Register the cuts as a constraint handler: global constraints, since rows would be forgotten."""
    result, master = pyscipopt.SCIP_RESULT, cutter.master
    rounds = _Rounds()

    def add(cuts: list[Cut]) -> bool:
        for cut in cuts:
            constraint = engine.addCons(columns[master.gains[cut.label]] <= 0.0, removable=True)
            for column, weight in zip(cut.columns, cut.weights, strict=True):
                engine.addConsCoeff(constraint, columns[column], -weight)
        return bool(cuts)

    def enforce(_self: Any, *_ignored: Any) -> dict[str, Any]:
        added = add(cutter.cuts(_values(engine, columns)))
        return {"result": result.CONSADDED if added else result.FEASIBLE}

    def separate(_self: Any, *_ignored: Any) -> dict[str, Any]:
        if not rounds.another(engine.getCurrentNode().getNumber(), engine.getDepth()):
            return {"result": result.DIDNOTRUN}
        cuts = cutter.cuts(_values(engine, columns), slack=1e-4)
        worth = sum(cut.excess for cut in cuts) >= WORTH_CUTTING * master.task.points.total
        return {"result": result.CONSADDED if worth and add(cuts) else result.DIDNOTFIND}

    def check(_self: Any, _constraints: Any, solution: Any, *_ignored: Any) -> dict[str, Any]:
        broken = cutter.cuts(_values(engine, columns, solution), slack=2 * VIOLATED)
        return {"result": result.INFEASIBLE if broken else result.FEASIBLE}

    def lock(_self: Any, _constraint: Any, _type: Any, up: int, down: int) -> None:
        for column in master.gains:
            engine.addVarLocks(columns[column], down, up)
        for column in np.concatenate([master.skeleton.branch.ravel(), master.skeleton.vote.ravel()]):
            engine.addVarLocks(columns[column], up, down)

    handler = _plugin(
        pyscipopt.Conshdlr,
        consenfolp=enforce,
        consenfops=enforce,
        conssepalp=separate,
        conscheck=check,
        conslock=lock,
    )
    priority = {"sepapriority": 0, "enfopriority": -1, "chckpriority": -1}
    engine.includeConshdlr(
        handler, "minimum cuts", "eta within the flow", sepafreq=1, needscons=False, **priority
    )


class _Rounds:
    """Counts the rounds of cuts at the node being solved."""

    def __init__(self) -> None:
        self.node, self.done = -1, 0

    def another(self, node: int, depth: int) -> bool:
        """Whether this node may have one more round."""
        self.done = self.done + 1 if node == self.node else 1
        self.node = node
        return self.done <= (NODE_ROUNDS if depth else ROOT_ROUNDS)


def _values(engine: Any, columns: list[Any], solution: Any = None) -> Floats:
    return np.array([engine.getSolVal(solution, column) for column in columns])


def _include_rounding(pyscipopt: Any, engine: Any, columns: list[Any], cutter: Cutter) -> None:
    """Register the rounding as a heuristic that runs after every LP."""
    result, timing = pyscipopt.SCIP_RESULT, pyscipopt.SCIP_HEURTIMING

    def search(self: Any, *_ignored: Any) -> dict[str, Any]:
        if engine.getLPSolstat() != pyscipopt.SCIP_LPSOLSTAT.OPTIMAL:
            return {"result": result.DIDNOTRUN}
        tree = cutter.improved(_values(engine, columns))
        if tree is None:
            return {"result": result.DIDNOTFIND}
        # In the original space, since SCIP may have fixed columns of the transformed one meanwhile.
        solution = engine.createOrigSol(self)
        for column, value in zip(columns, start_values(cutter.master, tree), strict=True):
            engine.setSolVal(solution, column, value)
        return {"result": result.FOUNDSOL if engine.trySol(solution) else result.DIDNOTFIND}

    heuristic = _plugin(pyscipopt.Heur, heurexec=search)
    engine.includeHeur(
        heuristic,
        "rounded trees",
        "follow b, then climb",
        "Y",
        priority=10000,
        freq=1,
        timingmask=timing.AFTERLPLOOP | timing.AFTERLPNODE,
    )
