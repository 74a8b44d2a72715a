"""What the encoder says to tables it cannot use, and what it answers to values it has not seen."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from foretree.encode import NoSplitError, SplitEncoder

NUMBERS = pd.DataFrame({"age": [1, 2, 3], "job": ["a", "b", "c"]})


def says(kind, *parts):
    """Expect an error of one kind that contains all parts, in their order."""
    return pytest.raises(kind, match="(?s)" + ".*".join(parts))


@pytest.mark.parametrize(
    ("X", "kind", "parts"),
    [
        ([1, 2, 3], ValueError, ["1D array", "Reshape your data"]),
        (pd.Series([1, 2]), ValueError, ["1D array", "Reshape your data"]),
        (np.zeros((2, 2, 2)), ValueError, ["dim 3", "rows by columns"]),
        (None, ValueError, ["NoneType", "no table"]),
        ({"a": [1, 2]}, ValueError, ["dict", "no table", "data frame"]),
        ([[1, 2], [3]], ValueError, ["same number of values"]),
        (np.zeros((0, 3)), ValueError, ["0 sample", r"\(0, 3\)"]),
        (pd.DataFrame({"a": []}), ValueError, ["0 sample"]),
        (pd.DataFrame(index=[1, 2]), ValueError, ["0 feature"]),
        (sparse.csr_matrix(np.eye(3)), TypeError, ["[Ss]parse", "toarray"]),
        (sparse.coo_array(np.eye(3)), TypeError, ["[Ss]parse", "toarray"]),
        (pl.LazyFrame({"a": [1]}), TypeError, ["lazy", r"X\.collect\(\)"]),
        (np.array([[1j], [2]]), ValueError, ["Complex data not supported", "x0"]),
        (np.array([[b"a"], [b"b"]]), TypeError, ["'x0'", "S1", "convert"]),
        ([[10**400], [1]], ValueError, ["'x0'", "1.8e308", "scale"]),
        ([["a"], [2]], TypeError, ["'x0'", "'a'", "2", "argument must be", "string", "number"]),
        ([[{}], [2]], TypeError, ["'x0'", "dict", "drop it"]),
        ([["a"]] * 200 + [[{}]], TypeError, ["'x0'", "'a'", "dict"]),
        ([["a"], [2.5], [float("nan")]], TypeError, ["'x0'", "'a'", "2.5"]),
        ([[1, 1], [1, 1]], NoSplitError, ["No column", "vary"]),
        ([[1, 2]], NoSplitError, ["1 sample"]),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), ValueError, ["'a'", "more than once", "own name"]),
        (pa.table([[1, 2], [1, 2]], names=["a", "a"]), ValueError, ["'a'", "more than once"]),
        (pd.DataFrame([[1, 2]], columns=["a", 3]), TypeError, ["3", "strings", "astype"]),
        (pl.DataFrame({"a": [[1], [2]]}), TypeError, ["'a'", "List", "convert"]),
        (pl.DataFrame({"a": [dt.time(1), dt.time(2)]}), TypeError, ["'a'", "[Tt]ime", "convert"]),
        (pd.DataFrame({"a": pd.period_range("2020", periods=2)}), TypeError, ["'a'", "period", "convert"]),
    ],
)
def test_what_is_no_usable_table(X, kind, parts):
    with says(kind, *parts):
        SplitEncoder().fit(X)


@pytest.mark.parametrize("X", [[[1.0, 2], [3, np.inf]], pd.DataFrame({"x0": [1, 2], "x1": [2, -np.inf]})])
def test_infinity_is_named_with_its_column_and_row(X):
    with says(ValueError, "'x1'", "inf in row 1", "NaN"):
        SplitEncoder().fit(X)
    encoder = SplitEncoder().fit([[1.0, 2], [3, 4], [5, 6]])
    with says(ValueError, "'x1'", "inf in row 1", "NaN"):
        encoder.transform(np.asarray(X))
    with says(ValueError, "'x0'", "inf in row 1;"):
        encoder.transform([[0, 0], [np.inf, 0], [0, np.inf], [np.inf, 0]])
    with says(ValueError, "'x0'", "inf in row 0;"):
        SplitEncoder().fit([[np.inf, 1], [np.inf, 2]])
    with says(ValueError, "'x1'", "inf in row 20000"):
        encoder.transform(np.vstack([np.zeros((20_000, 2)), [[0, np.inf]]]))
    mixed = SplitEncoder().fit(pd.DataFrame({"t": ["a", "b"], "n": [1.0, 2.0]}))
    with says(ValueError, "'n'", "inf in row 20000"):
        mixed.transform(pd.DataFrame({"t": ["a"] * 20_001, "n": [0.0] * 20_000 + [np.inf]}))


@pytest.mark.parametrize(
    "parameters",
    [{"scheme": "x"}, {"missing": "no"}, {"max_bins": 1}, {"max_bins": 2.5}, {"min_category_size": -1}],
)
def test_a_parameter_is_named_with_its_value(parameters):
    ((name, value),) = parameters.items()
    with says(ValueError, f"{name}={value!r}"):
        SplitEncoder(**parameters).fit(NUMBERS)


@pytest.mark.parametrize("weight", [[1, 2], [1, 1, -1], [0, 0, 0], [1, 1, np.nan]])
def test_weights_must_be_usable(weight):
    with says(ValueError, "sample_weight"):
        SplitEncoder().fit_pack(NUMBERS, sample_weight=weight)


@pytest.mark.parametrize("splits", [[-1], [99], [0.5], [True, False], [[0]]])
def test_splits_must_be_split_numbers(splits):
    with says(ValueError, "splits must be a list"):
        SplitEncoder().fit(NUMBERS).pack(NUMBERS, splits=splits)


@pytest.mark.parametrize(
    ("later", "parts"),
    [
        ({"age": ["old"] * 2, "job": ["a"] * 2}, ["'age'", "numbers", "such as 1", "text", "'old'"]),
        ({"age": [1, 2], "job": [7, 8]}, ["'job'", "text", "'a'", "numbers", "such as 7", "fit again"]),
        ({"age": [1, 2], "job": [dt.date(2020, 1, 1)] * 2}, ["'job'", "dates", "2020-01-01"]),
    ],
)
def test_a_column_of_another_kind_is_named_with_examples(later, parts):
    encoder = SplitEncoder().fit(NUMBERS)
    with says(TypeError, *parts):
        encoder.transform(pd.DataFrame(later))


def test_a_missing_column_is_named_and_one_of_similar_name_pointed_out():
    encoder = SplitEncoder().fit(NUMBERS)
    with says(ValueError, "lacks the column 'job'", "'Job' is there"):
        encoder.transform(NUMBERS.rename(columns={"job": "Job"}))
    with says(ValueError, "lacks the column 'age'"):
        encoder.pack(NUMBERS[["job"]], splits=[encoder.n_splits_ - 1])


def test_extra_and_reordered_columns_are_matched_by_name():
    encoder = SplitEncoder().fit(NUMBERS)
    later = NUMBERS.assign(extra=[[1], [2], [3]])[["job", "extra", "age"]]
    np.testing.assert_array_equal(encoder.transform(later), encoder.transform(NUMBERS))


def test_columns_nobody_asks_about_are_not_even_read():
    encoder = SplitEncoder().fit(NUMBERS)
    about_age = [j for j, split in enumerate(encoder.splits_) if split.column == "age"]
    later = NUMBERS.assign(job=[1, 2, 3])
    expected = encoder.transform(NUMBERS)[:, about_age]
    packed = encoder.pack(later, splits=about_age)
    np.testing.assert_array_equal((packed.words[:, [0]] >> np.array(about_age, np.uint32)) & 1, expected)


def test_places_count_where_one_of_the_tables_has_no_names():
    named = SplitEncoder().fit(NUMBERS)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        answers = named.transform(NUMBERS.to_numpy())
    np.testing.assert_array_equal(answers, named.transform(NUMBERS))
    unnamed = SplitEncoder().fit(NUMBERS.to_numpy())
    with pytest.warns(UserWarning, match="fitted without feature names"):
        np.testing.assert_array_equal(unnamed.transform(NUMBERS), answers)
    with says(ValueError, "X has 1 features, but SplitEncoder is expecting 2 features as input"):
        unnamed.transform([[1]])


def test_values_never_seen_have_defined_answers():
    training = pd.DataFrame({"age": [20, 30, 40], "job": ["a", "b", "c"], "flag": [0, 1, 1]})
    encoder = SplitEncoder().fit(training)
    assert [str(split) for split in encoder.splits_] == [
        "age <= 25",
        "age <= 35",
        "job = a",
        "job = b",
        "job = c",
        "flag = 1",
    ]
    later = pd.DataFrame({"age": [-5, 500, None], "job": ["z", None, "b"], "flag": [2, None, 0.5]})
    np.testing.assert_array_equal(
        encoder.transform(later), [[1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 0, 0]]
    )


def test_a_column_with_nothing_but_missing_values_fits_any_kind():
    encoder = SplitEncoder().fit(NUMBERS)
    for nothing in ([None, None], [np.nan, np.nan], pd.array([None, None], "string"), [pd.NaT, pd.NaT]):
        later = pd.DataFrame({"age": nothing, "job": nothing})
        assert not encoder.transform(later).any()
    hot = SplitEncoder(scheme="onehot").fit(pd.DataFrame({"a": [None, None], "b": [1, 2]}))
    assert [str(split) for split in hot.splits_] == ["a is missing", "b = 2"]
    np.testing.assert_array_equal(
        hot.transform(pd.DataFrame({"a": ["text", None], "b": [3, 2]})), [[0, 0], [1, 1]]
    )


def test_times_beyond_the_calendar_are_refused():
    beyond = np.array([["20000-01-01"], ["20001-01-01"]], "M8[D]")
    with says(ValueError, "'x0'", "years 1 to 9999"):
        SplitEncoder().fit(beyond)
