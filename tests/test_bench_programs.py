import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foretree import LookaheadTreeClassifier
from foretree.bench.programs import ProgramTree

pytest.importorskip("highspy", reason="the linear programs need highspy")


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 3]), st.sampled_from(["misclassification", "gini"]))
def test_the_programs_are_as_good_as_the_search(seed, depth, loss):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (60, 5), dtype=np.uint8)
    y = (X[:, 0] ^ X[:, 1] & X[:, 2]).astype(np.int64) ^ (rng.random(60) < 0.15)
    program = ProgramTree(depth, loss).fit(X, y)
    search = LookaheadTreeClassifier(max_depth=depth, lookahead=depth, loss=loss, n_jobs=1).fit(X, y)
    costs = [loss_of(model.apply(X), y, loss) for model in (program, search)]
    assert costs[0] == pytest.approx(costs[1])
    assert set(program.predict(X)) <= {0, 1}


def loss_of(leaves, y, loss):
    total = 0.0
    for leaf in np.unique(leaves):
        counts = np.bincount(y[leaves == leaf], minlength=2)
        total += (
            counts.min() if loss == "misclassification" else counts.sum() - (counts**2).sum() / counts.sum()
        )
    return total


def test_rows_of_cells_without_training_rows_get_a_class():
    X = np.array([[0, 0], [0, 1], [1, 0]] * 4, dtype=np.uint8)
    y = np.array([0, 1, 1] * 4)
    model = ProgramTree(2).fit(X, y)
    assert model.predict(X).tolist() == y.tolist()
    assert model.predict(np.array([[1, 1]], dtype=np.uint8))[0] in (0, 1)


def test_too_many_columns_are_refused_with_their_number():
    with pytest.raises(ValueError, match=r"\[OCT-3\] over 120 splits has 6,912,000 columns"):
        ProgramTree(3).fit(np.zeros((4, 120), dtype=np.uint8), np.array([0, 1, 0, 1]))
