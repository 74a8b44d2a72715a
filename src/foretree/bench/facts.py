"""What the paper printed: datasets, tables, times, and the authors' per-fold sheet where a user has it."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import pandas as pd

DEPTHS = (2, 3, 4, 5, 6, 7, 8)
N_FOLDS = 10
SWITCH_DEPTH = 5
"""HybridRST minimises misclassification up to this depth and Gini beyond (Section 5.3)."""

SHEET_NAME = "paper_instances.csv"
_SHEET_METHODS = {
    "benders": "BendersOCT",
    "flow": "FlowOCT",
    "binoct": "BinOCT",
    "CART": "CART-G",
    "mcart": "CART-M",
    "Gini": "RST-G",
    "Acc": "RST-M",
}


@dataclass(frozen=True)
class DatasetFacts:
    """One row of the paper's Table 2, with where a copy of the data can come from."""

    name: str
    rows: int
    features: int
    classes: int
    splits: int
    overfitting: str
    imbalance: str
    target: str
    openml: int | None
    licence: str
    sha256: str


def _data(name: str) -> str:
    return (files("foretree.bench") / "data" / name).read_text(encoding="utf-8")


@cache
def datasets() -> dict[str, DatasetFacts]:
    """Return the 19 datasets of Table 2 by name, in the paper's order."""
    rows = csv.DictReader(_data("datasets.csv").splitlines())
    return {row["name"]: _dataset(row) for row in rows}


def _dataset(row: dict[str, str]) -> DatasetFacts:
    return DatasetFacts(
        name=row["name"],
        rows=int(row["rows"]),
        features=int(row["features"]),
        classes=int(row["classes"]),
        splits=int(row["splits"]),
        overfitting=row["overfitting"],
        imbalance=row["imbalance"],
        target=row["target"],
        openml=int(row["openml"]) if row["openml"] else None,
        licence=row["licence"],
        sha256=row["sha256"],
    )


@cache
def _accuracies() -> dict[tuple[str, str, str, str], float]:
    rows = csv.DictReader(_data("paper_tables.csv").splitlines())
    return {(r["data"], r["depth"], r["metric"], r["method"]): float(r["accuracy"]) for r in rows}


def accuracy(dataset: str, depth: int | None, metric: str, title: str) -> float | None:
    """Return the percentage the paper printed for a dataset, a depth (None: all) and a method's title."""
    return _accuracies().get((dataset, "all" if depth is None else str(depth), metric, title))


@cache
def _times() -> dict[tuple[int, str], float]:
    rows = csv.DictReader(_data("paper_times.csv").splitlines())
    return {(int(row["depth"]), row["method"]): float(row["seconds"]) for row in rows}


def seconds(depth: int, title: str) -> float | None:
    """Return the seconds the paper's Table 4 gives for a depth and a method's title."""
    return _times().get((depth, title))


def read_sheet(folder: Path) -> pd.DataFrame | None:
    """Return the authors' sheet as (dataset, depth, fold, method, train, test), if it is there."""
    path = folder / SHEET_NAME
    if not path.is_file():
        return None
    wide = pd.read_csv(path).rename(columns={"data": "dataset", **_SHEET_METHODS})
    wide["HybridRST"] = wide["RST-M"].where(wide["depth"] <= SWITCH_DEPTH, wide["RST-G"])
    titles = [*_SHEET_METHODS.values(), "HybridRST"]
    keys = ["dataset", "depth", "fold"]
    long = wide.melt([*keys, "metric"], titles, "method", "accuracy").dropna(subset="accuracy")
    long["metric"] = long["metric"].map({"Training Accuracy": "train", "Test Accuracy": "test"})
    sheet = long.pivot(index=[*keys, "method"], columns="metric", values="accuracy").reset_index()
    return sheet[[*keys, "method", "train", "test"]].rename_axis(columns=None)
