import numpy as np
import pytest
from hypothesis import given, settings

import strategies
from foretree.groups import MAX_DISTINCT, group_rows
from strategies import Problem


def added_up(problem):
    """Return what each row weighs and counts for, and of which class, in all its groups together."""
    grouped = problem.grouped()
    weights = np.zeros((len(problem.y), grouped.n_classes))
    sizes = np.zeros(len(problem.y), np.int64)
    for group in range(grouped.groups.classes.size):
        rows = grouped.order[grouped.starts[group] : grouped.starts[group + 1]]
        assert len(np.unique(rows)) == len(rows)
        weights[rows, grouped.groups.classes[group]] += grouped.groups.weights[group]
        sizes[rows] += grouped.groups.sizes[group]
    return weights, sizes


@settings(max_examples=200)
@given(strategies.problems(most_rows=120))
def test_groups_add_up_to_the_weights(problem):
    weights, sizes = added_up(problem)
    given_weights = np.ones(len(problem.y)) if problem.row_weights is None else problem.row_weights
    want = np.zeros_like(weights)
    want[np.arange(len(problem.y)), problem.y] = given_weights * problem.class_weights[problem.y]
    np.testing.assert_allclose(
        weights, want, rtol=0, atol=given_weights.max() * 2.0**-29 * problem.class_weights.max()
    )
    whole = (given_weights % 1 == 0).all()
    np.testing.assert_array_equal(sizes, given_weights if whole else given_weights > 0)
    if whole:
        np.testing.assert_array_equal(weights, want)


def grouped_by(weights):
    n_rows = len(weights)
    return Problem(
        np.zeros((n_rows, 1), np.uint8), np.arange(n_rows) % 2, np.array(weights, float), np.ones(2)
    ).grouped()


def test_rows_without_weights_are_ordered_by_class():
    problem = Problem(np.zeros((5, 1), np.uint8), np.array([1, 0, 2, 0, 1]), None, np.array([1.0, 2.0, 3.0]))
    grouped = problem.grouped()
    assert grouped.order.tolist() == [1, 3, 0, 4, 2]
    assert grouped.starts.tolist() == [0, 2, 4, 5]
    assert grouped.groups.weights.tolist() == [1.0, 2.0, 3.0]


def test_few_weights_have_a_group_each_and_many_are_written_in_digits():
    few = grouped_by([*range(1, MAX_DISTINCT + 1)] * 2)
    assert few.groups.weights.size == MAX_DISTINCT
    many = grouped_by([*range(1, MAX_DISTINCT + 2)] * 2)
    assert set(many.groups.weights) == {1.0, 2.0, 4.0, 8.0, 16.0}
    assert set(many.groups.sizes) == {1, 2, 4, 8, 16}
    fractions = grouped_by(np.random.default_rng(0).random(200) + 0.5)
    # Every row counts once, in a group that weighs nothing.
    assert fractions.groups.sizes.sum() == 2
    assert fractions.groups.weights[fractions.groups.sizes == 1].tolist() == [0.0, 0.0]
    assert len(fractions.groups.weights) <= 2 * 32


def test_rows_without_weight_stand_in_no_group():
    grouped = grouped_by([0, 1, 2, 0, 0.5, 3])
    assert sorted(grouped.order.tolist()) == [1, 2, 4, 5]


def test_rows_lighter_than_the_last_digit_are_not_lost():
    weights = [*np.linspace(0.5, 1.0, MAX_DISTINCT + 1), 1e-12, 1e-300]
    grouped = grouped_by(weights)
    heavy = grouped.groups.weights > 0
    starts, stops = grouped.starts[:-1][heavy], grouped.starts[1:][heavy]
    present = {row for start, stop in zip(starts, stops, strict=True) for row in grouped.order[start:stop]}
    assert present == set(range(len(weights)))


def test_huge_whole_weights_are_importances():
    """Beyond the range of int32 weights are no repetitions."""
    grouped = grouped_by([2.0**40, 1.0])
    assert grouped.groups.sizes.tolist() == [1, 1]
    assert sorted(grouped.groups.weights.tolist()) == [1.0, 2.0**40]


@pytest.mark.parametrize("n_classes", [1, 3])
def test_classes_without_rows(n_classes):
    words = np.zeros((2, 1), np.uint32)
    grouped = group_rows(words, 1, np.zeros(2, np.int64), np.ones(n_classes))
    assert grouped.starts.tolist() == [0] + [2] * n_classes
    assert grouped.n_classes == n_classes
