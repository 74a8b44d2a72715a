"""What is proven of trees whose looks were cut short."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import strategies
from foretree import LookaheadTreeClassifier, gap
from foretree.costs import Limits
from foretree.gap import count_kinds, cut_short, least_losses, unproven_loss
from foretree.grow import GrowthPlan, grow_in_kernel
from foretree.losses import LOSSES
from foretree.tree import Tree
from strategies import ORACLE_LOSSES


def loss_of_kinds(task, rows):
    """What these rows cost where every kind of row has a leaf of its own."""
    kinds = {task.x[row].tobytes() for row in rows}
    return sum(
        task.loss(task.weights[[row for row in rows if task.x[row].tobytes() == kind]].sum(axis=0))
        for kind in kinds
    )


@settings(max_examples=100)
@given(strategies.problems(), strategies.losses, st.integers(1, 3), st.booleans())
def test_no_tree_costs_less_than_rows_of_a_kind(problem, name, depth, collide):
    task = problem.task(ORACLE_LOSSES[name])
    grown = grow_in_kernel(problem.grouped(), LOSSES[name], GrowthPlan(depth, 2, Limits()))
    with pytest.MonkeyPatch.context() as patch:
        if collide:
            patch.setattr(gap, "_MIX", np.uint64(0))
        least = least_losses(count_kinds(problem.grouped(), LOSSES[name]), grown.tree)
    waiting = [(0, np.arange(len(task.x)))]
    while waiting:
        node, rows = waiting.pop()
        want = loss_of_kinds(task, rows)
        # Kinds that a hash cannot tell apart may be counted in parts, which cost no more.
        assert least[node] <= want + 1e-6
        assert collide or least[node] == pytest.approx(want, abs=1e-6)
        split = grown.tree.split[node]
        if split >= 0:
            for answer, child in ((0, grown.tree.low[node]), (1, grown.tree.high[node])):
                waiting.append((child, rows[task.x[rows, split] == answer]))


def small_tree():
    """A root of loss 4 over two leaves of loss 1 each."""
    nodes = (np.array(each) for each in ([0, -1, -1], [1, -1, -1], [2, -1, -1]))
    return Tree(*nodes, np.full((3, 2), 2.0), np.array([8, 4, 4]), np.array([4.0, 1.0, 1.0]))


def test_open_looks_count_once_and_where_they_are():
    tree, planned = small_tree(), np.array([2.0, 1.0, 1.0])
    assert unproven_loss(tree, planned, planned) == 0
    assert unproven_loss(tree, planned, np.array([0.5, 1.0, 1.0])) == 1.5
    assert unproven_loss(tree, planned, np.array([0.5, 0.0, 0.5])) == 1.5
    assert unproven_loss(tree, planned, np.array([1.5, 0.0, 0.25])) == 1.75
    assert unproven_loss(tree, planned, np.array([2.0, 0.25, 1.0])) == 0.75
    assert cut_short(tree, planned, np.array([2.0, 0.25, 1.0 - 1e-12])).tolist() == [False, True, False]


def test_the_gap_is_less_than_the_loss_where_equal_rows_differ_in_class():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (3000, 12)).astype(np.uint8)
    y = (X[:, :6].sum(axis=1) % 2) ^ (rng.random(3000) < 0.3)
    options = {"max_depth": 6, "lookahead": "optimal", "loss": "misclassification"}
    hasty = LookaheadTreeClassifier(**options, time_limit=1e-3).fit(X, y)
    kinds = np.unique(X, axis=0, return_inverse=True)[1]
    ones = np.bincount(kinds, weights=y)
    least = np.minimum(ones, np.bincount(kinds) - ones).sum() / len(y)
    assert least > 0.1
    assert hasty.loss_value_ - hasty.optimality_gap_ >= least - 1e-9
    assert 0 < hasty.optimality_gap_ <= hasty.loss_value_ - least + 1e-9
    assert not hasty.growth_log_[0]["proven"]
