import numpy as np
import pytest
from hypothesis import given, settings

import strategies
from foretree.costs import Limits
from foretree.grow import GrowthPlan, grow_in_kernel
from foretree.losses import LOSSES
from foretree.tree import Tree, importances, levels, parents, path_matrix, simplify, total_loss
from strategies import nested


def grown(problem, depth=4):
    return grow_in_kernel(problem.grouped(), LOSSES["gini"], GrowthPlan(depth, 2, Limits())).tree


def tree_of(nested, weights):
    """Make a tree from (split, low, high) with leaves named by keys of `weights`."""
    records = []

    def visit(node):
        place = len(records)
        if not isinstance(node, tuple):
            records.append([-1, -1, -1, np.array(weights[node], float)])
            return place
        records.append([node[0], None, None, None])
        records[place][1] = visit(node[1])
        records[place][2] = visit(node[2])
        records[place][3] = records[records[place][1]][3] + records[records[place][2]][3]
        return place

    visit(nested)
    split, low, high, totals = zip(*records, strict=True)
    totals = np.array(totals)
    return Tree(
        np.array(split), np.array(low), np.array(high), totals, totals.sum(axis=1).astype(int),
        LOSSES["misclassification"].of(totals),
    )  # fmt: skip


LEAVES = {"a": [5, 1], "b": [4, 2], "c": [1, 6], "d": [3, 3], "e": [0, 4]}
TREE = tree_of((3, (0, "a", "b"), (2, (0, "c", "e"), (1, "d", "e"))), LEAVES)


def test_shape():
    assert (TREE.n_nodes, TREE.n_leaves) == (11, 6)
    assert levels(TREE).tolist() == [0, 1, 2, 2, 1, 2, 3, 3, 2, 3, 3]
    assert parents(TREE).tolist() == [-1, 0, 1, 1, 0, 4, 5, 5, 4, 8, 8]
    assert TREE.is_leaf.sum() == 6
    assert total_loss(TREE) == 1 + 2 + 1 + 0 + 3 + 0
    # Ties go to the first class.
    assert TREE.classes[TREE.is_leaf].tolist() == [0, 0, 1, 1, 0, 1]
    np.testing.assert_allclose(TREE.probabilities[2], [5 / 6, 1 / 6])


def test_nodes_without_weight_speak_as_the_node_above():
    leaves = {**LEAVES, "nothing": [0, 0]}
    tree = tree_of((0, (1, (2, "nothing", "nothing"), "c"), "a"), leaves)
    assert tree.weights[2:5].any() == np.False_
    for node in (2, 3, 4):
        np.testing.assert_allclose(tree.probabilities[node], [1 / 7, 6 / 7])
        assert tree.classes[node] == 1
    assert nested(simplify(tree)) == (0, None, None)


def test_a_lone_leaf():
    leaf = tree_of("a", LEAVES)
    assert levels(leaf).tolist() == [0]
    assert simplify(leaf).n_nodes == 1
    assert importances(leaf, np.arange(4), 4).tolist() == [0, 0, 0, 0]
    assert path_matrix(leaf, np.zeros(3, np.int64)).toarray().tolist() == [[1], [1], [1]]


def test_importances():
    columns = np.array([0, 1, 1, 0])  # splits 0 and 3 ask column 0
    removed = TREE.loss - [
        TREE.loss[low] + TREE.loss[high] if low >= 0 else loss
        for low, high, loss in zip(TREE.low, TREE.high, TREE.loss, strict=True)
    ]
    want = [sum(removed[TREE.split == s].sum() for s in splits) for splits in ((0, 3), (1, 2))]
    np.testing.assert_allclose(importances(TREE, columns, 3), [*(np.array(want) / sum(want)), 0])


def test_simplifying_merges_siblings_that_say_the_same():
    simple = simplify(TREE)
    # (a, b) say the same, so do (c, e); (d, e) do not.
    assert simple.split.tolist() == [3, -1, 2, -1, 1, -1, -1]
    assert simple.low.tolist() == [1, -1, 3, -1, 5, -1, -1]
    assert simple.high.tolist() == [2, -1, 4, -1, 6, -1, -1]
    assert simple.weights[1].tolist() == [9, 3]
    assert simplify(simple).split.tolist() == simple.split.tolist()


@pytest.mark.parametrize("leaves", [((0, "a", "b"), "a"), ("a", (0, "b", "a"))])
def test_merging_goes_on_upwards(leaves):
    assert simplify(tree_of((1, *leaves), LEAVES)).n_nodes == 1


def walk(tree, answers):
    node = 0
    path = [0]
    while tree.split[node] >= 0:
        node = int(tree.high[node] if answers[tree.split[node]] else tree.low[node])
        path.append(node)
    return path


@settings(max_examples=100)
@given(strategies.problems(most_rows=60, most_splits=5))
def test_simplifying_changes_no_prediction(problem):
    tree = grown(problem)
    simple = simplify(tree)
    assert total_loss(simple) >= total_loss(tree) - 1e-9
    for answers in problem.x:
        assert simple.classes[walk(simple, answers)[-1]] == tree.classes[walk(tree, answers)[-1]]
    inner = np.flatnonzero(~simple.is_leaf)
    low, high = simple.low[inner], simple.high[inner]
    both = simple.is_leaf[low] & simple.is_leaf[high]
    assert (simple.classes[low] != simple.classes[high])[both].all()


@settings(max_examples=60)
@given(strategies.problems(most_rows=40, most_splits=5))
def test_paths(problem):
    tree = grown(problem)
    paths = [walk(tree, answers) for answers in problem.x]
    matrix = path_matrix(tree, np.array([path[-1] for path in paths]))
    assert matrix.shape == (len(paths), tree.n_nodes)
    for row, path in zip(matrix.toarray(), paths, strict=True):
        assert np.flatnonzero(row).tolist() == path
        assert row.max() == 1
