"""The three baselines against brute force, on every installed solver, and the ways they may be stopped."""

import os
import re
import signal
import threading
import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

pytest.importorskip("highspy")

from foretree.baselines import BendersOCTClassifier, BinOCTClassifier, FlowOCTClassifier
from foretree.baselines.formulation import Formulation
from foretree.baselines.heap import HeapTree, objective, pruned
from foretree.baselines.points import merged
from foretree.baselines.skeleton import Task
from foretree.baselines.warm import warm_tree
from foretree.mio import highs, scip
from foretree.mio.model import Limits
from foretree.mio.solvers import installed, solver_named

CLASSES = (BinOCTClassifier, FlowOCTClassifier, BendersOCTClassifier)
ALL = [
    pytest.param(kind, solver, id=f"{kind.__name__[:-10]}-{solver}")
    for kind in CLASSES
    for solver in installed()
]


def best_tree(X, y, depth, price):
    """The largest (1 - price) correct rows - price splits over all trees, by recursion over all splits."""
    leaf = (1 - price) * max(np.bincount(y).tolist(), default=0) if y.size else 0.0
    if depth == 0 or y.size == 0:
        return leaf
    split = max(
        best_tree(X[X[:, j] == 0], y[X[:, j] == 0], depth - 1, price)
        + best_tree(X[X[:, j] == 1], y[X[:, j] == 1], depth - 1, price)
        for j in range(X.shape[1])
    )
    return max(leaf, split - price)


def table(seed, n=30, p=3, n_classes=2):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, p))
    y = (X[:, 0] ^ X[:, -1]) + (n_classes - 2) * rng.integers(0, 2, n)
    noisy = rng.random(n) < 0.2
    y[noisy] = rng.integers(0, n_classes, noisy.sum())
    return X, y


@pytest.mark.parametrize(("kind", "solver"), ALL)
@pytest.mark.parametrize("case", [(0, 1, 2, 0.0), (1, 2, 3, 0.0), (2, 2, 2, 0.6)])
def test_each_finds_what_brute_force_finds_and_proves_it(kind, solver, case):
    seed, depth, n_classes, price = case
    X, y = table(seed, n_classes=n_classes)
    model = kind(depth, solver=solver, regularization=price).fit(X, y)
    expected = best_tree(X, y, depth, price)
    assert model.objective_ == pytest.approx(expected)
    assert model.bound_ == pytest.approx(expected, rel=1e-4)
    assert (model.gap_, model.status_) == (pytest.approx(0.0, abs=1e-4), "optimal")
    right = (model.predict(X) == y).sum()
    assert (1 - price) * right - price * model.tree_.n_splits == pytest.approx(model.objective_)


@pytest.mark.parametrize("kind", CLASSES)
def test_depth_three_with_the_default_solver(kind):
    if kind is BendersOCTClassifier:
        pytest.importorskip("pyscipopt")
    X, y = table(3, n=24, p=3)
    assert kind(3).fit(X, y).objective_ == best_tree(X, y, 3, 0.0)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.integers(2, 3))
def test_lazy_benders_is_exact_on_any_small_table(seed, p, n_classes):
    pytest.importorskip("pyscipopt")
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 2, (14, p)), rng.integers(0, n_classes, 14)
    price = float(rng.choice([0.0, 0.3]))
    model = BendersOCTClassifier(2, regularization=price).fit(X, y)
    expected = best_tree(X, np.unique(y, return_inverse=True)[1], 2, price)
    assert model.objective_ == pytest.approx(expected)
    assert model.status_ == "optimal"


@pytest.mark.parametrize(("kind", "solver"), ALL)
def test_a_warm_start_is_kept_even_when_the_solver_gets_no_time(kind, solver):
    X, y = table(4, n=60, p=6)
    cart = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    model = kind(2, solver=solver, warm_start="cart", time_limit=1e-9).fit(X, y)
    assert model.status_.startswith("time limit")
    assert model.objective_ >= (cart.predict(X) == y).sum()
    assert model.bound_ >= best_tree(X, y, 2, 0.0)


@pytest.mark.parametrize(("kind", "solver"), ALL)
def test_the_lookahead_tree_is_accepted_as_a_start(kind, solver):
    from foretree import LookaheadTreeClassifier

    X, y = table(5, n=40, p=4)
    ahead = LookaheadTreeClassifier(max_depth=2, loss="misclassification").fit(X.astype(float), y)
    stopped = kind(2, solver=solver, warm_start="lookahead", time_limit=1e-9).fit(X, y)
    assert stopped.objective_ == (ahead.predict(X.astype(float)) == y).sum() == best_tree(X, y, 2, 0.0)
    assert kind(2, solver=solver, warm_start="lookahead").fit(X, y).status_ == "optimal"


@pytest.mark.parametrize("kind", CLASSES)
def test_every_start_satisfies_the_model_it_starts(kind):
    """A start that broke a row would be dropped in silence: check the rows themselves."""
    assert isinstance(kind._formulation, Formulation)
    for seed in range(3):
        X, y = table(seed, n=25, p=4, n_classes=3)
        task = Task(merged(X.astype(bool), np.unique(y, return_inverse=True)[1], 3), 3, 0.0)
        tree = pruned(warm_tree("cart", task), task.points, 0.0)
        built = kind._formulation.build(task, lambda: None)
        values, model = built.start(tree), built.model
        rows = model.dense() @ values
        assert (rows >= model.row_lower - 1e-9).all()
        assert (rows <= model.row_upper + 1e-9).all()
        assert built.offset - model.objective @ values == pytest.approx(objective(tree, task.points, 0.0))


def slow_table():
    rng = np.random.default_rng(8)
    return rng.integers(0, 2, (300, 14)), rng.integers(0, 2, 300)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(("kind", "solver"), [(FlowOCTClassifier, "highs"), (BendersOCTClassifier, "scip")])
def test_a_signal_returns_the_incumbent(number, kind, solver):
    if solver not in installed():
        pytest.skip(f"{solver} is not installed")
    X, y = slow_table()
    before = signal.getsignal(number)
    threading.Timer(0.7, os.kill, (os.getpid(), number)).start()
    began = time.monotonic()
    model = kind(3, solver=solver, warm_start="cart", time_limit=60).fit(X, y)
    assert time.monotonic() - began < 30
    assert model.status_ == "interrupted"
    assert model.objective_ >= max(np.bincount(y))
    assert model.bound_ > model.objective_
    assert signal.getsignal(number) is before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_the_model_is_built_returns_the_start(number):
    X, y = table(4, n=60, p=6)

    def build(task, check):
        os.kill(os.getpid(), number)
        check()
        pytest.fail("building went on")

    class Interrupted(FlowOCTClassifier):
        _formulation = Formulation(lambda task: 1, build)

    before = signal.getsignal(number)
    cart = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    model = Interrupted(2, warm_start="cart").fit(X, y)
    assert model.status_ == "interrupted"
    assert model.objective_ >= (cart.predict(X) == y).sum()
    assert signal.getsignal(number) is before


class _EnoughError(Exception):
    pass


def _enough():
    raise _EnoughError


def small_model():
    X, y = table(0, n=12)
    task = Task(merged(X.astype(bool), y, 2), 2, 0.0)
    return FlowOCTClassifier._formulation.build(task, lambda: None).model


@pytest.mark.parametrize("solver", [name for name in installed() if name != "gurobi"])
def test_handing_a_model_to_a_solver_can_be_stopped(solver):
    """Large models take SCIP longer to read than any limit allows."""
    with pytest.raises(_EnoughError):
        solver_named(solver)(small_model(), False, Limits(check=_enough))


def test_what_reading_a_model_takes_is_taken_from_its_time(monkeypatch):
    pytest.importorskip("pyscipopt")
    clock = iter([100.0, 140.0])
    monkeypatch.setattr(scip, "perf_counter", lambda: next(clock))
    engine, _ = scip.load_model(small_model(), False, Limits(60.0))
    assert engine.getParam("limits/time") == 20.0


def test_highs_is_told_to_stop_where_it_looks_at_the_clock_alone():
    engine = highs.load().Highs()
    engine.setOptionValue("output_flag", False)
    engine.setOptionValue("time_limit", 60.0)
    engine.HandleUserInterrupt = True
    highs._cancel(engine)
    assert engine.getOptionValue("time_limit")[1] == 0.0


def test_fitting_works_where_no_signal_can_be_caught():
    X, y = table(6)
    models = []
    thread = threading.Thread(target=lambda: models.append(BinOCTClassifier(1).fit(X, y)))
    thread.start()
    thread.join()
    assert models[0].objective_ == best_tree(X, y, 1, 0.0)


@pytest.mark.parametrize("kind", CLASSES)
def test_too_large_a_model_is_refused_before_it_is_built(kind):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (4000, 60)), rng.integers(0, 2, 4000)
    with pytest.raises(MemoryError, match=r"max_depth=9 over 4000 rows and 60 columns needs about .* GB"):
        kind(9, solver="highs", memory_limit=1e9).fit(X, y)


def test_gurobis_free_size_is_named():
    if "gurobi" not in installed():
        pytest.skip("gurobi is not installed")
    X, y = slow_table()
    with pytest.raises(RuntimeError, match="use solver='highs'"):
        FlowOCTClassifier(3, solver="gurobi").fit(X, y)


def test_time_that_ends_while_building_leaves_the_majority():
    X, y = slow_table()
    model = FlowOCTClassifier(3, time_limit=1e-9).fit(X, y)
    assert model.status_ == "time limit reached while building"
    assert model.tree_.n_splits == 0
    assert model.objective_ == max(np.bincount(y))
    assert model.gap_ == pytest.approx((model.bound_ - model.objective_) / model.objective_)


def test_a_column_that_is_not_binary_is_named():
    X = pd.DataFrame({"sex": [0, 1, 0], "age": [0, 1, 37]})
    with pytest.raises(ValueError, match=r"Column 'age' holds 37(\.0)?: .* 0 and 1 only"):
        BinOCTClassifier().fit(X, [0, 1, 0])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"max_depth": 0}, "max_depth=0"),
        ({"max_depth": 2.0}, "max_depth=2.0"),
        ({"max_depth": True}, "max_depth=True"),
        ({"regularization": "much"}, "regularization='much'"),
        ({"time_limit": "60"}, "time_limit='60': give seconds above 0"),
        ({"time_limit": float("nan")}, "time_limit=nan"),
        ({"memory_limit": "1GB"}, "memory_limit='1GB': give bytes above 0"),
        ({"warm_start": True}, "warm_start=True is unknown"),
        ({"regularization": 1.0}, "regularization=1.0"),
        ({"time_limit": 0}, "time_limit=0"),
        ({"warm_start": "guess"}, "warm_start='guess' is unknown: choose None or one of 'cart', 'lookahead'"),
        ({"solver": "cplex"}, "solver='cplex' is unknown"),
    ],
)
def test_wrong_parameters_are_refused(wrong, message):
    X, y = table(0)
    with pytest.raises(ValueError, match=message):
        clone(FlowOCTClassifier()).set_params(**wrong).fit(X, y)


@pytest.mark.parametrize("kind", CLASSES)
def test_help_names_every_parameter_and_what_a_fit_leaves(kind):
    X, y = table(0)
    model = kind(1, solver="highs").fit(X, y)
    left = [name for name in vars(model) if name.endswith("_") and name != "n_features_in_"]
    for name in (*model.get_params(), *left):
        assert re.search(rf"\b{name}\b", kind.__doc__)
    assert "Proofs of optimality are realistic at depth 2" in kind.__doc__


def test_probabilities_are_the_shares_of_the_leaf():
    X = np.array([[0], [0], [0], [1], [1]])
    model = BinOCTClassifier(1).fit(X, ["a", "a", "b", "b", "b"])
    assert model.predict_proba([[0], [1]]) == pytest.approx(np.array([[2 / 3, 1 / 3], [0, 1]]))
    assert model.predict([[0], [1]]).tolist() == ["a", "b"]
    assert model.log_


@pytest.mark.parametrize("start", [None, "cart", "lookahead"])
def test_one_class_needs_no_split(start):
    model = FlowOCTClassifier(2, warm_start=start).fit([[0, 1], [1, 0]], ["only", "only"])
    assert (model.objective_, model.gap_, model.tree_.n_splits) == (2.0, 0.0, 0)


def test_identical_rows_are_merged_without_changing_the_answer():
    X, y = table(7, n=12)
    points = merged(np.tile(X, (5, 1)).astype(bool), np.tile(y, 5), 2)
    assert points.rows.shape[0] == np.unique(X, axis=0).shape[0]
    assert points.total == 60
    once, fivefold = (
        FlowOCTClassifier(2).fit(X, y),
        FlowOCTClassifier(2).fit(np.tile(X, (5, 1)), np.tile(y, 5)),
    )
    assert 5 * once.objective_ == fivefold.objective_


def test_a_split_that_separates_nothing_gives_way_to_the_tree_below_it():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], bool)
    points = merged(X, np.array([0, 1, 1, 0]), 2)
    idle = HeapTree(3, np.array([0, 0, 0, 1, -1, -1, 1]), np.zeros(15, int))
    tree = pruned(idle, points, 0.0)
    assert objective(tree, points, 0.0) == 4
    assert tree.n_splits == 3


def test_heap_tree_walks_rows_to_their_leaves():
    tree = HeapTree(2, np.array([1, -1, 0]), np.array([0, 1, 0, 0, 0, 0, 1]))
    rows = np.array([[0, 0], [0, 1], [1, 1]], bool)
    assert tree.apply(rows).tolist() == [1, 5, 6]
    assert tree.predict(rows).tolist() == [1, 0, 1]
    assert tree.n_splits == 2


class _OnThresholds:
    """scikit-learn's checks bring real numbers; asked for their sign, they become binary."""

    def _binary(self, X):
        return super()._binary((X > 0).astype(float))


class _BinOCT(_OnThresholds, BinOCTClassifier):
    pass


class _FlowOCT(_OnThresholds, FlowOCTClassifier):
    pass


class _BendersOCT(_OnThresholds, BendersOCTClassifier):
    pass


@parametrize_with_checks([_BinOCT(2), _FlowOCT(2), _BendersOCT(2, solver="highs")])
def test_scikit_learns_checks(estimator, check):
    check(estimator)
