import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import oracle
import strategies
from foretree.costs import Limits, PairCosts, pair_costs
from foretree.counts import MemoryRows
from foretree.losses import LOSSES
from foretree.solve import best_pair, best_single, choose
from strategies import ORACLE_LOSSES


def priced(costs, empty=None, ginis=None):
    """Wrap costs (2, p, p) that no table stands behind."""
    p = costs.shape[1]
    nothing = np.zeros((2, p, p))
    return PairCosts(
        costs,
        nothing.astype(np.int64) if empty is None else empty,
        nothing if ginis is None else ginis,
        np.ones(p, bool),
        float(costs.max()),
        1.0,
    )


@st.composite
def tables_of_costs(draw):
    """Few different whole costs, so that ties abound."""
    p = draw(st.integers(1, 5))
    size = 2 * p * p
    costs, empty, ginis = (
        np.array(draw(st.lists(st.integers(0, most), min_size=size, max_size=size)), float).reshape(2, p, p)
        for most in (3, 1, 2)
    )
    empty[:, range(p), range(p)] = 1
    return priced(costs, empty.astype(np.int64), ginis)


def enumerated(pairs, tie_by_gini=True):
    """Return the least (cost, empty, gini, root, low, high) of all p³ trees."""
    p = pairs.costs.shape[1]
    lacks = pairs.empty.copy()
    for side, root in itertools.product(range(2), range(p)):
        if pairs.costs[side, root, root] == 0:
            # What costs nothing stays a leaf.
            lacks[side, root] = 1 - lacks[side, root]
    found = []
    for j, k, m in itertools.product(range(p), repeat=3):
        cost, empty, gini = (table[0, j, k] + table[1, j, m] for table in (pairs.costs, lacks, pairs.ginis))
        # A child that leaves a side empty is the branch as a leaf, however it is named.
        k, m = (j if pairs.empty[side, j, child] else child for side, child in ((0, k), (1, m)))
        found.append((cost, empty, gini if tie_by_gini else 0.0, j, k, m))
    return min(found)


@settings(max_examples=300)
@given(tables_of_costs(), st.booleans())
def test_the_closed_form_is_brute_force(pairs, tie_by_gini):
    # A branch's leaf has one cost, Gini and emptiness, whatever child stands for it.
    for table in (pairs.costs, pairs.ginis):
        leaves = np.diagonal(table, axis1=1, axis2=2)[:, :, None]
        np.copyto(table, np.broadcast_to(leaves, table.shape), where=pairs.empty == 1)
    cost, _, _, *splits = enumerated(pairs, tie_by_gini)
    plan = best_pair(pairs, tie_by_gini)
    assert plan.cost == cost
    assert [plan.root, plan.low, plan.high] == splits


@settings(max_examples=150)
@given(strategies.problems(most_splits=6), strategies.losses, strategies.limits, st.booleans())
@example(
    strategies.Problem(np.zeros((4, 2), np.uint8), np.array([0, 1, 0, 1]), None, np.ones(2)),
    "gini",
    Limits(),
    True,
)
def test_two_steps_are_the_oracles(problem, name, limits, tie_by_gini):
    pairs = pair_costs(MemoryRows(problem.grouped()).count(()), LOSSES[name], limits)
    task = problem.task(ORACLE_LOSSES[name], limits, tie_by_gini=tie_by_gini)
    for steps, solve in ((1, best_single), (2, best_pair)):
        plan = solve(pairs, tie_by_gini)
        if plan is None:
            assert not pairs.separates.any()
            continue
        if pairs.weight and task.sizes.sum() >= limits.min_internal:
            cost, _, _, tree = oracle.best(task, np.arange(len(task.x)), steps)
            assert min(plan.cost, pairs.leaf) == pytest.approx(cost, abs=1e-6)
            if tree is not None:
                low, high = (plan.root if child is None else child[0] for child in tree[1:])
                assert (plan.root, plan.low, plan.high) == (tree[0], low, high)


def test_choosing():
    costs = np.array([2.0, 1.0, 1.0 + 1e-12, 1.0, 1.0])
    empty = np.array([0, 1, 0, 0, 0])
    ginis = np.array([0.0, 0.0, 5.0, 4.0, 4.0])
    assert choose(costs, empty, ginis, 1e-10) == 3
    assert choose(costs, empty, ginis, 0.0) == 3
    assert choose(costs, empty * 0, ginis * 0, 0.0) == 1
    assert choose(costs, empty, ginis * 0, 1e-10) == 2


def test_where_nothing_separates_there_is_no_plan():
    pairs = priced(np.ones((2, 3, 3)))
    pairs.separates[:] = False
    assert best_pair(pairs) is None
    assert best_single(pairs) is None


def test_a_forbidden_child_leaves_a_leaf():
    costs = np.array([[[4.0, 1.0], [9.0, 9.0]], [[3.0, np.inf], [9.0, 9.0]]])
    empty = np.zeros((2, 2, 2), np.int64)
    empty[:, [0, 1], [0, 1]] = 1
    plan = best_pair(priced(costs, empty))
    assert (plan.root, plan.low, plan.high, plan.cost) == (0, 1, 0, 4.0)
