"""Find a dataset's table: the user's folder, the cache, a package that ships it, or a download."""

from __future__ import annotations

import hashlib
import os
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from foretree.bench import facts


class DatasetMissingError(LookupError):
    """No source on this machine, and no network, gave the dataset."""


@dataclass(frozen=True)
class Dataset:
    """A named table: `features` (n_rows, n_features), `target` (n_rows,) and where they came from."""

    name: str
    features: pd.DataFrame
    target: pd.Series
    origin: str


@dataclass(frozen=True)
class Source:
    """What a worker needs to find a dataset: a file or a folder of the user's, and whether to download."""

    name: str
    folder: Path | None = None
    table: Path | None = None
    target: str | None = None
    network: bool = True


def data_folder(named: Path | None) -> Path | None:
    """Return the folder named on the command line, else the one in FORETREE_DATA, else None."""
    if named is not None:
        return named
    value = os.environ.get("FORETREE_DATA")
    return Path(value) if value else None


def cache_folder() -> Path:
    """Return the folder where downloads are kept."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "foretree" / "data"


def load(source: Source) -> Dataset:
    """Return a dataset from the first place that has it."""
    if source.table is not None:
        return _read_user_table(source.name, source.table, source.target)
    named = known(source.name)
    for find in (_from_folder, _from_cache, _from_package):
        dataset = find(named, source.folder)
        if dataset is not None:
            return dataset
    if source.network and named.openml is not None and download(named, _fetch_openml):
        return load(source)
    tried = (
        "is not on this machine and could not be downloaded" if source.network else "is not on this machine"
    )
    raise DatasetMissingError(f"{named.name} {tried}: {_where_to_put(named)}")


def known(name: str) -> facts.DatasetFacts:
    """Return what is known of one of the paper's datasets."""
    found = facts.datasets().get(name)
    if found is None:
        raise DatasetMissingError(
            f"No dataset is called {name!r}. Known: {', '.join(facts.datasets())}. "
            "For a table of your own pass --table FILE --target COLUMN."
        )
    return found


def _where_to_put(known: facts.DatasetFacts) -> str:
    return (
        f"put {known.name}.csv ({known.rows} rows, target column {known.target!r}) into a folder and name it "
        "with --data or FORETREE_DATA."
    )


_PARQUET = {".parquet", ".pq"}


def check_table(path: Path, target: str | None) -> None:
    """Refuse a user's table that cannot be read, or that would be taken for one of the paper's."""
    if not path.is_file():
        raise FileNotFoundError(f"No table at {path}; name a CSV or Parquet file.")
    if target is None:
        raise ValueError(f"{path} needs --target: which of its columns is to be predicted?")
    if path.stem in facts.datasets():
        raise ValueError(
            f"{path} bears the name of one of the paper's datasets, with whose numbers it would be compared; "
            f"rename it, or say --datasets {path.stem} --data {path.parent}."
        )


def _read_user_table(name: str, path: Path, target: str | None) -> Dataset:
    if target is None:
        raise ValueError(f"{path} needs --target: which of its columns is to be predicted?")
    try:
        table = pd.read_parquet(path) if path.suffix.lower() in _PARQUET else pd.read_csv(path)
    except ImportError as error:
        raise ModuleNotFoundError("Parquet needs pyarrow: pip install pyarrow") from error
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is no text in UTF-8 ({error.reason}); save it as UTF-8 or Parquet."
        ) from error
    except pd.errors.EmptyDataError as error:
        raise ValueError(f"{path} is empty.") from error
    return _split(name, table, target, str(path))


def _split(name: str, table: pd.DataFrame, target: str, origin: str) -> Dataset:
    if target not in table.columns:
        raise ValueError(f"{origin} has no column {target!r}; its columns are {', '.join(map(str, table))}.")
    if table[target].isna().any():
        raise ValueError(f"Column {target!r} of {origin} has missing values; drop those rows first.")
    if table.shape[1] == 1:
        raise ValueError(f"{origin} has no column but {target!r}; nothing is left to predict it from.")
    return Dataset(name, table.drop(columns=target), table[target], origin)


def _from_folder(known: facts.DatasetFacts, folder: Path | None) -> Dataset | None:
    folder = data_folder(folder)
    path = None if folder is None else folder / f"{known.name}.csv"
    if path is None or not path.is_file():
        return None
    same = hashlib.sha256(path.read_bytes()).hexdigest() == known.sha256
    note = "checksum as recorded" if same else "not the recorded file: folds and accuracies may differ"
    return _split(known.name, pd.read_csv(path), known.target, f"{path.name} ({note})")


def _from_cache(known: facts.DatasetFacts, _folder: Path | None) -> Dataset | None:
    path = cache_folder() / f"{known.name}.csv"
    if not path.is_file():
        return None
    recorded = path.with_suffix(".sha256")
    if recorded.is_file() and recorded.read_text().strip() != hashlib.sha256(path.read_bytes()).hexdigest():
        raise ValueError(f"{path} changed since it was downloaded; delete it and run again.")
    return _split(known.name, pd.read_csv(path), known.target, f"cache, {path.name}")


def _from_package(known: facts.DatasetFacts, _folder: Path | None) -> Dataset | None:
    if known.name not in {"wine", "wdbc"}:
        return None
    from sklearn.datasets import load_breast_cancer, load_wine

    bunch = load_wine(as_frame=True) if known.name == "wine" else load_breast_cancer(as_frame=True)
    names = ["1", "2", "3"] if known.name == "wine" else ["M", "B"]
    target = bunch.target.map(dict(enumerate(names)))
    return Dataset(known.name, bunch.data, target, "shipped with scikit-learn")


def _fetch_openml(number: int) -> Any:
    # scikit-learn compares the file with the MD5 that OpenML states.
    from sklearn.datasets import fetch_openml

    with warnings.catch_warnings():
        # Without a network it warns of a broken cache before it gives up.
        warnings.simplefilter("ignore")
        return fetch_openml(data_id=number, as_frame=True, n_retries=1, delay=0.5)


def download(known: facts.DatasetFacts, fetch: Callable[[int], Any]) -> bool:
    """Write a dataset into the cache in one step and return True; return False where there is no network."""
    try:
        bunch = fetch(known.openml or 0)
    except (OSError, ValueError):
        # No route, no such page, or a page that is not OpenML's: to a user they are one case.
        return False
    features, target = _named_target(known, bunch)
    found = (*features.shape, target.nunique())
    wanted = (known.rows, known.features, known.classes)
    if found != wanted:
        raise ValueError(
            f"OpenML's dataset {known.openml} is not the paper's {known.name}: rows, features, classes are "
            f"{found}, the paper has {wanted}. {_where_to_put(known)}"
        )
    _write(known.name, features.assign(**{known.target: target}))
    return True


def _named_target(known: facts.DatasetFacts, bunch: Any) -> tuple[pd.DataFrame, pd.Series]:
    features, target = bunch.data, bunch.target
    if known.name != "tae":
        return features, target
    # The paper predicts whether the assistant speaks English natively; the usual class is a feature.
    native = next(column for column in features if "native" in str(column).lower())
    return features.drop(columns=native).assign(evaluation=target), features[native]


def _write(name: str, table: pd.DataFrame) -> None:
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    text = table.to_csv(index=False)
    # The checksum goes first: a table without one would never be checked again.
    for suffix, content in ((".sha256", hashlib.sha256(text.encode()).hexdigest()), (".csv", text)):
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=name)
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(content)
        Path(temporary).replace(folder / f"{name}{suffix}")
