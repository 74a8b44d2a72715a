import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("highspy")

from foretree.mio import oct2
from foretree.mio.model import Limits, Solution
from foretree.mio.oct2 import oct2_model, read_plan
from foretree.mio.solvers import SOLVERS, installed, solver_named


def enumerated(costs):
    """The smallest (cost, root, low, high) over all trees, one by one."""
    p = costs.shape[1]
    trees = ((j, k, m) for j in range(p) for k in range(p) for m in range(p))
    return min((costs[0, j, k] + costs[1, j, m], j, k, m) for j, k, m in trees)


@st.composite
def pair_costs(draw, most_splits=6, largest=5):
    """Small integers, so that ties abound, some of them forbidden (never a whole diagonal)."""
    p = draw(st.integers(1, most_splits))
    entry = st.integers(0, largest) | st.just(np.inf)
    costs = np.array(draw(st.lists(entry, min_size=2 * p * p, max_size=2 * p * p)), float).reshape(2, p, p)
    free = draw(st.integers(0, p - 1))
    costs[:, free, free] = largest
    return costs


@settings(deadline=None, max_examples=60)
@given(pair_costs())
def test_lp_mip_and_enumeration_agree_on_cost_and_tie(costs):
    expected = enumerated(costs)
    for relax in (True, False):
        plan = oct2(costs, relax=relax)
        assert (plan.cost, plan.root, plan.low, plan.high) == expected


@settings(deadline=None, max_examples=60)
@given(pair_costs(most_splits=4, largest=1), st.integers(0, 2**32 - 1))
def test_ties_are_decided_by_each_tie_break_in_turn(costs, seed):
    rng = np.random.default_rng(seed)
    breaks = [rng.integers(0, 2, costs.shape) * 1.0 for _ in range(2)]
    p = costs.shape[1]

    def key(tree):
        j, k, m = tree
        return [table[0, j, k] + table[1, j, m] for table in (costs, *breaks)], tree

    expected = min(((j, k, m) for j in range(p) for k in range(p) for m in range(p)), key=key)
    for relax in (True, False):
        plan = oct2(costs, relax=relax, tie_breaks=breaks)
        assert (plan.root, plan.low, plan.high) == expected


@pytest.mark.parametrize("solver", installed())
@pytest.mark.parametrize("relax", [True, False])
@pytest.mark.parametrize("p", [1, 2, 15, 25])
def test_every_installed_solver_finds_the_closed_form(solver, relax, p):
    costs = np.random.default_rng(p).random((2, p, p))
    plan = oct2(costs, solver, relax)
    assert plan.cost == pytest.approx(costs.min(axis=2).sum(axis=0).min(), abs=1e-9)
    assert plan.cost == costs[0, plan.root, plan.low] + costs[1, plan.root, plan.high]


@settings(deadline=None, max_examples=60)
@given(pair_costs(), st.integers(0, 2**32 - 1))
def test_the_vertex_of_the_lp_is_integral(costs, seed):
    costs = costs + np.random.default_rng(seed).random(costs.shape)
    model, _ = oct2_model(costs)
    values = solver_named("highs")(model, True, Limits()).values
    assert np.abs(values - np.round(values)).max() < 1e-9
    assert values.sum() == pytest.approx(2)


def supports_with_a_fair_signing(matrix):
    """The row subsets (as bit masks) that some signing leaves with column sums in -1, 0, 1."""
    fair = set()
    bits = 1 << np.arange(matrix.shape[0])
    for signs in itertools.product((-1, 0, 1), repeat=matrix.shape[0]):
        if np.abs(signs @ matrix).max() <= 1:
            fair.add(int(bits @ np.abs(signs)))
    return fair


@pytest.mark.parametrize("p", [1, 2, 3, 4, 5])
def test_proposition_1_every_row_subset_has_a_fair_signing(p):
    matrix = np.unique(oct2_model(np.zeros((2, p, p)))[0].dense(), axis=1)
    assert len(supports_with_a_fair_signing(matrix)) == 2 ** (p + 2)


@pytest.mark.parametrize("p", [2, 3])
def test_proposition_1_every_square_determinant_is_a_unit_or_zero(p):
    matrix = np.unique(oct2_model(np.zeros((2, p, p)))[0].dense(), axis=1)
    for size in range(1, matrix.shape[0] + 1):
        for rows in itertools.combinations(range(matrix.shape[0]), size):
            for columns in itertools.combinations(range(matrix.shape[1]), size):
                assert round(np.linalg.det(matrix[np.ix_(rows, columns)])) in (-1, 0, 1)


@settings(deadline=None)
@given(pair_costs(most_splits=20), st.data())
def test_proposition_1_the_papers_partition_signs_any_rows_fairly(costs, data):
    matrix = oct2_model(costs)[0].dense()
    rows = data.draw(st.lists(st.integers(0, matrix.shape[0] - 1), unique=True))
    signs = np.where(np.array(rows, int) == 0, 1, -1)  # M1 is row (1b) alone
    assert np.abs(signs @ matrix[rows]).max() <= 1


def test_the_signing_test_can_fail():
    odd_cycle = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]])
    assert len(supports_with_a_fair_signing(odd_cycle)) < 2**3


def test_a_forbidden_everything_is_refused_in_one_sentence():
    costs = np.full((2, 2, 2), np.inf)
    costs[0] = 1.0
    with pytest.raises(ValueError, match="no tree"):
        oct2(costs)


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4), (1, 3, 3), (2, 0, 0)])
def test_another_shape_is_refused(shape):
    with pytest.raises(ValueError, match="shape"):
        oct2(np.zeros(shape))


@pytest.mark.parametrize("wrong", [np.nan, -np.inf])
def test_no_cost_is_refused(wrong):
    with pytest.raises(ValueError, match="NaN or minus infinity"):
        oct2(np.array([[[1.0, wrong], [0, 0]]] * 2))


def test_an_unknown_solver_is_refused_by_name():
    with pytest.raises(ValueError, match="'cplex' is unknown"):
        oct2(np.zeros((2, 1, 1)), "cplex")
    with pytest.raises(ValueError, match=r"\['highs'\] is unknown: choose one of 'highs', 'scip', 'gurobi'"):
        oct2(np.zeros((2, 1, 1)), ["highs"])


def test_a_point_inside_the_face_of_ties_is_no_tree():
    costs = np.zeros((2, 2, 2))
    model, labels = oct2_model(costs)
    middle = Solution(np.full(model.objective.size, 0.25), 0.0, 0.0, "optimal")
    with pytest.raises(ArithmeticError, match="simplex"):
        read_plan(costs, labels, middle)


@pytest.mark.parametrize("solver", installed())
@pytest.mark.parametrize("relax", [True, False])
@pytest.mark.parametrize("unit", [2.0**-80, 2.0**90])
def test_the_unit_of_costs_changes_nothing(solver, relax, unit):
    """Solvers compare with fixed tolerances, and refuse what is too large."""
    costs = np.random.default_rng(1).random((2, 12, 12))
    costs[0, 3] = np.inf
    plan, other = oct2(costs, solver, relax), oct2(unit * costs, solver, relax)
    assert (other.root, other.low, other.high, other.cost) == (
        plan.root,
        plan.low,
        plan.high,
        unit * plan.cost,
    )
    assert plan.cost == costs.min(axis=2).sum(axis=0).min()


def test_a_tie_break_of_another_shape_is_refused():
    with pytest.raises(ValueError, match=r"a tie break has shape \(2, 3, 3\): it needs that of costs"):
        oct2(np.zeros((2, 4, 4)), tie_breaks=[np.zeros((2, 3, 3))])


def test_an_incumbent_is_no_optimum():
    """A tree that a solver holds when it is stopped need not be the best."""
    costs = np.ones((2, 2, 2))
    _, labels = oct2_model(costs)
    tree = np.isin(labels, [0]).all(axis=1) | (labels == [1, 0, 0]).all(axis=1)
    assert read_plan(costs, labels, Solution(tree * 1.0, 2.0, 2.0, "optimal")).root == 0
    with pytest.raises(TimeoutError, match=r"\[OCT-2\] was not solved to the end in the time given"):
        read_plan(costs, labels, Solution(tree * 1.0, 2.0, 0.0, "time limit reached"))
    with pytest.raises(KeyboardInterrupt):
        read_plan(costs, labels, Solution(tree * 1.0, 2.0, 0.0, "interrupted"))
    with pytest.raises(TimeoutError, match="relax=True, whose optimum is the same"):
        oct2(np.random.default_rng(0).random((2, 60, 60)), relax=False, time_limit=0.0)


@pytest.mark.parametrize(
    ("name", "package"), [("highs", "highspy"), ("scip", "pyscipopt"), ("gurobi", "gurobipy")]
)
def test_a_missing_solver_names_its_install_command(monkeypatch, name, package):
    monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(ImportError, match="pip install 'foretree"):
        oct2(np.zeros((2, 1, 1)), name)
    assert name in SOLVERS
    assert name not in installed()
