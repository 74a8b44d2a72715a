"""The paper's preprocessing: Table 2's number of binary features, and every column as pandas makes it."""

import csv
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from foretree.encode import SplitEncoder

DATA = Path(os.environ.get("FORETREE_DATA", Path(__file__).parents[2] / "shared" / "data"))

# Table 2 of the paper.
BINARY_FEATURES = {
    "adult": 135,
    "tae": 32,
    "spambase": 136,
    "tic-tac-toe": 27,
    "banknote-authentication": 40,
    "wine": 130,
    "haberman": 25,
    "wdbc": 300,
    "diabetes": 72,
    "seismic-bumps": 72,
    "monks-1": 15,
    "monks-2": 15,
    "monks-3": 15,
    "titanic": 178,
    "kr-vs-kp": 38,
    "car-evaluation": 21,
    "balance-scale": 20,
    "nursery": 26,
    "agaricus-lepiota": 112,
}


def slow_onehot(table, missing):
    """The rule in pandas' own words."""
    parts = []
    for name in table:
        column = table[name]
        if pd.api.types.is_numeric_dtype(column) and column.nunique() >= 7:
            column = pd.qcut(column, 10, duplicates="drop")
        if missing == "mode":
            column = column.fillna(column.mode()[0])
        has_missing = bool(column.isna().any())
        n_cells = column.nunique() + has_missing
        parts.append(pd.get_dummies(column, dummy_na=has_missing, drop_first=n_cells == 2, dtype=np.uint8))
    return np.hstack([part.to_numpy() for part in parts])


def read(name):
    path = DATA / f"{name}.csv"
    if not path.exists():
        pytest.skip(f"{path} is absent; FORETREE_DATA names the folder of the paper's tables")
    table = pd.read_csv(path)
    return table.drop(columns=["native_english_speaker" if name == "tae" else table.columns[-1]])


@pytest.mark.parametrize("name", BINARY_FEATURES)
def test_table_2(name):
    table = read(name)
    missing = "mode" if name == "titanic" else "ask"
    encoder = SplitEncoder(scheme="onehot", missing=missing)
    answers = encoder.fit_transform(table)
    assert encoder.n_splits_ == BINARY_FEATURES[name]
    np.testing.assert_array_equal(answers, slow_onehot(table, missing))


def test_table_2_is_what_the_manifest_says():
    path = DATA / "MANIFEST.csv"
    if not path.exists():
        pytest.skip(f"{path} is absent; FORETREE_DATA names the folder of the paper's tables")
    with path.open() as lines:
        assert {
            row["name"]: int(row["paper_binary_features"]) for row in csv.DictReader(lines)
        } == BINARY_FEATURES


@pytest.fixture
def fixture_table():
    """Every case of the rule in twelve rows."""
    return pd.DataFrame(
        {
            "deciles": [1.5, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
            "repeated edges": [0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6],
            "rare one": [0] * 11 + [1],
            "six numbers": [1, 2, 3, 4, 5, 6] * 2,
            "with missing": [1.0, 2, None] * 4,
            "two": ["yes", "no"] * 6,
            "zero or one": [0, 1, 1] * 4,
            "zero, one or missing": [0, 1, None] * 4,
            "text": ["a", "c", "b"] * 4,
            "text or missing": ["a", None, "b"] * 4,
            "one or missing": ["a", None] * 6,
            "constant": ["x"] * 12,
        }
    )


def test_every_case_of_the_rule(fixture_table):
    encoder = SplitEncoder(scheme="onehot")
    answers = encoder.fit_transform(fixture_table)
    np.testing.assert_array_equal(answers, slow_onehot(fixture_table, "ask"))
    counts = dict.fromkeys(fixture_table, 0)
    for split in encoder.splits_:
        counts[split.column] += 1
    assert list(counts.values()) == [10, 6, 1, 6, 3, 1, 1, 3, 3, 3, 1, 1]


def test_missing_answers_as_the_mode_after_binning(fixture_table):
    table = fixture_table.assign(
        age=[None, 1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9], deck=[None, "b", "b", "a", "a", "b", "c", *["d"] * 5]
    )
    encoder = SplitEncoder(scheme="onehot", missing="mode")
    np.testing.assert_array_equal(encoder.fit_transform(table), slow_onehot(table, "mode"))
    assert not any(split.kind == "missing" for split in encoder.splits_)
    assert "deck = d or missing" in encoder.get_feature_names_out()


def test_numbers_beyond_the_range_fall_into_the_outer_bins(fixture_table):
    encoder = SplitEncoder(scheme="onehot").fit(fixture_table[["deciles"]])
    answers = encoder.transform(pd.DataFrame({"deciles": [-1e9, 1e9, None]}))
    np.testing.assert_array_equal(answers, np.eye(10, dtype=np.uint8)[[0, 9, 0]] * [[1], [1], [0]])
    assert str(encoder.splits_[0]) == "deciles <= 2.1"
    assert str(encoder.splits_[1]) == "2.1 < deciles <= 3.2"
    assert encoder.splits_[1].negated == "deciles <= 2.1 or deciles > 3.2"
    assert encoder.splits_[-1].negated == "deciles <= 10.9"


def test_a_column_whose_deciles_are_all_one_number_is_a_constant():
    table = pd.DataFrame({"gain": [0] * 100 + [1, 2, 3, 4, 5, 6]})
    encoder = SplitEncoder(scheme="onehot")
    np.testing.assert_array_equal(encoder.fit_transform(table), slow_onehot(table, "ask"))
    assert encoder.get_feature_names_out().tolist() == ["gain is present"]
    assert encoder.splits_[0].negated == "gain is missing"
