"""The solvers by name; each imports its package only when it is asked to solve."""

from foretree.mio import gurobi, highs, scip
from foretree.mio.model import Solver

SOLVERS: dict[str, Solver] = {"highs": highs.solve, "scip": scip.solve, "gurobi": gurobi.solve}


def solver_named(name: str) -> Solver:
    """The solver of this name."""
    if not isinstance(name, str) or name not in SOLVERS:
        raise ValueError(f"solver={name!r} is unknown: choose one of {', '.join(map(repr, SOLVERS))}.")
    return SOLVERS[name]


def installed() -> list[str]:
    """The names of the solvers whose packages can be imported here."""
    found = []
    for name, module in (("highs", highs), ("scip", scip), ("gurobi", gurobi)):
        try:
            module.load()
        except ImportError:
            continue
        found.append(name)
    return found
