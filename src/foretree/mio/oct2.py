"""[OCT-2]: pair costs → the best two-level tree, by linear or mixed-integer programming."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from foretree.mio.model import Floats, Limits, Model, Solution
from foretree.mio.solvers import solver_named
from foretree.solve import Plan

# Costs that differ by less, relative to the largest, count as tied: a simplex solver is no more exact.
TIE = 1e-9
# What solvers get as the largest cost: their 1e-7 is then far below TIE.
LARGEST = 2.0**16


def oct2(
    costs: Floats,
    solver: str = "highs",
    relax: bool = True,
    *,
    tie_breaks: Sequence[Floats] = (),
    time_limit: float = np.inf,
) -> Plan:
    """The cheapest two-level tree of `costs` (2, p, p) by [OCT-2], as LP (`relax`) or as MIP.

    Trees of equal cost are decided by the least sum of each of `tie_breaks` (2, p, p) in turn, then by the
    smallest (root, low, high), whatever vertex the solver stops at.
    """
    costs = checked(costs)
    for tie_break in tie_breaks:
        if np.shape(tie_break) != costs.shape:
            raise ValueError(
                f"a tie break has shape {np.shape(tie_break)}: it needs that of costs, {costs.shape}."
            )
    model, labels = oct2_model(scaled(costs))
    solution = solver_named(solver)(model, relax, Limits(time_limit))
    return first_tied(costs, read_plan(costs, labels, solution), tie_breaks)


def checked(costs: Floats) -> Floats:
    """The costs as float64 (2, p, p), refused where they are no pair costs."""
    costs = np.asarray(costs, dtype=np.float64)
    if costs.ndim != 3 or costs.shape[0] != 2 or costs.shape[1] != costs.shape[2] or costs.size == 0:
        raise ValueError(f"costs has shape {costs.shape}: [OCT-2] needs (2, p, p) with p of at least 1.")
    if np.isnan(costs).any() or np.isneginf(costs).any():
        raise ValueError("costs holds NaN or minus infinity: give finite costs, and inf where forbidden.")
    return costs


def scaled(costs: Floats) -> Floats:
    """The costs times a power of two: solvers compare with fixed tolerances, whatever the unit of costs."""
    return np.ldexp(costs, -exponent(costs))


def exponent(costs: Floats) -> int:
    """The power of two that brings the largest of the finite costs to about LARGEST."""
    largest = np.abs(costs[np.isfinite(costs)]).max(initial=0.0)
    return int(np.frexp(largest / LARGEST)[1]) if largest else 0


def oct2_model(costs: Floats) -> tuple[Model, NDArray[np.intp]]:
    """The model (1a)-(1f) of `costs`, and the (columns, 3) labels side, root, child of its columns.

    Rows: (1b), (1c), then (1d) for every root. Forbidden pairs get no column: as the paper's rows (2)
    and (3) they would break the integrality, as missing columns they cannot.
    """
    labels = np.argwhere(np.isfinite(costs))
    side, root, child = labels.T
    return oct2_columns(side, root, costs[side, root, child], costs.shape[1]), labels


def oct2_columns(side: NDArray[np.intp], root: NDArray[np.intp], costs: Floats, n_roots: int) -> Model:
    """[OCT-2] over chosen columns, each given by its side, root and cost."""
    n_columns = side.size
    rows = np.empty((n_columns, 2), dtype=np.int32)
    rows[:, 0] = side
    rows[:, 1] = 2 + root
    values = np.ones((n_columns, 2))
    values[side == 1, 1] = -1.0
    sides = np.zeros(2 + n_roots)
    sides[:2] = 1.0
    return Model(
        objective=np.asarray(costs, dtype=np.float64),
        starts=np.arange(0, 2 * n_columns + 1, 2, dtype=np.int32),
        rows=rows.ravel(),
        values=values.ravel(),
        row_lower=sides,
        row_upper=sides,
        lower=np.zeros(n_columns),
        # (1b) and (1c) imply z <= 1; saying it again would only cost the simplex method bound flips.
        upper=np.full(n_columns, np.inf),
        integral=np.ones(n_columns, dtype=np.bool_),
    )


def optimum(name: str, solution: Solution) -> Floats:
    """The values of a solution that is proven, since an incumbent is no answer here."""
    if solution.status == "interrupted":
        raise KeyboardInterrupt
    if solution.status.startswith("time limit"):
        raise TimeoutError(
            f"{name} was not solved to the end in the time given: give more, or relax=True, whose optimum is the same."
        )
    if solution.values is None:
        raise ValueError(f"{name} has no tree ({solution.status}): each needs a forbidden pair.")
    return solution.values


def read_plan(costs: Floats, labels: NDArray[np.intp], solution: Solution) -> Plan:
    """The tree that an integral solution stands for, checked to be one."""
    values = optimum("[OCT-2]", solution)
    chosen = labels[values > 0.5]
    fractional = np.abs(values - np.round(values)).max() > 1e-6
    if fractional or chosen.shape[0] != 2 or chosen[0, 1] != chosen[1, 1]:
        raise ArithmeticError("the solver returned a point of [OCT-2] that is no tree: use a simplex solver.")
    (_, root, low), (_, _, high) = chosen.tolist()
    return Plan(root, low, high, float(costs[0, root, low] + costs[1, root, high]))


def first_tied(
    costs: Floats, plan: Plan, tie_breaks: Sequence[Floats] = (), tolerance: float | None = None
) -> Plan:
    """Among the trees that cost what `plan` costs, the least by the tie breaks, then by (root, low, high).

    A pair belongs to such a tree exactly when it and the cheapest pair of its root's other side cost no
    more together: the pairs without reduced cost, found here in O(p²).
    """
    tied = _tied(costs, plan.cost, tolerance)
    for tie_break in tie_breaks:
        remaining = np.where(tied, tie_break, np.inf)
        tied = _tied(remaining, float(remaining.min(axis=2).sum(axis=0).min()), tolerance)
    root = int(np.argmax(tied.any(axis=(0, 2))))
    low, high = (int(np.argmax(tied[side, root])) for side in (0, 1))
    return Plan(root, low, high, float(costs[0, root, low] + costs[1, root, high]))


def _tied(costs: Floats, best: float, tolerance: float | None) -> NDArray[np.bool_]:
    """(2, p, p) the pairs that belong to a tree of cost `best`."""
    if tolerance is None:
        tolerance = TIE * max(float(np.abs(costs[np.isfinite(costs)]).max(initial=0.0)), 1e-300)
    tied: NDArray[np.bool_] = costs + costs.min(axis=2)[::-1, :, None] <= best + tolerance
    return tied
