import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("highspy")

from foretree.mio import oct2, oct3
from foretree.mio.model import Limits
from foretree.mio.oct3 import oct3_model
from foretree.mio.solvers import installed, solver_named


def closed(costs3):
    return costs3.min(axis=4).sum(axis=1).min(axis=2).sum(axis=0).min()


def misclassified(X, y):
    """(2, 2, p, p, p) training errors of every branch split by every k, by the definition."""
    p = X.shape[1]
    costs3 = np.zeros((2, 2, p, p, p))
    for r, s, i, j, k in np.ndindex(costs3.shape):
        branch = (X[:, i] == r) & (X[:, j] == s)
        for t in (0, 1):
            leaf = np.bincount(y[branch & (X[:, k] == t)], minlength=2)
            costs3[r, s, i, j, k] += leaf.sum() - leaf.max()
    return costs3


def plan_errors(plan, X, y):
    def leaf_of(row):
        side = plan.high if row[plan.root] else plan.low
        third = side.high if row[side.root] else side.low
        return (row[plan.root], row[side.root], row[third])

    leaves = {}
    for row, label in zip(X, y, strict=True):
        leaves.setdefault(leaf_of(row), [0, 0])[label] += 1
    return sum(min(counts) for counts in leaves.values())


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 4), st.integers(0, 2**32 - 1), st.booleans())
def test_lp_and_mip_agree_with_the_closed_form_and_on_the_tree(p, seed, tied):
    rng = np.random.default_rng(seed)
    shape = (2, 2, p, p, p)
    costs3 = rng.integers(0, 4, shape).astype(float) if tied else rng.random(shape)
    costs3[rng.random(shape) < 0.2] = np.inf
    costs3[:, :, 0, 0, 0] = 9.0
    by_lp, by_mip = oct3(costs3), oct3(costs3, relax=False)
    assert by_lp == by_mip
    assert by_lp.cost == pytest.approx(closed(costs3), abs=1e-9)


@settings(deadline=None, max_examples=25)
@given(st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_the_lp_is_integral_too(p, seed):
    costs3 = np.random.default_rng(seed).random((2, 2, p, p, p))
    values = solver_named("highs")(oct3_model(costs3)[0], True, Limits()).values
    assert np.abs(values - np.round(values)).max() < 1e-9
    assert values.sum() == pytest.approx(4)


def test_every_row_subset_of_two_splits_has_a_fair_signing():
    """Ghouila-Houri for p = 2: all 3^14 signings of the 14 rows, and every one of 2^14 subsets is met."""
    matrix = np.unique(oct3_model(np.zeros((2, 2, 2, 2, 2)))[0].dense(), axis=1).astype(np.int8)
    n_rows = matrix.shape[0]
    sums = np.zeros((1, matrix.shape[1]), dtype=np.int8)
    masks = np.zeros(1, dtype=np.int32)
    for row in range(n_rows):
        sums = np.concatenate([sums, sums + matrix[row], sums - matrix[row]])
        masks = np.concatenate([masks, masks | (1 << row), masks | (1 << row)])
    fair = np.unique(masks[(np.abs(sums) <= 1).all(axis=1)])
    assert n_rows == 14
    assert fair.size == 2**n_rows


@pytest.mark.parametrize("solver", installed())
def test_on_rows_the_plan_makes_the_errors_it_states(solver):
    rng = np.random.default_rng(5)
    X = rng.integers(0, 2, (40, 4))
    y = (X[:, 0] ^ X[:, 1] ^ X[:, 2]) ^ (rng.random(40) < 0.1)
    costs3 = misclassified(X, y)
    plan = oct3(costs3, solver)
    assert plan.cost == closed(costs3) == plan_errors(plan, X, y)


def test_a_root_that_repeats_is_the_two_level_tree_of_that_side():
    """costs3[r, r, i, i, k] is [OCT-2]'s costs[r, i, k]: the layout needs no case of its own."""
    rng = np.random.default_rng(6)
    X, y = rng.integers(0, 2, (30, 3)), rng.integers(0, 2, 30)
    costs3 = misclassified(X, y)
    p = X.shape[1]
    costs = np.array([[costs3[r, r, i, i] for i in range(p)] for r in (0, 1)])
    two_levels = np.full_like(costs3, np.inf)
    for i in range(p):
        two_levels[:, :, i, i] = costs3[:, :, i, i]
    assert oct3(two_levels).cost == oct2(costs).cost


@pytest.mark.parametrize("unit", [2.0**-80, 2.0**90])
def test_the_unit_of_costs_changes_nothing(unit):
    costs3 = np.random.default_rng(2).random((2, 2, 4, 4, 4))
    assert oct3(unit * costs3).cost == unit * oct3(costs3).cost == unit * closed(costs3)


@pytest.mark.parametrize("shape", [(2, 2, 3, 3), (2, 1, 3, 3, 3), (2, 2, 3, 3, 4), (2, 2, 0, 0, 0)])
def test_another_shape_is_refused(shape):
    with pytest.raises(ValueError, match="shape"):
        oct3(np.zeros(shape))


def test_no_cost_is_refused():
    with pytest.raises(ValueError, match="NaN or minus infinity"):
        oct3(np.full((2, 2, 1, 1, 1), np.nan))


def test_a_forbidden_everything_is_refused_in_one_sentence():
    costs3 = np.ones((2, 2, 2, 2, 2))
    costs3[0, 1] = np.inf
    with pytest.raises(ValueError, match="no tree"):
        oct3(costs3)
