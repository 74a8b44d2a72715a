from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("highspy")

from foretree.constraints import EqualizedOddsGap, EqualOpportunityGap, ParityGap, RecallFloor
from foretree.constraints.place import Budget
from foretree.mio import merge, oct2
from foretree.mio.blocks import Block, leaf_block
from foretree.mio.budget import within_budgets
from foretree.mio.coupled import Effort, coupled


def rows(seed, n=40, p=3):
    rng = np.random.default_rng(seed)
    X, group = rng.integers(0, 2, (n, p)), rng.integers(0, 2, n)
    y = (X[:, 0] & X[:, 1]) | (group & (rng.random(n) < 0.6))
    group[:4], y[:4] = [0, 0, 1, 1], [0, 1, 0, 1]
    return X, group, y


def block_of(X, group, y, couplings, allowed=None, weights=None):
    """A node's block as its rows make it, cell by cell; a child that parts nothing is left to the diagonal."""
    p = X.shape[1]
    weights = np.ones(len(y)) if weights is None else weights
    prices = 1.0 - np.eye(2)
    counts = np.zeros((2, 2, p, p, 2, 2))
    for r, s, j, k in np.ndindex(2, 2, p, p):
        here = (X[:, j] == r) & (X[:, k] == s)
        np.add.at(counts[r, s, j, k], (group[here], y[here]), weights[here])
    values = [coupling.of_leaves(counts) for coupling in couplings]
    whole = np.zeros((2, 2))
    np.add.at(whole, (group, y), weights)
    parts = (counts.sum(axis=(-2, -1)) > 0).all(axis=1) | np.eye(p, dtype=bool)
    return Block(
        counts.sum(axis=-2) @ prices,
        np.stack(values) if values else np.empty((0, 2, 2, p, p, 2)),
        parts if allowed is None else parts & allowed,
        whole.sum(axis=0) @ prices,
        np.stack([coupling.of_leaves(whole) for coupling in couplings]) if values else np.empty((0, 2)),
    )


def totals(group, y):
    counts = np.zeros((2, 2))
    np.add.at(counts, (group, y), 1.0)
    return counts


def trees(p):
    """Every (root, low, high) with every labelling of the four leaves."""
    for j, k, m in product(range(p), repeat=3):
        for labels in product((0, 1), repeat=4):
            yield j, k, m, np.array(labels)


def said_by(tree, X):
    j, k, m, labels = tree
    child = np.where(X[:, j] == 1, X[:, m], X[:, k])
    return labels[2 * X[:, j] + child]


def keeps(couplings, group, y, said):
    return all(c.excess(float(c.coefficients[group, y, said].sum())) <= 1e-9 for c in couplings)


def brute(X, group, y, couplings):
    errors = [
        int((said != y).sum())
        for tree in trees(X.shape[1])
        if keeps(couplings, group, y, said := said_by(tree, X))
    ]
    return min(errors, default=None)


def said_by_plan(found, X):
    """What a labelled plan says of rows: a branch that stays a leaf keeps the label of its one cell."""
    if found.plan is None:
        return np.full(len(X), found.labels[0][0])
    j, k, m = found.plan.root, found.plan.low, found.plan.high
    child = np.where(X[:, j] == 1, X[:, m], X[:, k])
    return np.array(found.labels)[X[:, j], child]


def parity(group, y, at_most):
    return ParityGap("s", at_most).couplings(totals(group, y), (0, 1), ("a", "b"))


SOLVERS = ("closed", "mip")


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.05, 0.2, 1.0]))
def test_the_sweep_finds_what_brute_force_finds(seed, gap):
    X, group, y = rows(seed)
    couplings = parity(group, y, gap)
    found = coupled([block_of(X, group, y, couplings)], couplings)
    said = said_by_plan(found.plans[0], X)
    assert (said != y).sum() == found.cost == found.bound == brute(X, group, y, couplings)
    assert keeps(couplings, group, y, said)


@pytest.mark.parametrize("solver", SOLVERS)
@settings(deadline=None, max_examples=15)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.02, 0.2]))
def test_several_couplings_are_kept_by_either_search(solver, seed, gap):
    X, group, y = rows(seed)
    counts = totals(group, y)
    couplings = EqualizedOddsGap("s", gap).couplings(counts, (0, 1), ("a", "b"))
    couplings += RecallFloor(1, 0.5).couplings(counts, (0, 1), ("all",))
    expected = brute(X, group, y, couplings)
    found = coupled([block_of(X, group, y, couplings)], couplings, Effort(solver, grain=1.0))
    said = said_by_plan(found.plans[0], X)
    if expected is None:
        assert max(found.excess) > 0
        return
    assert (said != y).sum() == found.cost == found.bound == expected
    assert keeps(couplings, group, y, said)


def outcomes(X, group, y, coupling):
    """The distinct (value, errors) of one node's trees."""
    return {
        (round(float(coupling.coefficients[group, y, said].sum()), 9), int((said != y).sum()))
        for tree in trees(X.shape[1])
        if (said := said_by(tree, X)) is not None
    }


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("at_most", [0.0, 0.03, 0.1])
def test_two_nodes_share_what_the_coupling_allows(solver, seed, at_most):
    X, group, y = rows(seed, n=60, p=4)
    couplings = parity(group, y, at_most)
    parts = [X[:, 3] == 0, X[:, 3] == 1]
    blocks = [block_of(X[part][:, :2], group[part], y[part], couplings) for part in parts]
    found = coupled(blocks, couplings, Effort(solver, grain=1.0))
    said = np.empty_like(y)
    for part, plan in zip(parts, found.plans, strict=True):
        said[part] = said_by_plan(plan, X[part][:, :2])
    assert keeps(couplings, group, y, said)
    first, second = (outcomes(X[part][:, :2], group[part], y[part], couplings[0]) for part in parts)
    best = min(e + f for (a, e), (b, f) in product(first, second) if abs(a + b) <= at_most + 1e-9)
    assert found.cost == found.bound == (said != y).sum() == best


@pytest.mark.parametrize("seed", range(4))
def test_many_nodes_by_merging_and_by_program_cost_the_same(seed):
    X, group, y = rows(seed, n=240, p=7)
    couplings = EqualOpportunityGap("s", 0.02).couplings(totals(group, y), (0, 1), ("a", "b"))
    couplings += parity(group, y, 0.05)
    codes = X[:, 5] * 2 + X[:, 6]
    parts = [codes == code for code in range(4)]
    blocks = [block_of(X[part][:, :5], group[part], y[part], couplings) for part in parts]
    one, other = (coupled(blocks, couplings, Effort(solver, grain=1.0)) for solver in SOLVERS)
    assert one.cost == other.cost == pytest.approx(one.bound)
    assert max(one.excess) <= 1e-9


@pytest.mark.parametrize("n_pairs", [40, 400])
def test_what_cannot_be_written_down_is_left_open_not_denied(monkeypatch, n_pairs):
    X, group, y = rows(1, n=300, p=8)
    couplings = parity(group, y, 0.001)
    parts = [X[:, 7] == 0, X[:, 7] == 1]
    blocks = [block_of(X[part][:, :7], group[part], y[part], couplings) for part in parts]
    whole = coupled(blocks, couplings, Effort(grain=1.0))
    monkeypatch.setattr(merge, "MOST_PAIRS", n_pairs)
    monkeypatch.setattr(merge, "MOST_POINTS", n_pairs // 4)
    monkeypatch.setattr(merge, "BOXES", {1: 8})
    rough = coupled(blocks, couplings, Effort(grain=1.0))
    assert rough.bound <= whole.cost + 1e-9
    assert rough.cost >= whole.cost - 1e-9
    assert whole.bound == whole.cost


def test_many_couplings_make_fewer_pairs(monkeypatch):
    """Each pair has a value for every coupling, and all of them must fit in memory."""
    X, group, y = rows(1, n=300, p=8)
    couplings = EqualizedOddsGap("s", 0.01).couplings(totals(group, y), (0, 1), ("a", "b"))
    blocks = [
        block_of(X[part][:, :7], group[part], y[part], couplings) for part in (X[:, 7] == 0, X[:, 7] == 1)
    ]
    written = []
    real = merge._Pairs.within
    monkeypatch.setattr(merge, "MOST_NUMBERS", 1_000)
    monkeypatch.setattr(
        merge._Pairs, "within", lambda self, margin: written.append(real(self, margin)) or written[-1]
    )
    coupled(blocks, couplings, Effort(grain=1.0))
    assert 0 < max(len(pairs) for pairs in written) <= 500


def test_plans_that_are_known_are_never_lost():
    X, group, y = rows(2, n=80, p=4)
    couplings = parity(group, y, 0.02)
    blocks = [
        block_of(X[half], group[half], y[half], couplings)
        for half in (np.arange(80) < 40, np.arange(80) >= 40)
    ]
    best = coupled(blocks, couplings, Effort(grain=1.0))
    late = coupled(blocks, couplings, Effort(deadline=0.0), best.plans)
    assert late.cost == best.cost
    assert late.plans == best.plans


def test_a_coupling_that_allows_everything_gives_the_unconstrained_tree():
    X, group, y = rows(3)
    couplings = parity(group, y, 1.0)
    found = coupled([block_of(X, group, y, couplings)], couplings)
    plain = block_of(X, group, y, ())
    assert found.cost == oct2(plain.costs.min(axis=-1).sum(axis=1)).cost


@pytest.mark.parametrize("solver", SOLVERS)
def test_what_no_tree_keeps_is_missed_by_the_least(solver):
    X, group, y = rows(4)
    counts = totals(group, y)
    (impossible,) = RecallFloor(1, 1.0).couplings(counts, (0, 1), ("all",))
    impossible = replace(impossible, lower=1.25)
    blocks = [block_of(X, group, y, (impossible,))]
    for nodes in (blocks, [*blocks, leaf_block(np.zeros(2), np.zeros((1, 2)))]):
        found = coupled(nodes, (impossible,), Effort(solver))
        assert found.excess[0] == pytest.approx(0.25)


def test_masks_hold_under_couplings_too():
    X, group, y = rows(5)
    allowed = np.ones((2, 3, 3), bool)
    allowed[:, [0, 2]] = False
    couplings = parity(group, y, 0.5)
    found = coupled([block_of(X, group, y, couplings, allowed)], couplings)
    assert found.plans[0].plan.root == 1
    found = coupled([block_of(X, group, y, couplings, allowed & False)], couplings)
    assert found.plans[0].plan is None


def brute_budget(X, y, columns, budget, paid):
    """The fewest errors of trees at two nodes whose columns, with the paid ones, stay within the budget."""
    best = np.inf
    parts = [X[:, 0] == 0, X[:, 0] == 1]
    options = []
    for part in parts:
        of_part = {}
        for j, k, m in product(range(1, X.shape[1]), repeat=3):
            child = np.where(X[part, j] == 1, X[part, m], X[part, k])
            cells = 2 * X[part, j] + child
            errors = sum(
                min((y[part][cells == c] == 0).sum(), (y[part][cells == c] == 1).sum()) for c in range(4)
            )
            asked = frozenset({int(columns[j]), int(columns[k]), int(columns[m])})
            of_part[asked] = min(of_part.get(asked, np.inf), errors)
        stay = min((y[part] == 0).sum(), (y[part] == 1).sum())
        of_part[frozenset()] = stay
        options.append(of_part)
    for (one, e), (other, f) in product(options[0].items(), options[1].items()):
        if budget.allows(one | other | paid):
            best = min(best, e + f)
    return best


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("at_most", [1.0, 2.0, 3.5])
def test_budgets_are_spent_on_the_best_columns(seed, at_most):
    X, _, y = rows(seed, n=60, p=6)
    columns = np.array([0, 0, 1, 2, 3, 3])
    prices = np.random.default_rng(seed).choice([0.5, 1.0, 2.0], 4)
    budget = Budget("test", prices, at_most)
    paid = frozenset({1}) if prices[1] <= at_most else frozenset()
    parts = [X[:, 0] == 0, X[:, 0] == 1]
    blocks = []
    for part in parts:
        counts = block_of(X[part][:, 1:], np.zeros(part.sum(), int), y[part], ())
        blocks.append(
            replace(
                counts,
                costs=counts.costs.min(-1, keepdims=True),
                values=counts.values[..., :1],
                leaf_costs=counts.leaf_costs.min(keepdims=True),
                leaf_values=counts.leaf_values[:, :1],
            )
        )

    def solve(masks):
        kept = [np.flatnonzero(mask) for mask in masks]
        found = coupled([block.among(splits) for block, splits in zip(blocks, kept, strict=True)])
        plans = []
        for plan, splits in zip(found.plans, kept, strict=True):
            tree = plan.plan
            renamed = (
                None
                if tree is None
                else replace(
                    tree, root=int(splits[tree.root]), low=int(splits[tree.low]), high=int(splits[tree.high])
                )
            )
            plans.append(replace(plan, plan=renamed))
        return replace(found, plans=tuple(plans))

    found = within_budgets([columns[1:]] * 2, [budget], paid, solve)
    assert found.cost == found.bound == brute_budget(X, y, columns, budget, paid)


@pytest.mark.parametrize("solver", SOLVERS)
def test_one_class_for_everyone_keeps_a_gap_without_any_time(solver):
    X, group, y = rows(6, n=80, p=4)
    couplings = EqualizedOddsGap("s", 0.0).couplings(totals(group, y), (0, 1), ("a", "b"))
    halves = (np.arange(80) < 40, np.arange(80) >= 40)
    blocks = [block_of(X[half], group[half], y[half], couplings) for half in halves]
    late = coupled(blocks, couplings, Effort(solver, deadline=0.0))
    assert max(late.excess) <= 1e-9
    assert late.cost <= min(np.bincount(y))
    assert late.bound <= late.cost
