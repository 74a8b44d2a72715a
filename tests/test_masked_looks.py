"""Looks of nodes where constraints forbid some pairs of splits: kernel, counts and search, one definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import strategies
from foretree.constraints import AcquisitionCost, Forbidden, ForcedRoot, Interaction, Monotone
from foretree.constraints.place import Columns
from foretree.constraints.reading import PathMasks, read_wishes
from foretree.costs import Limits
from foretree.counts import MemoryRows
from foretree.look import LEAF, CountsLooker, KernelLooker, Searcher
from foretree.losses import LOSSES
from strategies import Problem

NAMES = ("a", "b", "c")
PATH_WISHES = (
    ForcedRoot("a"),
    Forbidden([("a", "b")]),
    Forbidden([("c", "c")]),
    Interaction([("a", "c"), ("b",)]),
    AcquisitionCost({"a": 3, "b": 2, "c": 1}, 3),
)
ORDERS = (Monotone("a"), Monotone("b", "decreasing"))


@st.composite
def masked(draw, orders=ORDERS, **sizes):
    """Draw a problem of two classes, and the masks that some constraints make of its nodes."""
    problem = draw(strategies.problems(most_classes=2, **sizes))
    n_splits = problem.x.shape[1]
    of_split = np.array(draw(st.lists(st.integers(0, 2), min_size=n_splits, max_size=n_splits)), np.int64)
    columns = Columns(NAMES, of_split, np.full(n_splits, -1), np.ones(n_splits, bool))
    wishes = draw(st.lists(st.sampled_from(PATH_WISHES + orders), min_size=1, max_size=3, unique=True))
    wishes = [wish for wish in wishes if not isinstance(wish, Monotone) or asks(columns, wish)]
    return problem, masks_of(problem, columns, wishes)


def asks(columns, wish):
    return columns.number(wish.column) in columns.of_split


def masks_of(problem, columns, wishes):
    rows = MemoryRows(problem.grouped())
    read = read_wishes(wishes, columns, [0, 1], problem.y, problem.row_weights, lambda name: None)
    return PathMasks(read, lambda path: rows.total(path)[0])


def both(problem, masks, name, limits, tie_by_gini=True):
    return (
        KernelLooker(problem.grouped(), LOSSES[name], limits, tie_by_gini, masks),
        CountsLooker(MemoryRows(problem.grouped()), LOSSES[name], limits, tie_by_gini, masks=masks),
    )


def least(looker, masks, path, steps):
    """The least loss of an allowed tree, by trying all: what a leaf costs, or any split and the best below it."""
    node = looker.weigh(path)
    cost = node.loss if masks.allow_leaf(path) else np.inf
    if steps == 0 or node.n_rows < looker.limits.min_internal:
        return cost
    below = masks.fence(path, 1).pairs.diagonal(axis1=1, axis2=2).all(axis=0)
    for split in range(looker.rows.n_splits):
        sides = [(*path, (split, answer)) for answer in (0, 1)]
        sizes = [looker.rows.total(side)[1] for side in sides]
        weights = [looker.rows.total(side)[0].sum() for side in sides]
        fits = min(sizes) >= looker.limits.min_leaf and min(weights) >= looker.limits.min_weight
        if below[split] and min(sizes) > 0 and fits:
            cost = min(cost, sum(least(looker, masks, side, steps - 1) for side in sides))
    return cost


# Sums of fractional weights are rounded, and their shares with them: whole ones argue about equal shares.
WHOLE = ("none", "few whole")


@settings(max_examples=200)
@given(masked(most_splits=6, kinds=WHOLE), strategies.losses, strategies.limits, st.booleans(), st.data())
def test_kernels_look_as_counts_do(drawn, name, limits, tie_by_gini, data):
    problem, masks = drawn
    kernel, counts = both(problem, masks, name, limits, tie_by_gini)
    path = data.draw(st.sampled_from(paths_into(problem, masks)))
    for steps in (1, 2):
        one, other = (looker.look(path, steps, np.inf, np.inf) for looker in (kernel, counts))
        assert one.cost == pytest.approx(other.cost, abs=1e-9)
        assert one.root == other.root
        if one.root != LEAF:
            for mine, theirs in ((one.low, other.low), (one.high, other.high)):
                assert mine.root == theirs.root
                assert mine.cost == pytest.approx(theirs.cost, abs=1e-9)
    mine, theirs = kernel.survey(path), counts.survey(path)
    assert set(theirs.splits) <= set(mine.splits)
    assert kernel.key(path) == counts.key(path)


def paths_into(problem, masks):
    """The root, and the nodes below its splits that a tree may have."""
    rows = MemoryRows(problem.grouped())
    below = masks.fence((), 1).pairs.diagonal(axis1=1, axis2=2).all(axis=0)
    below &= [min(rows.total(((split, answer),))[1] for answer in (0, 1)) > 0 for split in range(below.size)]
    sides = [((split, answer),) for split in np.flatnonzero(below).tolist() for answer in (0, 1)]
    return [(), *(path for path in sides if masks.allow_leaf(path))]


@settings(max_examples=150)
@given(
    masked(most_rows=20, most_splits=4, kinds=WHOLE), strategies.losses, strategies.limits, st.integers(1, 4)
)
def test_searches_under_masks_find_the_least_loss(drawn, name, limits, steps):
    problem, masks = drawn
    for looker in both(problem, masks, name, limits):
        want = least(both(problem, masks, name, limits)[0], masks, (), steps)
        assert Searcher(looker).look((), steps).cost == pytest.approx(want, abs=1e-8)


@settings(max_examples=60)
@given(masked(orders=(), kinds=("fractional", "many whole")), strategies.losses, strategies.limits)
def test_kernels_look_as_counts_do_whatever_rows_weigh(drawn, name, limits):
    problem, masks = drawn
    for steps in (1, 2):
        one, other = (looker.look((), steps, np.inf, np.inf) for looker in both(problem, masks, name, limits))
        assert one.cost == pytest.approx(other.cost, rel=1e-6, abs=1e-6)


def test_of_equal_splits_the_allowed_one_is_found():
    """The kernels count equal columns once, but a mask may forbid the first of them."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, (80, 2)).astype(np.uint8)
    x = np.c_[x[:, 0], x[:, 1], 1 - x[:, 0]]
    y = (x[:, 0] ^ x[:, 1]).astype(np.int64)
    problem = Problem(x, y, None, np.ones(2))
    columns = Columns(NAMES, np.array([0, 1, 2]), np.zeros(3, np.int64), np.ones(3, bool))
    masks = masks_of(problem, columns, [ForcedRoot("c")])
    for looker in both(problem, masks, "misclassification", Limits()):
        look = looker.look((), 2, np.inf, np.inf)
        assert (look.root, look.cost) == (2, 0.0)


def test_one_step_counts_no_leaf_as_empty():
    """Two errors by either split, one in each branch or both in one: whether a branch is free decides no tie."""
    x = np.array([[0, 0, 0, 1, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1, 1, 1]], np.uint8).T
    problem = Problem(x, np.arange(8) // 4, None, np.ones(2))
    columns = Columns(NAMES, np.array([0, 1]), np.zeros(2, np.int64), np.ones(2, bool))
    masks = masks_of(problem, columns, [Forbidden([("a", "c")])])
    for looker in both(problem, masks, "misclassification", Limits(), tie_by_gini=False):
        assert looker.look((), 1, np.inf, np.inf).root == 0


def test_a_search_does_not_choose_what_orders_forbid():
    """Below the first split of a column against its order there is nothing, not even a leaf."""
    x = np.array([[0, 0]] * 4 + [[0, 1]] * 4 + [[1, 0]] * 4 + [[1, 1]] * 4, np.uint8)
    y = np.array([1, 1, 1, 0, 1, 1, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0])
    problem = Problem(x, y, None, np.ones(2))
    columns = Columns(NAMES[:2], np.array([0, 1]), np.ones(2, np.int64), np.ones(2, bool))
    masks = masks_of(problem, columns, [Monotone("a")])
    for looker in both(problem, masks, "gini", Limits()):
        for steps in (2, 3):
            assert Searcher(looker).look((), steps).root != 0
        assert not looker.allows(((0, 0),))
        assert np.isinf(Searcher(looker).look(((0, 0),), 3).cost)
