"""LookaheadTreeClassifier as scikit-learn and its users meet it."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numba import njit
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import oracle
from foretree import LookaheadTreeClassifier, SplitEncoder
from foretree.tree import levels
from strategies import nested

LOSSES = ("misclassification", "gini", "entropy", "hybrid")


@parametrize_with_checks(
    [
        LookaheadTreeClassifier(),
        LookaheadTreeClassifier(max_depth=None, loss="gini", min_samples_leaf=2),
        LookaheadTreeClassifier(lookahead=1, loss="entropy", tie_break="first"),
        LookaheadTreeClassifier(lookahead=3, max_depth=6, class_weight="balanced", n_jobs=2),
        LookaheadTreeClassifier(lookahead="optimal", max_depth=3, encoder=SplitEncoder(max_bins=8)),
        LookaheadTreeClassifier(max_leaf_nodes=6, stop="no_gain", time_limit=60.0),
    ]
)
def test_scikit_learn_agrees(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(return_X_y=True)


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


@pytest.fixture
def mixed():
    """A table of numbers, strings, booleans and missing values whose class two of its columns decide."""
    rng = np.random.default_rng(0)
    n_rows = 240
    age = rng.integers(18, 80, n_rows).astype(float)
    job = rng.choice(["clerk", "farmer", "nurse"], n_rows)
    says_yes = (age > 40) == (job == "nurse")
    age[::17] = np.nan
    table = pd.DataFrame(
        {"age": age, "job": job, "member": rng.random(n_rows) < 0.5, "noise": rng.random(n_rows)}
    )
    return table, np.where(says_yes, "yes", "no")


def zero_one(seed=0, n_rows=200, n_splits=9, n_classes=3):
    rng = np.random.default_rng(seed)
    x = (rng.random((n_rows, n_splits)) < 0.5).astype(np.uint8)
    y = (x[:, 0].astype(int) + (x[:, 1] & x[:, 2]) + (rng.random(n_rows) < 0.1)) % n_classes
    return x, y


# ---- fitting


@pytest.mark.parametrize("lookahead", [1, 2, 3])
@pytest.mark.parametrize("loss", LOSSES[:3])
def test_the_fitted_tree_is_the_oracles(loss, lookahead):
    x, y = zero_one(n_splits=6)
    model = LookaheadTreeClassifier(max_depth=4, lookahead=lookahead, loss=loss).fit(x, y)
    task = oracle.task(x, y, 3, loss=getattr(oracle, loss))
    tree = oracle.rolling(task, 4, lookahead)
    assert nested(model.tree_) == tree
    assert model.loss_value_ == pytest.approx(oracle.total_loss(task, tree) / len(y))
    assert model.optimality_gap_ == 0


def test_hybrid_counts_mistakes_down_to_depth_5_and_gini_beyond():
    x, y = zero_one(n_rows=400, n_splits=12)
    for depth in (2, 5, 6, 8):
        name = "misclassification" if depth <= 5 else "gini"
        hybrid = LookaheadTreeClassifier(max_depth=depth).fit(x, y)
        plain = LookaheadTreeClassifier(max_depth=depth, loss=name).fit(x, y)
        assert nested(hybrid.tree_) == nested(plain.tree_)
        assert hybrid.tree_.loss[0] == pytest.approx(getattr(oracle, name)(hybrid.tree_.weights[0]))


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int32, np.int64, np.float32, np.float64, bool])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_zero_one_matrix_is_used_as_it_is_in_any_type(dtype, order):
    x, y = zero_one(n_splits=40)
    want = LookaheadTreeClassifier().fit(x, y)
    values = np.asarray(x, dtype=dtype, order=order)
    model = LookaheadTreeClassifier().fit(values, y)
    assert model.encoder_ is None
    assert nested(model.tree_) == nested(want.tree_)
    np.testing.assert_array_equal(model.predict(values), want.predict(x))
    np.testing.assert_array_equal(model.predict(values[::2]), want.predict(x)[::2])
    assert [str(split) for split in model.splits_[:2]] == ["x0 = 1", "x1 = 1"]


def test_encoding_zero_and_one_changes_no_tree():
    x, y = zero_one()
    plain = LookaheadTreeClassifier(max_depth=5).fit(x, y)
    encoded = LookaheadTreeClassifier(max_depth=5, encoder=SplitEncoder()).fit(x, y)
    assert encoded.encoder_ is not None
    np.testing.assert_array_equal(plain.predict_proba(x), encoded.predict_proba(x))


def test_the_table_of_the_user_is_what_the_tree_speaks_of(mixed):
    table, answers = mixed
    model = LookaheadTreeClassifier(max_depth=3).fit(table, answers)
    assert model.score(table, answers) > 0.95
    assert model.feature_names_in_.tolist() == ["age", "job", "member", "noise"]
    assert model.n_features_in_ == 4
    assert model.classes_.tolist() == ["no", "yes"]
    asked = {row["question"] for row in model.growth_log_}
    assert "job = nurse" in asked
    assert any(question and question.startswith("age <= ") for question in asked)
    importances = model.feature_importances_
    assert importances.sum() == pytest.approx(1)
    assert importances[:2].sum() > 0.9


def test_polars_and_pandas_make_the_same_tree(mixed):
    table, answers = mixed
    frame = pl.from_pandas(table)
    from_pandas = LookaheadTreeClassifier().fit(table, answers)
    from_polars = LookaheadTreeClassifier().fit(frame, pl.Series(answers.tolist()))
    assert nested(from_pandas.tree_) == nested(from_polars.tree_)
    np.testing.assert_array_equal(from_pandas.predict(table), from_polars.predict(frame))
    # Columns are found by name.
    turned = table[table.columns[::-1]].assign(more=1)
    np.testing.assert_array_equal(from_pandas.predict(turned), from_pandas.predict(table))
    with pytest.raises(ValueError, match="job"):
        from_pandas.predict(table.drop(columns="job"))


def test_fitting_again_forgets_the_names(mixed):
    table, answers = mixed
    model = LookaheadTreeClassifier().fit(table, answers)
    model.fit(table[["age", "noise"]].to_numpy(), answers)
    assert not hasattr(model, "feature_names_in_")
    model.fit(table, answers)
    x, y = zero_one()
    model.fit(x, y)
    assert not hasattr(model, "feature_names_in_")
    assert model.encoder_ is None


def test_boolean_labels_and_a_column_of_labels():
    x, y = zero_one()
    model = LookaheadTreeClassifier().fit(x, y > 0)
    assert model.classes_.tolist() == [False, True]
    assert model.predict(x).dtype == bool
    with pytest.warns(UserWarning, match="column-vector"):
        column = LookaheadTreeClassifier().fit(x, (y > 0)[:, None])
    assert nested(column.tree_) == nested(model.tree_)


# ---- weights


@pytest.mark.parametrize("loss", LOSSES)
def test_whole_weights_are_repeated_rows(loss):
    x, y = zero_one(n_rows=120)
    weights = np.random.default_rng(1).integers(0, 40, len(y))
    settings = {"max_depth": 6, "loss": loss, "min_samples_leaf": 4}
    weighted = LookaheadTreeClassifier(**settings).fit(x, y, sample_weight=weights)
    repeated = LookaheadTreeClassifier(**settings).fit(np.repeat(x, weights, axis=0), np.repeat(y, weights))
    assert nested(weighted.tree_) == nested(repeated.tree_)
    np.testing.assert_array_equal(weighted.tree_.weights, repeated.tree_.weights)
    np.testing.assert_array_equal(weighted.tree_.rows, repeated.tree_.rows)
    assert weighted.loss_value_ == repeated.loss_value_


def test_equal_weights_change_nothing_but_the_scale():
    x, y = zero_one()
    plain = LookaheadTreeClassifier().fit(x, y)
    for weight in (1, 3, 0.25, np.full(len(y), 0.1)):
        weighted = LookaheadTreeClassifier().fit(x, y, sample_weight=weight)
        assert nested(weighted.tree_) == nested(plain.tree_)
        np.testing.assert_allclose(weighted.predict_proba(x), plain.predict_proba(x))
        assert weighted.loss_value_ == pytest.approx(plain.loss_value_)


@pytest.mark.parametrize("class_weight", ["balanced", {0: 2.5, 2: 0.5}])
@pytest.mark.parametrize("sample_weight", [None, "drawn"])
def test_class_weights_are_sample_weights(class_weight, sample_weight):
    x, y = zero_one()
    weights = np.ones(len(y)) if sample_weight is None else np.random.default_rng(0).random(len(y)) + 0.1
    totals = np.bincount(y, weights)
    factors = totals.sum() / (3 * totals) if class_weight == "balanced" else np.array([2.5, 1.0, 0.5])
    model = LookaheadTreeClassifier(class_weight=class_weight, loss="gini")
    model.fit(x, y, None if sample_weight is None else weights)
    task = oracle.task(x, y, 3, weights * factors[y], loss=oracle.gini)
    tree = oracle.rolling(task, 4, 2)
    assert nested(model.tree_) == tree
    assert model.loss_value_ == pytest.approx(oracle.total_loss(task, tree) / (weights * factors[y]).sum())
    np.testing.assert_allclose(
        model.tree_.weights[0], [(weights * factors[y])[y == c].sum() for c in range(3)], rtol=1e-7
    )


def test_leaves_whose_rows_weigh_nothing_say_what_is_said_above():
    x, y = np.array([[0], [0], [1], [1], [1]]), np.array([0, 0, 1, 2, 2])
    for loss in ("gini", [[0, 1, 1], [1, 0, 1], [1, 1, 0]]):
        model = LookaheadTreeClassifier(class_weight={0: 0}, loss=loss).fit(x, y)
        assert model.get_n_leaves() == 2
        np.testing.assert_allclose(model.predict_proba([[0], [1]]), [[0, 1 / 3, 2 / 3]] * 2)
        assert model.predict([[0], [1]]).tolist() == [2, 2]


def test_class_weights_may_name_strings():
    x, y = zero_one(n_classes=2)
    labels = np.array(["bad", "good"])[y]
    heavy = LookaheadTreeClassifier(max_depth=1, class_weight={"bad": 1000.0}).fit(x, labels)
    assert (heavy.predict(x) == "bad").mean() > 0.5
    assert heavy.tree_.weights[0].tolist() == [1000.0 * (y == 0).sum(), (y == 1).sum()]


# ---- limits


def test_minimum_sizes():
    x, y = zero_one(n_rows=500)
    for leaf, internal, share in ((30, 2, 0.0), (1, 120, 0.0), (1, 2, 0.11), (40, 150, 0.05)):
        for lookahead in (1, 2, 3, 4):
            model = LookaheadTreeClassifier(
                max_depth=4,
                lookahead=lookahead,
                min_samples_leaf=leaf,
                min_samples_internal=internal,
                min_weight_fraction_leaf=share,
            ).fit(x, y)
            tree = model.tree_
            assert 1 < tree.n_leaves < 16
            assert tree.rows[tree.is_leaf].min() >= max(leaf, share * 500)
            assert tree.rows[~tree.is_leaf].min() >= internal


def test_a_decrease_that_no_look_reaches_leaves_a_root():
    x, y = zero_one()
    model = LookaheadTreeClassifier(min_loss_decrease=0.9).fit(x, y)
    assert model.get_n_leaves() == 1
    assert model.get_depth() == 0
    assert model.feature_importances_.tolist() == [0.0] * 9
    assert model.growth_log_[0]["question"] is None
    heaviest = np.bincount(y).argmax()
    assert (model.predict(x) == heaviest).all()
    np.testing.assert_array_equal(model.decision_path(x).toarray(), np.ones((len(x), 1)))


def test_fewer_leaves_lose_more():
    x, y = zero_one(n_rows=400, n_splits=12)
    losses = []
    for n_leaves in range(2, 12):
        model = LookaheadTreeClassifier(max_depth=6, max_leaf_nodes=n_leaves, loss="gini").fit(x, y)
        assert model.get_n_leaves() == n_leaves
        losses.append(model.loss_value_)
    assert losses == sorted(losses, reverse=True)


def test_an_optimal_tree_within_time_has_no_gap():
    x, y = zero_one(n_splits=7)
    model = LookaheadTreeClassifier(lookahead="optimal", max_depth=4, time_limit=600).fit(x, y)
    task = oracle.task(x, y, 3)
    assert model.loss_value_ * len(y) == pytest.approx(oracle.best(task, np.arange(len(y)), 4)[0])
    assert model.optimality_gap_ == 0
    assert all(row["proven"] for row in model.growth_log_)
    free = LookaheadTreeClassifier(lookahead=4, max_depth=4).fit(x, y)
    assert free.loss_value_ == model.loss_value_


@pytest.mark.parametrize(
    "plan", [{"max_depth": 900, "lookahead": "optimal"}, {"max_depth": None, "lookahead": 900}]
)
def test_no_look_goes_further_than_there_are_questions(plan):
    x, y = zero_one(n_splits=4)
    deep = LookaheadTreeClassifier(loss="gini", **plan).fit(x, y)
    plain = LookaheadTreeClassifier(loss="gini", max_depth=4, lookahead="optimal").fit(x, y)
    assert deep.tree_.split.tolist() == plain.tree_.split.tolist()
    assert LookaheadTreeClassifier(loss="gini", **plan, time_limit=60.0).fit(x, y).optimality_gap_ == 0


@pytest.mark.parametrize("plan", [{"max_depth": 3}, {"max_depth": 4, "lookahead": "optimal"}])
def test_rounding_opens_no_gap_and_makes_no_loss_negative(plan):
    rng = np.random.default_rng(0)
    for _ in range(100):
        x, y = (rng.random((24, 5)) < 0.5).astype(np.uint8), np.arange(24) % 2
        model = LookaheadTreeClassifier(loss="gini", **plan).fit(x, y, sample_weight=rng.random(24))
        assert model.optimality_gap_ == 0
        assert model.loss_value_ >= 0
        for row in model.growth_log_:
            assert row["proven"]
            assert row["loss_before"] >= 0
            assert row["loss_after"] >= 0


@pytest.mark.parametrize("time_limit", [1e-9, 0.01, 0.1])
def test_a_tree_that_time_cut_short_is_a_tree(time_limit):
    x, y = zero_one(n_rows=2_000, n_splits=60)
    flip = np.random.default_rng(0).random(len(y)) < 0.3
    y = np.where(flip, (y + 1) % 3, y)
    model = LookaheadTreeClassifier(lookahead="optimal", max_depth=6, time_limit=time_limit).fit(x, y)
    log = model.growth_log_
    assert 0 < model.optimality_gap_ <= model.loss_value_ + 1e-12
    assert not log[0]["proven"]
    # What the root's look found is what is returned, or something better.
    assert model.loss_value_ <= log[0]["loss_after"] + 1e-12
    leaves = model.apply(x)
    for leaf in np.unique(leaves):
        np.testing.assert_array_equal(np.bincount(y[leaves == leaf], minlength=3), model.tree_.weights[leaf])


@pytest.mark.parametrize("encoder", ["auto", "deciles"])
def test_threads_change_nothing(cancer, encoder):
    x, y = cancer
    encoder = SplitEncoder(scheme="onehot") if encoder == "deciles" else encoder
    alone = LookaheadTreeClassifier(max_depth=5, encoder=encoder).fit(x, y)
    for n_jobs in (1, 2, 3, -1):
        many = LookaheadTreeClassifier(max_depth=5, encoder=encoder, n_jobs=n_jobs).fit(x, y)
        assert nested(many.tree_) == nested(alone.tree_)
        np.testing.assert_array_equal(many.tree_.weights, alone.tree_.weights)
        assert many.loss_value_ == alone.loss_value_


def test_being_verbose(capsys):
    x, y = zero_one()
    LookaheadTreeClassifier().fit(x, y)
    assert capsys.readouterr().out == ""
    model = LookaheadTreeClassifier(verbose=1).fit(x, y)
    assert f"{model.get_n_leaves()} leaves, depth 4, misclassification" in capsys.readouterr().out


# ---- losses of one's own


@njit
def compiled_gini(weights):
    total = weights.sum()
    return total - (weights**2).sum() / total


def test_a_loss_of_ones_own():
    x, y = zero_one()
    want = LookaheadTreeClassifier(loss="gini", max_depth=3, lookahead=3).fit(x, y)
    for loss in (compiled_gini, lambda weights: weights.sum(-1) - (weights**2).sum(-1) / weights.sum(-1)):
        for lookahead in (1, 2):
            built_in = LookaheadTreeClassifier(loss="gini", lookahead=lookahead).fit(x, y)
            own = LookaheadTreeClassifier(loss=loss, lookahead=lookahead).fit(x, y)
            assert nested(own.tree_) == nested(built_in.tree_)
        optimal = LookaheadTreeClassifier(loss=loss, lookahead="optimal", max_depth=3).fit(x, y)
        assert optimal.loss_value_ == pytest.approx(want.loss_value_)
        weighted = np.random.default_rng(0).random(len(y)) + 0.1
        built_in = LookaheadTreeClassifier(loss="gini").fit(x, y, weighted)
        assert nested(LookaheadTreeClassifier(loss=loss).fit(x, y, weighted).tree_) == nested(built_in.tree_)


def test_prices_decide_where_mistakes_are_made():
    x, _ = zero_one()
    rng = np.random.default_rng(0)
    y = (rng.random(len(x)) < 0.2 + 0.5 * x[:, 3] + 0.25 * x[:, 4]).astype(int)
    prices = [[0.0, 1.0], [5.0, 0.0]]
    careful = LookaheadTreeClassifier(max_depth=2, loss=prices).fit(x, y)
    plain = LookaheadTreeClassifier(max_depth=2).fit(x, y)
    task = oracle.task(x, y, 2, loss=lambda weights: (weights @ np.array(prices)).min())
    assert nested(careful.tree_) == oracle.rolling(task, 2, 2) != nested(plain.tree_)


# ---- what a fitted tree says


@pytest.fixture(params=["encoded", "zero-one"])
def fitted(request, wine):
    if request.param == "encoded":
        x, y = wine
    else:
        x, y = zero_one(n_rows=300)
    return LookaheadTreeClassifier(max_depth=4, loss="gini").fit(x, y), x, y


def test_leaves_paths_and_probabilities_agree(fitted):
    model, x, y = fitted
    tree = model.tree_
    leaves = model.apply(x)
    assert tree.is_leaf[leaves].all()
    assert set(leaves) == set(np.flatnonzero(tree.is_leaf))
    np.testing.assert_array_equal(
        np.bincount(leaves, minlength=tree.n_nodes)[tree.is_leaf], tree.rows[tree.is_leaf]
    )
    probabilities = model.predict_proba(x)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    for leaf in np.unique(leaves):
        shares = [(y[leaves == leaf] == label).mean() for label in model.classes_]
        np.testing.assert_allclose(probabilities[leaves == leaf], [shares] * (leaves == leaf).sum())
    np.testing.assert_array_equal(model.predict(x), model.classes_[probabilities.argmax(axis=1)])
    np.testing.assert_allclose(np.exp(model.predict_log_proba(x)), probabilities)
    path = model.decision_path(x)
    assert path.shape == (len(x), tree.n_nodes)
    np.testing.assert_array_equal(
        path.sum(axis=0).A1 if hasattr(path.sum(axis=0), "A1") else path.sum(axis=0), tree.rows
    )
    level = levels(tree)
    np.testing.assert_array_equal(np.asarray(path.sum(axis=1)).ravel(), level[leaves] + 1)
    assert model.get_depth() == level.max() == 4
    assert model.get_n_leaves() == tree.is_leaf.sum()


def test_importances_are_shares_of_the_loss_removed(fitted):
    model, _, _ = fitted
    tree = model.tree_
    by_column = np.zeros(model.n_features_in_)
    for node in np.flatnonzero(~tree.is_leaf):
        column = model.splits_[tree.split[node]].column_index
        by_column[column] += tree.loss[node] - tree.loss[tree.low[node]] - tree.loss[tree.high[node]]
    np.testing.assert_allclose(model.feature_importances_, by_column / by_column.sum())


def test_the_log_of_growth(fitted):
    model, x, _ = fitted
    log = pd.DataFrame(model.growth_log_)
    assert list(log) == [
        "node", "depth", "question", "rows", "steps", "splits_considered", "loss_before", "loss_after", "seconds",
        "proven",
    ]  # fmt: skip
    assert log["proven"].all()
    assert (log["loss_after"] <= log["loss_before"] + 1e-12).all()
    assert (log["seconds"] >= 0).all()
    assert log["rows"][0] == len(x)
    assert log["steps"][0] == 2
    assert 0 < log["splits_considered"][0] <= len(model.splits_)
    np.testing.assert_array_equal(log["question"].isna(), model.tree_.is_leaf)
    assert log["loss_before"][model.tree_.is_leaf].sum() == pytest.approx(model.loss_value_)


def test_before_fitting_nothing_is_said():
    from sklearn.exceptions import NotFittedError

    model = LookaheadTreeClassifier()
    for ask in (model.get_depth, model.get_n_leaves, lambda: model.predict([[0]]), lambda: model.splits_):
        with pytest.raises(NotFittedError):
            ask()
    for name in ("feature_importances_", "growth_log_", "optimality_gap_"):
        assert not hasattr(model, name)


def test_a_fit_that_fails_leaves_no_tree_behind():
    from sklearn.exceptions import NotFittedError

    from foretree.constraints import RecallFloor

    x, y = np.eye(4, dtype=int)[[0, 1, 2, 3, 0, 1]], np.array([0, 1, 0, 1, 1, 0])
    impossible = [RecallFloor(0, 1.0), RecallFloor(1, 1.0)]
    for model in (LookaheadTreeClassifier(), LookaheadTreeClassifier().fit(x, y)):
        model.set_params(constraints=impossible)
        with pytest.raises(ValueError, match="does not keep"):
            model.fit(x, y)
        with pytest.raises(NotFittedError):
            model.predict(x)


def test_an_empty_list_of_constraints_takes_the_way_without_any(monkeypatch):
    import foretree.constrained

    monkeypatch.setattr(foretree.constrained, "grow_constrained", lambda *_: pytest.fail("the slow way"))
    x, y = np.eye(4, dtype=int)[[0, 1, 2, 3, 0, 1]], np.array([0, 1, 0, 1, 1, 0])
    for none in (None, [], ()):
        assert LookaheadTreeClassifier(constraints=none).fit(x, y).get_n_leaves() > 1


# ---- in scikit-learn's company


def test_pickle_and_clone(fitted):
    model, x, _ = fitted
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(x), model.predict_proba(x))
    assert again.growth_log_ == model.growth_log_
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    assert not hasattr(fresh, "tree_")


def test_in_pipelines_searches_and_calibration(cancer):
    x, y = cancer
    pipeline = make_pipeline(StandardScaler(), LookaheadTreeClassifier())
    assert cross_val_score(pipeline, x, y, cv=3).mean() > 0.88
    search = GridSearchCV(
        LookaheadTreeClassifier(),
        {"max_depth": [1, 3], "lookahead": [1, 2], "loss": ["gini", "hybrid"]},
        cv=3,
    )
    search.fit(x, y)
    assert search.best_score_ > 0.9
    assert search.best_params_["max_depth"] == 3
    calibrated = CalibratedClassifierCV(LookaheadTreeClassifier(), cv=3).fit(x, y)
    probabilities = calibrated.predict_proba(x)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert calibrated.score(x, y) > 0.9


def test_behind_scikit_learns_own_bins(cancer):
    x, y = cancer
    bins = KBinsDiscretizer(5, encode="onehot-dense", strategy="uniform")
    model = make_pipeline(bins, LookaheadTreeClassifier()).fit(x, y)
    assert model[-1].encoder_ is None
    assert model.score(x, y) > 0.93


def test_permuted_columns_matter_as_the_tree_says():
    iris = load_iris()
    model = LookaheadTreeClassifier(max_depth=3).fit(iris.data, iris.target)
    result = permutation_importance(model, iris.data, iris.target, n_repeats=5, random_state=0)
    used = model.feature_importances_ > 0
    assert (result.importances_mean[~used] == 0).all()
    assert result.importances_mean.max() > 0.2


# ---- nonsense


X, Y = zero_one(n_rows=20, n_splits=3)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_depth": 0}, "max_depth=0 must be a whole number of at least 1, or None"),
        ({"max_depth": 2.5}, "max_depth=2.5"),
        ({"max_depth": True}, "max_depth=True"),
        ({"lookahead": 0}, "lookahead=0 must be a whole number of at least 1, or 'optimal'"),
        ({"lookahead": "two"}, "lookahead='two'"),
        ({"lookahead": "optimal", "max_depth": None}, "lookahead='optimal' needs a max_depth"),
        ({"min_samples_leaf": 0}, "min_samples_leaf=0 must be a whole number of at least 1"),
        ({"min_samples_internal": 1}, "min_samples_internal=1 must be a whole number of at least 2"),
        ({"min_loss_decrease": -1.0}, "min_loss_decrease=-1.0 must be a number of at least 0"),
        ({"min_loss_decrease": "much"}, "min_loss_decrease='much'"),
        ({"min_loss_decrease": float("nan")}, "min_loss_decrease=nan"),
        ({"min_weight_fraction_leaf": 0.7}, "min_weight_fraction_leaf=0.7 must be a number from 0 to 0.5"),
        ({"max_leaf_nodes": 1}, "max_leaf_nodes=1 must be a whole number of at least 2, or None"),
        ({"time_limit": 0}, "time_limit=0 must be a number of seconds above 0, or None"),
        ({"time_limit": "soon"}, "time_limit='soon'"),
        ({"stop": "never"}, "stop='never' must be 'pure' or 'no_gain'"),
        ({"tie_break": "last"}, "tie_break='last' must be 'gini' or 'first'"),
        ({"n_jobs": 0}, "n_jobs=0 must be a whole number of at least 1, -1 for all cores, or None"),
        ({"encoder": "none"}, "encoder='none' must be 'auto', None for a 0/1 matrix, or a SplitEncoder"),
        ({"loss": "accuracy"}, "loss='accuracy' is unknown"),
        ({"class_weight": "even"}, "class_weight='even' is unknown; use 'balanced'"),
        ({"class_weight": {7: 1.0}}, "class_weight names the class 7, which y lacks"),
    ],
)
def test_parameters_that_mean_nothing(parameters, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        LookaheadTreeClassifier(**parameters).fit(X, Y)


@pytest.mark.parametrize(
    ("table", "labels", "message"),
    [
        (X, None, "requires y to be passed, but the target y is None"),
        (X, np.zeros(20, int), "one class only, 0; a classifier needs rows of at least two classes"),
        (X, Y[:-1], "X has 20 rows but y has 19"),
        (X, np.c_[Y, Y], r"y should be a 1d array, got an array of shape \(20, 2\)"),
        (X, np.where(Y == 0, np.nan, Y), "y contains NaN or infinity"),
        (X[:0], Y[:0], r"0 sample\(s\)"),
        (X[:, :0], Y, r"0 feature\(s\)"),
        (X[:, 0], Y, r"Reshape your data: X.reshape\(-1, 1\) if it is a single column"),
        (np.full((20, 1), 3.5), Y, "No column of X gives a question"),
        (np.ones((20, 2)), Y, "No column of X separates any of its 20 rows"),
        (np.where(X == 1, np.inf, 0.5), Y, "inf"),
        (csr_matrix(X), Y, "[Ss]parse"),
        (pd.DataFrame(X, columns=["a", "b", "a"]), Y, "'a'"),
    ],
)
def test_data_that_mean_nothing(table, labels, message):
    with pytest.raises((ValueError, TypeError), match=message):
        LookaheadTreeClassifier().fit(table, labels)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (-np.ones(20), "sample_weight of row 0 is -1.0; weights must not be negative"),
        (np.zeros(20), "sample_weight is zero for every row"),
        (np.r_[np.nan, np.ones(19)], "sample_weight of row 0 is nan; weights must be finite"),
        (np.ones(19), r"sample_weight has shape \(19,\), but X has 20 rows"),
        (np.ones((20, 1)), r"sample_weight has shape \(20, 1\)"),
        (["much"] * 20, "sample_weight holds something that is not a number"),
        ((Y == 0).astype(float), "sample_weight leaves rows of a single class"),
        (np.full(20, 1e155), r"sample_weight adds up to 2e\+156 over all rows"),
    ],
)
@pytest.mark.parametrize("table", [X, X + 0.5])
def test_weights_that_mean_nothing(table, weights, message):
    with pytest.raises(ValueError, match=message):
        LookaheadTreeClassifier().fit(table, Y, sample_weight=weights)


def test_rows_without_weight_are_no_reason_to_ask():
    x, y = np.r_[np.ones(10), np.zeros(10)][:, None], np.arange(20) % 2
    with pytest.raises(ValueError, match="No column of X separates any of its 10 rows"):
        LookaheadTreeClassifier().fit(x, y, sample_weight=x[:, 0])
    with pytest.raises(ValueError, match="No column of X gives a question"):
        LookaheadTreeClassifier(encoder=SplitEncoder()).fit(x, y, sample_weight=x[:, 0])
    # A column that varies, but that minimum sizes rule out, makes a lone leaf.
    assert LookaheadTreeClassifier(min_samples_leaf=11).fit(x, y).get_n_leaves() == 1


@pytest.mark.parametrize("factor", [0.0, 1e200])
def test_weights_that_classes_leave_without_use(factor):
    labels, weights = np.arange(20) % 3, np.where(np.arange(20) % 3 == 2, 0.0, 1.0)
    with pytest.raises(ValueError, match="sample_weight times class_weight adds up to"):
        LookaheadTreeClassifier(class_weight={0: factor, 1: factor}).fit(X, labels, weights)


def test_without_an_encoder_only_zero_and_one_will_do():
    for table, message in (
        (X * 2, "Column 1 of X is 2 in row 0; with encoder=None X must hold nothing but 0 and 1"),
        (np.where(X == 1, np.nan, 0.0), "is nan in row"),
        (X.astype(str), "X holds <U3 values; with encoder=None it must be a matrix of 0 and 1"),
    ):
        with pytest.raises(
            ValueError, match=message.replace("Column 1", r"Column \d").replace("row 0", r"row \d+")
        ):
            LookaheadTreeClassifier(encoder=None).fit(table, Y)


@pytest.mark.parametrize("form", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "Arrow"])
def test_without_an_encoder_columns_keep_their_names(form):
    rng = np.random.default_rng(0)
    cells = {name: rng.random(60) < 0.5 for name in "abcd"}
    labels = cells["a"] ^ cells["d"]
    model = LookaheadTreeClassifier(max_depth=2, encoder=None).fit(form(cells), labels)
    assert model.feature_names_in_.tolist() == [*"abcd"]
    assert {str(model.splits_[split]) for split in model.tree_.split if split >= 0} == {"a = 1", "d = 1"}
    # Columns are found by name, whatever their order, and others are ignored.
    later = form({"more": cells["a"], **{name: cells[name] for name in "dcba"}})
    np.testing.assert_array_equal(model.predict(later), labels)
    with pytest.raises(ValueError, match="X lacks the column 'd'"):
        model.predict(form({name: cells[name] for name in "abc"}))
    with pytest.raises(TypeError, match="Column 'b' holds text or categories, but without an encoder"):
        model.predict(form({**cells, "b": ["yes"] * 60}))
    with pytest.raises(ValueError, match=r"Column 'c' of X is 2.* in row 59; with encoder=None"):
        LookaheadTreeClassifier(encoder=None).fit(form({**cells, "c": [0] * 59 + [2]}), labels)
    with pytest.warns(UserWarning, match="does not have valid feature names, but LookaheadTreeClassifier"):
        model.predict(np.column_stack([*cells.values()]))


def test_names_that_training_did_not_have_are_warned_of():
    x, y = zero_one(n_splits=4)
    model = LookaheadTreeClassifier().fit(x, y)
    with pytest.warns(
        UserWarning, match="X has feature names, but LookaheadTreeClassifier was fitted without"
    ):
        np.testing.assert_array_equal(model.predict(pd.DataFrame(x, columns=[*"abcd"])), model.predict(x))


@pytest.mark.parametrize("n_splits", [3, 40])
def test_predicting_from_what_is_no_table_of_training(n_splits):
    x, y = zero_one(n_splits=n_splits)
    model = LookaheadTreeClassifier().fit(x, y)
    with pytest.raises(
        ValueError, match=f"X has 2 features, but LookaheadTreeClassifier is expecting {n_splits}"
    ):
        model.predict(x[:, :2])
    with pytest.raises(ValueError, match="it must be a table"):
        model.predict(x[0])
    root = model.tree_.split[0]
    for bad in (2.0, np.nan, np.inf):
        broken = x.astype(float)
        broken[7, root] = bad
        with pytest.raises(
            ValueError, match=f"Column 'x{root}' is {bad} in row 7; the tree was fitted on a 0/1 table"
        ):
            model.predict(broken)
    with pytest.raises(ValueError, match="values, but the tree was fitted on a 0/1 matrix"):
        model.predict(np.full((4, n_splits), "yes"))
    np.testing.assert_array_equal(model.predict(x.tolist()), model.predict(x))
    np.testing.assert_array_equal(model.predict(x.astype(object)), model.predict(x))


def test_text_where_numbers_were(mixed):
    table, answers = mixed
    model = LookaheadTreeClassifier().fit(table, answers)
    with pytest.raises(TypeError, match=r"Column 'age' held numbers in training .* but now it holds text"):
        model.predict(table.assign(age="old"))
