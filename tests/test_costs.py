import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

import oracle
import strategies
from foretree.costs import Limits, branch_weights, cell_rows, cell_weights, pair_costs
from foretree.counts import MemoryRows
from foretree.losses import LOSSES, resolve_loss
from strategies import ORACLE_LOSSES, Problem


def cells_of(task, j, k):
    """Return the rows of the four cells, [r][s]."""
    return [[np.flatnonzero((task.x[:, j] == r) & (task.x[:, k] == s)) for s in (0, 1)] for r in (0, 1)]


@settings(max_examples=80)
@given(strategies.problems(most_splits=5))
def test_cells_and_branches_hold_their_rows(problem):
    counts = MemoryRows(problem.grouped()).count(())
    task = problem.task(None)
    weights, rows, branches = cell_weights(counts), cell_rows(counts), branch_weights(counts)
    for j in range(problem.x.shape[1]):
        for k in range(problem.x.shape[1]):
            for r, cells in enumerate(cells_of(task, j, k)):
                for s, cell in enumerate(cells):
                    np.testing.assert_allclose(weights[r, s, j, k], task.weights[cell].sum(axis=0), atol=1e-5)
                    assert rows[r, s, j, k] == task.sizes[cell].sum()
        for r in (0, 1):
            np.testing.assert_allclose(branches[r, j], task.weights[task.x[:, j] == r].sum(axis=0), atol=1e-5)


@settings(max_examples=120)
@given(strategies.problems(most_splits=5), strategies.losses, strategies.limits)
def test_pair_costs_are_sums_over_the_cells(problem, name, limits):
    pairs = pair_costs(MemoryRows(problem.grouped()).count(()), LOSSES[name], limits)
    task = problem.task(ORACLE_LOSSES[name], limits)
    p = problem.x.shape[1]
    for j in range(p):
        branch_rows = [task.x[:, j] == r for r in (0, 1)]
        assert pairs.separates[j] == all(
            side.any()
            and task.sizes[side].sum() >= limits.min_leaf
            and task.weights[side].sum() >= limits.min_weight
            for side in branch_rows
        )
        for k in range(p):
            for r, cells in enumerate(cells_of(task, j, k)):
                losses = sum(task.loss(task.weights[cell].sum(axis=0)) for cell in cells if len(cell))
                sizes = [task.sizes[cell].sum() for cell in cells]
                shares = [task.weights[cell].sum() for cell in cells]
                empty = min(sizes) == 0
                forbidden = (
                    min(sizes) < limits.min_leaf
                    or min(shares) < limits.min_weight
                    or sum(sizes) < limits.min_internal
                )
                if forbidden and not empty:
                    assert pairs.costs[r, j, k] == np.inf
                else:
                    assert pairs.costs[r, j, k] == pytest.approx(losses, abs=1e-6)
                assert pairs.empty[r, j, k] == empty
                ginis = sum(oracle.gini(task.weights[cell].sum(axis=0)) for cell in cells)
                assert pairs.ginis[r, j, k] == pytest.approx(ginis, abs=1e-5)
    total = task.weights.sum(axis=0)
    assert pairs.leaf == pytest.approx(task.loss(total), abs=1e-6)
    assert pairs.weight == pytest.approx(total.sum())


@njit
def with_a_price_per_leaf(weights):
    return 1.0 + weights.min()


@settings(max_examples=40)
@given(strategies.problems(most_splits=5), st.booleans())
def test_empty_leaves_cost_nothing_whatever_a_leaf_costs(problem, compiled):
    function = with_a_price_per_leaf if compiled else lambda weights: 1.0 + weights.min(axis=-1)
    loss = resolve_loss(function, 4, problem.class_weights.size)
    pairs = pair_costs(MemoryRows(problem.grouped()).count(()), loss, Limits())
    task = problem.task(None)
    p = problem.x.shape[1]
    for j in range(p):
        for k in range(p):
            for r, cells in enumerate(cells_of(task, j, k)):
                want = sum(1.0 + task.weights[cell].sum(axis=0).min() for cell in cells if len(cell))
                assert pairs.costs[r, j, k] == pytest.approx(want, abs=1e-5)


def test_rounding_fills_no_cell():
    """0.1 + 0.2 - 0.3 is not 0 in floats."""
    x = np.array([[1, 1], [1, 1], [0, 0], [0, 1]], np.uint8)
    problem = Problem(x, np.array([0, 0, 1, 1]), np.array([0.1, 0.2, 0.7, 0.9]), np.ones(2))
    loss = resolve_loss(lambda weights: 100.0 + np.log1p(weights[..., 0]), 4, 2)
    pairs = pair_costs(MemoryRows(problem.grouped()).count(()), loss, Limits())
    assert pairs.costs[1, 0, 1] == pytest.approx(100 + np.log1p(0.3))
    assert pairs.costs[0, 0, 1] == pytest.approx(200)


@njit
def bad_where_large(weights):
    return np.nan if weights[0] == 3 else weights[1]


def test_a_compiled_loss_that_fails_is_told_on():
    x = np.array([[1, 0], [1, 0], [1, 1], [0, 1]], np.uint8)
    problem = Problem(x, np.array([0, 0, 0, 1]), None, np.ones(2))
    with pytest.raises(
        ValueError, match=r"'bad_where_large' adds up to nan over leaves of class weights \[\["
    ):
        pair_costs(MemoryRows(problem.grouped()).count(()), resolve_loss(bad_where_large, 4, 2), Limits())
