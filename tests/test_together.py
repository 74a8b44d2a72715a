"""Levels of nodes grown together, where they differ from nodes grown alone."""

import numpy as np
import pytest

from foretree import LookaheadTreeClassifier
from foretree.constraints import EqualizedOddsGap, FeatureBudget, ForcedRoot
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
