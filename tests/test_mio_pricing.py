import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("highspy")

from foretree.mio import TableSource, priced_oct2


def misclassified(counts):
    return counts.sum(axis=-1) - counts.max(axis=-1)


def gini(counts):
    sizes = counts.sum(axis=-1)
    squares = (counts**2).sum(axis=-1)
    return sizes - np.divide(squares, sizes, out=np.zeros_like(sizes), where=sizes > 0)


class ArraySource:
    """Costs from an array, bounds some slack below them, and a record of what was asked."""

    def __init__(self, costs, slack):
        self.array, self.below = costs, np.where(np.isfinite(costs), costs - slack, costs)
        self.n_splits = costs.shape[1]

    def bounds(self, side, root):
        return self.below[side, root]

    def costs(self, side, root, children):
        return self.array[side, root, children]


def proven(costs, priced):
    """No column has a negative reduced cost, and the prices of the two unit rows add up to the cost."""
    pi, mu = priced.prices[:2], priced.prices[2:]
    reduced = np.stack([costs[0] - pi[0] - mu[:, None], costs[1] - pi[1] + mu[:, None]])
    return reduced.min() >= -1e-9 and pi.sum() == pytest.approx(priced.plan.cost, abs=1e-9)


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 12), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.1, 1.0, 9.0]))
def test_the_priced_tree_is_optimal_and_its_prices_prove_it(p, seed, looseness):
    rng = np.random.default_rng(seed)
    costs = rng.integers(0, 10, (2, p, p)) * 1.0
    costs[rng.random(costs.shape) < 0.3] = np.inf
    costs[:, 0, 0] = 9.0
    priced = priced_oct2(ArraySource(costs, looseness * rng.random(costs.shape)))
    plan = priced.plan
    assert plan.cost == costs.min(axis=2).sum(axis=0).min()
    assert plan.cost == costs[0, plan.root, plan.low] + costs[1, plan.root, plan.high]
    assert proven(costs, priced)
    assert priced.columns_priced <= priced.columns == 2 * p * p


def test_tight_bounds_leave_nearly_everything_unpriced():
    costs = np.random.default_rng(0).random((2, 300, 300))
    priced = priced_oct2(ArraySource(costs, 0.0))
    assert priced.columns_priced < 0.02 * priced.columns
    assert priced.branches_priced < 60
    assert proven(costs, priced)


def test_a_forbidden_everything_is_refused():
    with pytest.raises(ValueError, match="no tree"):
        priced_oct2(ArraySource(np.full((2, 3, 3), np.inf), 0.0))


def test_a_solver_without_dual_prices_is_refused():
    pytest.importorskip("pyscipopt")
    with pytest.raises(ArithmeticError, match="no dual prices"):
        priced_oct2(ArraySource(np.ones((2, 2, 2)), 0.0), "scip")


@settings(deadline=None, max_examples=40)
@given(st.integers(2, 40), st.integers(1, 8), st.integers(2, 4), st.integers(0, 2**32 - 1))
@pytest.mark.parametrize("loss", [misclassified, gini])
def test_table_bounds_never_exceed_table_costs(loss, n, p, n_classes, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.random((n, p)) < 0.4, rng.integers(0, n_classes, n)
    source = TableSource.of(X, y, loss)
    for side, root in np.ndindex(2, p):
        exact = source.costs(side, root, np.arange(p))
        assert (source.bounds(side, root) <= exact + 1e-9).all()
        leaves = [
            np.bincount(y[(X[:, root] == side) & (X[:, k] == s)], minlength=n_classes) * 1.0
            for k in range(p)
            for s in (0, 1)
        ]
        assert exact == pytest.approx(loss(np.array(leaves)).reshape(p, 2).sum(axis=1))


@pytest.mark.parametrize("unit", [2.0**-80, 2.0**90])
def test_the_unit_of_costs_changes_nothing(unit):
    costs = np.random.default_rng(0).random((2, 20, 20))
    priced = priced_oct2(ArraySource(unit * costs, unit * 0.1))
    assert priced.plan.cost == unit * costs.min(axis=2).sum(axis=0).min()
    assert proven(
        costs, replace(priced, prices=priced.prices / unit, plan=priced_oct2(ArraySource(costs, 0.1)).plan)
    )


@pytest.mark.parametrize(
    ("X", "y", "sentence"),
    [
        ([[0, 1], [1, 2]], [0, 1], "X must hold nothing but 0 and 1"),
        (
            [[0, 1], [1, 0]],
            ["a", "b"],
            r"y must number the classes from 0: np.unique\(y, return_inverse=True\)",
        ),
        ([[0, 1], [1, 0]], [-1, 1], "y must number the classes from 0"),
        ([[0, 1], [1, 0]], [0, 1, 1], r"X has shape \(2, 2\) and y \(3,\)"),
        ([0, 1], [0, 1], r"X has shape \(2,\)"),
    ],
)
def test_a_table_that_is_not_binary_or_numbered_is_refused(X, y, sentence):
    with pytest.raises(ValueError, match=sentence):
        TableSource.of(X, y, gini)


def test_too_many_classes_for_the_corner_bound_are_refused():
    with pytest.raises(ValueError, match="9 classes"):
        TableSource.of(np.zeros((9, 1), bool), np.arange(9), gini)


def test_memory_stays_bounded_where_the_full_model_would_have_eight_million_columns():
    rng = np.random.default_rng(1)
    n, p = 300, 2000
    X = rng.random((n, p)) < 0.03
    y = (X[:, 7] | X[:, 11] | X[:, 13]) ^ (rng.random(n) < 0.05)
    source = TableSource.of(X, y.astype(int), misclassified)
    tracemalloc.start()
    priced = priced_oct2(source)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert priced.columns == 8_000_000
    assert peak < 10_000_000  # the cost array alone would take 64 MB, the LP gigabytes
    assert priced.columns_priced < 0.5 * priced.columns
