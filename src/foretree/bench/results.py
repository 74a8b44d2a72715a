"""The store's cells as one table of answers: the newest of each, with the paper's fall-back and its sheet."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from foretree.bench import facts, methods
from foretree.bench.store import ANSWERED, read_cells

KEYS = ["dataset", "depth", "fold"]
PAPER_TITLES = ("BinOCT", "FlowOCT", "BendersOCT", "CART-G", "CART-M", "RST-M", "RST-G", "HybridRST")


def newest(path: Path) -> pd.DataFrame:
    """Return the newest cell of every (dataset, depth, fold, title), answered or not."""
    cells = read_cells(path)
    cells["title"] = [_title(row.method, row.params) for row in cells.itertuples()]
    return cells.drop_duplicates([*KEYS, "title"], keep="last").reset_index(drop=True)


def _title(name: str, params: str) -> str:
    method = methods.METHODS.get(name)
    title = name if method is None else method.title
    extras = ", ".join(f"{key}={value}" for key, value in json.loads(params).items())
    return f"{title} [{extras}]" if extras else title


def answers(cells: pd.DataFrame) -> pd.DataFrame:
    """Return dataset, depth, fold, title, train, test, leaves, seconds, whether it fell back and whether it is proven.

    Appendix B: where a method has no answer at a depth, its answer at the highest shallower depth counts.
    """
    names = {
        "train_accuracy": "train",
        "test_accuracy": "test",
        "n_leaves": "leaves",
        "fit_seconds": "seconds",
    }
    table = cells.rename(columns=names)[[*KEYS, "title", "status", *names.values()]]
    table = table.sort_values(["title", "dataset", "fold", "depth"])
    answered = table["status"].isin(ANSWERED)
    values = list(names.values())
    table[values] = table[values].where(answered)
    table["fell_back"] = ~answered & table["status"].isin(["timeout", "skipped"])
    table["proven"] = table["status"].eq("ok")
    shared = ["train", "test", "leaves"]
    filled = table.groupby(["title", "dataset", "fold"])[shared].ffill()
    table[shared] = table[shared].where(~table["fell_back"], filled)
    return table.dropna(subset=["train", "test"]).drop(columns="status").reset_index(drop=True)


def with_sheet(ours: pd.DataFrame, folder: Path | None) -> tuple[pd.DataFrame, dict[str, int]]:
    """Return the answers with the sheet's for datasets where a title has none here, and for how many it has none."""
    sheet = None if folder is None else facts.read_sheet(folder)
    if sheet is None:
        return ours, {}
    sheet = sheet.rename(columns={"method": "title"})
    pairs = ["title", "dataset"]
    here = pd.MultiIndex.from_frame(ours[pairs])
    absent = ~pd.MultiIndex.from_frame(sheet[pairs]).isin(here) & sheet["dataset"].isin(ours["dataset"])
    taken = sheet[absent].assign(fell_back=False, proven=False)
    counts = taken.groupby("title")["dataset"].nunique()
    borrowed = {title: int(counts[title]) for title in PAPER_TITLES if title in counts}
    return pd.concat([ours, taken], ignore_index=True), borrowed


def wide(table: pd.DataFrame, titles: list[str], metric: str) -> pd.DataFrame:
    """Return one row an instance (dataset, depth, fold) that all titles answered, one column a title."""
    kept = table[table["title"].isin(titles)]
    pivoted = kept.pivot_table(index=KEYS, columns="title", values=metric)
    return pivoted.reindex(columns=titles).dropna()


def export(store: Path, file: Path) -> None:
    """Write every cell of a store to a CSV or Parquet file, making its folder."""
    if not store.is_file():
        raise FileNotFoundError(f"No store at {store}; make one with: foretree bench run --store {store}")
    ending = file.suffix.lower()
    if ending not in {".csv", ".parquet"}:
        raise ValueError(f"{file} ends in {file.suffix!r}; name a file that ends in .csv or .parquet.")
    cells = read_cells(store)
    file.parent.mkdir(parents=True, exist_ok=True)
    if ending == ".csv":
        cells.to_csv(file, index=False)
        return
    try:
        cells.to_parquet(file, index=False)
    except ImportError as error:
        raise ModuleNotFoundError("Parquet needs pyarrow: pip install pyarrow") from error
