"""Why minimum sizes are missing columns: as the paper's rows (3) they leave the LP fractional."""

import csv
import os
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("highspy")

from foretree.mio import oct2
from foretree.mio.model import Limits
from foretree.mio.oct2 import oct2_model
from foretree.mio.solvers import solver_named

DATA = Path(os.environ.get("FORETREE_DATA", Path(__file__).parents[1] / "../shared/data"))


def monks_1():
    """The binary features as the paper makes them (556, 15) and the classes."""
    table = DATA / "monks-1.csv"
    if not table.exists():
        pytest.skip(f"{table} is absent: set FORETREE_DATA to the folder of the tables")
    with table.open() as lines:
        rows = np.array(list(csv.reader(lines))[1:])
    columns = []
    for column in rows[:, :-1].T:
        kinds = np.unique(column)
        columns += [column == kind for kind in (kinds[1:] if kinds.size == 2 else kinds)]
    return np.array(columns).T.astype(int), np.unique(rows[:, -1], return_inverse=True)[1]


def costs_and_sizes(X, y):
    """Misclassified shares (2, p, p), and the rows in the smaller leaf of each pair (2, p, p)."""
    p = X.shape[1]
    costs, smaller = np.zeros((2, p, p)), np.full((2, p, p), np.inf)
    for r, s in np.ndindex(2, 2):
        cells = np.einsum("ij,ik,ic->cjk", r == X, s == X, y[:, None] == np.unique(y), dtype=float)
        costs[r] += cells.sum(axis=0) - cells.max(axis=0)
        smaller[r] = np.minimum(smaller[r], cells.sum(axis=0))
    return costs / y.size, smaller


def with_size_rows(costs, smaller, n_leaf):
    """[OCT-2] with the paper's rows (3): one column each, so they are bounds on the columns."""
    model, labels = oct2_model(costs)
    bounds = np.minimum(1.0, smaller[tuple(labels.T)] / n_leaf)
    return type(model)(**{name: getattr(model, name) for name in model.__slots__} | {"upper": bounds})


def test_the_papers_rows_break_the_integrality_that_missing_columns_keep():
    X, y = monks_1()
    assert X.shape == (556, 15)
    costs, smaller = costs_and_sizes(X, y)
    model = with_size_rows(costs, smaller, n_leaf=100)
    relaxed = solver_named("highs")(model, True, Limits())
    integral = solver_named("highs")(model, False, Limits())
    assert relaxed.objective == pytest.approx(0.2230, abs=5e-5)
    assert integral.objective == pytest.approx(0.4838, abs=5e-5)
    assert np.abs(relaxed.values - np.round(relaxed.values)).max() > 0.1

    masked = np.where(smaller >= 100, costs, np.inf)
    assert oct2(masked).cost == pytest.approx(integral.objective, abs=1e-9)
    assert oct2(masked) == oct2(masked, relax=False)


def test_the_papers_rows_forbid_even_a_branch_that_stays_a_leaf():
    """j = k has an empty side, so rows (3) exclude the incomplete trees the text allows."""
    X, y = monks_1()
    costs, smaller = costs_and_sizes(X, y)
    diagonal = np.arange(X.shape[1])
    assert (smaller[:, diagonal, diagonal] == 0).all()
    allowed = np.where(smaller >= 100, costs, np.inf)
    allowed[:, diagonal, diagonal] = costs[:, diagonal, diagonal]
    assert oct2(allowed).cost < oct2(np.where(smaller >= 100, costs, np.inf)).cost
