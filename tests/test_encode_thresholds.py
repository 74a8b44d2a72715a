"""Where numbers are cut."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foretree.encode import NoSplitError, SplitEncoder
from foretree.encode.thresholds import decile_edges, midpoint, thresholds

finite = st.floats(allow_nan=False, allow_infinity=False)


def counted(values):
    distinct, counts = np.unique(np.asarray(values, np.float64), return_counts=True)
    return distinct, counts.astype(np.float64)


@given(finite, finite)
def test_a_cut_separates_its_neighbours(a, b):
    low, high = sorted((a, b))
    if low < high:
        assert low <= midpoint(low, high) < high


@given(st.integers(-(10**6), 10**6), st.integers(1, 10**6))
def test_a_cut_lies_midway_to_within_a_thousandth_of_the_gap(low, gap):
    assert abs(midpoint(low, low + gap) - (low + gap / 2)) <= gap / 1000


@pytest.mark.parametrize(
    ("low", "high", "cut"),
    [
        (37, 38, 37.5),
        (0.1, 0.2, 0.15),
        (1 / 3, 2 / 3, 0.5),
        (-1, 1, 0),
        (1.0, math.nextafter(1, 2), 1.0),
        (0.0, 5e-324, 0.0),
        (-1.7e308, 1.7e308, 0.0),
        (2.0**53, 2.0**53 + 2, 2.0**53),
    ],
)
def test_cuts_print_shortly_even_where_floats_are_scarce(low, high, cut):
    assert midpoint(low, high) == cut


@settings(deadline=None)
@given(st.lists(finite, min_size=1, max_size=60), st.integers(2, 40))
def test_few_numbers_keep_every_threshold_and_many_keep_the_bins(values, max_bins):
    distinct, counts = counted(values)
    cuts = thresholds(distinct, counts, max_bins)
    cells = np.searchsorted(cuts, distinct)
    if len(distinct) <= max_bins:
        assert cells.tolist() == list(range(len(distinct)))
    else:
        assert len(cuts) == max_bins - 1 or len(cuts) < max_bins
        assert np.all(np.diff(cells) <= 1)
        assert len(set(cells.tolist())) == len(cuts) + 1


def test_even_numbers_fill_the_bins_evenly():
    cuts = thresholds(*counted(np.arange(320)), 32)
    np.testing.assert_array_equal(cuts, np.arange(9.5, 319, 10))


def test_a_number_that_fills_several_bins_gives_them_back():
    values = np.concatenate([np.zeros(900), np.arange(1, 101)])
    cuts = thresholds(*counted(values), 11)
    assert len(cuts) == 10
    assert cuts[0] == 0.5
    np.testing.assert_array_equal(np.diff(cuts), 10)


def slow_qcut(values):
    """Which decile bin pandas puts each number into, by rank of the bins that occur."""
    codes = pd.qcut(pd.Series(values), 10, labels=False, duplicates="drop").to_numpy()
    return np.searchsorted(np.unique(codes), codes)


@settings(deadline=None)
@given(
    st.lists(st.integers(-50, 50) | st.floats(-5, 5), min_size=1, max_size=80).filter(
        lambda v: len(set(v)) > 6
    )
)
def test_deciles_are_those_of_pandas(values):
    edges = decile_edges(*counted(values))
    np.testing.assert_array_equal(np.searchsorted(edges, np.asarray(values, float)), slow_qcut(values))


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=30).filter(lambda v: len(set(v)) > 6), st.data())
@settings(deadline=None)
@pytest.mark.parametrize("scheme", ["threshold", "onehot"])
def test_whole_weights_are_repeated_rows_and_zero_is_absence(scheme, values, data):
    weight = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(values), max_size=len(values))))
    table = pd.DataFrame({"number": values, "text": [str(v % 3) for v in values]})
    repeated = table.loc[table.index.repeat(weight)].reset_index(drop=True)
    if repeated["number"].nunique() < 2:
        return
    try:
        plain = SplitEncoder(scheme=scheme, max_bins=5, min_category_size=3).fit(repeated)
    except NoSplitError:
        return
    weighted = SplitEncoder(scheme=scheme, max_bins=5, min_category_size=3)
    packed = weighted.fit_pack(table, sample_weight=weight)
    assert weighted.splits_ == plain.splits_
    np.testing.assert_array_equal(packed.words, plain.pack(table).words)


def test_a_range_of_whole_numbers_hashing_and_sorting_agree():
    rng = np.random.default_rng(0)
    whole = rng.integers(-20, 20, 500).astype(float)
    # The same numbers three ways: a short range is counted, a wide one hashed, many distinct ones sorted.
    for scale, max_bins in ((1, 64), (1e9, 64), (1e9, 8)):
        counted_splits = SplitEncoder(max_bins=max_bins).fit(whole[:, None]).splits_
        scaled = SplitEncoder(max_bins=max_bins).fit(whole[:, None] * scale).splits_
        np.testing.assert_allclose([s.value * scale for s in counted_splits], [s.value for s in scaled])
