import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import strategies
from foretree import counts as counting
from foretree.counts import MemoryRows, PairCounts
from strategies import Problem


def slow_counts(problem, path=()):
    """Count pairs with a matrix product a class."""
    task = problem.task(None)
    rows = (
        np.flatnonzero(np.all([task.x[:, split] == answer for split, answer in path], axis=0))
        if path
        else ...
    )
    x, weights, sizes = task.x[rows].astype(float), task.weights[rows], task.sizes[rows]
    both = np.stack([(x * weights[:, [c]]).T @ x for c in range(weights.shape[1])])
    return PairCounts(both, weights.sum(axis=0), ((x * sizes[:, None]).T @ x).astype(int), int(sizes.sum()))


def assert_equal(one, other):
    np.testing.assert_allclose(one.both, other.both, atol=1e-5)
    np.testing.assert_allclose(one.total, other.total, atol=1e-5)
    np.testing.assert_array_equal(one.both_rows, other.both_rows)
    assert one.n_rows == other.n_rows


@st.composite
def problems_and_paths(draw):
    problem = draw(strategies.problems(most_rows=90, most_splits=20))
    step = st.tuples(st.integers(0, problem.x.shape[1] - 1), st.integers(0, 1))
    return problem, tuple(draw(st.lists(step, max_size=4)))


@settings(max_examples=150)
@given(problems_and_paths())
def test_counts_are_matrix_products(drawn):
    problem, path = drawn
    assert_equal(MemoryRows(problem.grouped()).count(path), slow_counts(problem, path))


@settings(max_examples=60)
@given(problems_and_paths(), st.integers(0, 19))
def test_the_sibling_is_the_parent_less_the_child(drawn, split):
    problem, path = drawn
    split %= problem.x.shape[1]
    rows = MemoryRows(problem.grouped())
    parent = rows.count(path)
    low, high = (rows.count((*path, (split, answer))) for answer in (0, 1))
    assert_equal(parent - low, high)
    assert_equal(parent - high, low)
    assert_equal(low + high, parent)


@settings(max_examples=60)
@given(strategies.problems(most_rows=90, most_splits=9), st.integers(1, 89))
def test_counts_of_parts_add_up(problem, place):
    place = min(place, len(problem.y) - 1)
    parts = [problem.reordered(part) for part in (slice(None, place), slice(place, None))]
    if problem.row_weights is not None:
        # A part of nothing but weight 0 is no table.
        parts = [part for part in parts if part.row_weights.sum() > 0]
    whole = slow_counts(problem)
    total = MemoryRows(parts[0].grouped()).count(())
    for part in parts[1:]:
        total += MemoryRows(part.grouped()).count(())
    if problem.row_weights is None or (problem.row_weights % 1 == 0).all():
        assert_equal(total, whole)
    else:
        np.testing.assert_allclose(total.both, whole.both, atol=1e-5)


@settings(max_examples=40)
@given(strategies.problems(most_rows=150, most_splits=40), st.integers(1, 3))
def test_the_size_of_passes_is_irrelevant(problem, n_words):
    want = MemoryRows(problem.grouped()).count(())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "CHUNK_WORDS", n_words)
        got = MemoryRows(problem.grouped()).count(())
    np.testing.assert_array_equal(got.both, want.both)
    np.testing.assert_array_equal(got.both_rows, want.both_rows)


def test_unknown_paths_are_found_by_their_prefixes():
    x = random_bits(60, 4)
    problem = Problem(x, np.arange(60) % 3, None, np.ones(3))
    rows = MemoryRows(problem.grouped())
    order, starts = rows.entries(((2, 1), (0, 0), (3, 1)))
    want = np.flatnonzero((x[:, 2] == 1) & (x[:, 0] == 0) & (x[:, 3] == 1))
    assert sorted(order.tolist()) == want.tolist()
    np.testing.assert_array_equal(np.diff(starts), np.bincount(want % 3, minlength=3))
    # A path may ask twice, and contradict itself.
    assert rows.count(((2, 1), (2, 0))).n_rows == 0
    assert rows.count(((2, 1), (2, 1))).n_rows == x[:, 2].sum()


def test_what_is_remembered_is_bounded():
    x = random_bits(40, 12)
    problem = Problem(x, np.arange(40) % 2, None, np.ones(2))
    rows = MemoryRows(problem.grouped())
    for j in range(12):
        for k in range(12):
            for answer in (0, 1):
                path = ((j, 1), (k, answer))
                assert rows.count(path).n_rows == ((x[:, j] == 1) & (x[:, k] == answer)).sum()
    assert len(rows._known) <= 260


def random_bits(n_rows, n_splits):
    return (np.random.default_rng(0).random((n_rows, n_splits)) < 0.5).astype(np.uint8)
