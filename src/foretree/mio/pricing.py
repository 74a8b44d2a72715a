"""[OCT-2] by column generation: only pairs that can still win are counted, and the dual proves the rest.

The restricted model holds the cheapest known pair of each priced branch. Its dual prices (pi of the rows
(1b) and (1c), mu of (1d)) are completed to every root: a root j outside the model admits prices that let no
pair of it enter exactly when its two lower bounds add up to at least pi_0 + pi_1, the model's optimum.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from foretree.mio.model import Floats, Limits
from foretree.mio.oct2 import TIE, exponent, oct2_columns
from foretree.mio.solvers import solver_named
from foretree.solve import Plan

FIRST_ROOTS = 8
FIRST_CHILDREN = 64
MOST_CORNERS = 8


class PairSource(Protocol):
    """Pair costs on demand, and cheap lower bounds on them, one branch (side, root) at a time."""

    @property
    def n_splits(self) -> int:
        """The number of splits p."""

    def bounds(self, side: int, root: int) -> Floats:
        """(p,) lower bounds on the costs of the branch's pairs; inf where forbidden."""

    def costs(self, side: int, root: int, children: NDArray[np.intp]) -> Floats:
        """(children,) costs of these pairs of the branch; inf where forbidden."""


@dataclass(frozen=True, slots=True)
class Priced:
    """The optimal tree, what it took, and the proof: dual prices (2 + p,) of [OCT-2]'s rows."""

    plan: Plan
    columns: int
    columns_priced: int
    branches_priced: int
    rounds: int
    prices: Floats


@dataclass(slots=True)
class _State:
    """Per branch (2, p): a lower bound, and the cheapest pair once the branch is priced."""

    least: Floats
    child: NDArray[np.intp]
    priced: NDArray[np.bool_]
    counted: int = 0
    # pi_0, pi_1 and mu of the last restricted model
    prices: Floats = field(default_factory=lambda: np.zeros(0))


def priced_oct2(source: PairSource, solver: str = "highs") -> Priced:
    """The cheapest two-level tree of `source` in O(p) memory, counting only pairs that may still win."""
    state = _begin(source)
    batch, rounds = FIRST_ROOTS, 0
    best = np.inf
    while True:
        rest = state.least.sum(axis=0)
        rest[state.priced.all(axis=0)] = np.inf
        slack = TIE * max(abs(best), 1e-300) if np.isfinite(best) else 0.0
        winners = np.flatnonzero(rest < best - slack)
        if not winners.size:
            break
        for root in winners[np.argsort(rest[winners], kind="stable")][:batch]:
            # The first side may already show that the root cannot win.
            for side in np.argsort(state.least[:, root]):
                if state.least[:, root].sum() < best:
                    _price_branch(source, state, int(side), int(root))
        best = _restricted(state, solver)
        batch, rounds = 2 * batch, rounds + 1
    if not np.isfinite(best):
        raise ValueError("[OCT-2] has no tree: every tree needs a forbidden pair.")
    return _finished(state, rounds)


def _begin(source: PairSource) -> _State:
    n_splits = source.n_splits
    least = np.empty((2, n_splits))
    for side, root in np.ndindex(2, n_splits):
        least[side, root] = source.bounds(side, root).min()
    return _State(least, np.zeros((2, n_splits), dtype=np.intp), np.zeros((2, n_splits), dtype=np.bool_))


def _price_branch(source: PairSource, state: _State, side: int, root: int) -> None:
    """Find the branch's cheapest pair exactly, counting children in the order of their bounds."""
    if state.priced[side, root]:
        return
    bounds = source.bounds(side, root)
    order = np.argsort(bounds, kind="stable")
    cheapest, child, begin, size = np.inf, int(order[0]), 0, FIRST_CHILDREN
    while begin < order.size and bounds[order[begin]] < cheapest:
        block = order[begin : begin + size]
        block = block[bounds[block] < cheapest]
        costs = source.costs(side, root, block)
        state.counted += block.size
        if costs.min() < cheapest:
            cheapest, child = float(costs.min()), int(block[np.argmin(costs)])
        begin, size = begin + size, 2 * size
    state.least[side, root], state.child[side, root] = cheapest, child
    state.priced[side, root] = True


def _restricted(state: _State, solver: str) -> float:
    """Solve [OCT-2] over the roots with both branches priced; inf while none of them is possible."""
    roots = np.flatnonzero(state.priced.all(axis=0) & np.isfinite(state.least).all(axis=0))
    if not roots.size:
        return np.inf
    side, place = np.indices((2, roots.size)).reshape(2, -1)
    costs = state.least[side, roots[place]]
    power = exponent(costs)
    model = oct2_columns(side, place, np.ldexp(costs, -power), roots.size)
    solution = solver_named(solver)(model, True, Limits())
    if solution.row_duals is None:
        raise ArithmeticError(f"solver={solver!r} gave no dual prices ({solution.status}): use 'highs'.")
    duals = np.ldexp(solution.row_duals, power)
    pi, mu = duals[:2], np.empty(state.least.shape[1])
    with np.errstate(invalid="ignore"):
        # Any mu between pi-free costs serves a root outside; a forbidden side 0 leaves side 1 to decide.
        mu = np.where(np.isfinite(state.least[0]), state.least[0] - pi[0], pi[1] - state.least[1])
    mu[~np.isfinite(state.least).any(axis=0)] = 0.0
    mu[roots] = duals[2:]
    state.prices = np.concatenate([pi, mu])
    return float(np.ldexp(solution.objective, power))


def _finished(state: _State, rounds: int) -> Priced:
    both = state.priced.all(axis=0)
    total = np.where(both, state.least.sum(axis=0), np.inf)
    root = int(np.argmin(total))
    plan = Plan(root, int(state.child[0, root]), int(state.child[1, root]), float(total[root]))
    n_splits = both.size
    branches = int(state.priced.sum())
    return Priced(plan, 2 * n_splits**2, state.counted, branches, rounds, state.prices)


@dataclass(frozen=True, slots=True)
class TableSource:
    """Pair costs of a binary table (n, p) with classes (n,), for losses concave in the class counts.

    The bound of a pair needs only each split's own class counts: the pair's counts lie in a box (Fréchet),
    and a concave loss is least at one of the box's corners. Misclassification, Gini and entropy are concave.
    """

    ones: NDArray[np.float32]  # (n, p), rows sorted by class
    classes: tuple[slice, ...]
    totals: Floats  # (C, p) rows of each class where the split is 1
    loss: Callable[[Floats], Floats]

    @classmethod
    def of(cls, X: NDArray[np.bool_], y: NDArray[np.intp], loss: Callable[[Floats], Floats]) -> "TableSource":
        """The source of this table; y numbers the classes, `loss` maps class counts (..., C) to losses (...)."""
        X, y = _checked_table(X, y)
        order = np.argsort(y, kind="stable")
        ends = np.cumsum(np.bincount(y))
        slices = tuple(slice(int(a), int(b)) for a, b in zip(np.append(0, ends[:-1]), ends, strict=True))
        if len(slices) > MOST_CORNERS:
            raise ValueError(f"{len(slices)} classes: the corner bound is meant for up to {MOST_CORNERS}.")
        ones = np.ascontiguousarray(X[order], dtype=np.float32)
        totals = np.array([ones[rows].sum(axis=0, dtype=np.float64) for rows in slices])
        return cls(ones, slices, totals, loss)

    @property
    def n_splits(self) -> int:
        """The number of splits p."""
        return int(self.ones.shape[1])

    def _branch(self, side: int, root: int) -> Floats:
        sizes = np.array([rows.stop - rows.start for rows in self.classes], dtype=float)
        return self.totals[:, root] if side else sizes - self.totals[:, root]

    def bounds(self, side: int, root: int) -> Floats:
        """(p,) the least loss over the corners of each pair's box of class counts."""
        sizes = np.array([rows.stop - rows.start for rows in self.classes], dtype=float)
        branch = self._branch(side, root)[:, None]
        least = np.maximum(0.0, branch + self.totals - sizes[:, None]).T
        most = np.minimum(branch, self.totals).T
        bound = np.full(self.n_splits, np.inf)
        for corner in product((False, True), repeat=len(self.classes)):
            inside = np.where(corner, most, least)
            np.minimum(bound, self.loss(inside) + self.loss(branch.T - inside), out=bound)
        return bound

    def costs(self, side: int, root: int, children: NDArray[np.intp]) -> Floats:
        """(children,) losses of these pairs, counted row by row."""
        inside = np.empty((children.size, len(self.classes)))
        for c, rows in enumerate(self.classes):
            chosen = self.ones[rows, root] == side
            inside[:, c] = self.ones[rows][chosen][:, children].sum(axis=0, dtype=np.float64)
        branch = self._branch(side, root)
        return self.loss(inside) + self.loss(branch - inside)


def _checked_table(X: NDArray[np.bool_], y: NDArray[np.intp]) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
    X, y = np.asarray(X), np.asarray(y)
    if X.ndim != 2 or y.shape != X.shape[:1]:
        raise ValueError(f"X has shape {X.shape} and y {y.shape}: they must be (n, p) and (n,).")
    if not ((X == 0) | (X == 1)).all():
        raise ValueError("X must hold nothing but 0 and 1.")
    if y.dtype.kind not in "iub" or (y < 0).any():
        raise ValueError("y must number the classes from 0: np.unique(y, return_inverse=True)[1] does.")
    return X.astype(np.bool_), y.astype(np.intp)
