"""Packed rows + classes + weights → rows ordered by group, which kernels count without looking at weights.

A group is what one popcount range may add up: rows of one class and one weight. Many different weights
become binary digits: a row of weight 5 stands in the groups of weight 4 and of weight 1.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foretree._kernels.groups import order_by_class
from foretree._kernels.steps import Groups

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
# Up to this many different weights get a group each; more are written in binary digits.
MAX_DISTINCT = 16
# Weights that are not whole keep 30 binary digits below the largest: 1e-9 of it.
DIGITS = 30


@dataclass(frozen=True, slots=True)
class GroupedRows:
    """Packed rows ordered by group.

    words (n_rows, n_words) are the packed rows, order (n_entries,) their numbers group by group, group
    g at starts[g]:starts[g + 1]. A row may stand in several groups whose weights add up to its own.
    """

    words: NDArray[np.uint32]
    n_splits: int
    order: NDArray[np.int32]
    starts: Integers
    groups: Groups
    n_classes: int


def group_rows(
    words: NDArray[np.uint32],
    n_splits: int,
    classes: NDArray[np.int64],
    class_weights: Floats,
    row_weights: Floats | None = None,
) -> GroupedRows:
    """Order rows by group, from the class numbers and weights (n_rows,) and each class's factor (C,)."""
    n_classes = class_weights.size
    if row_weights is None:
        order, starts = order_by_class(classes, n_classes)
        groups = Groups(np.arange(n_classes), class_weights, np.ones(n_classes, np.int64))
        return GroupedRows(words, n_splits, order, starts, groups, n_classes)
    parts = [
        (label, weight, size, np.flatnonzero(chosen & (classes == label)))
        for weight, size, chosen in _layers(row_weights)
        for label in range(n_classes)
    ]
    parts = [part for part in parts if part[3].size]
    labels = np.array([part[0] for part in parts], np.int64)
    groups = Groups(
        labels,
        np.array([part[1] for part in parts]) * class_weights[labels],
        np.array([part[2] for part in parts], np.int64),
    )
    order = np.concatenate([part[3] for part in parts]).astype(np.int32)
    starts = np.concatenate([[0], np.cumsum([part[3].size for part in parts])]).astype(np.int64)
    return GroupedRows(words, n_splits, order, starts, groups, n_classes)


def _layers(weights: Floats) -> list[tuple[float, int, NDArray[np.bool_]]]:
    """Split row weights into layers (weight, rows it stands for, which rows), adding up to each weight.

    Whole weights are repetitions, and a row of weight 3 is three rows to a minimum size; otherwise
    weights are importances, and every row is one row.
    """
    whole = bool((weights == np.rint(weights)).all()) and weights.max() < 2**31
    distinct = np.unique(weights[weights > 0])
    if distinct.size <= MAX_DISTINCT:
        return [(float(w), int(w) if whole else 1, weights == w) for w in distinct]
    unit = 1.0 if whole else 2.0 ** (np.floor(np.log2(weights.max())) + 1 - DIGITS)
    # A row that weighs less than the last digit weighs one: only rows of weight 0 are absent.
    digits = np.maximum(np.rint(weights / unit), weights > 0).astype(np.int64)
    layers = [
        (unit * 2.0**bit, 2**bit if whole else 0, (digits >> bit) & 1 == 1)
        for bit in range(int(digits.max()).bit_length())
    ]
    return layers if whole else [(0.0, 1, weights > 0), *layers]
