"""A linear model in flat arrays, and what a solver answers: the seam between formulations and solvers."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Model:
    """Minimise `objective @ x` over row and column bounds; the matrix is kept by columns (CSC)."""

    objective: Floats
    starts: Ints
    rows: Ints
    values: Floats
    row_lower: Floats
    row_upper: Floats
    lower: Floats
    upper: Floats
    integral: NDArray[np.bool_]

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return self.row_lower.size, self.objective.size

    def dense(self) -> Floats:
        """The (rows, columns) matrix written out: for tests and small models."""
        matrix = np.zeros(self.shape)
        columns = np.repeat(np.arange(self.objective.size), np.diff(self.starts))
        np.add.at(matrix, (self.rows, columns), self.values)
        return matrix


@dataclass(frozen=True, slots=True)
class Solution:
    """A solver's answer: `values` is None where none was found, `bound` never exceeds the optimum."""

    values: Floats | None
    objective: float
    bound: float
    status: str
    nodes: int = 0
    log: str = ""
    row_duals: Floats | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """What a solve may spend, and where it begins: `start` gives one value per column, NaN where free.

    `check` is called between the steps of handing a model over, and raises what ends that early.
    """

    seconds: float = np.inf
    start: Floats | None = None
    check: Callable[[], None] = lambda: None


class Solver(Protocol):
    """Anything that solves a `Model`; `relax` drops the integrality."""

    def __call__(self, model: Model, relax: bool, limits: Limits) -> Solution:
        """Solve the model."""


@dataclass(slots=True)
class Builder:
    """Collects columns, rows and entries in blocks and makes a `Model` of them."""

    check: Callable[[], None] = lambda: None
    _columns: list[tuple[Floats, Floats, Floats, NDArray[np.bool_]]] = field(default_factory=list)
    _bounds: list[tuple[Floats, Floats]] = field(default_factory=list)
    _entries: list[tuple[NDArray[np.int64], NDArray[np.int64], Floats]] = field(default_factory=list)
    _n_columns: int = 0
    _n_rows: int = 0

    def columns(
        self,
        shape: tuple[int, ...],
        cost: float | Floats = 0.0,
        *,
        upper: float = 1.0,
        integral: bool = False,
    ) -> NDArray[np.int64]:
        """Add a block of columns from 0 to `upper`; returns their numbers in the given shape."""
        size = int(np.prod(shape))
        costs = np.broadcast_to(np.asarray(cost, dtype=float), shape).ravel()
        self._columns.append((costs, np.zeros(size), np.full(size, upper), np.full(size, integral)))
        self._n_columns += size
        return np.arange(self._n_columns - size, self._n_columns).reshape(shape)

    def rows(
        self, shape: tuple[int, ...], lower: float | Floats = -np.inf, upper: float | Floats = np.inf
    ) -> NDArray[np.int64]:
        """Add a block of rows; returns their numbers in the given shape."""
        self.check()
        size = int(np.prod(shape))
        low = np.broadcast_to(np.asarray(lower, dtype=float), shape).ravel()
        high = np.broadcast_to(np.asarray(upper, dtype=float), shape).ravel()
        self._bounds.append((low, high))
        self._n_rows += size
        return np.arange(self._n_rows - size, self._n_rows).reshape(shape)

    def entries(
        self, rows: NDArray[np.int64], columns: NDArray[np.int64], values: float | Floats = 1.0
    ) -> None:
        """Add matrix entries; the three are broadcast against each other."""
        self.check()
        row, column, value = np.broadcast_arrays(rows, columns, np.asarray(values, dtype=float))
        self._entries.append((row.ravel(), column.ravel(), value.ravel()))

    def model(self) -> Model:
        """The finished model; entries that name the same place are added up."""
        from scipy.sparse import coo_array

        row, column, value = (np.concatenate(part) for part in zip(*self._entries, strict=True))
        matrix = coo_array((value, (row, column)), shape=(self._n_rows, self._n_columns)).tocsc()
        self.check()
        cost, lower, upper, integral = (np.concatenate(part) for part in zip(*self._columns, strict=True))
        low, high = (np.concatenate(part) for part in zip(*self._bounds, strict=True))
        return Model(
            cost,
            matrix.indptr.astype(np.int32),
            matrix.indices.astype(np.int32),
            matrix.data.astype(np.float64),
            low,
            high,
            lower,
            upper,
            integral,
        )
