"""Column types of pandas, polars and Arrow beyond those that plain Python values have."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from foretree.encode import SplitEncoder

CELLS = {
    "n": [1, 2, None, 2],
    "b": [True, None, False, True],
    "t": ["x", None, "y", "x"],
    "f": [0.5, None, 1.5, 0.5],
}
ASKED = [
    "n <= 1.5",
    "n is missing",
    "b is true",
    "b is missing",
    "t = x",
    "t = y",
    "t is missing",
    "f <= 1",
    "f is missing",
]
ANSWERS = [
    [1, 0, 1, 0, 1, 0, 0, 1, 0],
    [0, 0, 0, 1, 0, 0, 1, 0, 1],
    [0, 1, 0, 0, 0, 1, 0, 0, 0],
    [0, 0, 1, 0, 1, 0, 0, 1, 0],
]


def arrow():
    return pa.table(CELLS)


@pytest.mark.parametrize(
    "form",
    [
        pytest.param(lambda: pd.DataFrame(CELLS).convert_dtypes(), id="pandas nullable"),
        pytest.param(lambda: pd.DataFrame(CELLS, dtype=object), id="pandas object"),
        pytest.param(lambda: arrow().to_pandas(types_mapper=pd.ArrowDtype), id="pandas on Arrow"),
        pytest.param(lambda: pd.DataFrame(CELLS).astype({"t": "category"}), id="pandas category"),
        pytest.param(
            lambda: pl.DataFrame(CELLS).cast({"t": pl.Categorical}).to_arrow(), id="Arrow from polars"
        ),
        pytest.param(
            lambda: (
                pl.DataFrame(CELLS)
                .cast({"t": pl.Categorical})
                .to_arrow()
                .to_pandas(types_mapper=pd.ArrowDtype)
            ),
            id="pandas on Arrow with dictionaries",
        ),
        pytest.param(lambda: pl.DataFrame(CELLS).cast({"t": pl.Categorical}), id="polars categorical"),
        pytest.param(
            lambda: pl.DataFrame(CELLS).cast({"f": pl.Decimal(9, 2), "n": pl.UInt8}), id="polars decimal"
        ),
        pytest.param(arrow, id="Arrow"),
        pytest.param(lambda: pa.concat_tables([arrow()[:2], arrow()[2:], arrow()[:0]]), id="Arrow in chunks"),
        pytest.param(
            lambda: pa.concat_tables(
                [
                    part.set_column(2, "t", part["t"].dictionary_encode())
                    for part in (arrow()[:2], arrow()[2:])
                ]
            ),
            id="Arrow dictionaries",
        ),
    ],
)
def test_every_way_to_store_a_table_is_read_the_same(form):
    encoder = SplitEncoder().fit(pl.DataFrame(CELLS))
    np.testing.assert_array_equal(encoder.transform(form()), ANSWERS)
    again = SplitEncoder()
    np.testing.assert_array_equal(again.fit_transform(form()), ANSWERS)
    assert again.get_feature_names_out().tolist() == ASKED


ORDER = ["small", "medium", "large", "huge"]
SIZES = ["small", "large", None, "medium", "small"]


@pytest.mark.parametrize(
    "sizes",
    [
        pd.DataFrame({"size": pd.Categorical(SIZES, ORDER, ordered=True)}),
        pl.DataFrame({"size": SIZES}, schema={"size": pl.Enum(ORDER)}),
        pa.table({"size": pa.DictionaryArray.from_arrays([0, 2, None, 1, 0], ORDER, ordered=True)}),
        pa.table(
            {
                "size": pa.DictionaryArray.from_arrays(
                    pa.array([0, 2, None, 1, 0], pa.uint8()), ORDER, ordered=True
                )
            }
        ),
        pa.table({"size": pa.DictionaryArray.from_arrays([0, 2, None, 1, 0], ORDER, ordered=True)}).to_pandas(
            types_mapper=pd.ArrowDtype
        ),
    ],
    ids=["pandas", "polars", "Arrow", "Arrow with unsigned indices", "pandas on Arrow"],
)
def test_ordered_categories_are_cut_in_their_order(sizes):
    encoder = SplitEncoder().fit(sizes)
    assert [(str(s), s.negated, s.order) for s in encoder.splits_[:2]] == [
        ("size <= small", "size > small or missing", tuple(ORDER)),
        ("size <= medium", "size > medium or missing", tuple(ORDER)),
    ]
    later = pd.DataFrame({"size": ["huge", "medium", "unheard of", None]})
    np.testing.assert_array_equal(encoder.transform(later), [[0, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 1]])
    hot = SplitEncoder(scheme="onehot").fit(sizes)
    assert hot.get_feature_names_out().tolist() == [
        "size = small",
        "size = medium",
        "size = large",
        "size is missing",
    ]
    coarse = SplitEncoder(max_bins=2, missing="mode").fit(sizes)
    assert coarse.get_feature_names_out().tolist() == ["size <= small or missing"]


def test_categories_of_other_things_than_text():
    table = pd.DataFrame({"n": pd.Categorical([3, 1, None, 2]), "i": pd.cut([1, 5, 9, 9], [0, 2, 6, 10])})
    encoder = SplitEncoder().fit(table)
    assert encoder.get_feature_names_out().tolist() == [
        "n = 1",
        "n = 2",
        "n = 3",
        "n is missing",
        "i <= (0, 2]",
        "i <= (2, 6]",
    ]


def test_objects_are_read_by_their_values():
    day = dt.date(2020, 1, 1)
    rows = [
        [Decimal("1.5"), day, dt.timedelta(1), dt.datetime(2020, 1, 1, tzinfo=dt.UTC), np.float32(1), None],
        [None, None, pd.NaT, None, pd.NA, None],
        [2, dt.datetime(2020, 1, 3), dt.timedelta(3), dt.datetime(2020, 1, 5, tzinfo=dt.UTC), True, None],
        [float("nan"), np.datetime64("2020-01-05"), np.timedelta64(5, "D"), pd.NaT, 5, None],
    ]
    encoder = SplitEncoder().fit(rows)
    asked = [str(split) for split in encoder.splits_ if split.kind != "missing"]
    assert asked == [
        "x0 <= 1.75",
        "x1 <= 2020-01-02",
        "x1 <= 2020-01-04",
        "x2 <= 2 days, 0:00:00",
        "x2 <= 4 days, 0:00:00",
        "x3 <= 2020-01-03 UTC",
        "x4 <= 3",
    ]


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/New_York", "Etc/GMT+3"])
def test_zones_of_any_name_are_read_in_utc(zone):
    times = pd.to_datetime(["2020-01-01", "2020-01-03", None], utc=True)
    table = pd.DataFrame({"at": times.tz_convert(zone)})
    for form in (table, pl.from_pandas(table), pa.Table.from_pandas(table)):
        encoder = SplitEncoder().fit(form)
        assert encoder.get_feature_names_out().tolist() == ["at <= 2020-01-02 UTC", "at is missing"]
        np.testing.assert_array_equal(encoder.transform(table), [[1, 0], [0, 0], [0, 1]])


def test_times_with_and_without_a_zone_are_two_kinds():
    times = [dt.datetime(2020, 1, 1, tzinfo=dt.UTC), pd.NaT, dt.datetime(2021, 1, 1)]
    for column in (times, times[::-1]):
        with pytest.raises(
            TypeError, match=r"Column 'at' holds '2020-01-01 00:00:00\+00:00' \(with a time zone\) and '2021"
        ):
            SplitEncoder().fit(pd.DataFrame({"at": column}, dtype=object))


@pytest.mark.skipif(not hasattr(pl, "Int128"), reason="this polars has no integers of 128 bits")
def test_integers_of_128_bits():
    table = pl.DataFrame({"n": [2**100, None, 2**90]}, schema={"n": pl.Int128})
    np.testing.assert_array_equal(SplitEncoder().fit_transform(table), [[0, 0], [0, 1], [1, 0]])


def test_columns_without_string_names_are_numbered():
    table = pd.DataFrame([[1, "a"], [2, "b"]])
    assert SplitEncoder().fit(table).get_feature_names_out().tolist() == ["x0 <= 1.5", "x1 = b"]


def test_columns_of_nulls_and_of_numpy_text():
    nulls = pa.table({"nothing": pa.nulls(2), "n": [1, 2]})
    assert SplitEncoder().fit(nulls).get_feature_names_out().tolist() == ["n <= 1.5"]
    words = np.array([[np.str_("a")], [np.str_("b")], [None]], dtype=object)
    assert SplitEncoder().fit(words).get_feature_names_out().tolist() == ["x0 = a", "x0 = b", "x0 is missing"]


def test_lists_keep_the_type_of_each_column():
    encoder = SplitEncoder().fit([[1, "a", 0], [2, "b", 1], [3, "b", 1]])
    assert encoder.get_feature_names_out().tolist() == ["x0 <= 1.5", "x0 <= 2.5", "x1 = b", "x2 = 1"]


def test_arrays_of_text_times_and_hidden_values():
    assert SplitEncoder().fit(np.array([["a"], ["b"], ["c"]])).n_splits_ == 3
    times = SplitEncoder().fit(np.array([["2020-01-01T10:00:00"], ["2020-01-01T12:00:00"], ["NaT"]], "M8[s]"))
    assert times.get_feature_names_out().tolist() == ["x0 <= 2020-01-01 11:00:00", "x0 is missing"]
    spans = SplitEncoder().fit(np.array([[1], [5]], "m8[h]"))
    assert spans.get_feature_names_out().tolist() == ["x0 <= 3:00:00"]
    masked = SplitEncoder().fit(np.ma.MaskedArray([[1.0], [2.0], [3.0]], [[0], [1], [0]]))
    assert masked.get_feature_names_out().tolist() == ["x0 <= 2", "x0 is missing"]


def test_whole_numbers_that_floats_cannot_tell_apart_count_as_equal():
    for X in ([[2**60], [2**60 + 1], [2**62]], pa.table({"x0": [2**60, 2**60 + 1, 2**62]})):
        encoder = SplitEncoder().fit(X)
        assert encoder.n_splits_ == 1
        assert encoder.transform(X).ravel().tolist() == [1, 1, 0]
    with_null = pa.table({"x0": [2**60, None, 2**62]})
    assert SplitEncoder().fit(with_null).get_feature_names_out()[1] == "x0 is missing"


def test_rare_categories_are_pooled_and_two_cells_need_one_question():
    table = pd.DataFrame({"t": [*"aaabbcd"], "u": [*"aaaabbb"], "v": [*"aaaaaa", None]})
    assert SplitEncoder(min_category_size=2).fit(table).get_feature_names_out().tolist() == [
        "t = a",
        "t = b",
        "u = b",
        "v is missing",
    ]
