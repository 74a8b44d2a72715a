"""`Model` → `Solution` by Gurobi, where its (size-limited) licence allows."""

from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from foretree.mio.interrupt import run_stoppable
from foretree.mio.model import Limits, Model, Solution

FREE_SIZE = 2000


def load() -> ModuleType:
    """The gurobipy package, or one sentence that says how to get it."""
    try:
        return import_module("gurobipy")
    except ImportError as missing:
        raise ImportError("The solver 'gurobi' needs gurobipy: pip install 'foretree[gurobi]'.") from missing


def new_engine(gurobipy: ModuleType, limits: Limits) -> Any:
    """An empty, silent Gurobi model that keeps its log in memory and uses one thread."""
    environment = gurobipy.Env(params={"OutputFlag": 0})
    engine = gurobipy.Model(env=environment)
    engine.Params.Threads = 1
    engine.Params.MIPGap = 0.0
    if np.isfinite(limits.seconds):
        engine.Params.TimeLimit = max(limits.seconds, 0.0)
    return engine


def solve(model: Model, relax: bool, limits: Limits) -> Solution:
    """Solve with Gurobi; a model beyond the free licence's size is refused in one sentence."""
    gurobipy = load()
    engine, columns = load_model(gurobipy, model, relax, limits)
    if limits.start is not None:
        columns.Start = np.where(np.isfinite(limits.start), limits.start, gurobipy.GRB.UNDEFINED)
    return run(gurobipy, engine, columns)


def load_model(gurobipy: ModuleType, model: Model, relax: bool, limits: Limits) -> tuple[Any, Any]:
    """A silent Gurobi that holds the model, and its columns."""
    from scipy.sparse import csc_array

    engine = new_engine(gurobipy, limits)
    kinds = np.where(model.integral & (not relax), "I", "C")
    columns = engine.addMVar(
        model.objective.size, lb=model.lower, ub=model.upper, obj=model.objective, vtype=kinds
    )
    matrix = csc_array((model.values, model.rows, model.starts), shape=model.shape).tocsr()
    equal = model.row_lower == model.row_upper
    above = np.isfinite(model.row_lower) & ~equal
    below = np.isfinite(model.row_upper) & ~equal
    for chosen, sense, side in (
        (equal, "=", model.row_lower),
        (above, ">", model.row_lower),
        (below, "<", model.row_upper),
    ):
        if chosen.any():
            engine.addMConstr(matrix[chosen], columns, sense, side[chosen])
    return engine, columns


def run(gurobipy: ModuleType, engine: Any, columns: Any, callback: Any = None) -> Solution:
    """Optimise what was built and read the answer; a signal leaves the incumbent."""
    try:
        interrupted = run_stoppable(lambda: engine.optimize(callback), engine.terminate)
    except gurobipy.GurobiError as refusal:
        if refusal.errno != gurobipy.GRB.Error.SIZE_LIMIT_EXCEEDED:
            raise
        raise RuntimeError(
            f"Gurobi's licence here allows {FREE_SIZE} columns and rows and this model has "
            f"{engine.NumVars} and {engine.NumConstrs}: use solver='highs', or install a full licence."
        ) from refusal
    names = {gurobipy.GRB.OPTIMAL: "optimal", gurobipy.GRB.TIME_LIMIT: "time limit reached"}
    status = "interrupted" if interrupted else names.get(engine.Status, f"gurobi status {engine.Status}")
    mixed = bool(engine.IsMIP)
    bound = engine.ObjBound if mixed else (engine.ObjVal if engine.SolCount else -np.inf)
    nodes = int(engine.NodeCount) if mixed else 0
    if engine.SolCount == 0:
        return Solution(None, np.inf, bound, status, nodes)
    return Solution(np.asarray(columns.X), engine.ObjVal, bound, status, nodes)
