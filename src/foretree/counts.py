"""Packed rows → PairCounts: what every engine answers, and the engine for rows in memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from foretree._kernels.bits import WORD
from foretree._kernels.node import compact, gather, padded, split_rows
from foretree._kernels.pairs import add_pairs, clear_pairs
from foretree._kernels.steps import CHUNK_WORDS
from foretree.groups import GroupedRows

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
# A node is named by what its rows answered on the way: pairs of split and answer.
Path = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class PairCounts:
    """What is known of a node's rows: class weights and numbers of rows, for every pair of splits.

    both[c, j, k] is the weight of class c where x_j = x_k = 1 (with x_j = 1 on the diagonal), total[c]
    the class's weight; both_rows[j, k] and n_rows are the same in rows. Counts of disjoint rows add up.
    """

    both: Floats
    total: Floats
    both_rows: Integers
    n_rows: int

    def __add__(self, other: "PairCounts") -> "PairCounts":
        return PairCounts(
            self.both + other.both,
            self.total + other.total,
            self.both_rows + other.both_rows,
            self.n_rows + other.n_rows,
        )

    def __sub__(self, other: "PairCounts") -> "PairCounts":
        return PairCounts(
            self.both - other.both,
            self.total - other.total,
            self.both_rows - other.both_rows,
            self.n_rows - other.n_rows,
        )


class Rows(Protocol):
    """Where rows are, and how they are counted, is an engine's business; growing asks only this."""

    @property
    def n_splits(self) -> int:
        """The number of splits."""

    def count(self, path: Path) -> PairCounts:
        """Return the counts of the rows that answered as the path says."""


class MemoryRows:
    """The engine for rows in memory: counts a path by filtering the rows of its longest known prefix."""

    def __init__(self, rows: GroupedRows) -> None:
        self.rows = rows
        self.n_splits = rows.n_splits
        self._known: dict[Path, tuple[NDArray[np.int32], Integers]] = {(): (rows.order, rows.starts)}

    def entries(self, path: Path) -> tuple[NDArray[np.int32], Integers]:
        """Return the row numbers of the path, group by group, and where each group starts."""
        if path not in self._known:
            parent = self.entries(path[:-1])
            if len(self._known) > 256:
                self._known = {(): (self.rows.order, self.rows.starts), path[:-1]: parent}
            split, _ = path[-1]
            for answer, side in enumerate(self._parts(parent, split)):
                self._known[(*path[:-1], (split, answer))] = side
        return self._known[path]

    def forget(self, path: Path) -> None:
        """Drop what is kept of a path that is not asked for again; the root is kept."""
        if path:
            self._known.pop(path, None)

    def _parts(
        self, entries: tuple[NDArray[np.int32], Integers], split: int
    ) -> list[tuple[NDArray[np.int32], Integers]]:
        # Within a group any order will do, so that the parent's own is changed.
        order, starts = entries
        scratch = np.empty(order.size, np.int32)
        middle = np.array(
            [
                split_rows(self.rows.words, order, first, last, split, scratch)
                for first, last in pairwise(starts)
            ],
            dtype=np.int64,
        )
        return [_join(order, starts[:-1], middle), _join(order, middle, starts[1:])]

    def total(self, path: Path) -> tuple[Floats, int]:
        """Return the class weights (C,) and the number of the rows that answered as the path says."""
        entries, groups = np.diff(self.entries(path)[1]), self.rows.groups
        weights = np.bincount(groups.classes, weights=groups.weights * entries, minlength=self.rows.n_classes)
        return weights.astype(np.float64), int(groups.sizes @ entries)

    def count(self, path: Path) -> PairCounts:
        """Return the counts of the rows that answered as the path says."""
        order, starts = self.entries(path)
        return count_rows(self.rows, order, starts)


def _join(order: NDArray[np.int32], firsts: Integers, lasts: Integers) -> tuple[NDArray[np.int32], Integers]:
    parts = [order[first:last] for first, last in zip(firsts, lasts, strict=True)]
    return np.concatenate(parts), np.concatenate([[0], np.cumsum(lasts - firsts)]).astype(np.int64)


def count_rows(rows: GroupedRows, order: NDArray[np.int32], starts: Integers) -> PairCounts:
    """Count all pairs of splits over the given entries, a pass of rows at a time."""
    per_group = _count_groups(rows, order, starts)
    n_splits = rows.n_splits
    entries = np.diff(starts)
    both = np.zeros((rows.n_classes, n_splits, n_splits))
    total = np.zeros(rows.n_classes)
    both_rows = np.zeros((n_splits, n_splits), np.int64)
    for group, counts in enumerate(per_group):
        symmetric = np.triu(counts) + np.triu(counts, 1).T
        both[rows.groups.classes[group]] += rows.groups.weights[group] * symmetric
        total[rows.groups.classes[group]] += rows.groups.weights[group] * entries[group]
        both_rows += rows.groups.sizes[group] * symmetric.astype(np.int64)
    return PairCounts(both, total, both_rows, int(rows.groups.sizes @ entries))


def _count_groups(
    rows: GroupedRows, order: NDArray[np.int32], starts: Integers
) -> Sequence[NDArray[np.int32]]:
    """Return one int32 matrix (p, p) per group, of meaning in its upper triangle."""
    width = rows.words.shape[1] * WORD
    step = CHUNK_WORDS * WORD
    largest = int(np.diff(starts).max(initial=0))
    columns = np.empty((min(CHUNK_WORDS, (largest + WORD - 1) // WORD + 1), width), np.uint32)
    keep = np.arange(rows.n_splits)
    n_lanes = padded(rows.n_splits)
    counts = np.empty((starts.size - 1, n_lanes, n_lanes), np.int32)
    clear_pairs(counts, rows.n_splits, n_lanes)
    for group in range(starts.size - 1):
        for first in range(int(starts[group]), int(starts[group + 1]), step):
            last = min(first + step, int(starts[group + 1]))
            n_words = gather(rows.words, order, first, last, columns, 0)
            compact(columns, n_words, keep, rows.n_splits)
            add_pairs(columns, 0, n_words, rows.n_splits, n_lanes, counts[group])
    return [table[: rows.n_splits, : rows.n_splits] for table in counts]
