"""Levels of nodes grown together, where they differ from nodes grown alone."""

import numpy as np
import pytest

from foretree import LookaheadTreeClassifier
from foretree.constraints import EqualizedOddsGap, FeatureBudget, ForcedRoot, RecallFloor
from foretree.mio.model import Solution
from foretree.mio.solvers import SOLVERS
from foretree.together import grain_of
from foretree.tree import LEAF


@pytest.mark.parametrize("solver", ["closed", "lp", "mip"])
@pytest.mark.parametrize("seed", [6, 18, 39, 45, 52, 54])
def test_a_forced_root_is_asked_also_where_it_gains_nothing(solver, seed):
    """Nothing but one class for everyone has no gap at all: as a leaf, or below any question."""
    rng = np.random.default_rng(seed)
    X, group, y = rng.integers(0, 2, (40, 3)), rng.integers(0, 2, 40), (rng.random(40) < 0.3).astype(int)
    weights = rng.choice([0.5, 1.0, 1.5], 40)
    wishes = [ForcedRoot("x1"), EqualizedOddsGap(at_most=0.0)]
    model = LookaheadTreeClassifier(2, constraints=wishes, solver=solver)
    model.fit(X, y, sample_weight=weights, sensitive=group)
    assert model.tree_.split[0] == 1
    assert model.optimality_gap_ == 0
    tree = model.tree_
    assert tree.loss[tree.is_leaf].sum() == pytest.approx(model.loss_value_ * weights.sum())


def test_a_forced_root_that_parts_nothing_is_a_leaf_and_said():
    X, y = np.array([[0, 1], [0, 0]] * 20), np.arange(40) % 2
    with pytest.raises(ValueError, match="no question about 'x0' separates the rows"):
        LookaheadTreeClassifier(2, constraints=[ForcedRoot("x0"), FeatureBudget(1)]).fit(X, y)
    forced = LookaheadTreeClassifier(2, constraints=[ForcedRoot("x1"), FeatureBudget(1)]).fit(X, y)
    assert (forced.tree_.split != LEAF).tolist() == [True, False, False]


@pytest.mark.parametrize("solver", ["closed", "mip"])
@pytest.mark.parametrize("unit", [2.0**-60, 2.0**30])
@pytest.mark.parametrize("seed", [1, 3, 9])
def test_the_unit_of_weights_changes_nothing(solver, unit, seed):
    """Solvers compare with fixed tolerances: what they are given must not depend on the unit."""
    rng = np.random.default_rng(seed)
    X, weights = rng.integers(0, 2, (300, 7)), rng.integers(1, 3, 300).astype(float)
    group = np.where(rng.random(300) < 0.8, X[:, 0], rng.integers(0, 2, 300))
    y = ((X[:, 1] & X[:, 2]) | (group & (rng.random(300) < 0.7))).astype(int)
    wishes = [EqualizedOddsGap(at_most=0.03), RecallFloor(1, 0.6)]
    model, other = (
        LookaheadTreeClassifier(3, constraints=wishes, solver=solver).fit(X, y, w, sensitive=group)
        for w in (weights, unit * weights)
    )
    np.testing.assert_array_equal(other.predict(X), model.predict(X))
    assert other.loss_value_ == pytest.approx(model.loss_value_)


@pytest.mark.parametrize(
    ("weights", "grain"),
    [
        ([1.0, 2.0, 5.0], 1.0),
        ([4.0, 6.0], 2.0),
        ([0.5, 1.5, 0.0], 0.5),
        ([2.0**40, 3 * 2.0**40], 2.0**40),
        ([0.3, 0.7], 0.0),
        ([0.0], 0.0),
    ],
)
def test_the_grain_is_the_least_difference_of_sums(weights, grain):
    assert grain_of(np.array(weights)) == grain


@pytest.mark.parametrize("wishes", [None, [EqualizedOddsGap(at_most=0.0)]])
def test_ctrl_c_in_a_solver_ends_the_fit(monkeypatch, wishes):
    """The solver notices the signal itself; what it holds by then is not the node's optimum."""
    rng = np.random.default_rng(0)
    X, y, group = rng.integers(0, 2, (60, 4)), rng.integers(0, 2, 60), rng.integers(0, 2, 60)
    monkeypatch.setitem(
        SOLVERS,
        "highs",
        lambda model, _relax, _limits: Solution(np.zeros(model.shape[1]), 0.0, 0.0, "interrupted"),
    )
    with pytest.raises(KeyboardInterrupt):
        LookaheadTreeClassifier(2, solver="mip", constraints=wishes).fit(X, y, sensitive=group)
