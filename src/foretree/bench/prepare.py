"""The paper's preprocessing and folds: one 0/1 column a split, and stratified folds that never change."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from foretree.bench import facts
from foretree.bench.datasets import Dataset, Source, load
from foretree.encode import SplitEncoder

SEED = 42


@dataclass(frozen=True)
class Prepared:
    """Splits as 0/1 columns (n_rows, n_splits) and class codes (n_rows,), with a fingerprint of both."""

    name: str
    bits: npt.NDArray[np.uint8]
    labels: npt.NDArray[np.int64]
    fingerprint: str
    origin: str


def prepare(dataset: Dataset) -> Prepared:
    """Binarise a whole dataset (before any folds, as the paper does) and number its classes."""
    # The paper lets a missing value be a category of its own, but fills titanic's with the mode.
    encoder = SplitEncoder(scheme="onehot", missing="mode" if dataset.name == "titanic" else "ask")
    bits = encoder.fit_transform(dataset.features)
    labels = np.unique(dataset.target.to_numpy(), return_inverse=True)[1].astype(np.int64)
    _check_classes(dataset, labels)
    digest = hashlib.sha256(np.packbits(bits).tobytes() + labels.tobytes()).hexdigest()
    return Prepared(dataset.name, bits, labels, digest[:12], dataset.origin)


def _check_classes(dataset: Dataset, labels: npt.NDArray[np.int64]) -> None:
    sizes = np.bincount(labels)
    if len(sizes) < 2 or sizes.max() < facts.N_FOLDS:
        raise ValueError(
            f"Column {dataset.target.name!r} has {len(sizes)} distinct values in {len(labels)} rows, the commonest "
            f"{sizes.max()} times; {facts.N_FOLDS} folds need two classes or more, one of them {facts.N_FOLDS} times."
        )


@lru_cache(maxsize=3)
def prepared(source: Source) -> Prepared:
    """Load and binarise a dataset once a process."""
    return prepare(load(source))


@lru_cache(maxsize=3)
def fold_numbers(source: Source) -> npt.NDArray[np.int64]:
    """Return the fold, 1 to 10, in which each row is a test row (n_rows,)."""
    from sklearn.model_selection import StratifiedKFold

    labels = prepared(source).labels
    splitter = StratifiedKFold(facts.N_FOLDS, shuffle=True, random_state=SEED)
    numbers = np.zeros(len(labels), dtype=np.int64)
    with warnings.catch_warnings():
        # One of nursery's five classes has two rows, fewer than there are folds; the paper kept it.
        warnings.simplefilter("ignore", UserWarning)
        for number, (_, test) in enumerate(splitter.split(labels, labels), start=1):
            numbers[test] = number
    return numbers
