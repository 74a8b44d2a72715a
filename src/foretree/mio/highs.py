"""`Model` → `Solution` by HiGHS."""

import tempfile
from importlib import import_module
from pathlib import Path
from time import perf_counter
from types import ModuleType
from typing import Any

import numpy as np

from foretree.mio.interrupt import run_stoppable
from foretree.mio.model import Limits, Model, Solution


def load() -> ModuleType:
    """The highspy package, or one sentence that says how to get it."""
    try:
        return import_module("highspy")
    except ImportError as missing:
        raise ImportError("The solver 'highs' needs highspy: pip install 'foretree[mio]'.") from missing


def solve(model: Model, relax: bool, limits: Limits) -> Solution:
    """Solve with HiGHS: an LP by dual simplex to a vertex, anything integral by branch and cut."""
    highspy = load()
    began = perf_counter()
    engine = highspy.Highs()
    engine.setOptionValue("output_flag", False)
    _pass_model(engine, model, relax)
    limits.check()
    if np.isfinite(limits.seconds):
        engine.setOptionValue("time_limit", max(limits.seconds - (perf_counter() - began), 0.0))
    if relax or not model.integral.any():
        return _solve_relaxed(highspy, engine)
    return _solve_integral(highspy, engine, limits)


def _pass_model(engine: Any, model: Model, relax: bool) -> None:
    n_rows, n_columns = model.shape
    # All zeros says continuous; an empty array would be read beyond its end.
    integrality = (model.integral & (not relax)).astype(np.int32)
    answer = engine.passModel(
        n_columns,
        n_rows,
        model.values.size,
        1,  # the matrix by columns
        1,  # minimise
        0.0,
        model.objective,
        model.lower,
        model.upper,
        model.row_lower,
        model.row_upper,
        model.starts[:-1],
        model.rows,
        model.values,
        integrality,
    )
    if int(answer) < 0:
        raise ArithmeticError("HiGHS refused the model: its matrix or bounds are not finite numbers.")


def _solve_relaxed(highspy: ModuleType, engine: Any) -> Solution:
    # Measured: on these models presolve costs ten times what it saves. Simplex, since interior points
    # without crossover stop inside the face of tied trees, where the point is no tree.
    engine.setOptionValue("presolve", "off")
    engine.setOptionValue("solver", "simplex")
    engine.run()
    status = engine.getModelStatus()
    if status != highspy.HighsModelStatus.kOptimal:
        return Solution(None, np.inf, -np.inf, engine.modelStatusToString(status).lower())
    point, objective = engine.getSolution(), engine.getInfo().objective_function_value
    return Solution(
        np.asarray(point.col_value), objective, objective, "optimal", row_duals=np.asarray(point.row_dual)
    )


def _solve_integral(highspy: ModuleType, engine: Any, limits: Limits) -> Solution:
    engine.setOptionValue("threads", 1)
    engine.setOptionValue("mip_rel_gap", 0.0)
    engine.setOptionValue("mip_abs_gap", 1e-6)
    if limits.start is not None:
        known = np.flatnonzero(np.isfinite(limits.start)).astype(np.int32)
        engine.setSolution(known.size, known, limits.start[known])
    with tempfile.TemporaryDirectory() as folder:
        log_file = Path(folder) / "highs.log"
        engine.setOptionValue("log_file", str(log_file))
        engine.setOptionValue("log_to_console", False)
        engine.setOptionValue("output_flag", True)
        interrupted = run_stoppable(lambda: _run(engine), lambda: _cancel(engine))
        engine.setOptionValue("log_file", "")
        log = log_file.read_text() if log_file.exists() else ""
    info, status = engine.getInfo(), engine.getModelStatus()
    found = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    named = "interrupted" if interrupted else engine.modelStatusToString(status).lower()
    return Solution(
        np.asarray(engine.getSolution().col_value) if found else None,
        info.objective_function_value if found else np.inf,
        info.mip_dual_bound,
        named,
        max(int(info.mip_node_count), 0),
        log,
    )


def _cancel(engine: Any) -> None:
    engine.cancelSolve()
    # Presolve and long simplex phases look at the clock alone.
    engine.setOptionValue("time_limit", 0.0)


def _run(engine: Any) -> None:
    engine.HandleUserInterrupt = True
    engine.run()
    # HiGHS keeps its scheduler per thread, and this thread ends here.
    engine.resetGlobalScheduler(False)
