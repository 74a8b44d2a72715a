"""Where the numbers of a column are cut."""

import math

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

N_PAPER_BINS = 10

# A cut may miss the exact middle by this part of the gap, so that it prints as 0.15, not 0.15000000000000002.
PRINT_TOLERANCE = 1e-3


def cut_between(low: float, high: float, near: float) -> float:
    """Return a short decimal close to `near` that separates low < high: low <= cut < high."""
    gap = high - low
    if math.isfinite(gap) and gap > 0:
        digits = math.ceil(-math.log10(gap * PRINT_TOLERANCE)) if gap * PRINT_TOLERANCE > 0 else 330
        rounded = round(near, digits)
        if low <= rounded < high:
            return rounded + 0.0
    # Between adjacent floats the middle may round to `high`.
    return near if low <= near < high else low


def midpoint(low: float, high: float) -> float:
    """Return the middle of two numbers, or the nearest number that separates them."""
    return cut_between(low, high, low / 2 + high / 2)


def thresholds(distinct: FloatArray, weights: FloatArray, max_bins: int) -> FloatArray:
    """Return the cuts between sorted distinct numbers (d,): all d - 1, or max_bins - 1 at quantiles."""
    after = np.arange(len(distinct) - 1) if len(distinct) <= max_bins else _quantile_gaps(weights, max_bins)
    return np.array([midpoint(low, high) for low, high in _pairs(distinct, after)], np.float64)


def _pairs(distinct: FloatArray, after: NDArray[np.int64]) -> list[tuple[float, float]]:
    return list(zip(distinct[after].tolist(), distinct[after + 1].tolist(), strict=True))


def _quantile_gaps(weights: FloatArray, max_bins: int) -> NDArray[np.int64]:
    """Return the places i such that a cut between distinct numbers i and i + 1 fills the bins evenly.

    A number so frequent that it fills several bins counts as one bin: its other bins go to the rest.
    """
    heavy = np.zeros(len(weights), np.bool_)
    while True:
        bin_size = weights[~heavy].sum() / (max_bins - np.count_nonzero(heavy))
        heavier = weights > bin_size
        if np.array_equal(heavy, heavier):
            break
        heavy = heavier
    reached = np.cumsum(np.minimum(weights, bin_size))
    # The small step down makes a bin that is filled exactly end where it is full.
    targets = reached[-1] * np.arange(1, max_bins) / max_bins * (1 - 1e-12)
    after = np.unique(np.searchsorted(reached, targets, side="left"))
    return after[after < len(weights) - 1].astype(np.int64)


def decile_edges(sorted_values: FloatArray) -> FloatArray:
    """Return the inner edges of the right-closed decile bins of sorted numbers (n,).

    They are where pandas.qcut puts them: quantiles by linear interpolation, repeated ones once. A bin without
    a number is joined to its right neighbour, and an edge between two numbers is a short one.
    """
    quantiles = np.percentile(sorted_values, np.linspace(0, 1, N_PAPER_BINS + 1) * 100)
    below = np.searchsorted(sorted_values, quantiles, side="right")
    edges = []
    n_below = 0
    for edge, count in zip(quantiles[1:-1].tolist(), below[1:-1].tolist(), strict=True):
        # The first bin holds the smallest number itself, as it does for include_lowest.
        is_lowest = edge == quantiles[0]
        if count > n_below and not is_lowest and count < len(sorted_values):
            edges.append(cut_between(float(sorted_values[count - 1]), float(sorted_values[count]), edge))
            n_below = count
    return np.array(edges, np.float64)
