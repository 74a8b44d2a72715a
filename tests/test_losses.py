import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from foretree.losses import LOSSES, resolve_loss
from strategies import ORACLE_LOSSES

weights_of_leaves = st.integers(2, 5).flatmap(
    lambda n_classes: st.lists(
        st.lists(st.floats(0, 1e6), min_size=n_classes, max_size=n_classes), min_size=1, max_size=6
    ).map(np.array)
)


@pytest.mark.parametrize("name", sorted(LOSSES))
@given(weights=weights_of_leaves)
def test_built_in_losses_are_the_oracles_leaf_by_leaf(name, weights):
    got = LOSSES[name].of(weights)
    want = [ORACLE_LOSSES[name](leaf) for leaf in weights]
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9 * weights.sum())
    np.testing.assert_array_equal(LOSSES[name].of(weights[None, :, None]), got[None, :, None])


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_pure_and_empty_leaves_cost_nothing(name):
    assert LOSSES[name].of(np.array([[0.0, 0.0], [7.0, 0.0], [0.0, 0.25]])).tolist() == [0, 0, 0]


def test_known_values():
    """Eight rows, two of them of the other class."""
    leaf = np.array([[6.0, 2.0]])
    assert LOSSES["misclassification"].of(leaf).tolist() == [2.0]
    assert LOSSES["gini"].of(leaf).tolist() == [8 * 0.375]
    assert LOSSES["entropy"].of(leaf)[0] == pytest.approx(8 * 0.8112781244591328)


def test_names():
    for name in LOSSES:
        assert resolve_loss(name, 3, 2) is LOSSES[name]
    for depth, name in ((1, "misclassification"), (5, "misclassification"), (6, "gini"), (2**31, "gini")):
        assert resolve_loss("hybrid", depth, 2) is LOSSES[name]
    with pytest.raises(
        ValueError, match=r"loss='brier' is unknown. Choose one of 'misclassification'.*'hybrid'"
    ):
        resolve_loss("brier", 3, 2)


# ---- cost matrices


@given(weights=weights_of_leaves)
def test_a_cost_matrix_pays_for_the_cheapest_word(weights):
    n_classes = weights.shape[1]
    prices = np.random.default_rng(0).integers(0, 9, (n_classes, n_classes)).astype(float)
    loss = resolve_loss(prices.tolist(), 4, n_classes)
    want = [
        min(sum(leaf[c] * prices[c, said] for c in range(n_classes)) for said in range(n_classes))
        for leaf in weights
    ]
    np.testing.assert_allclose(loss.of(weights), want)
    np.testing.assert_array_equal(loss.prices, prices)


@pytest.mark.parametrize(
    ("prices", "message"),
    [
        ([[0, 1]], r"shape \(1, 2\); with 2 classes it needs \(2, 2\)"),
        (np.ones((3, 3)), r"shape \(3, 3\); with 2 classes it needs \(2, 2\)"),
        ([[0, -1], [1, 0]], "finite prices of at least 0"),
        ([[0, np.inf], [1, 0]], "finite prices of at least 0"),
        ([[0, np.nan], [1, 0]], "finite prices of at least 0"),
        ([["a", "b"], ["c", "d"]], "neither a name, nor a cost matrix of numbers, nor a function"),
        ([[0, 1], [1]], "neither a name, nor a cost matrix of numbers, nor a function"),
        (None, "loss=None is neither a name, nor a cost matrix of numbers, nor a function"),
        (3.0, "loss=3.0 is neither a name"),
    ],
)
def test_matrices_that_are_none(prices, message):
    with pytest.raises(ValueError, match=message):
        resolve_loss(prices, 4, 2)


# ---- callables


def brier(weights):
    total = weights.sum(axis=-1, keepdims=True)
    return (weights * (1 - weights / total)).sum(axis=-1)


def test_a_callable_is_called_with_leaves_of_any_shape():
    loss = resolve_loss(brier, 4, 3)
    assert (loss.name, loss.code, loss.compiled) == ("brier", None, None)
    weights = np.random.default_rng(0).integers(0, 3, (4, 5, 2, 3)).astype(float)
    weights[0, 0, 0] = 0
    np.testing.assert_allclose(loss.of(weights), LOSSES["gini"].of(weights), atol=1e-12)
    assert loss.of(weights)[0, 0, 0] == 0


def test_rounding_is_not_a_negative_loss():
    loss = resolve_loss(lambda weights: weights.sum(-1) - 1.0000000000000002 * weights.max(-1), 4, 2)
    assert loss.of(np.array([[5.0, 0.0]])).tolist() == [0.0]


class Priced:
    """A callable without a name."""

    def __call__(self, weights):
        return weights[..., 0]


def test_an_object_that_can_be_called():
    assert resolve_loss(Priced(), 4, 2).name == "Priced"


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda weights: weights.sum(), r"returned shape \(\) for class weights \(5, 3\)"),
        (lambda weights: weights, r"returned shape \(5, 3\).*must return one value per leaf, shape \(5,\)"),
        (lambda weights: weights.sum(axis=0), r"returned shape \(3,\)"),
        (lambda weights: weights[..., 0] * np.nan, "is nan for class weights"),
        (lambda weights: -weights[..., 0], "at least 0 .add a constant per row of weight"),
        (lambda weights: weights[..., 0] / weights.sum(), "not additive over leaves"),
        (lambda weights: weights[..., 0] - weights[..., 0].min(), "not additive over leaves"),
        (lambda weights: "much", "returned values of type <U4; a leaf's loss must be a real number"),
        (lambda weights: 1j * weights[..., 0], "returned values of type complex128"),
    ],
)
def test_callables_that_are_no_losses(function, message):
    with pytest.raises(ValueError, match=message):
        resolve_loss(function, 4, 3)


def test_a_callable_may_not_write_into_the_weights():
    def spoiling(weights):
        weights *= 2
        return weights[..., 0]

    with pytest.raises(ValueError, match="read-only"):
        resolve_loss(spoiling, 4, 2)


def test_a_callable_that_fails_later_is_told_on():
    def moody(weights):
        return np.where(weights[..., 0] > 10, np.nan, weights[..., 0])

    loss = resolve_loss(moody, 4, 2)
    with pytest.raises(ValueError, match=r"The loss 'moody' is nan for class weights \[11.0, 2.0\]"):
        loss.of(np.array([[1.0, 1.0], [11.0, 2.0]]))


# ---- compiled callables


@njit
def compiled_mistakes(weights):
    return weights.sum() - weights.max()


@njit
def compiled_table(weights):
    return weights * 2


@njit
def compiled_debt(weights):
    return -weights[0]


@njit
def compiled_spoiling(weights):
    mistakes = weights.sum() - weights.max()
    weights[:] = 7
    return mistakes


@njit
def compiled_word(weights):
    return "much"


@njit
def compiled_for_many_leaves(weights):
    return weights[0, 0]


def test_a_compiled_callable_gets_one_leaf():
    loss = resolve_loss(compiled_mistakes, 4, 3)
    assert loss.compiled is compiled_mistakes
    weights = np.random.default_rng(0).integers(0, 4, (2, 6, 3)).astype(float)
    np.testing.assert_array_equal(loss.of(weights), LOSSES["misclassification"].of(weights))
    np.testing.assert_array_equal(loss.of(weights[:, ::2].astype(np.int64)), loss.of(weights)[:, ::2])


def test_a_compiled_callable_may_write_into_what_it_is_given():
    weights = np.array([[1.0, 2.0, 3.0], [4.0, 0.0, 1.0]])
    assert resolve_loss(compiled_spoiling, 4, 3).of(weights).tolist() == [3.0, 1.0]
    assert weights.tolist() == [[1.0, 2.0, 3.0], [4.0, 0.0, 1.0]]


def test_compiled_callables_that_are_no_losses():
    with pytest.raises(
        ValueError, match="The compiled loss 'compiled_table' returned ndarray; compiled losses get"
    ):
        resolve_loss(compiled_table, 4, 3)
    with pytest.raises(ValueError, match=r"The loss 'compiled_debt' is -1.0 for class weights"):
        resolve_loss(compiled_debt, 4, 3)
    with pytest.raises(
        ValueError, match="The compiled loss 'compiled_word' returned str; compiled losses get"
    ):
        resolve_loss(compiled_word, 4, 3)
    with pytest.raises(
        ValueError, match=r"Numba cannot compile the loss 'compiled_for_many_leaves' .* of shape \(3,\)"
    ):
        resolve_loss(compiled_for_many_leaves, 4, 3)


def test_no_rounding_makes_a_pure_leaf_gain():
    weights = np.zeros((2000, 3))
    weights[:, 1] = np.random.default_rng(0).random(2000) * 10
    assert (LOSSES["gini"].of(weights) >= 0).all()
