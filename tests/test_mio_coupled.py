from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("highspy")

from foretree.constraints import EqualizedOddsGap, ParityGap, RecallFloor
from foretree.mio import oct2
from foretree.mio.coupled import Node, coupled
from foretree.mio.model import Solution
from foretree.mio.solvers import SOLVERS


def rows(seed, n=40, p=3):
    rng = np.random.default_rng(seed)
    X, group = rng.integers(0, 2, (n, p)), rng.integers(0, 2, n)
    y = (X[:, 0] & X[:, 1]) | (group & (rng.random(n) < 0.6))
    group[:4], y[:4] = [0, 0, 1, 1], [0, 1, 0, 1]
    return X, group, y


def node_of(X, group, y):
    p = X.shape[1]
    cells = np.zeros((2, 2, p, p, 2, 2))
    for r, s, j, k in np.ndindex(2, 2, p, p):
        here = (X[:, j] == r) & (X[:, k] == s)
        np.add.at(cells[r, s, j, k], (group[here], y[here]), 1.0)
    return Node(cells, 1.0 - np.eye(2), np.ones((2, p, p), bool))


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


def as_tree(found):
    (a, b), (c, d) = found.labels
    return found.plan.root, found.plan.low, found.plan.high, np.array([a, b, c, d])


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.05, 0.2, 1.0]))
def test_the_sweep_finds_what_brute_force_finds(seed, gap):
    X, group, y = rows(seed)
    couplings = ParityGap("s", 1, gap).couplings(totals(group, y), (0, 1))
    (found,) = coupled([node_of(X, group, y)], couplings)
    said = said_by(as_tree(found), X)
    assert (said != y).sum() == found.plan.cost == brute(X, group, y, couplings)
    assert keeps(couplings, group, y, said)


@settings(deadline=None, max_examples=12)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.02, 0.2]))
def test_several_couplings_are_kept_by_the_mip(seed, gap):
    X, group, y = rows(seed)
    counts = totals(group, y)
    couplings = EqualizedOddsGap("s", 1, gap).couplings(counts, (0, 1)) + RecallFloor(1, 0.5).couplings(
        counts, (0, 1)
    )
    expected = brute(X, group, y, couplings)
    found = coupled([node_of(X, group, y)], couplings)
    if expected is None:
        assert found is None
        return
    said = said_by(as_tree(found[0]), X)
    assert (said != y).sum() == found[0].plan.cost == expected
    assert keeps(couplings, group, y, said)


@pytest.mark.parametrize("seed", range(4))
def test_two_nodes_share_what_the_coupling_allows(seed):
    X, group, y = rows(seed, n=60, p=4)
    couplings = ParityGap("s", 1, 0.1).couplings(totals(group, y), (0, 1))
    parts = [X[:, 3] == 0, X[:, 3] == 1]
    nodes = [node_of(X[part][:, :2], group[part], y[part]) for part in parts]
    found = coupled(nodes, couplings)
    said = np.empty_like(y)
    for part, tree in zip(parts, found, strict=True):
        said[part] = said_by(as_tree(tree), X[part][:, :2])
    assert keeps(couplings, group, y, said)

    def outcomes(part):
        """The distinct (value, errors) of one node's trees."""
        c = couplings[0]
        return {
            (round(float(c.coefficients[group[part], y[part], s].sum()), 9), int((s != y[part]).sum()))
            for tree in trees(2)
            if (s := said_by(tree, X[part][:, :2])) is not None
        }

    best = min(
        e + f
        for (a, e), (b, f) in product(outcomes(parts[0]), outcomes(parts[1]))
        if abs(a + b) <= 0.1 + 1e-9
    )
    assert sum(tree.plan.cost for tree in found) == (said != y).sum() == best


def test_a_coupling_that_allows_everything_gives_the_unconstrained_tree():
    X, group, y = rows(3)
    node = node_of(X, group, y)
    (found,) = coupled([node], ParityGap("s", 1, 1.0).couplings(totals(group, y), (0, 1)))
    counts = node.cells.sum(axis=4)
    assert found.plan.cost == oct2((counts.sum(-1) - counts.max(-1)).sum(axis=1)).cost


def test_what_no_tree_keeps_is_none():
    X, group, y = rows(4)
    impossible = RecallFloor(1, 2.5).couplings(totals(group, y), (0, 1))
    node = node_of(X, group, y)
    assert coupled([node], impossible) is None
    assert coupled([node, node], impossible) is None


def test_masks_hold_under_couplings_too():
    X, group, y = rows(5)
    node = node_of(X, group, y)
    node.allowed[:, [0, 2]] = False
    (found,) = coupled([node], ParityGap("s", 1, 0.5).couplings(totals(group, y), (0, 1)))
    assert found.plan.root == 1
    node.allowed[0] = False
    assert coupled([node], ParityGap("s", 1, 0.5).couplings(totals(group, y), (0, 1))) is None


def test_time_that_ends_without_trees_is_no_proof_that_there_are_none(monkeypatch):
    X, group, y = rows(6)
    monkeypatch.setitem(SOLVERS, "highs", lambda *_: Solution(None, np.inf, 0.0, "time limit reached"))
    node = node_of(X, group, y)
    with pytest.raises(TimeoutError, match="time limit reached"):
        coupled([node, node], ParityGap("s", 1, 0.5).couplings(totals(group, y), (0, 1)))
