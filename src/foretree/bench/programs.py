"""[OCT-2] and [OCT-3] as classifiers of 0/1 tables: the paper's linear programs, solved once at the root."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from foretree.costs import Limits, PairCosts, pair_costs
from foretree.counts import MemoryRows
from foretree.encode.zero_one import pack_zero_one
from foretree.groups import group_rows
from foretree.losses import LOSSES
from foretree.solve import Plan

Bits = npt.NDArray[np.uint8]
_MOST_COLUMNS = 4_000_000


class ProgramTree:
    """The optimal tree of two or three steps by linear program; cells predict their commonest class."""

    def __init__(self, max_depth: int, loss: str = "misclassification", solver: str = "highs") -> None:
        """Keep the parameters; depths are 2 and 3."""
        self.max_depth = max_depth
        self.loss = loss
        self.solver = solver

    def fit(self, X: Bits, y: npt.NDArray[np.int64]) -> Self:
        """Solve the program of X (n, p) and the class codes y (n,)."""
        n_columns = 2 * (self.max_depth - 1) * X.shape[1] ** self.max_depth
        if n_columns > _MOST_COLUMNS:
            raise ValueError(
                f"[OCT-{self.max_depth}] over {X.shape[1]} splits has {n_columns:,} columns, more than "
                f"{_MOST_COLUMNS:,}; choose a dataset with fewer splits."
            )
        self.plans_ = self._two(X, y) if self.max_depth == 2 else self._three(X, y)
        cells = self.apply(X)
        counts = np.zeros((cells.max() + 1, y.max() + 1))
        np.add.at(counts, (cells, y), 1)
        self.classes_ = counts.argmax(axis=1)
        return self

    def _two(self, X: Bits, y: npt.NDArray[np.int64]) -> tuple[int | None, Plan, Plan | None]:
        from foretree.mio import oct2

        return None, oct2(self._costs(X, y).costs, self.solver), None

    def _three(self, X: Bits, y: npt.NDArray[np.int64]) -> tuple[int | None, Plan, Plan | None]:
        from foretree.mio import oct3

        n_splits = X.shape[1]
        costs = np.zeros((2, 2, n_splits, n_splits, n_splits))
        for root in range(n_splits):
            for side in (0, 1):
                chosen = X[:, root] == side
                # An empty side costs nothing, however it is split.
                if chosen.any():
                    costs[side, :, root] = self._costs(X[chosen], y[chosen], int(y.max()) + 1).costs
        plan = oct3(costs, self.solver)
        return plan.root, plan.low, plan.high

    def _costs(self, X: Bits, y: npt.NDArray[np.int64], n_classes: int | None = None) -> PairCosts:
        packed: Any = pack_zero_one(X)
        weights = np.ones(n_classes or int(y.max()) + 1)
        rows = group_rows(packed.words, packed.n_splits, y, weights)
        return pair_costs(MemoryRows(rows).count(()), LOSSES[self.loss], Limits(1, 1))

    def apply(self, X: Bits) -> npt.NDArray[np.int64]:
        """Return the cell of each row (n,), 0 to 3 or 0 to 7."""
        root, low, high = self.plans_
        if root is None or high is None:
            return _cells(low, X)
        side = X[:, root].astype(np.int64)
        return 4 * side + np.where(side == 0, _cells(low, X), _cells(high, X))

    def predict(self, X: Bits) -> npt.NDArray[np.int64]:
        """Return the class code of each row (n,)."""
        cells = self.apply(X)
        # A cell without training rows is of no class; such rows go with the first.
        known = np.minimum(cells, len(self.classes_) - 1)
        out: npt.NDArray[np.int64] = self.classes_[known]
        return out


def _cells(plan: Plan, X: Bits) -> npt.NDArray[np.int64]:
    side = X[:, plan.root].astype(np.int64)
    return 2 * side + np.where(side == 0, X[:, plan.low], X[:, plan.high])
