"""Trees under constraints, and by other solvers, as users of LookaheadTreeClassifier meet them."""

from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from foretree import LookaheadTreeClassifier, export_text
from foretree.constraints import (
    AcquisitionCost,
    Constraint,
    EqualizedOddsGap,
    EqualOpportunityGap,
    FeatureBudget,
    Forbidden,
    ForcedRoot,
    InfeasibleConstraintsError,
    Interaction,
    Monotone,
    ParityGap,
    PrecisionFloor,
    RecallFloor,
)
from foretree.tree import LEAF
from strategies import nested


def fair_rows(seed=0, n=240, p=5):
    """A 0/1 table, a group that its first columns give away, and classes that the group sways."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, p)).astype(np.uint8)
    group = np.where(rng.random(n) < 0.8, X[:, 0], rng.integers(0, 2, n))
    y = ((X[:, 1] & X[:, 2]) | (group & (rng.random(n) < 0.7))).astype(int)
    return X, y, group


def parity_gap(said, group):
    return said[group == 1].mean() - said[group == 0].mean()


def errors_of_two_steps(X, y, keeps):
    """The fewest errors of a labelled tree of two steps for which keeps(said) holds, by trying all."""
    best = np.inf
    for j, k, m in product(range(X.shape[1]), repeat=3):
        cell = 2 * X[:, j] + np.where(X[:, j] == 1, X[:, m], X[:, k])
        for labels in product((0, 1), repeat=4):
            said = np.array(labels)[cell]
            errors = int((said != y).sum())
            if errors < best and keeps(said):
                best = errors
    return best


# ---- couplings


@pytest.mark.parametrize("solver", ["closed", "mip"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("at_most", [0.0, 0.04, 0.15])
def test_two_steps_under_a_gap_are_the_best_there_are(solver, seed, at_most):
    X, y, group = fair_rows(seed, n=120, p=4)
    model = LookaheadTreeClassifier(max_depth=2, constraints=[ParityGap(at_most=at_most)], solver=solver)
    model.fit(X, y, sensitive=group)
    said = model.predict(X)
    assert abs(parity_gap(said, group)) <= at_most + 1e-8
    best = errors_of_two_steps(X, y, lambda said: abs(parity_gap(said, group)) <= at_most + 1e-9)
    assert (said != y).sum() == best
    assert model.loss_value_ == pytest.approx(best / len(y))
    assert model.optimality_gap_ == 0


COUPLINGS = {
    "parity": ([ParityGap(at_most=0.03)], lambda said, y, g: abs(parity_gap(said, g)) <= 0.03),
    "opportunity": (
        [EqualOpportunityGap(at_most=0.05)],
        lambda said, y, g: abs(parity_gap(said[y == 1], g[y == 1])) <= 0.05,
    ),
    "odds": (
        [EqualizedOddsGap(at_most=0.08)],
        lambda said, y, g: all(abs(parity_gap(said[y == c], g[y == c])) <= 0.08 for c in (0, 1)),
    ),
    "recall": ([RecallFloor(1, 0.9)], lambda said, y, g: said[y == 1].mean() >= 0.9),
    "precision": ([PrecisionFloor(1, 0.9)], lambda said, y, g: not said.any() or y[said == 1].mean() >= 0.9),
    "both": (
        [ParityGap(at_most=0.1), RecallFloor(1, 0.7)],
        lambda said, y, g: abs(parity_gap(said, g)) <= 0.1 and said[y == 1].mean() >= 0.7,
    ),
}


@pytest.mark.parametrize("name", COUPLINGS)
@pytest.mark.parametrize("depth", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", range(2))
def test_a_finished_tree_keeps_what_couples_its_leaves(name, depth, seed):
    constraints, keeps = COUPLINGS[name]
    X, y, group = fair_rows(seed)
    model = LookaheadTreeClassifier(max_depth=depth, constraints=constraints)
    try:
        said = model.fit(X, y, sensitive=group).predict(X)
    except InfeasibleConstraintsError:
        # Of all six only recall and parity together may ask too much, of the shallowest trees.
        assert name == "both"
        assert depth == 1
        return
    assert keeps(said, y, group)
    assert model.get_depth() <= depth
    assert model.loss_value_ == pytest.approx((said != y).mean())


@pytest.mark.parametrize("name", ["parity", "odds", "recall"])
def test_deeper_trees_under_couplings_are_no_worse(name):
    constraints, _ = COUPLINGS[name]
    X, y, group = fair_rows(3, n=400, p=7)
    losses = [
        LookaheadTreeClassifier(depth, constraints=constraints).fit(X, y, sensitive=group).loss_value_
        for depth in (2, 3, 4, 6)
    ]
    assert losses[1] <= losses[0] + 1e-9
    assert losses[-1] < losses[0]


def test_a_constraint_that_binds_nothing_changes_nothing():
    X, y, group = fair_rows(1)
    plain = LookaheadTreeClassifier(max_depth=4).fit(X, y)
    for constraints in (
        [ParityGap(at_most=1.0)],
        [FeatureBudget(5)],
        [RecallFloor(0, 0.0), AcquisitionCost({}, 0.0)],
    ):
        model = LookaheadTreeClassifier(max_depth=4, constraints=constraints).fit(X, y, sensitive=group)
        assert nested(model.tree_) == nested(plain.tree_)
        np.testing.assert_array_equal(model.predict(X), plain.predict(X))


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["whole", "fractional", "class"]))
def test_weights_count_in_costs_and_in_shares(seed, kind):
    X, y, group = fair_rows(seed, n=60, p=3)
    assume(0 < y.sum() < 60 and 0 < group.sum() < 60)
    rng = np.random.default_rng(seed)
    weights = {"whole": rng.integers(1, 4, 60).astype(float), "fractional": rng.random(60) + 0.1}.get(kind)
    model = LookaheadTreeClassifier(
        max_depth=2,
        constraints=[ParityGap(at_most=0.1)],
        class_weight={0: 1.0, 1: 2.5} if kind == "class" else None,
    )
    model.fit(X, y, sample_weight=weights, sensitive=group)
    w = np.ones(60) if weights is None else weights
    cost = w * np.where(y == 1, 2.5, 1.0) if kind == "class" else w

    def gap(said):
        return np.average(said[group == 1], weights=w[group == 1]) - np.average(
            said[group == 0], weights=w[group == 0]
        )

    said = model.predict(X)
    assert abs(gap(said)) <= 0.1 + 1e-7
    best = np.inf
    for j, k, m in product(range(3), repeat=3):
        cell = 2 * X[:, j] + np.where(X[:, j] == 1, X[:, m], X[:, k])
        for labels in product((0, 1), repeat=4):
            other = np.array(labels)[cell]
            if abs(gap(other)) <= 0.1 + 1e-9:
                best = min(best, cost[other != y].sum())
    assert cost[said != y].sum() == pytest.approx(best, rel=1e-6)
    if kind == "whole":
        repeated = np.repeat(np.arange(60), weights.astype(int))
        again = clone(model).fit(X[repeated], y[repeated], sensitive=group[repeated])
        assert nested(again.tree_) == nested(model.tree_)


def test_prices_of_classes_stand_under_couplings():
    X, y, group = fair_rows(2)
    prices = np.array([[0.0, 1.0], [5.0, 0.0]])
    dear = LookaheadTreeClassifier(max_depth=3, loss=prices, constraints=[ParityGap(at_most=0.05)])
    even = LookaheadTreeClassifier(max_depth=3, constraints=[ParityGap(at_most=0.05)])
    said, plain = (model.fit(X, y, sensitive=group).predict(X) for model in (dear, even))
    assert prices[y, said].sum() < prices[y, plain].sum()
    assert dear.loss_value_ == pytest.approx(prices[y, said].mean())
    assert abs(parity_gap(said, group)) <= 0.05


def test_without_constraints_a_leaf_says_the_class_that_is_cheapest():
    X, y, _ = fair_rows(2)
    prices = np.array([[0.0, 1.0], [5.0, 0.0]])
    model = LookaheadTreeClassifier(max_depth=2, loss=prices).fit(X, y)
    assert prices[y, model.predict(X)].mean() == pytest.approx(model.loss_value_)


def test_more_classes_and_more_groups_are_compared_two_by_two():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (300, 6))
    group = np.array(["a", "b", "c"])[(X[:, 0] + (rng.random(300) < 0.3)).clip(0, 2)]
    y = np.array(["x", "y", "z"])[(X[:, 0] + X[:, 1] * (rng.random(300) < 0.8)).clip(0, 2)]
    model = LookaheadTreeClassifier(max_depth=3, constraints=[ParityGap(at_most=0.1)]).fit(
        X, y, sensitive=group
    )
    said = model.predict(X)
    for label in "xyz":
        shares = [(said[group == g] == label).mean() for g in np.unique(group)]
        assert max(shares) - min(shares) <= 0.1 + 1e-8


def test_minimum_sizes_hold_under_couplings():
    X, y, group = fair_rows(4, n=300)
    model = LookaheadTreeClassifier(
        max_depth=4, constraints=[ParityGap(at_most=0.02)], min_samples_leaf=20, min_samples_internal=60
    ).fit(X, y, sensitive=group)
    tree = model.tree_
    assert tree.rows[tree.is_leaf].min() >= 20
    assert tree.rows[~tree.is_leaf].min() >= 60
    heavy = LookaheadTreeClassifier(
        max_depth=4, constraints=[ParityGap(at_most=0.02)], min_weight_fraction_leaf=0.1
    )
    tree = heavy.fit(X, y, sensitive=group).tree_
    assert tree.weights[tree.is_leaf].sum(axis=1).min() >= 30


def test_a_time_limit_keeps_the_constraint_and_says_what_is_open():
    X, y, group = fair_rows(5, n=600, p=14)
    plan = {"max_depth": 6, "constraints": [ParityGap(at_most=0.01)]}
    hasty = LookaheadTreeClassifier(**plan, time_limit=1e-6).fit(X, y, sensitive=group)
    assert abs(parity_gap(hasty.predict(X), group)) <= 0.01 + 1e-8
    assert hasty.optimality_gap_ > 0
    assert hasty.get_depth() <= 2
    patient = LookaheadTreeClassifier(**plan).fit(X, y, sensitive=group)
    assert patient.loss_value_ <= hasty.loss_value_


def test_the_log_tells_of_every_node():
    X, y, group = fair_rows(6)
    model = LookaheadTreeClassifier(max_depth=4, constraints=[ParityGap(at_most=0.02)]).fit(
        X, y, sensitive=group
    )
    log = pd.DataFrame(model.growth_log_)
    assert len(log) == model.tree_.n_nodes
    assert log["rows"][0] == len(y)
    assert log["loss_after"][0] <= log["loss_before"][0]
    assert (log["question"].notna() == (model.tree_.split != LEAF)).all()
    assert log["steps"].max() == 2
    assert log["seconds"].sum() > 0
    assert model.feature_importances_.sum() == pytest.approx(1.0)


# ---- masks


def paths_of(model):
    tree, splits = model.tree_, model.splits_
    waiting, found = [(0, ())], []
    while waiting:
        node, path = waiting.pop()
        if tree.split[node] == LEAF:
            found.append(path)
            continue
        asked = (*path, splits[tree.split[node]].column)
        waiting += [(int(tree.low[node]), asked), (int(tree.high[node]), asked)]
    return found


COSTS = {"a": 3, "b": 2, "c": 1}
MASKS = {
    "forced": (ForcedRoot("c"), lambda path: path[0] == "c"),
    "forbidden": (Forbidden([("a", "b"), ("c", "d")]), lambda p: not ({"a", "b"} <= {*p} or {"c", "d"} <= {*p})),
    "interaction": (Interaction([("a", "c"), ("b", "d", "e")]), lambda p: {*p} <= {"a", "c"} or {*p} <= {*"bde"}),
    "path": (AcquisitionCost(COSTS, 3), lambda p: sum(COSTS.get(c, 0) for c in {*p}) <= 3),
}  # fmt: skip


def named_rows(seed=0, n=300):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.random((n, 5)).round(2), columns=list("abcde"))
    y = ((X["a"] > 0.5) ^ (X["b"] > 0.4)) | (X["c"] > 0.8)
    return X, np.where(rng.random(n) < 0.1, ~y, y).astype(int)


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize(
    "options", [{}, {"lookahead": 1}, {"lookahead": 3}, {"loss": "gini"}, {"max_leaf_nodes": 6}]
)
def test_every_path_keeps_what_a_node_can_keep_alone(name, options):
    wish, keeps = MASKS[name]
    X, y = named_rows()
    model = LookaheadTreeClassifier(**{"max_depth": 4, "constraints": wish, **options}).fit(X, y)
    assert all(keeps(path) for path in paths_of(model))
    assert model.get_n_leaves() > 2


@pytest.mark.parametrize("seed", range(4))
def test_two_steps_under_a_mask_are_the_best_there_are(seed):
    X, y, _ = fair_rows(seed, n=100, p=5)
    wish = Forbidden([(0, 1), (2, 3)])
    model = LookaheadTreeClassifier(max_depth=2, constraints=wish).fit(X, y)
    best = np.inf
    for j, k, m in product(range(5), repeat=3):
        if {frozenset((j, k)), frozenset((j, m))} & {frozenset((0, 1)), frozenset((2, 3))}:
            continue
        cell = 2 * X[:, j] + np.where(X[:, j] == 1, X[:, m], X[:, k])
        best = min(best, sum(min((y[cell == c] == 0).sum(), (y[cell == c] == 1).sum()) for c in range(4)))
    assert (model.predict(X) != y).sum() == best


@pytest.mark.parametrize("direction", ["increasing", "decreasing"])
@pytest.mark.parametrize(
    "options", [{}, {"lookahead": 3}, {"loss": "gini", "max_depth": 6}, {"class_weight": "balanced"}]
)
def test_shares_and_classes_are_monotone_in_the_column(direction, options):
    rng = np.random.default_rng(7)
    X = pd.DataFrame(
        {
            "debt": rng.random(400).round(2),
            "age": rng.integers(18, 80, 400),
            "job": rng.choice(list("xyz"), 400),
        }
    )
    y = ((X["debt"] + (X["age"] > 50) * 0.3 + rng.normal(0, 0.4, 400)) > 0.6).astype(int)
    wish = Monotone("debt", direction)
    model = LookaheadTreeClassifier(**{"max_depth": 4, "constraints": [wish], **options}).fit(X, y)
    sign = 1 if direction == "increasing" else -1
    grid = np.linspace(0, 1, 60)
    for row in range(0, 400, 10):
        moved = pd.concat([X.iloc[[row]]] * grid.size, ignore_index=True)
        moved["debt"] = grid
        assert (np.diff(sign * model.predict_proba(moved)[:, 1]) >= -1e-12).all()
        assert (np.diff(sign * model.predict(moved)) >= 0).all()
    if direction == "increasing":
        assert "debt" in {column for path in paths_of(model) for column in path}


def test_two_monotone_columns_hold_together():
    rng = np.random.default_rng(8)
    X = rng.random((500, 3)).round(2)
    y = (X[:, 0] - X[:, 1] + rng.normal(0, 0.5, 500) > 0).astype(int)
    model = LookaheadTreeClassifier(
        5, constraints=[Monotone(0), Monotone("x1", "decreasing")], loss="gini"
    ).fit(X, y)
    grid = np.linspace(0, 1, 50)
    for row in X[:40]:
        for column, sign in ((0, 1), (1, -1)):
            moved = np.repeat(row[None, :], 50, axis=0)
            moved[:, column] = grid
            assert (np.diff(sign * model.predict_proba(moved)[:, 1]) >= -1e-12).all()


# ---- budgets


@pytest.mark.parametrize("at_most", [1, 2, 3])
@pytest.mark.parametrize("depth", [2, 4])
def test_a_tree_asks_no_more_columns_than_its_budget(at_most, depth):
    X, y = named_rows(1)
    model = LookaheadTreeClassifier(max_depth=depth, constraints=[FeatureBudget(at_most)]).fit(X, y)
    assert len({column for path in paths_of(model) for column in path}) <= at_most
    assert model.get_n_leaves() > 2
    gini = LookaheadTreeClassifier(max_depth=depth, loss="gini", constraints=[FeatureBudget(at_most)]).fit(
        X, y
    )
    assert len({column for path in paths_of(gini) for column in path}) <= at_most


def test_a_budget_of_two_steps_is_spent_as_well_as_can_be():
    X, y, _ = fair_rows(9, n=150, p=5)
    costs = {0: 2.0, 1: 1.0, 2: 1.5, 3: 0.0, 4: 1.0}
    model = LookaheadTreeClassifier(max_depth=2, constraints=[AcquisitionCost(costs, 2.5, per="tree")]).fit(
        X, y
    )
    best = np.inf
    for j, k, m in product(range(5), repeat=3):
        if sum(costs[column] for column in {j, k, m}) <= 2.5:
            cell = 2 * X[:, j] + np.where(X[:, j] == 1, X[:, m], X[:, k])
            best = min(best, sum(min((y[cell == c] == 0).sum(), (y[cell == c] == 1).sum()) for c in range(4)))
    assert (model.predict(X) != y).sum() == best


def test_budgets_masks_and_gaps_hold_together():
    X, y, group = fair_rows(10, n=400, p=6)
    wishes = [FeatureBudget(3), ParityGap(at_most=0.05), Forbidden([(1, 2)]), RecallFloor(1, 0.3)]
    model = LookaheadTreeClassifier(max_depth=4, constraints=wishes).fit(X, y, sensitive=group)
    said = model.predict(X)
    assert abs(parity_gap(said, group)) <= 0.05 + 1e-8
    assert said[y == 1].mean() >= 0.3 - 1e-8
    paths = paths_of(model)
    assert len({column for path in paths for column in path}) <= 3
    assert not any({"x1", "x2"} <= {*path} for path in paths)


# ---- what cannot be


def test_what_cannot_be_kept_is_said_with_its_amount():
    X, y, _ = fair_rows()
    with pytest.raises(
        InfeasibleConstraintsError, match=r"RecallFloor: .* is 0\.\d+ and must be at least 0\.99: it misses"
    ):
        LookaheadTreeClassifier(1, constraints=[RecallFloor(1, 0.99), PrecisionFloor(1, 0.95)]).fit(X, y)
    with pytest.raises(InfeasibleConstraintsError, match="no question about 'x3' separates the rows"):
        LookaheadTreeClassifier(3, constraints=ForcedRoot("x3"), min_samples_leaf=119).fit(X, y)


def test_what_two_steps_cannot_keep_more_steps_may():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (400, 4))
    y = X[:, 0] ^ X[:, 1] ^ X[:, 2]
    wishes = [RecallFloor(1, 0.95), RecallFloor(0, 0.95)]
    with pytest.raises(InfeasibleConstraintsError):
        LookaheadTreeClassifier(2, constraints=wishes).fit(X, y)
    said = LookaheadTreeClassifier(4, constraints=wishes).fit(X, y).predict(X)
    assert min((said[y == c] == c).mean() for c in (0, 1)) >= 0.95


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"lookahead": 3}, "couples nodes, which are then solved two steps at a time, but lookahead is 3"),
        ({"lookahead": "optimal"}, "but lookahead is 4"),
        ({"loss": "gini"}, "of which the loss 'gini' knows nothing"),
        ({"loss": lambda w: w.sum(-1) - w.max(-1)}, "knows nothing"),
        ({"max_leaf_nodes": 4}, "max_leaf_nodes judges nodes one by one"),
        ({"stop": "no_gain"}, "stop='no_gain' judges nodes one by one"),
        ({"min_loss_decrease": 0.1}, "min_loss_decrease judges nodes one by one"),
    ],
)
def test_what_does_not_go_with_couplings_is_refused_early(options, sentence):
    X, y, group = fair_rows()
    model = LookaheadTreeClassifier(**{"constraints": [ParityGap(at_most=0.5)], **options})
    with pytest.raises(ValueError, match=sentence):
        model.fit(X, y, sensitive=group)


def test_a_hybrid_loss_counts_mistakes_under_couplings_at_any_depth():
    X, y, group = fair_rows()
    hybrid, plain = (
        LookaheadTreeClassifier(6, loss=loss, constraints=[ParityGap(at_most=0.02)]).fit(
            X, y, sensitive=group
        )
        for loss in ("hybrid", "misclassification")
    )
    assert nested(hybrid.tree_) == nested(plain.tree_)


def test_monotone_needs_two_classes_and_an_order():
    X, y = named_rows()
    with pytest.raises(ValueError, match="Monotone needs two classes"):
        LookaheadTreeClassifier(constraints=Monotone("a")).fit(X, np.arange(300) % 3)
    with pytest.raises(ValueError, match="'job' is not asked by thresholds"):
        LookaheadTreeClassifier(constraints=Monotone("job")).fit(
            X.assign(job=np.where(X["a"] > 0.5, "x", "y")), y
        )
    with pytest.raises(ValueError, match="the column 'salary', which the table does not have"):
        LookaheadTreeClassifier(constraints=Monotone("salary")).fit(X, y)


def test_a_constraint_of_ones_own_is_kept_too():
    class Few(Constraint):
        def allowed(self, place):
            mask = np.ones((2, *place.columns.of_split.shape * 2), bool)
            mask[:, place.columns.of_split != place.columns.number("d")] = False
            return mask

    X, y = named_rows()
    model = LookaheadTreeClassifier(3, constraints=[Few()]).fit(X, y)
    assert all(path[0] == "d" for path in paths_of(model))


# ---- sensitive attributes


def test_groups_come_from_a_column_of_the_table_or_from_beside_it():
    X, y = named_rows(2)
    group = np.where((X["a"] > 0.5) | (np.arange(300) % 5 == 0), "p", "q")
    with_group = X.assign(sex=group)
    wish = [ParityGap("sex", at_most=0.05)]
    reference = None
    for table, sensitive in (
        (X, pd.DataFrame({"sex": group, "else": 1})),
        (X, {"sex": group}),
        (X, pl.DataFrame({"sex": group})),
        (pl.from_pandas(X), pd.DataFrame({"sex": group})),
    ):
        model = LookaheadTreeClassifier(3, constraints=wish).fit(table, y, sensitive=sensitive)
        said = model.predict(table)
        reference = said if reference is None else reference
        np.testing.assert_array_equal(said, reference)
        assert abs(parity_gap(said, (group == "p").astype(int))) <= 0.05 + 1e-8
    for beside in (
        group,
        list(group),
        pd.Series(group),
        pl.Series(group),
        pd.DataFrame({"any": group}),
        group == "p",
    ):
        model = LookaheadTreeClassifier(3, constraints=[ParityGap(at_most=0.05)]).fit(X, y, sensitive=beside)
        np.testing.assert_array_equal(model.predict(X), reference)
    model = LookaheadTreeClassifier(3, constraints=wish).fit(with_group, y)
    assert abs(parity_gap(model.predict(with_group), (group == "p").astype(int))) <= 0.05 + 1e-8
    assert "sex" in model.feature_names_in_


@pytest.mark.parametrize(
    ("wish", "sensitive", "sentence"),
    [
        (ParityGap(), None, "compares groups without naming a column"),
        (ParityGap("sex"), None, "'sex' is neither in X nor in what was given"),
        (ParityGap("sex"), np.ones(300), "'sex' is neither in X nor"),
        (ParityGap(), np.arange(299) % 2, "has 299 rows and X has 300"),
        (ParityGap(), np.ones(300), "has one value only"),
        (ParityGap(), np.arange(300), "has 300 values; bin it into at most 32 groups"),
        (ParityGap(), np.where(np.arange(300) == 7, np.nan, np.arange(300) % 2), "missing in row 7"),
        (ParityGap(), [None, *(["a", "b"] * 150)][:300], "missing in row 0"),
        (ParityGap(), pd.DataFrame({"s": [0, 1] * 150, "t": 1}), "was given 2 columns"),
        (ParityGap("a"), None, "'a' has .* values; bin it"),
        (ParityGap(positive="yes"), np.arange(300) % 2, r"the class 'yes'; the classes are \[0, 1\]"),
    ],
)
def test_groups_that_cannot_be_compared_are_refused(wish, sensitive, sentence):
    X, y = named_rows()
    with pytest.raises(ValueError, match=sentence):
        LookaheadTreeClassifier(constraints=[wish]).fit(X, y, sensitive=sensitive)


def test_groups_are_routed_as_metadata():
    X, y, group = fair_rows(11, n=300)
    with config_context(enable_metadata_routing=True):
        model = LookaheadTreeClassifier(3, constraints=[ParityGap(at_most=0.05)]).set_fit_request(
            sensitive=True
        )
        scores = cross_val_score(model, X, y, cv=3, params={"sensitive": group})
        assert scores.min() > 0.5
        search = GridSearchCV(model, {"constraints": [None, [ParityGap(at_most=0.0)]]}, cv=3)
        search.fit(X, y, sensitive=group)
        assert search.best_params_["constraints"] is None


@parametrize_with_checks(
    [
        LookaheadTreeClassifier(max_depth=3, constraints=[FeatureBudget(2)]),
        LookaheadTreeClassifier(max_depth=2, constraints=[AcquisitionCost({}, 1.0)], solver="lp"),
    ]
)
def test_scikit_learn_agrees(estimator, check):
    check(estimator)


def test_a_tree_under_constraints_is_exported_with_what_it_says():
    X, y, group = fair_rows(2)
    model = LookaheadTreeClassifier(3, constraints=[ParityGap(at_most=0.0)]).fit(X, y, sensitive=group)
    whole, merged = export_text(model, merge=False), export_text(model)
    said = model.predict(X)
    assert {line.rsplit(": ", 1)[1][0] for line in whole.splitlines() if ": " in line} == set(
        map(str, np.unique(said))
    )
    assert len(merged) <= len(whole)


# ---- other solvers


@pytest.mark.parametrize("solver", ["lp", "mip"])
@pytest.mark.parametrize(
    "options", [{}, {"loss": "gini"}, {"tie_break": "first"}, {"min_samples_leaf": 9}, {"lookahead": 1}]
)
@pytest.mark.parametrize("seed", range(2))
def test_every_solver_grows_the_same_tree(solver, options, seed):
    X, y, _ = fair_rows(seed, n=150, p=6)
    plan = {"max_depth": 4, **options}
    closed = LookaheadTreeClassifier(**plan).fit(X, y)
    solved = LookaheadTreeClassifier(**plan, solver=solver).fit(X, y)
    assert nested(solved.tree_) == nested(closed.tree_)
    masked = [
        LookaheadTreeClassifier(**plan, solver=s, constraints=ForcedRoot(1)).fit(X, y)
        for s in ("closed", solver)
    ]
    assert nested(masked[0].tree_) == nested(masked[1].tree_)


def test_solvers_that_are_unknown_or_look_no_further_are_refused():
    X, y, _ = fair_rows()
    with pytest.raises(ValueError, match="solver='cplex' must be 'closed', 'lp' or 'mip'"):
        LookaheadTreeClassifier(solver="cplex").fit(X, y)
    with pytest.raises(ValueError, match="solver='lp' solves nodes of one or two steps"):
        LookaheadTreeClassifier(solver="lp", lookahead=3).fit(X, y)
