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


def decile_edges(distinct: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the inner edges of the right-closed decile bins of sorted distinct numbers (d,).

    They are where pandas.qcut puts them: quantiles by linear interpolation, repeated ones once. A bin without
    a number is joined to its right neighbour, and an edge between two numbers is a short one.
    """
    quantiles = _quantiles(distinct, weights, np.linspace(0, 1, N_PAPER_BINS + 1))
    n_below = np.searchsorted(distinct, quantiles, side="right").tolist()
    edges = []
    last = 0
    for edge, count in zip(quantiles[1:-1].tolist(), n_below[1:-1], strict=True):
        # The lowest number belongs to the first bin although bins are open on the left.
        if last < count < len(distinct) and edge > quantiles[0]:
            edges.append(cut_between(float(distinct[count - 1]), float(distinct[count]), edge))
            last = count
    return np.array(edges, np.float64)


def _quantiles(distinct: FloatArray, weights: FloatArray, shares: FloatArray) -> FloatArray:
    """Interpolate linearly between the numbers of which each of `distinct` stands for `weights`.

    Rounds as NumPy does for the numbers themselves, so that an edge meets a number where NumPy's does.
    """
    reached = np.cumsum(weights)
    place = (reached[-1] - 1) * (shares * 100 / 100)
    before = np.floor(place)
    low = distinct[np.searchsorted(reached, before, side="right").clip(max=len(distinct) - 1)]
    high = distinct[np.searchsorted(reached, before + 1, side="right").clip(max=len(distinct) - 1)]
    part = place - before
    gap = high - low
    quantiles: FloatArray = np.where(part >= 0.5, high - gap * (1 - part), low + gap * part)
    return quantiles
