"""The paper's Tables 2, 3, 4 and C.1 to C.15: ours, the paper's number beside it, and the difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from foretree.bench import facts, prepare
from foretree.bench.datasets import Source
from foretree.bench.layout import Cell, Table

APPENDIX_TITLES = ("BinOCT", "FlowOCT", "BendersOCT", "CART-G", "RST-M", "RST-G", "HybridRST")
THREE = ("BendersOCT", "CART-G", "HybridRST")
_NONE = "\N{EN DASH}"
_SIZES = {"rows": (1_000, 10_000), "splits": (30, 100)}


@dataclass(frozen=True)
class Counted:
    """What Table 2 says of one dataset, counted on the table at hand."""

    name: str
    rows: int
    features: int
    classes: int
    splits: int
    minority: float


def count(source: Source) -> Counted:
    """Count what Table 2 lists for one dataset."""
    from foretree.bench.datasets import load

    data = prepare.prepared(source)
    sizes = np.bincount(data.labels)
    features = load(source).features.shape[1]
    n_rows, n_splits = data.bits.shape
    return Counted(source.name, n_rows, features, len(sizes), n_splits, sizes.min() / sizes.sum())


def _size(value: int, kind: str) -> str:
    small, medium = _SIZES[kind]
    return "S" if value <= small else "M" if value <= medium else "L"


def _imbalance(minority: float) -> str:
    return "B" if minority > 0.3 else "I" if minority >= 0.1 else "HI"


def overfitting(answers: pd.DataFrame) -> dict[str, str]:
    """Return E or NE a dataset: whether unlimited CART loses ten points or more from train to test."""
    full = answers[answers["title"] == "CART without a depth limit"]
    means = full.groupby("dataset")[["train", "test"]].mean()
    lost = (means["train"] - means["test"]).round(6)
    return {str(name): "E" if value >= 0.1 else "NE" for name, value in lost.items()}


def table_2(counted: Sequence[Counted], overfits: dict[str, str]) -> Table:
    """Return Table 2 as counted here; a field that differs from the paper shows the paper's in brackets."""
    rows = []
    for found in counted:
        paper = facts.datasets().get(found.name)
        fields = _fields(found, overfits.get(found.name, _NONE))
        theirs = fields if paper is None else _paper_fields(paper)
        texts = [
            ours if ours in (other, _NONE) else f"{ours} (paper {other})"
            for ours, other in zip(fields, theirs, strict=True)
        ]
        rows.append((Cell(found.name), *map(Cell, texts)))
    headers = ("Dataset", "Classes", "Data points", "Orig. feat.", "Bin. feat.", "Overfitting", "Imbalance")
    return Table("Table 2", "Characteristics of the datasets", headers, tuple(rows), notes=_TABLE_2_NOTES)


_TABLE_2_NOTES = (
    "S, M, L: up to 1,000, 10,000 data points; up to 30, 100 binary features. B, M: two classes, more.",
    "Overfitting E: scikit-learn's CART without a depth limit loses at least ten points from train to test.",
    "Imbalance by the rarest class: B above 30%, I from 10%, HI below.",
)


def _fields(found: Counted, overfits: str) -> list[str]:
    return [
        f"{found.classes} ({'B' if found.classes == 2 else 'M'})",
        f"{found.rows} ({_size(found.rows, 'rows')})",
        str(found.features),
        f"{found.splits} ({_size(found.splits, 'splits')})",
        overfits,
        _imbalance(found.minority),
    ]


def _paper_fields(paper: facts.DatasetFacts) -> list[str]:
    counted = Counted(paper.name, paper.rows, paper.features, paper.classes, paper.splits, 0.0)
    fields = _fields(counted, paper.overfitting)
    return [*fields[:-1], paper.imbalance]


def mean_accuracy(answers: pd.DataFrame, metric: str, depth: int | None) -> pd.DataFrame:
    """Return percentages, a row a dataset and a column a title, over folds and (depth None) all depths."""
    kept = answers[answers["depth"].isin(facts.DEPTHS if depth is None else [depth])]
    return kept.pivot_table(index="dataset", columns="title", values=metric) * 100


def _ordered(means: pd.DataFrame) -> list[str]:
    known = [name for name in facts.datasets() if name in means.index]
    return sorted(known) + sorted(set(means.index) - set(known))


def _number(value: float | None, places: int = 1) -> str:
    return _NONE if value is None or pd.isna(value) else f"{value:.{places}f}"


def _difference(ours: float | None, paper: float | None, places: int = 1) -> str:
    if ours is None or paper is None or pd.isna(ours):
        return _NONE
    # Adding zero turns -0.0 into 0.0, so that "no difference" has one spelling.
    return f"{round(ours - paper, places) + 0.0:+.{places}f}"


def _best(values: Sequence[float | None]) -> list[bool]:
    shown = [None if value is None or pd.isna(value) else round(value, 1) for value in values]
    top = max((value for value in shown if value is not None), default=None)
    return [value is not None and value == top for value in shown]


def _trios(ours: list[float | None], paper: list[float | None]) -> list[Cell]:
    cells: list[Cell] = []
    for mine, theirs, best in zip(ours, paper, _best(ours), strict=True):
        cells += [
            Cell(_number(mine), best=best),
            Cell(_number(theirs), side=True),
            Cell(_difference(mine, theirs), side=True),
        ]
    return cells


def _values(means: pd.DataFrame, dataset: str, titles: Sequence[str]) -> list[float | None]:
    return [float(means.at[dataset, title]) if title in means else None for title in titles]


def accuracy_table(
    name: str, answers: pd.DataFrame, metric: str, depth: int | None, titles: Sequence[str] = APPENDIX_TITLES
) -> Table:
    """Return a table of the Appendix: a row a dataset; for each title ours, the paper's, the difference."""
    means = mean_accuracy(answers, metric, depth)
    rows = []
    for dataset in _ordered(means):
        paper = [facts.accuracy(dataset, depth, metric, title) for title in titles]
        rows.append((Cell(dataset), *_trios(_values(means, dataset, titles), paper)))
    sample = "In-sample" if metric == "train" else "Out-of-sample"
    over = "10 folds and all depths" if depth is None else f"10 folds, depth {depth}"
    headers = ("Dataset", *("ours", "paper", "diff.") * len(titles))
    groups = (("", 1), *((title, 3) for title in titles))
    title = f"{sample} accuracies (%), averaged over {over}"
    notes = ("Marked: the best of ours.", *_partial(answers, depth, titles))
    return Table(name, title, headers, tuple(rows), groups, notes)


def _partial(answers: pd.DataFrame, depth: int | None, titles: Sequence[str]) -> tuple[str, ...]:
    depths = facts.DEPTHS if depth is None else (depth,)
    kept = answers[answers["depth"].isin(depths) & answers["title"].isin(titles)]
    short = kept.groupby(["title", "dataset"]).size().lt(len(depths) * facts.N_FOLDS)
    names = sorted(set(short.index.get_level_values("title")[short]))
    if not names:
        return ()
    return (f"Over the cells present, which are not all of them on some datasets: {', '.join(names)}.",)


def table_3(ours: pd.DataFrame, answers: pd.DataFrame | None = None) -> Table:
    """Return Table 3: out-of-sample accuracy over folds and depths, and HybridRST's improvement.

    The improvement is over `answers`, in which the authors' stand where there are none of ours.
    """
    table = accuracy_table("Table 3", ours, "test", None, THREE)
    means = mean_accuracy(ours if answers is None else answers, "test", None)
    rows = []
    for row in table.rows:
        benders, cart, hybrid = _values(means, row[0].text, THREE)
        rows.append((*row, Cell(f"{_improvement(hybrid, benders)} ({_improvement(hybrid, cart)})")))
    note = (
        "Improvement (%): HybridRST over BendersOCT, and over CART-G in brackets; where there is no answer of "
        "ours, over the authors' of the per-fold sheet."
    )
    headers = (*table.headers, "Improvement (%)")
    groups = (*table.groups, ("", 1))
    return Table(table.name, table.title, headers, tuple(rows), groups, (note, *table.notes))


def _improvement(ours: float | None, other: float | None) -> str:
    if ours is None or other is None or pd.isna(ours) or pd.isna(other):
        return _NONE
    return f"{round((ours / other - 1) * 100, 1) + 0.0:+.1f}"


def table_4(answers: pd.DataFrame, titles: Sequence[str] = THREE) -> Table:
    """Return Table 4: mean seconds a fit by depth, ours and the paper's, and how many times faster."""
    means = answers.pivot_table(index="depth", columns="title", values="seconds")
    rows = []
    for depth in [depth for depth in facts.DEPTHS if depth in means.index]:
        cells = [Cell(str(depth))]
        for title in titles:
            mine = float(means.at[depth, title]) if title in means else None
            theirs = facts.seconds(depth, title)
            cells += [
                Cell(_number(mine, 4)),
                Cell(_seconds(theirs), side=True),
                Cell(_ratio(theirs, mine), side=True),
            ]
        rows.append(tuple(cells))
    headers = ("Depth", *("ours", "paper", "paper / ours") * len(titles))
    groups = (("", 1), *((title, 3) for title in titles))
    notes = (
        "Ours: the fit alone, one thread, averaged over the cells present.",
        "The paper: Gurobi 9.1 on a cloud machine with 12 cores.",
    )
    return Table("Table 4", "Computation times (seconds) by depth", headers, tuple(rows), groups, notes)


def _seconds(value: float | None) -> str:
    return _NONE if value is None else f"{value:g}"


def _ratio(theirs: float | None, mine: float | None) -> str:
    if theirs is None or not mine or pd.isna(mine):
        return _NONE
    ratio = theirs / mine
    return f"{ratio:,.0f}x" if ratio >= 10 else f"{ratio:.1f}x"


def appendix_c(answers: pd.DataFrame) -> list[Table]:
    """Return Tables C.1 to C.15."""
    layout = [("train", None), *((metric, depth) for depth in facts.DEPTHS for metric in ("train", "test"))]
    return [
        accuracy_table(f"Table C.{number}", answers, metric, depth)
        for number, (metric, depth) in enumerate(layout, start=1)
    ]
