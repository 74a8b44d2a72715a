import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foretree.constraints import (
    AcquisitionCost,
    EqualizedOddsGap,
    EqualOpportunityGap,
    Forbidden,
    ForcedRoot,
    Interaction,
    ParityGap,
    Place,
    PrecisionFloor,
    RecallFloor,
    allowed_pairs,
    broken,
)

NAMES = ("age", "sex", "test", "scan")
COLUMN_OF_SPLIT = np.array([0, 0, 1, 2, 3])


def place(*path):
    return Place(NAMES, COLUMN_OF_SPLIT, path)


def columns_of(path, root, child):
    """The columns that a pair at a node puts on a path, the path's included."""
    return [*path, COLUMN_OF_SPLIT[root], *([COLUMN_OF_SPLIT[child]] if child != root else [])]


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
    assert mask[0, 0, 2]


def test_a_forced_root_binds_the_root_alone():
    wish = ForcedRoot("sex")
    assert np.flatnonzero(wish.allowed(place()).any(axis=(0, 2))).tolist() == [2]
    assert wish.allowed(place(1)).all()


def test_wishes_are_kept_together():
    both = allowed_pairs([ForcedRoot("age"), Forbidden((("age", "scan"),))], place())
    assert both[0, 1, 3]
    assert not both[0, 1, 4]
    assert not both[0, 2, 3]


def test_a_column_that_is_not_there_is_named():
    with pytest.raises(ValueError, match="'agee', which the table does not have"):
        ForcedRoot("agee").allowed(place())


def test_equal_costs_hash_alike():
    assert hash(AcquisitionCost({"a": 1.0, "b": 2.0}, 3)) == hash(AcquisitionCost({"b": 2.0, "a": 1.0}, 3))


def share(inside, said):
    return said[inside].mean()


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
        found = wish.couplings(totals, ("no", "yes"))
        return [float(c.of_leaves(leaves)[np.arange(n_leaves), label].sum()) for c in found]

    def gaps(inside):
        shares = [share(inside & (group == g), said) for g in range(n_groups)]
        return [a - b for i, a in enumerate(shares) for b in shares[i + 1 :]]

    assert values(ParityGap("s", "yes", 0.1)) == pytest.approx(gaps(np.ones(n, bool)))
    assert values(EqualOpportunityGap("s", "yes", 0.1)) == pytest.approx(gaps(y == 1))
    assert values(EqualizedOddsGap("s", "yes", 0.1)) == pytest.approx(gaps(y == 1) + gaps(y == 0))
    assert values(RecallFloor("yes", 0.5)) == pytest.approx([share(y == 1, said)])
    precise = not said.any() or share(said, y == 1) >= 0.5
    assert (values(PrecisionFloor("yes", 0.5))[0] >= -1e-12) == precise


def test_what_is_broken_is_said_with_its_amount():
    leaves = np.array([[[0, 4], [3, 1]], [[2, 0], [0, 2]]], float)
    couplings = ParityGap("s", 1, 0.2).couplings(leaves.sum(axis=0), (0, 1))
    # leaf 0 says 1: all 4 of group 0's 6 rows there, 4 of group 1's 6
    assert broken(couplings, leaves, np.array([1, 0])) == []
    sentence = broken(couplings, leaves[:1], np.array([1]))
    assert sentence == []
    (missed,) = broken(couplings, leaves * [[[1], [0]]], np.array([1, 0]))
    assert missed == (
        "ParityGap of groups 0 and 1 is 0.6667 and must lie in [-0.2, 0.2]: it misses by 0.4667."
    )


def test_an_empty_group_and_an_unknown_class_are_refused():
    with pytest.raises(ValueError, match="group 1 has no training row"):
        ParityGap("s", 1, 0.1).couplings(np.array([[1.0, 2.0], [0.0, 0.0]]), (0, 1))
    with pytest.raises(ValueError, match="the class 'maybe'"):
        RecallFloor("maybe", 0.5).couplings(np.ones((1, 2)), ("no", "yes"))
