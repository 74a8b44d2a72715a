"""Binary rows and their classes, with identical rows merged into weights."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Points:
    """Distinct rows (u, p) of ones and zeros, and how often each has each class (u, C)."""

    rows: NDArray[np.bool_]
    weights: Floats

    @property
    def pairs(self) -> tuple[Indices, Indices]:
        """The (row, class) pairs that occur: the datapoints of the flow formulations, each (m,)."""
        row, label = np.nonzero(self.weights)
        return row, label

    @property
    def total(self) -> float:
        """The number of rows before merging."""
        return float(self.weights.sum())


def merged(X: NDArray[np.bool_], labels: Indices, n_classes: int) -> Points:
    """The distinct rows of X (n, p) with their class counts."""
    packed = np.packbits(X, axis=1)
    _, first, where = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    weights = np.zeros((first.size, n_classes))
    np.add.at(weights, (where.ravel(), labels), 1.0)
    return Points(np.ascontiguousarray(X[first]), weights)


def as_binary(X: Floats, names: Sequence[object]) -> NDArray[np.bool_]:
    """X as booleans, refused where a column holds anything but 0 and 1."""
    odd = (X != 0) & (X != 1)
    if odd.any():
        row, column = np.argwhere(odd)[0]
        raise ValueError(
            f"Column {names[column]!r} holds {X[row, column]}: this model takes 0 and 1 only. Encode numbers "
            "and categories as yes/no columns first (for example with scikit-learn's KBinsDiscretizer)."
        )
    return np.asarray(X, dtype=np.bool_)
