import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretree.targets import read_class_weights, read_classes, read_row_weights


@pytest.mark.parametrize(
    "labels",
    [
        [2, 0, 2, 1],
        np.array([7, 3, 7], np.uint8),
        np.array([-5, 900, 3], np.int16),
        np.array([-128, 127], np.int8),
        [10**12, -(10**12), 0],
        [True, False, True],
        [1.0, 3.0, 1.0],
        ["b", "a", "b"],
        np.array(["b", "a", "c"], object),
        pd.Series(["x", "y", "x"]),
        pd.Series(["x", "y", "x"], dtype="category"),
        np.array([2**64 - 1, 0, 5], np.uint64),
        np.array([2**64 - 1, 2**64 - 2], np.uint64),
    ],
    ids=str,
)
def test_classes_are_those_of_numpy(labels):
    classes, codes = read_classes(labels, len(labels))
    want, want_codes = np.unique(np.asarray(labels), return_inverse=True)
    assert classes.tolist() == want.tolist()
    assert classes.dtype == want.dtype
    assert codes.tolist() == want_codes.tolist()
    assert codes.dtype == np.int64


@given(st.lists(st.integers(-600, 600), min_size=2, max_size=30).filter(lambda labels: len(set(labels)) > 1))
def test_small_and_wide_ranges_of_labels(labels):
    classes, codes = read_classes(np.array(labels), len(labels))
    want, want_codes = np.unique(labels, return_inverse=True)
    np.testing.assert_array_equal(classes, want)
    np.testing.assert_array_equal(codes, want_codes)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (None, "requires y to be passed, but the target y is None"),
        ([0, 1], "X has 3 rows but y has 2; inconsistent numbers of samples"),
        ([[0, 1], [1, 0], [1, 1]], r"y should be a 1d array, got an array of shape \(3, 2\) instead"),
        ([1, 1, 1], "y holds one class only, 1; a classifier needs rows of at least two classes"),
        (["no", "no", "no"], "y holds one class only, 'no'"),
        ([0.0, np.nan, 1.0], r"Input y contains NaN or infinity \(row 1 is nan\)"),
        ([0.0, 1.0, -np.inf], r"Input y contains NaN or infinity \(row 2 is -inf\)"),
        ([0.5, 1.25, 1.0], "continuous"),
        (np.array(["a", None, "b"], object), r"Input y contains NaN or None \(first in row 1\)"),
        (np.array(["a", "b", np.nan], object), r"Input y contains NaN or None \(first in row 2\)"),
        (pd.Series(["a", None, "b"], dtype="string"), r"Input y contains NaN or None \(first in row 1\)"),
        (pd.to_datetime(["2020-01-01", "2021-01-01", None]), r"Input y contains NaT \(first in row 2\)"),
        (pd.to_timedelta([None, 1, 2]), r"Input y contains NaT \(first in row 0\)"),
        (np.array([True, False, True], object), r"y holds True \(bool\) as a Python .* y.astype\(bool\)"),
        (np.array([0.5, 1.0, 1.0], object), r"y holds 0.5 \(float\) as a Python .* y.astype\(str\)"),
        ([0.5, 1.25, 1.0], r"y holds numbers such as 0.5; give every row one of a few labels"),
    ],
)
def test_labels_that_mean_nothing(labels, message):
    with pytest.raises(ValueError, match=message):
        read_classes(labels, 3)


@pytest.mark.parametrize("kind", [bytes, object])
def test_labels_of_bytes(kind):
    with pytest.raises(TypeError, match=r"y holds bytes, .* decode them, as in y.astype\(str\)"):
        read_classes(np.array([b"a", b"b", b"a"], kind), 3)


def test_labels_of_several_types():
    with pytest.raises(
        ValueError, match=r"y mixes labels that cannot be ordered \(int, str\); give all labels one"
    ):
        read_classes(np.array(["a", 1, "b"], object), 3)


# ---- weights

TABLE = np.zeros((3, 2))


@pytest.mark.parametrize("weights", [None, 1, 1.0, [1, 1, 1], np.ones(3, np.float32)])
def test_weights_that_are_all_one_are_none(weights):
    assert read_row_weights(weights, TABLE) is None


@pytest.mark.parametrize(
    "weights", [[2, 0, 1], (0.5, 0.25, 0), np.array([3, 1, 2], np.uint8), pd.Series([1, 2, 3])]
)
def test_weights_are_floats(weights):
    got = read_row_weights(weights, TABLE)
    assert got.dtype == np.float64
    assert got.tolist() == list(map(float, weights))


def test_one_weight_for_all():
    assert read_row_weights(2.5, TABLE).tolist() == [2.5, 2.5, 2.5]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 2], r"sample_weight has shape \(2,\), but X has 3 rows"),
        ([[1], [2], [3]], r"sample_weight has shape \(3, 1\)"),
        (["a", "b", "c"], "sample_weight holds something that is not a number"),
        ([1, np.nan, 2], "sample_weight of row 1 is nan; weights must be finite numbers"),
        ([1, 2, np.inf], "sample_weight of row 2 is inf"),
        ([1, -0.5, 2], "sample_weight of row 1 is -0.5; weights must not be negative"),
        ([0, 0, 0], "sample_weight is zero for every row, so there is nothing to learn from"),
        (
            [1e308, 1e308, 1],
            "sample_weight adds up to inf over all rows, .* multiply all weights by the same",
        ),
        ([1e-200, 0, 0], "sample_weight adds up to 1e-200 over all rows"),
    ],
)
def test_weights_that_mean_nothing(weights, message):
    with pytest.raises(ValueError, match=message):
        read_row_weights(weights, TABLE)


CLASSES = np.array(["a", "b", "c"])
CODES = np.array([0, 0, 0, 1, 1, 2])


def test_factors_of_classes():
    assert read_class_weights(None, CLASSES, CODES, None).tolist() == [1, 1, 1]
    assert read_class_weights({"b": 3, "a": 0}, CLASSES, CODES, None).tolist() == [0, 3, 1]
    np.testing.assert_allclose(read_class_weights("balanced", CLASSES, CODES, None), [6 / 9, 1, 2])


def test_balanced_classes_weigh_the_same():
    weights = np.array([1.0, 0.5, 2, 7, 0, 3])
    factors = read_class_weights("balanced", CLASSES, CODES, weights)
    totals = np.bincount(CODES, weights * factors[CODES])
    np.testing.assert_allclose(totals, weights.sum() / 3)
    # A class whose rows weigh nothing takes no share.
    weights[5] = 0
    factors = read_class_weights("balanced", CLASSES, CODES, weights)
    np.testing.assert_allclose(np.bincount(CODES, weights * factors[CODES]), [10.5 / 2, 10.5 / 2, 0])
    assert factors[2] == 1


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ("even", "class_weight='even' is unknown; use 'balanced', a dict from class to weight, or None"),
        ([1, 2, 3], r"class_weight=\[1, 2, 3\] must be 'balanced', a dict from class to weight, or None"),
        ({"d": 1}, r"class_weight names the class 'd', which y lacks; its classes are \['a', 'b', 'c'\]"),
        ({"a": -1}, "must give finite weights of at least 0"),
        ({"a": np.inf}, "must give finite weights of at least 0"),
        ({"a": 0, "b": 0, "c": 0}, "and not 0 to every class"),
        ({"a": "much"}, "class_weight={'a': 'much'} must give each class a number"),
    ],
)
def test_factors_that_mean_nothing(class_weight, message):
    with pytest.raises(ValueError, match=message):
        read_class_weights(class_weight, CLASSES, CODES, None)
