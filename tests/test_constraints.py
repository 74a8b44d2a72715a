"""Constraints as masks, couplings and budgets, and as sentences about a finished tree."""

import copy
import pickle
import re
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foretree.constraints import (
    AcquisitionCost,
    Constraint,
    EqualizedOddsGap,
    EqualOpportunityGap,
    FeatureBudget,
    Forbidden,
    ForcedRoot,
    Interaction,
    Monotone,
    ParityGap,
    PrecisionFloor,
    RecallFloor,
)
from foretree.constraints.masks import keep_order
from foretree.constraints.place import Columns, Finished, Place, read_columns
from foretree.constraints.reading import check_constraints, faults_of, read_wishes
from foretree.constraints.sensitive import Grouping, read_grouping
from foretree.encode import Split

NAMES = ("age", "sex", "test", "scan")
COLUMN_OF_SPLIT = np.array([0, 0, 1, 2, 3])
COLUMNS = Columns(NAMES, COLUMN_OF_SPLIT, np.array([-1, -1, 0, 1, 0]), np.array([1, 1, 0, 1, 1], bool))


def place(*path):
    return Place(COLUMNS, path)


def columns_of(path, root, child):
    """The columns that a pair at a node puts on a path, the path's included."""
    return [*path, COLUMN_OF_SPLIT[root], *([COLUMN_OF_SPLIT[child]] if child != root else [])]


def finished(*paths, weights=None):
    """A tree of leaves whose paths are given as splits and answers."""
    weights = np.ones((len(paths), 2)) if weights is None else np.array(weights, float)
    return Finished(COLUMNS, tuple(paths), weights)


@pytest.mark.parametrize("path", [(), (0,), (1, 3)])
@pytest.mark.parametrize(
    ("wish", "keeps"),
    [
        (Forbidden((("age", "scan"), ("sex", "test"))), lambda c: not ({0, 3} <= c or {1, 2} <= c)),
        (Interaction((("age", "test"), ("age", "scan", "sex"))), lambda c: c <= {0, 2} or c <= {0, 1, 3}),
        (AcquisitionCost({"test": 2.0, "scan": 5.0}, 6.0), lambda c: 2 * (2 in c) + 5 * (3 in c) <= 6),
    ],
)
def test_masks_keep_exactly_the_paths_that_keep_the_wish(wish, keeps, path):
    mask = wish.allowed(place(*path))
    for root, child in np.ndindex(5, 5):
        assert mask[:, root, child].tolist() == [keeps(set(columns_of(path, root, child)))] * 2


def test_a_pair_of_one_column_forbids_a_second_split_of_it():
    mask = Forbidden((("age", "age"),)).allowed(place())
    assert not mask[0, 0, 1]
    assert mask[0, 0, 0]
    assert mask[0, 0, 2]
    assert not Forbidden([["age", "age"]]).allowed(place(0))[0, 0].any()


def test_a_forced_root_binds_the_root_alone():
    wish = ForcedRoot("sex")
    assert np.flatnonzero(wish.allowed(place()).any(axis=(0, 2))).tolist() == [2]
    assert wish.allowed(place(1)) is None


def test_what_a_wish_does_not_speak_of_it_leaves_free():
    wish = Constraint()
    assert wish.allowed(place()) is None
    assert wish.couplings(np.ones((1, 2)), (0, 1), ("all",)) == ()
    assert wish.budget(COLUMNS) is None
    assert wish.signs(COLUMNS) is None
    assert wish.faults(finished(())) == []


def test_columns_are_found_by_name_or_in_a_nameless_table_by_number():
    with pytest.raises(ValueError, match="'agee', which the table does not have; it has 'age', 'sex'"):
        ForcedRoot("agee").allowed(place())
    nameless = read_columns(("x0", "x1"), [Split("x0", 0, "true", 1), Split("x1", 1, "true", 1)])
    assert nameless.number(1) == nameless.number("x1") == 1
    with pytest.raises(ValueError, match="the column 2"):
        nameless.number(2)
    with pytest.raises(ValueError, match="the column 1"):
        COLUMNS.number(1)
    with pytest.raises(ValueError, match=r"the column array\(\['age', 'sex'\]"):
        COLUMNS.number(np.array(["age", "sex"]))


def test_wishes_are_values():
    assert hash(AcquisitionCost({"a": 1.0, "b": 2.0}, 3)) == hash(AcquisitionCost({"b": 2.0, "a": 1.0}, 3))
    for wish in (
        ParityGap("sex", 0.1, "yes"),
        AcquisitionCost({"a": 1.0}, 3),
        Forbidden((("a", "b"),)),
        Monotone("a"),
    ):
        assert pickle.loads(pickle.dumps(wish)) == copy.deepcopy(wish) == wish
        with pytest.raises(FrozenInstanceError):
            setattr(wish, fields(wish)[0].name, 1)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: ParityGap("sex", at_most=1.5), "ParityGap: at_most=1.5 must be a share"),
        (lambda: EqualizedOddsGap("sex", at_most="small"), "at_most='small' must be a share"),
        (lambda: RecallFloor("yes", -0.1), "RecallFloor: at_least=-0.1 must be a share"),
        (lambda: PrecisionFloor("yes", True), "PrecisionFloor: at_least=True must be a share"),
        (lambda: FeatureBudget(0), "at_most=0 must be a whole number of at least 1"),
        (lambda: FeatureBudget(2.5), "at_most=2.5 must be a whole number"),
        (lambda: AcquisitionCost({"a": -1}, 2), "the cost of 'a' is -1 and must be a number of at least 0"),
        (lambda: AcquisitionCost({"a": 1}, float("nan")), "at_most is nan"),
        (lambda: AcquisitionCost({"a": 1}, 2, per="leaf"), "per='leaf' must be 'path' or 'tree'"),
        (lambda: AcquisitionCost([1, 2], 3), r"costs=\[1, 2\] must map columns to what they cost"),
        (lambda: Forbidden(None), "Forbidden: None is no list; pass lists of names"),
        (lambda: Interaction(3), "Interaction: 3 is no list; pass lists of names"),
        (lambda: Monotone("a", "up"), "direction='up' must be 'increasing' or 'decreasing'"),
        (lambda: Forbidden([("a", "b", "c")]), "is no pair"),
        (lambda: Forbidden("ab"), "'a' is one name; pass lists of names"),
        (lambda: Interaction(["age", "sex"]), "'age' is one name; pass lists of names"),
        (lambda: check_constraints("parity"), "constraints='parity' must be a list of constraints"),
        (lambda: check_constraints([ParityGap]), "which is no constraint: create it"),
        (lambda: check_constraints([0.1]), "constraints holds 0.1, which is no constraint"),
    ],
)
def test_nonsense_is_refused_when_it_is_said(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


def test_one_constraint_or_none_is_a_list_too():
    assert check_constraints(None) == ()
    assert check_constraints(FeatureBudget(2)) == (FeatureBudget(2),)


# ---- couplings


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 3))
def test_couplings_measure_what_they_are_named_for(seed, n_groups):
    rng = np.random.default_rng(seed)
    n, n_leaves = 60, 4
    group, y, leaf = rng.integers(0, n_groups, n), rng.integers(0, 2, n), rng.integers(0, n_leaves, n)
    group[:n_groups], y[:n_groups] = np.arange(n_groups), 1
    group[n_groups : 2 * n_groups], y[n_groups : 2 * n_groups] = np.arange(n_groups), 0
    label = rng.integers(0, 2, n_leaves)
    leaves = np.zeros((n_leaves, n_groups, 2))
    np.add.at(leaves, (leaf, group, y), 1.0)
    said = label[leaf] == 1
    totals = leaves.sum(axis=0)

    def values(wish):
        found = wish.couplings(totals, ("no", "yes"), "abc"[:n_groups])
        return [float(c.of_leaves(leaves)[np.arange(n_leaves), label].sum()) for c in found]

    def gaps(inside):
        shares = [said[inside & (group == g)].mean() for g in range(n_groups)]
        return [a - b for i, a in enumerate(shares) for b in shares[i + 1 :]]

    assert values(ParityGap("s", 0.1)) == pytest.approx(gaps(np.ones(n, bool)))
    assert values(ParityGap("s", 0.1, "no")) == pytest.approx([-gap for gap in gaps(np.ones(n, bool))])
    assert values(EqualOpportunityGap("s", 0.1)) == pytest.approx(gaps(y == 1))
    assert values(EqualizedOddsGap("s", 0.1)) == pytest.approx(gaps(y == 1) + gaps(y == 0))
    assert values(RecallFloor("yes", 0.5)) == pytest.approx([said[y == 1].mean()])
    precise = not said.any() or (y[said] == 1).mean() >= 0.5
    assert (values(PrecisionFloor("yes", 0.5))[0] >= -1e-12) == precise


def test_of_more_than_two_classes_each_is_compared_unless_one_is_named():
    totals = np.ones((2, 3))
    for kind in (ParityGap, EqualOpportunityGap):
        assert len(kind("s").couplings(totals, "abc", (0, 1))) == 3
        assert len(kind("s", positive="b").couplings(totals, "abc", (0, 1))) == 1
    assert len(EqualizedOddsGap("s").couplings(totals, "abc", (0, 1))) == 6


def test_an_empty_group_and_an_unknown_class_are_refused():
    with pytest.raises(ValueError, match="ParityGap: the group 'b' has no rows to compare"):
        ParityGap("s").couplings(np.array([[1.0, 2.0], [0.0, 0.0]]), (0, 1), "ab")
    with pytest.raises(ValueError, match=r"the group 'b' has no rows of \[1\] to compare"):
        EqualOpportunityGap("s").couplings(np.array([[1.0, 2.0], [3.0, 0.0]]), (0, 1), "ab")
    with pytest.raises(ValueError, match="the class 'maybe'"):
        RecallFloor("maybe", 0.5).couplings(np.ones((1, 2)), ("no", "yes"), ("all",))
    with pytest.raises(ValueError, match=r"the class array\(\[0, 1\]\)"):
        RecallFloor(np.arange(2), 0.5).couplings(np.ones((1, 2)), (0, 1), ("all",))
    with pytest.raises(ValueError, match="no row of the class 'yes' has any weight"):
        RecallFloor("yes", 0.5).couplings(np.array([[3.0, 0.0]]), ("no", "yes"), ("all",))


def wishes_of(constraints, n=12, names=NAMES):
    rng = np.random.default_rng(0)
    groupings = {
        "first": Grouping(np.arange(n) % 2, ("a", "b")),
        "second": Grouping(np.arange(n) // 4, ("p", "q", "r")),
    }
    return read_wishes(constraints, COLUMNS, (0, 1), rng.integers(0, 2, n), None, groupings.__getitem__)


def test_several_sensitive_attributes_are_counted_by_their_combinations():
    wishes = wishes_of([ParityGap("first"), RecallFloor(1, 0.5), ParityGap("second")])
    assert wishes.n_groups == 6
    assert len(wishes.couplings) == 1 + 1 + 3
    rng = np.random.default_rng(1)
    codes, said = np.random.default_rng(0).integers(0, 2, 12), rng.integers(0, 2, 12)
    counts = np.zeros((12, 6, 2))
    counts[np.arange(12), wishes.groups, codes] = 1.0
    values = [float(c.of_leaves(counts)[np.arange(12), said].sum()) for c in wishes.couplings]
    first = np.arange(12) % 2
    assert values[0] == pytest.approx(said[first == 0].mean() - said[first == 1].mean())
    assert values[1] == pytest.approx(said[codes == 1].mean())
    second = np.arange(12) // 4
    assert values[2] == pytest.approx(said[second == 0].mean() - said[second == 1].mean())


def test_what_is_missed_is_said_with_its_amount():
    wishes = wishes_of([ParityGap("first", 0.1), RecallFloor(1, 0.9), FeatureBudget(1)])
    codes = np.random.default_rng(0).integers(0, 2, 12)
    leaves = np.zeros((2, 2, 2))
    np.add.at(leaves, (np.arange(12) % 2, wishes.groups, codes), 1.0)
    tree = finished(((0, 0),), ((0, 1), (4, 1)))
    parity, recall, budget = sorted(faults_of(wishes, tree, leaves, np.array([0, 1])), key=len, reverse=True)
    assert parity == (
        "ParityGap of 'first': the share of rows said to be 1 in 'a' less that in 'b' is -1 and must be -0.1 to 0.1: "
        "it misses by 0.9."
    )
    assert "RecallFloor: the share of 1 that is said to be so is" in recall
    assert "must be at least 0.9" in recall
    assert budget == "FeatureBudget: the number of columns asked is 2 and must be at most 1."


# ---- sensitive attributes


def test_a_series_of_the_name_is_the_column():
    X, values = pd.DataFrame({"age": [1, 2, 3, 4]}), ["p", "q", "p", "p"]
    for beside in (pd.Series(values, name="sex"), pl.Series("sex", values)):
        grouping = read_grouping("sex", X, beside, 4)
        assert [grouping.labels[code] for code in grouping.codes] == values
        with pytest.raises(ValueError, match="'race' is neither in X nor"):
            read_grouping("race", X, beside, 4)
    assert read_grouping("age", X, pd.Series(values, name="sex"), 4).labels == (1, 2, 3, 4)


@pytest.mark.parametrize(
    ("beside", "sentence"),
    [
        ("sex", r"fit\(sensitive='sex'\) is a name, and data are wanted there; .*: ParityGap\('sex', ...\)"),
        ((i % 2 for i in range(4)), "was given a generator; pass an array of one group a row"),
        ({0, 1}, "was given a set; pass an array"),
        (3, "was given a int; pass an array"),
        (np.array(3), "was given a ndarray; pass an array"),
    ],
)
def test_what_holds_no_groups_is_refused(beside, sentence):
    for name in (None, "sex"):
        with pytest.raises(ValueError, match=sentence):
            read_grouping(name, np.zeros((4, 1)), beside, 4)


def test_a_name_that_is_no_name_is_not_found():
    with pytest.raises(ValueError, match="is neither in X nor"):
        read_grouping(np.array(["age"]), pd.DataFrame({"age": [1, 2]}), None, 2)


# ---- finished trees


@pytest.mark.parametrize(
    ("wish", "kept", "broken", "sentence"),
    [
        (ForcedRoot("age"), [((1, 0),), ((1, 1),)], [((2, 0),), ((2, 1),)], "no question about 'age'"),
        (
            Forbidden([("age", "sex")]),
            [((1, 0),), ((1, 1), (3, 0))],
            [((1, 1), (2, 0))],
            "'age' and 'sex' stand",
        ),
        (Forbidden([("age", "age")]), [((1, 0), (2, 0))], [((1, 1), (0, 0))], "'age' and 'age' stand"),
        (
            Interaction([("age", "sex")]),
            [((0, 0), (2, 1))],
            [((0, 0), (3, 1))],
            r"no group holds \['age', 'test'\]",
        ),
        (
            AcquisitionCost({"age": 3, "sex": 2}, 4),
            [((0, 0), (1, 1))],
            [((0, 0), (2, 1))],
            "costs 5 and may cost 4",
        ),
        (
            AcquisitionCost({"age": 3, "sex": 2}, 4, per="tree"),
            [((0, 0),), ((0, 1), (1, 0))],
            [((3, 0), (2, 1)), ((3, 1), (1, 0))],
            "columns asked cost is 5 and must be at most 4",
        ),
        (FeatureBudget(2), [((0, 0), (2, 1)), ((0, 1),)], [((0, 0), (2, 1)), ((0, 1), (3, 0))], "asked is 3"),
    ],
)
def test_a_finished_tree_is_judged_by_its_questions(wish, kept, broken, sentence):
    assert wish.faults(finished(*kept)) == []
    (fault,) = wish.faults(finished(*broken))
    assert fault.startswith(type(wish).__name__)
    assert re.search(sentence, fault)


def test_a_finished_tree_is_judged_by_the_order_of_its_leaves():
    rising = finished(((0, 1),), ((0, 0),), weights=[[3, 1], [1, 3]])
    assert Monotone("age").faults(rising) == []
    assert "not decreasing in 'age'" in Monotone("age", "decreasing").faults(rising)[0]


def test_monotone_needs_a_column_with_an_order():
    with pytest.raises(ValueError, match="'sex' is not asked by thresholds"):
        Monotone("sex").signs(COLUMNS)
    with pytest.raises(ValueError, match="'scan' is not asked by thresholds"):
        Monotone("scan").signs(COLUMNS)
    assert Monotone("age").signs(COLUMNS).tolist() == [-1, -1, 0, 0, 0]
    assert Monotone("test", "decreasing").signs(COLUMNS).tolist() == [0, 0, 0, -1, 0]
    with pytest.raises(ValueError, match="both increasing and decreasing"):
        wishes_of([Monotone("age"), Monotone("age", "decreasing")])
    with pytest.raises(ValueError, match="Monotone orders the shares of leaves and RecallFloor decides"):
        wishes_of([Monotone("age"), RecallFloor(1, 0.5)])


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([(0.0, 1.0), (0.3, 0.8)]))
def test_the_order_of_pairs_is_checked_cell_by_cell(seed, between):
    rng = np.random.default_rng(seed)
    p, n = 4, 25
    X, y = rng.integers(0, 2, (n, p)), rng.integers(0, 2, n)
    signs = rng.integers(-1, 2, p)
    cells = np.zeros((2, 2, p, p, 2))
    for r, s, j, k in np.ndindex(2, 2, p, p):
        np.add.at(cells[r, s, j, k], y[(X[:, j] == r) & (X[:, k] == s)], 1.0)
    mask = keep_order(cells, signs, between)

    def share(rows):
        return y[rows].mean() if rows.any() else None

    for j in range(p):
        branches = [share(X[:, j] == r) for r in (0, 1)]
        if None in branches:
            continue
        for r, k in np.ndindex(2, p):
            least, most = between
            middle = sum(branches) / 2
            above = (signs[j] > 0) == (r == 1)
            if signs[j] and above:
                least = max(least, middle)
            elif signs[j]:
                most = min(most, middle)
            leaves = [share((X[:, j] == r) & (X[:, k] == s)) for s in (0, 1)]
            there = [leaf for leaf in leaves if leaf is not None]
            want = all(least <= leaf <= most for leaf in there)
            want &= signs[j] * (branches[1] - branches[0]) >= 0
            want &= len(there) < 2 or signs[k] * (leaves[1] - leaves[0]) >= 0
            assert mask[r, j, k] == want
