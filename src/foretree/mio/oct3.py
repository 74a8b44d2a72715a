"""[OCT-3], the paper's Appendix A: pair costs of all second-level branches → the best three-level tree.

Layout: `costs3[r, s, i, j, k]` is the loss of the branch {x_i = r, x_j = s} when k splits it: the paper's
c_ijk^(r,s,0) + c_ijk^(r,s,1). By that definition alone, k in (i, j) leaves the branch a leaf, j == i leaves
side r of the root to the one split k (branch s = r) and costs 0 in the empty branch (s != r).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foretree.mio.model import Builder, Floats, Limits, Model, Solution
from foretree.mio.oct2 import TIE, optimum, scaled
from foretree.mio.solvers import solver_named
from foretree.solve import Plan


@dataclass(frozen=True, slots=True)
class Plan3:
    """A three-level tree: the root's split and the two-level trees where the root is 0 and 1."""

    root: int
    low: Plan
    high: Plan
    cost: float


def oct3(costs3: Floats, solver: str = "highs", relax: bool = True, *, time_limit: float = np.inf) -> Plan3:
    """The cheapest three-level tree of `costs3` (2, 2, p, p, p) by [OCT-3], as LP (`relax`) or as MIP."""
    costs3 = checked3(costs3)
    model, labels = oct3_model(scaled(costs3))
    solution = solver_named(solver)(model, relax, Limits(time_limit))
    return first_tied3(costs3, read_plan3(costs3, labels, solution))


def checked3(costs3: Floats) -> Floats:
    """The costs as float64 (2, 2, p, p, p), refused where they are not that."""
    costs3 = np.asarray(costs3, dtype=np.float64)
    shape = costs3.shape
    if len(shape) != 5 or shape[:2] != (2, 2) or len(set(shape[2:])) != 1 or costs3.size == 0:
        raise ValueError(f"costs3 has shape {shape}: [OCT-3] needs (2, 2, p, p, p) with p of at least 1.")
    if np.isnan(costs3).any() or np.isneginf(costs3).any():
        raise ValueError("costs3 holds NaN or minus infinity: give finite costs, and inf where forbidden.")
    return costs3


def oct3_model(costs3: Floats) -> tuple[Model, NDArray[np.intp]]:
    """The model of Appendix A, and the (columns, 5) labels r, s, i, j, k of its columns."""
    n_splits = costs3.shape[2]
    labels = np.argwhere(np.isfinite(costs3))
    r, s, i, j, _ = labels.T
    builder = Builder()
    columns = builder.columns((r.size,), costs3[tuple(labels.T)], upper=np.inf, integral=True)
    leaves = builder.rows((2, 2), 1.0, 1.0)  # one pair of leaves per second-level branch
    siblings = builder.rows((2, n_splits, n_splits), 0.0, 0.0)  # both branches of side r share i and j
    roots = builder.rows((n_splits,), 0.0, 0.0)  # both sides share i
    builder.entries(leaves[r, s], columns)
    builder.entries(siblings[r, i, j], columns, np.where(s == 0, 1.0, -1.0))
    first = s == 0
    builder.entries(roots[i[first]], columns[first], np.where(r[first] == 0, 1.0, -1.0))
    return builder.model(), labels


def read_plan3(costs3: Floats, labels: NDArray[np.intp], solution: Solution) -> Plan3:
    """The tree that an integral solution stands for, checked to be one."""
    values = optimum("[OCT-3]", solution)
    chosen = labels[values > 0.5]
    fractional = np.abs(values - np.round(values)).max() > 1e-6
    if fractional or chosen.shape[0] != 4 or len(set(chosen[:, 2])) != 1:
        raise ArithmeticError("the solver returned a point of [OCT-3] that is no tree: use a simplex solver.")
    # argwhere lists the labels sorted, so the four are in the order (r, s) = 00, 01, 10, 11.
    return _plan3(costs3, int(chosen[0, 2]), chosen[::2, 3], chosen[:, 4].reshape(2, 2))


def _plan3(costs3: Floats, root: int, seconds: NDArray[np.intp], thirds: NDArray[np.intp]) -> Plan3:
    sides = []
    for r in (0, 1):
        split, pair = int(seconds[r]), (int(thirds[r, 0]), int(thirds[r, 1]))
        cost = sum(float(costs3[r, s, root, split, pair[s]]) for s in (0, 1))
        sides.append(Plan(split, pair[0], pair[1], cost))
    return Plan3(root, sides[0], sides[1], sides[0].cost + sides[1].cost)


def first_tied3(costs3: Floats, plan: Plan3) -> Plan3:
    """Among the trees that cost what `plan` costs, the smallest root, then low, then high: O(p³)."""
    finite = np.abs(costs3[np.isfinite(costs3)])
    slack = TIE * max(float(finite.max(initial=0.0)), 1e-300)
    best = costs3.min(axis=4)  # r, s, i, j
    sides = best.sum(axis=1).min(axis=2)  # r, i
    root = int(np.argmax(sides.sum(axis=0) <= plan.cost + slack))
    seconds, thirds = np.empty(2, dtype=np.intp), np.empty((2, 2), dtype=np.intp)
    for r in (0, 1):
        seconds[r] = np.argmax(best[r, :, root].sum(axis=0) <= sides[r, root] + slack)
        for s in (0, 1):
            thirds[r, s] = np.argmax(costs3[r, s, root, seconds[r]] <= best[r, s, root, seconds[r]] + slack)
    return _plan3(costs3, root, seconds, thirds)
