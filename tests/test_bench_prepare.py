import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import StratifiedKFold

from bench_fakes import table
from foretree.bench import facts, prepare
from foretree.bench.datasets import Dataset, Source
from paper_data import table_or_skip

SMALL = [name for name, known in facts.datasets().items() if known.rows < 10_000]
LARGE = [name for name in facts.datasets() if name not in SMALL]


@pytest.mark.parametrize("name", [*SMALL, *LARGE])
def test_every_dataset_has_the_papers_shape(name):
    folder = table_or_skip(name)
    known = facts.datasets()[name]
    data = prepare.prepared(Source(name, folder))
    assert data.bits.shape == (known.rows, known.splits)
    assert len(np.unique(data.labels)) == known.classes
    assert set(np.unique(data.bits)) <= {0, 1}
    assert "checksum as recorded" in data.origin


@pytest.mark.parametrize("name", ["wine", "nursery"])
def test_folds_are_scikit_learns(name):
    source = Source(name, table_or_skip(name))
    labels = prepare.prepared(source).labels
    numbers = prepare.fold_numbers(source)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folds = list(StratifiedKFold(10, shuffle=True, random_state=42).split(labels, labels))
    for number, (_, test) in enumerate(folds, start=1):
        assert np.array_equal(np.flatnonzero(numbers == number), test)


@pytest.mark.parametrize("name", ["wine", "wdbc"])
def test_scikit_learns_copies_give_the_same_rows(name, tmp_path, monkeypatch):
    monkeypatch.delenv("FORETREE_DATA", raising=False)
    ours = prepare.prepared(Source(name, table_or_skip(name)))
    shipped = prepare.prepared(Source(name, tmp_path))
    assert shipped.origin == "shipped with scikit-learn"
    assert shipped.fingerprint == ours.fingerprint


@pytest.mark.parametrize(("target", "n_values"), [(["one"] * 60, 1), (range(60), 60), ([0] * 9 + [1] * 9, 2)])
def test_a_target_without_folds_is_refused_before_any_cell(target, n_values):
    data = Dataset("mine", table(len(target)).drop(columns="class"), pd.Series(target, name="y"), "here")
    with pytest.raises(ValueError, match=rf"Column 'y' has {n_values} distinct values in {len(target)} rows"):
        prepare.prepare(data)
