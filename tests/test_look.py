import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
import strategies
from foretree.costs import Limits
from foretree.counts import MemoryRows
from foretree.look import LEAF, CountsLooker, KernelLooker, Look, Searcher, Survey, is_pure
from foretree.losses import LOSSES, resolve_loss
from foretree.rules import make_rules
from foretree.solve import best_pair
from strategies import ORACLE_LOSSES, Problem


def lookers(problem, name, limits, tie_by_gini=True):
    loss = LOSSES[name]
    return (
        KernelLooker(problem.grouped(), loss, limits, tie_by_gini),
        CountsLooker(MemoryRows(problem.grouped()), loss, limits, tie_by_gini),
    )


@st.composite
def nodes(draw, **sizes):
    """Draw a problem and a path that some of its rows took."""
    problem = draw(strategies.problems(**sizes))
    kept = np.ones(len(problem.y), bool) if problem.row_weights is None else problem.row_weights > 0
    row = draw(st.sampled_from(np.flatnonzero(kept).tolist()))
    splits = draw(st.lists(st.integers(0, problem.x.shape[1] - 1), max_size=2))
    return problem, tuple((split, int(problem.x[row, split])) for split in splits)


def rows_at(task, path):
    return np.flatnonzero(
        np.all([task.x[:, s] == a for s, a in path] or [np.ones(len(task.x), bool)], axis=0)
    )


@settings(max_examples=150)
@given(nodes(), strategies.losses, strategies.limits, st.booleans())
def test_looks_at_nodes_are_the_oracles(node, name, limits, tie_by_gini):
    problem, path = node
    task = problem.task(ORACLE_LOSSES[name], limits, tie_by_gini=tie_by_gini)
    rows = rows_at(task, path)
    for looker in lookers(problem, name, limits, tie_by_gini):
        for steps in range(1, looker.reach + 1):
            cost, _, _, tree = oracle.best(task, rows, steps)
            look = looker.look(path, steps, np.inf, np.inf)
            assert look.cost == pytest.approx(cost, abs=1e-6)
            assert look.bound == look.cost
            assert look.root == (LEAF if tree is None else tree[0])
            if steps == 2 and tree is not None:
                for child, want in ((look.low, tree[1]), (look.high, tree[2])):
                    assert child.root == (LEAF if want is None else want[0])
                assert look.low.cost + look.high.cost == pytest.approx(look.cost)


@settings(max_examples=100)
@given(nodes(), strategies.losses, strategies.limits)
def test_surveys_weigh_a_node_and_its_splits(node, name, limits):
    problem, path = node
    task = problem.task(ORACLE_LOSSES[name], limits)
    rows = rows_at(task, path)
    for looker in lookers(problem, name, limits):
        for survey in (looker.weigh(path), looker.survey(path)):
            np.testing.assert_allclose(survey.totals, task.weights[rows].sum(axis=0), atol=1e-5)
            assert survey.n_rows == task.sizes[rows].sum()
            assert survey.loss == pytest.approx(task.loss(task.weights[rows].sum(axis=0)), abs=1e-6)
        np.testing.assert_allclose(
            survey.weights, task.weights[rows].sum(axis=1) @ task.x[rows][:, survey.splits], atol=1e-5
        )
        for split in range(problem.x.shape[1]):
            sides = [rows[task.x[rows, split] == answer] for answer in (0, 1)]
            fits = all(
                len(side)
                and task.sizes[side].sum() >= limits.min_leaf
                and task.weights[side].sum() >= limits.min_weight
                for side in sides
            )
            assert fits or split not in survey.splits
        if isinstance(looker, CountsLooker):
            continue
        # The kernels keep one of equal and complementary splits, the first.
        columns = {(task.x[rows, split] ^ task.x[rows[0], split]).tobytes() for split in survey.splits}
        assert len(columns) == len(survey.splits)


@settings(max_examples=100)
@given(
    nodes(most_rows=24, most_splits=4),
    strategies.losses,
    strategies.limits,
    st.integers(1, 4),
    st.floats(0, 1.5),
)
def test_an_upper_limit_loses_no_cheaper_tree(node, name, limits, steps, share):
    problem, path = node
    task = problem.task(ORACLE_LOSSES[name], limits)
    least = oracle.best(task, rows_at(task, path), steps)[0]
    upper = share * least
    for looker in lookers(problem, name, limits):
        searcher = Searcher(looker)
        for limit in (upper, np.inf, upper):
            look = searcher.look(path, steps, limit)
            assert look.cost >= least - 1e-6
            assert look.bound <= least + 1e-6
            if least < limit - 1e-6:
                assert look.cost == pytest.approx(least, abs=1e-6)
                assert look.bound == pytest.approx(least, abs=1e-6)
            else:
                assert look.bound >= min(limit, least) - 1e-6


@settings(max_examples=60)
@given(strategies.problems(most_rows=24, most_splits=4), strategies.limits)
def test_searching_with_prices(problem, limits):
    n_classes = problem.class_weights.size
    prices = np.arange(1.0, 1 + n_classes**2).reshape(n_classes, n_classes) * (1 - np.eye(n_classes))
    loss = resolve_loss(prices, 4, n_classes)
    task = problem.task(lambda weights: (weights @ prices).min(), limits)
    look = Searcher(KernelLooker(problem.grouped(), loss, limits, True)).look((), 4)
    assert look.cost == pytest.approx(oracle.best(task, np.arange(len(task.x)), 4)[0], abs=1e-4)


def deciding(steps):
    rng = np.random.default_rng(steps)
    x = (rng.random((300, 10)) < 0.5).astype(np.uint8)
    return Problem(x, rng.integers(0, 2, 300), None, np.ones(2))


@pytest.mark.parametrize("steps", [3, 4])
def test_a_look_carries_its_whole_tree(steps):
    """Follow the looks down; where they end, look again as a grower does."""
    problem = deciding(steps)
    task = problem.task(oracle.misclassification)
    searcher = Searcher(KernelLooker(problem.grouped(), LOSSES["misclassification"], Limits(), True))

    def tree_of(look, path, left):
        if left == 0:
            return None
        look = look or searcher.look(path, left)
        if look.root == LEAF:
            return None
        return look.root, *(
            tree_of(child, (*path, (look.root, answer)), left - 1)
            for answer, child in ((0, look.low), (1, look.high))
        )

    look = searcher.look((), steps)
    assert oracle.total_loss(task, tree_of(look, (), steps)) == look.cost


def test_what_is_known_is_not_searched_again():
    problem = deciding(4)
    looker = KernelLooker(problem.grouped(), LOSSES["gini"], Limits(), True)
    searcher = Searcher(looker)
    first = searcher.look((), 4)
    looker.survey = None
    assert searcher.look((), 4) is first
    assert searcher.look((), 4, first.cost / 2) is first


def test_any_solver_serves_a_counts_looker():
    problem = deciding(2)
    asked = []

    def solver(pairs, tie_by_gini):
        asked.append(tie_by_gini)
        return best_pair(pairs, tie_by_gini)

    looker = CountsLooker(MemoryRows(problem.grouped()), LOSSES["gini"], Limits(), False, solver)
    plain = CountsLooker(MemoryRows(problem.grouped()), LOSSES["gini"], Limits(), False)
    assert looker.look((), 2, np.inf, np.inf) == plain.look((), 2, np.inf, np.inf)
    assert asked == [False]
    nothing = CountsLooker(MemoryRows(problem.grouped()), LOSSES["gini"], Limits(), True, lambda *_: None)
    assert nothing.look((), 2, np.inf, np.inf).root == LEAF


def test_purity():
    assert is_pure(np.array([0.0, 3.0]))
    assert is_pure(np.array([0.0, 0.0]))
    assert not is_pure(np.array([0.5, 3.0]))


def test_a_survey_without_splits_has_none():
    survey = Survey(np.ones(2), 2, 1.0)
    assert survey.splits.size == survey.weights.size == 0
    assert Look(1.0, 1.0).root == LEAF


def test_kernels_know_no_rules_of_ones_own_loss():
    own = resolve_loss(lambda weights: weights[..., 0], 2, 2)
    with pytest.raises(
        ValueError, match="The kernels know no rules for the loss '<lambda>'; grow it from counts"
    ):
        make_rules(own, 2, Limits(), True)


@pytest.mark.parametrize("name", ["misclassification", "gini", "entropy"])
@pytest.mark.parametrize("weight", [1.0, 0.3])
def test_a_search_splits_also_where_no_tree_of_its_steps_gains(name, weight):
    x = np.array(list(np.ndindex(2, 2, 2, 2, 2)), np.uint8)
    problem = Problem(x, x.sum(axis=1) % 2, None, np.full(2, weight))
    looker = KernelLooker(problem.grouped(), LOSSES[name], Limits(), True)
    look = Searcher(looker).look((), 4)
    assert look.root != LEAF
    assert look.cost == pytest.approx(looker.weigh(()).loss)
    assert Searcher(looker).look((), 5).cost == pytest.approx(0.0, abs=1e-9)
