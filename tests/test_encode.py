"""Packed answers against a slow twin that asks every question of every original value."""

import contextlib
import datetime as dt
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from foretree import LookaheadTreeClassifier
from foretree.encode import NoSplitError, PackedRows, SplitEncoder, unpack

KINDS = ("whole", "float", "zero_one", "bool", "text", "date", "datetime", "moment", "duration")
UTC = dt.UTC

values_of = {
    "whole": st.integers(-(2**40), 2**40) | st.integers(0, 9),
    "float": st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([0.0, -0.0, 0.5, 1 / 3, 5e-324]),
    "zero_one": st.integers(0, 1),
    "bool": st.booleans(),
    "text": st.sampled_from(["", " a", "a", "b", "é", "Z", "long label"]) | st.text("aé ", max_size=3),
    "date": st.dates(),
    "datetime": st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2250, 1, 1)),
    "moment": st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2250, 1, 1), timezones=st.just(UTC)),
    "duration": st.timedeltas(dt.timedelta(days=-40_000), dt.timedelta(days=40_000)),
}
polars_types = {
    "whole": pl.Int64,
    "float": pl.Float64,
    "zero_one": pl.Int8,
    "bool": pl.Boolean,
    "text": pl.String,
    "date": pl.Date,
    "datetime": pl.Datetime("us"),
    "moment": pl.Datetime("us", "UTC"),
    "duration": pl.Duration("us"),
}


@st.composite
def columns(draw, n_rows, kinds=KINDS):
    """A list of values of one kind, few or many distinct ones, perhaps some missing."""
    kind = draw(st.sampled_from(kinds))
    pool = draw(st.lists(values_of[kind], min_size=1, max_size=draw(st.sampled_from([1, 2, 3, 12]))))
    pool = [*pool, None] if draw(st.booleans()) else pool
    picks = np.random.default_rng(draw(st.integers(0, 99))).integers(len(pool), size=n_rows)
    return kind, [pool[i] for i in picks]


@st.composite
def tables(draw, n_tables=1):
    """Tables {name: values} with the same column kinds, and the kinds."""
    n_rows = draw(st.integers(2, 30))
    n_columns = draw(st.integers(1, 3))
    training = [draw(columns(n_rows)) for _ in range(n_columns)]
    kinds = {f"c{i}": kind for i, (kind, _) in enumerate(training)}
    first = {f"c{i}": values for i, (_, values) in enumerate(training)}
    others = [
        {name: draw(columns(5, (kind,)))[1] for name, kind in kinds.items()} for _ in range(n_tables - 1)
    ]
    return kinds, [first, *others]


encoders = st.builds(
    SplitEncoder,
    scheme=st.sampled_from(["threshold", "onehot"]),
    max_bins=st.sampled_from([2, 3, 8, 32]),
    min_category_size=st.sampled_from([1, 2]),
    missing=st.sampled_from(["ask", "mode"]),
)


def as_numpy(table, _kinds):
    matrix = np.empty((len(next(iter(table.values()))), len(table)), object)
    for i, values in enumerate(table.values()):
        matrix[:, i] = np.array([*values, None], object)[:-1]
    return matrix


def as_pandas(table, kinds):
    def series(name, values):
        if kinds[name] in ("datetime", "moment", "duration"):
            return pd.Series(values, dtype=pl.Series([], dtype=polars_types[kinds[name]]).to_pandas().dtype)
        return pd.Series(values, dtype=object if kinds[name] in ("date", "text") else None)

    return pd.DataFrame({name: series(name, values) for name, values in table.items()})


def as_polars(table, kinds):
    return pl.DataFrame(table, schema={name: polars_types[kinds[name]] for name in table})


def as_arrow(table, kinds):
    return as_polars(table, kinds).to_arrow()


FORMS = (as_pandas, as_polars, as_arrow, as_numpy)


def answer(split, value):
    """Ask one question of one original value."""
    if value is None:
        return split.missing_answer
    match split.kind:
        case "missing":
            return False
        case "threshold":
            return value <= split.value
        case "category":
            return value == split.value
        case "true":
            return value == 1
        case "interval":
            low, high = split.value
            return (low is None or comparable(value) > low) and (high is None or comparable(value) <= high)


def comparable(value):
    return value if type(value) is not dt.date else dt.datetime(value.year, value.month, value.day)


def slow_answers(splits, table):
    columns = list(table.values())
    n_rows = len(columns[0])
    matrix = np.zeros((n_rows, len(splits)), np.uint8)
    for j, split in enumerate(splits):
        for i, value in enumerate(columns[split.column_index]):
            asked = comparable(value) if split.kind in ("threshold", "category") else value
            matrix[i, j] = answer(split, asked)
    return matrix


def slow_pack(matrix):
    words = np.zeros((len(matrix), (matrix.shape[1] + 31) // 32), np.uint32)
    for i, j in zip(*np.nonzero(matrix), strict=True):
        words[i, j // 32] |= np.uint32(1 << (j % 32))
    return words


def fitted(encoder, X):
    """Fit and pack, or return None where no column can be asked anything."""
    with contextlib.suppress(NoSplitError):
        return encoder.fit_pack(X)
    return None


@settings(deadline=None)
@given(tables(n_tables=2), encoders)
def test_every_form_of_a_table_answers_as_plain_python_does(drawn, encoder):
    kinds, (training, later) = drawn
    for form in FORMS:
        packed = fitted(encoder, form(training, kinds))
        if packed is None:
            return
        expected = slow_answers(encoder.splits_, training)
        np.testing.assert_array_equal(packed.words, slow_pack(expected))
        np.testing.assert_array_equal(encoder.pack(form(training, kinds)).words, packed.words)
        np.testing.assert_array_equal(unpack(packed), expected)
        np.testing.assert_array_equal(
            encoder.transform(form(later, kinds)), slow_answers(encoder.splits_, later)
        )


@settings(deadline=None)
@given(tables(), encoders)
def test_every_form_of_a_table_gives_the_same_questions(drawn, encoder):
    kinds, (training,) = drawn
    questions = [
        [replace(split, column="") for split in encoder.splits_]
        for form in FORMS
        if fitted(encoder, form(training, kinds)) is not None
    ]
    assert len(questions) in (0, len(FORMS))
    assert all(others == questions[0] for others in questions)


@settings(deadline=None)
@given(tables(), encoders, st.randoms())
def test_the_order_of_rows_is_irrelevant(drawn, encoder, random):
    kinds, (training,) = drawn
    n_rows = len(training["c0"])
    order = list(range(n_rows))
    random.shuffle(order)
    shuffled = {name: [values[i] for i in order] for name, values in training.items()}
    packed = fitted(encoder, as_polars(training, kinds))
    if packed is None:
        return
    splits = encoder.splits_
    again = encoder.fit_pack(as_polars(shuffled, kinds))
    assert encoder.splits_ == splits
    np.testing.assert_array_equal(again.words, packed.words[order])


@settings(deadline=None)
@given(tables(n_tables=2), encoders, st.data())
def test_asking_some_splits_leaves_the_others_zero(drawn, encoder, data):
    kinds, (training, later) = drawn
    form = data.draw(st.sampled_from(FORMS))
    if fitted(encoder, form(training, kinds)) is None:
        return
    chosen = data.draw(st.lists(st.integers(0, encoder.n_splits_ - 1), max_size=8))
    expected = np.zeros((5, encoder.n_splits_), np.uint8)
    expected[:, chosen] = encoder.transform(form(later, kinds))[:, chosen]
    some = encoder.pack(form(later, kinds), splits=chosen)
    np.testing.assert_array_equal(unpack(some), expected)


@settings(deadline=None)
@given(tables(), encoders)
def test_a_pickled_or_cloned_encoder_is_the_same(drawn, encoder):
    kinds, (training,) = drawn
    X = as_pandas(training, kinds)
    packed = fitted(encoder, X)
    if packed is None:
        return
    restored = pickle.loads(pickle.dumps(encoder))
    assert restored.splits_ == encoder.splits_
    np.testing.assert_array_equal(restored.pack(X).words, packed.words)
    np.testing.assert_array_equal(clone(encoder).fit_pack(X).words, packed.words)


@settings(deadline=None)
@given(tables(), encoders)
def test_no_split_of_the_threshold_scheme_is_constant(drawn, encoder):
    kinds, (training,) = drawn
    encoder.set_params(scheme="threshold")
    if fitted(encoder, as_polars(training, kinds)) is None:
        return
    matrix = encoder.transform(as_polars(training, kinds))
    assert np.all(matrix.min(axis=0) == 0)
    assert np.all(matrix.max(axis=0) == 1)


@settings(deadline=None)
@given(tables())
def test_onehot_cells_of_a_column_exclude_each_other(drawn):
    kinds, (training,) = drawn
    encoder = SplitEncoder(scheme="onehot")
    matrix = encoder.fit_transform(as_polars(training, kinds))
    column = np.array([split.column_index for split in encoder.splits_])
    for i in range(len(training)):
        sums = matrix[:, column == i].sum(axis=1)
        assert np.all(sums == 1) or (np.sum(column == i) == 1 and np.all(sums <= 1))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8, np.bool_])
@pytest.mark.parametrize("layout", ["C", "F", "strided", "read-only"])
def test_numeric_matrices_of_any_layout_give_the_same_bits(dtype, layout):
    rng = np.random.default_rng(0)
    matrix = rng.integers(0, 2 if dtype is np.bool_ else 200, (3000, 4)).astype(dtype)
    expected = SplitEncoder(max_bins=200).fit_pack(matrix.astype(object)).words
    forms = {
        "C": matrix,
        "F": np.asfortranarray(matrix),
        "strided": np.repeat(matrix, 2, axis=0)[::2],
        "read-only": np.frombuffer(matrix.tobytes(), dtype).reshape(matrix.shape),
    }
    encoder = SplitEncoder(max_bins=200)
    np.testing.assert_array_equal(encoder.fit_pack(forms[layout]).words, expected)
    np.testing.assert_array_equal(encoder.pack(forms[layout]).words, expected)


def test_rows_beyond_one_block_are_packed_too():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40_000, 2))
    table = pd.DataFrame({"number": X[:, 0], "text": rng.choice(["a", "b", "c"], 40_000)})
    encoder = SplitEncoder(max_bins=300)
    packed = encoder.fit_pack(table)
    for split, bits in zip(encoder.splits_, unpack(packed).T, strict=True):
        values = table[split.column]
        expected = values <= split.value if split.kind == "threshold" else values == split.value
        np.testing.assert_array_equal(bits, expected)
    np.testing.assert_array_equal(
        SplitEncoder(max_bins=300).fit_pack(X).words[:, 0], encoder.pack(table).words[:, 0]
    )


def test_packed_rows_say_how_many_they_are():
    rows = PackedRows(np.zeros((3, 2), np.uint32), 40)
    assert rows.n_rows == 3
    assert unpack(rows).shape == (3, 40)
    assert unpack(PackedRows(np.zeros((3, 0), np.uint32), 0)).shape == (3, 0)


def test_pandas_tables_of_one_type_are_read_as_one_block_and_as_columns_alike():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 4)).round(1), columns=list("abcd"))
    table.iloc[3, 1] = np.nan
    apart = table.assign(e="same")  # text keeps it from being one block
    one, other = SplitEncoder().fit(table), SplitEncoder().fit(apart)
    assert one.splits_ == other.splits_
    assert one.feature_names_in_.tolist() == list("abcd")
    turned = table[["d", "b", "a", "c"]]
    np.testing.assert_array_equal(one.transform(turned), one.transform(table))
    np.testing.assert_array_equal(one.transform(table), other.transform(apart))
    with pytest.raises(ValueError, match="lacks the column 'b'"):
        one.transform(table.drop(columns="b"))


def test_zero_one_tables_without_an_encoder_are_found_by_name():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 2, (50, 3)), columns=list("abc"))
    y = table["a"] ^ table["c"]
    model = LookaheadTreeClassifier(encoder=None).fit(table, y)
    assert model.score(table[["c", "b", "a"]], y) == 1.0
    assert model.score(table.assign(z=1)[["z", "c", "a", "b"]], y) == 1.0
