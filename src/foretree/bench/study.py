"""Everything the tables, figures and the report draw on, gathered once from a store."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

from foretree.bench import compare, facts, results, tables
from foretree.bench.datasets import DatasetMissingError, Source, data_folder
from foretree.bench.layout import Table

LADDERS = {
    "M": ("greedy-M", "RST-M", "RST3-M", "RST4-M"),
    "G": ("greedy-G", "RST-G", "RST3-G", "RST4-G"),
}
_MIN_STEPS = 3


@dataclass(frozen=True)
class Findings:
    """The answers of a store with the authors' sheet beside them where a user has it."""

    store: Path
    folder: Path | None
    cells: pd.DataFrame
    ours: pd.DataFrame
    answers: pd.DataFrame
    borrowed: Mapping[str, int]

    @cached_property
    def titles(self) -> list[str]:
        """Return the titles that answered on the grid, the paper's first, without variants by parameters."""
        have = set(self.answers.loc[self.answers["depth"].isin(facts.DEPTHS), "title"])
        known = [title for title in results.PAPER_TITLES if title in have]
        return known + sorted(title for title in have - set(known) if " [" not in title)

    @cached_property
    def sheet(self) -> pd.DataFrame | None:
        """Return the authors' per-fold sheet, or None where it is not beside the data."""
        return None if self.folder is None else facts.read_sheet(self.folder)

    @cached_property
    def agreement(self) -> pd.DataFrame | None:
        """Return ours beside the sheet's, fold by fold, or None without the sheet."""
        return None if self.sheet is None else compare.agreement(self.ours, self.sheet)

    def instances(self, titles: list[str], metric: str = "test") -> pd.DataFrame:
        """Return accuracies (n_instances, n_titles) where all titles answered, on the grid's depths."""
        grid = self.answers[self.answers["depth"].isin(facts.DEPTHS)]
        return results.wide(grid, titles, metric)

    def complete(self, titles: list[str]) -> pd.DataFrame:
        """Return our answers at the depths at which a title answered all that HybridRST did, or any did."""
        grid = self.ours[self.ours["depth"].isin(facts.DEPTHS)]
        n_cells = grid.groupby(["depth", "title"])["test"].count().unstack("title").fillna(0)
        wanted = n_cells["HybridRST"] if "HybridRST" in n_cells else n_cells.max(axis=1)
        full = n_cells.ge(wanted, axis=0).stack()
        kept = grid[grid["title"].isin(titles)]
        return kept[full.reindex(pd.MultiIndex.from_frame(kept[["depth", "title"]])).to_numpy(bool)]

    def has(self, *titles: str) -> bool:
        """Return whether every title answered at least once."""
        return set(titles) <= set(self.titles)

    def machines(self) -> list[dict[str, str]]:
        """Return the machines that measured, each once, with the commands they were given."""
        from contextlib import closing
        from sqlite3 import connect

        with closing(connect(self.store)) as db:
            used = "SELECT DISTINCT run FROM cells"
            rows = db.execute(
                f"SELECT command, machine FROM runs WHERE run IN ({used}) ORDER BY run"
            ).fetchall()
        commands: dict[str, list[str]] = {}
        for command, machine in rows:
            commands.setdefault(machine, []).append(command)
        return [
            {"command": "\n".join(dict.fromkeys(given)), **json.loads(machine)}
            for machine, given in commands.items()
        ]

    def ladder(self, letter: str, depth: int) -> dict[int, pd.DataFrame]:
        """Return answers by lookahead k at one depth, on the datasets that every k finished with a proof."""
        at_depth = self.ours[(self.ours["depth"] == depth) & self.ours["proven"]]
        titles = dict(enumerate(LADDERS[letter], start=1))
        by_steps = {}
        for steps in range(1, depth + 1):
            names = {titles.get(steps), f"optimal-{letter}" if steps == depth else None}
            found = at_depth[at_depth["title"].isin(names - {None})]
            if len(found):
                by_steps[steps] = found.drop_duplicates(results.KEYS)
        return _complete(by_steps) if len(by_steps) >= _MIN_STEPS and depth in by_steps else {}


def _complete(by_steps: dict[int, pd.DataFrame]) -> dict[int, pd.DataFrame]:
    full = [
        {name for name, folds in table.groupby("dataset")["fold"].nunique().items() if folds == facts.N_FOLDS}
        for table in by_steps.values()
    ]
    common = set.intersection(*full)
    kept = {steps: table[table["dataset"].isin(common)] for steps, table in by_steps.items()}
    return kept if common else {}


def gather(store: Path, folder: Path | None = None) -> Findings:
    """Read a store and, where it lies beside the data, the authors' sheet."""
    if not store.is_file():
        raise FileNotFoundError(f"No store at {store}; make one with: foretree bench run --store {store}")
    folder = data_folder(folder)
    cells = results.newest(store)
    ours = results.answers(cells)
    answers, borrowed = results.with_sheet(ours, folder)
    return Findings(store, folder, cells, ours, answers, borrowed)


def all_tables(findings: Findings) -> list[Table]:
    """Return Tables 2, 3, 4 and C.1 to C.15."""
    first = [table_2(findings)]
    return [
        *first,
        tables.table_3(findings.ours, findings.answers),
        tables.table_4(findings.ours),
        *tables.appendix_c(findings.ours),
    ]


def table_2(findings: Findings) -> Table:
    """Return Table 2 of the datasets that can be found."""
    names = [name for name in facts.datasets() if name in set(findings.ours["dataset"])]
    counted = []
    for name in names:
        try:
            counted.append(tables.count(Source(name, findings.folder, network=False)))
        except (DatasetMissingError, ValueError):
            continue
    return tables.table_2(counted, tables.overfitting(findings.ours))
