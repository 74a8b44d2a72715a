"""The compiled kernels against themselves as plain Python, and against NumPy."""

import numpy as np
import pytest

from foretree._kernels import encode as kernels
from foretree._kernels.encode import (
    CHUNK,
    MAX_LINEAR_EDGES,
    count_distinct,
    count_whole,
    pack_codes,
    pack_numbers,
    survey,
)
from foretree.encode.lookups import masks_of_runs, number_tables, only_bits
from foretree.encode.questions import Questions


@pytest.fixture
def plain(monkeypatch):
    """Let the kernels call each other as plain Python."""
    for name in ("_count_edges_below", "_set_bits"):
        monkeypatch.setattr(kernels, name, getattr(kernels, name).py_func)


def slow_masks(runs, n_words):
    matrix = np.zeros((len(runs), n_words), np.uint32)
    for code, (first, stop) in enumerate(runs):
        for j in range(first, stop):
            matrix[code, j // 32] |= np.uint32(1) << np.uint32(j % 32)
    return matrix


def as_matrix(masks, n_words):
    matrix = np.zeros((len(masks.start) - 1, n_words), np.uint32)
    for code in range(len(matrix)):
        for m in range(masks.start[code], masks.start[code + 1]):
            matrix[code, masks.word[m]] |= masks.bits[m]
    return matrix


def test_masks_set_the_bits_of_their_runs():
    runs = np.array([[0, 1], [31, 33], [0, 96], [5, 5], [32, 64], [63, 65], [95, 96]], np.int32)
    np.testing.assert_array_equal(as_matrix(masks_of_runs(runs), 3), slow_masks(runs, 3))
    cover = np.full_like(runs, 0) + np.array([0, 96], np.int32)
    covered = masks_of_runs(runs, cover)
    np.testing.assert_array_equal(as_matrix(covered, 3), slow_masks(runs, 3))
    assert set(np.diff(covered.start)) == {3}
    some = only_bits(masks_of_runs(runs), np.array([0, 33, 64, 95]), 3)
    np.testing.assert_array_equal(
        as_matrix(some, 3), slow_masks(runs, 3) & np.array([1, 2, 1 | 1 << 31], np.uint32)
    )


@pytest.mark.usefixtures("plain")
@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")  # infinity minus infinity
@pytest.mark.parametrize("n_edges", [0, 1, 3, 7, MAX_LINEAR_EDGES + 3])
def test_numbers_are_packed_as_searchsorted_says(n_edges):
    rng = np.random.default_rng(n_edges)
    n_rows = CHUNK + 100 if n_edges == 7 else 100
    edges = np.sort(rng.integers(0, 50, n_edges)).astype(float)
    block = rng.integers(-5, 55, (n_rows, 3)).astype(float)
    block[5, 1] = np.nan
    runs = np.array([[i, n_edges] for i in range(n_edges + 1)] + [[n_edges, n_edges + 1]], np.int32)
    lookup, masks = number_tables([Questions("a", "number", (None,) * (n_edges + 1), runs, edges)], [7])
    lookup = lookup._replace(position=np.array([1], np.int32))
    n_words = (n_edges + 8 + 31) // 32
    code = np.searchsorted(edges, block[:, 1])
    code[5] = n_edges + 1
    expected = slow_masks(runs + 7, n_words)[code]
    for kernel in (pack_numbers, pack_numbers.py_func):
        words = np.zeros((n_rows + 2, n_words), np.uint32)
        assert kernel(block, lookup, masks, words, 2) == -1
        np.testing.assert_array_equal(words[2:], expected)
        block[7, 1] = -np.inf
        assert kernel(block, lookup, masks, words, 2) == 7 * 3 + 1
        block[7, 1] = 0.0
        np.testing.assert_array_equal(words[:2], 0)
        expected[7] = slow_masks(runs + 7, n_words)[np.searchsorted(edges, 0.0)]
        block[:, 0] = np.inf  # a column that is not asked about


@pytest.mark.usefixtures("plain")
def test_codes_are_packed_with_missing_first():
    masks = masks_of_runs(np.array([[3, 4], [0, 1], [40, 41]], np.int32))
    codes = np.array([1, -1, 0, 0], np.int32)
    for kernel in (pack_codes, pack_codes.py_func):
        words = np.zeros((5, 2), np.uint32)
        kernel(codes, masks, words, 1)
        np.testing.assert_array_equal(words, [[0, 0], [0, 1 << 8], [1 << 3, 0], [1, 0], [1, 0]])


def test_surveys_and_counts_are_those_of_numpy():
    values = np.array([3.0, -1.0, np.nan, 3.0, 0.0, -0.0])
    for see, tally in ((survey, count_whole), (survey.py_func, count_whole.py_func)):
        assert see(values) == (-1, 3, 1, True, -1)
        assert see(np.array([0.5, np.nan])) == (0.5, 0.5, 1, False, -1)
        assert see(np.array([0.5, np.inf]))[-1] == 1
        np.testing.assert_array_equal(tally(values, -1.0, 5), [1, 2, 0, 0, 2])


@pytest.mark.filterwarnings(
    "ignore:overflow encountered:RuntimeWarning"
)  # the hash wraps round in plain Python too
def test_distinct_numbers_are_those_of_numpy():
    rng = np.random.default_rng(0)
    values = np.append(rng.choice(rng.normal(size=20), 200), [np.nan, 0.0, -0.0, 1e300])
    expected = np.unique(values[~np.isnan(values)], return_counts=True)
    for kernel in (count_distinct, count_distinct.py_func):
        distinct, counts, more = kernel(values, 22)
        order = np.argsort(distinct)
        np.testing.assert_array_equal((distinct[order], counts[order]), expected)
        assert not more
        distinct, _, more = kernel(values, 21)
        assert more
        assert len(distinct) == 21
