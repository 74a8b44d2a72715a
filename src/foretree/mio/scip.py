"""`Model` → `Solution` by SCIP."""

import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from time import perf_counter
from types import ModuleType
from typing import Any

import numpy as np

from foretree.mio.interrupt import run_stoppable
from foretree.mio.model import Limits, Model, Solution

STATUS = {
    "timelimit": "time limit reached",
    "memlimit": "memory limit reached",
    "userinterrupt": "interrupted",
}


def load() -> ModuleType:
    """The pyscipopt package, or one sentence that says how to get it."""
    try:
        return import_module("pyscipopt")
    except ImportError as missing:
        raise ImportError("The solver 'scip' needs pyscipopt: pip install 'foretree[scip]'.") from missing


def solve(model: Model, relax: bool, limits: Limits) -> Solution:
    """Solve with SCIP; `relax` keeps every column continuous."""
    engine, columns = load_model(model, relax, limits)
    if limits.start is not None:
        offer_start(engine, columns, limits.start)
    return run(engine, columns)


def load_model(model: Model, relax: bool, limits: Limits) -> tuple[Any, list[Any]]:
    """A silent SCIP that holds the model, and its columns."""
    pyscipopt = load()
    began = perf_counter()
    engine = pyscipopt.Model()
    engine.hideOutput()
    engine.setParam("misc/catchctrlc", False)  # signals are noticed in `interrupt`, all alike
    columns = [
        engine.addVar(
            lb=model.lower[j],
            ub=model.upper[j] if np.isfinite(model.upper[j]) else None,
            obj=model.objective[j],
            vtype="I" if model.integral[j] and not relax else "C",
        )
        for j in range(model.objective.size)
    ]
    _add_rows(pyscipopt, engine, model, columns, limits.check)
    if np.isfinite(limits.seconds):
        # SCIP's clock starts when it solves; a large model has taken its time by then.
        engine.setParam("limits/time", max(limits.seconds - (perf_counter() - began), 0.0))
    return engine, columns


def _add_rows(
    pyscipopt: ModuleType, engine: Any, model: Model, columns: list[Any], check: Callable[[], None]
) -> None:
    n_rows, n_columns = model.shape
    owner = np.repeat(np.arange(n_columns), np.diff(model.starts))
    order = np.argsort(model.rows, kind="stable")
    ends = np.cumsum(np.bincount(model.rows, minlength=n_rows))
    for row, chosen in enumerate(np.split(order, ends[:-1])):
        check()
        low, high = model.row_lower[row], model.row_upper[row]
        expression = pyscipopt.quicksum(model.values[e] * columns[owner[e]] for e in chosen)
        if low == high:
            engine.addCons(expression == low)
            continue
        if np.isfinite(low):
            engine.addCons(expression >= low)
        if np.isfinite(high):
            engine.addCons(expression <= high)


def offer_start(engine: Any, columns: list[Any], start: np.ndarray) -> None:
    """Hand SCIP a start; what is NaN is left for it to complete."""
    offered = engine.createPartialSol()
    for column, value in zip(columns, start, strict=True):
        if np.isfinite(value):
            engine.setSolVal(offered, column, value)
    engine.addSol(offered)


def run(engine: Any, columns: list[Any]) -> Solution:
    """Optimise what was built and read the answer; a signal leaves the incumbent."""
    with tempfile.TemporaryDirectory() as folder:
        log_file = Path(folder) / "scip.log"
        engine.setLogfile(str(log_file))
        interrupted = run_stoppable(engine.optimizeNogil, engine.interruptSolve)
        engine.setLogfile(None)
        log = log_file.read_text() if log_file.exists() else ""
    status = "interrupted" if interrupted else STATUS.get(engine.getStatus(), engine.getStatus())
    bound, nodes = engine.getDualbound(), int(engine.getNTotalNodes())
    if engine.getNSols() == 0:
        return Solution(None, np.inf, bound, status, nodes, log)
    best = engine.getBestSol()
    values = np.array([engine.getSolVal(best, column) for column in columns])
    return Solution(values, engine.getSolObjVal(best), bound, status, nodes, log)
