"""Rows of a table to packed answers, a block of rows at a time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretree._kernels.encode import Masks, NumberLookup, pack_codes, pack_numbers
from foretree.encode.columns import KIND_TEXT, Column, Labels, Numbers
from foretree.encode.lookups import chosen_columns, label_masks, number_tables, only_bits
from foretree.encode.packed import PackedRows, words_for
from foretree.encode.questions import Questions, check_finite

SplitNumbers = NDArray[np.intp]

# So many rows are converted at a time: their words and one column of numbers stay in the cache.
BLOCK_ROWS = 16_384


@dataclass(frozen=True, slots=True)
class AnswerTables:
    """The questions of a whole table and the flat tables that answer those about numbers."""

    questions: tuple[Questions, ...]
    first_split: tuple[int, ...]  # of each column
    column_of_split: SplitNumbers  # (n_splits,)
    lookup: NumberLookup  # of every column; those of labels have no edges
    masks: Masks
    all_numbers: bool

    @property
    def n_splits(self) -> int:
        """The number of splits of all columns together."""
        return len(self.column_of_split)


def answer_tables(questions: Sequence[Questions]) -> AnswerTables:
    """Number the splits of all columns one after the other and build the tables that answer them."""
    sizes = [len(q.splits) for q in questions]
    first_split = tuple((np.cumsum(sizes) - sizes).tolist())
    lookup, masks = number_tables(questions, first_split)
    return AnswerTables(
        tuple(questions),
        first_split,
        np.repeat(np.arange(len(sizes)), sizes),
        lookup,
        masks,
        all(q.kind in ("number", "boolean") for q in questions),
    )


def asked_columns(tables: AnswerTables, splits: SplitNumbers | None) -> SplitNumbers:
    """Return the sorted columns that `splits` (or all splits) ask about."""
    columns = tables.column_of_split if splits is None else tables.column_of_split[splits]
    return np.flatnonzero(np.bincount(columns))


def pack_matrix(
    tables: AnswerTables, values: NDArray[Any], positions: SplitNumbers, splits: SplitNumbers | None
) -> PackedRows:
    """Pack a numeric matrix (n_rows, n_columns) in which training column k sits at positions[k]."""
    words = np.zeros((len(values), words_for(tables.n_splits)), np.uint32)
    columns = asked_columns(tables, splits)
    lookup = chosen_columns(tables.lookup, columns, positions[columns])
    masks = tables.masks if splits is None else only_bits(tables.masks, splits, words.shape[1])
    for first in range(0, len(values), BLOCK_ROWS):
        infinite = pack_numbers(_floats(values[first : first + BLOCK_ROWS]), lookup, masks, words, first)
        if infinite >= 0:
            row, position = divmod(infinite, values.shape[1])
            column = int(np.flatnonzero(positions == position)[0])
            check_finite(tables.questions[column].name, values[:, position], first + row)
    return PackedRows(words, tables.n_splits)


def pack_columns(
    tables: AnswerTables, columns: dict[int, Column], n_rows: int, splits: SplitNumbers | None
) -> PackedRows:
    """Pack the given columns (n_rows,), keyed by their place in the training table."""
    words = np.zeros((n_rows, words_for(tables.n_splits)), np.uint32)
    steps = [_step(tables, i, column, splits, words) for i, column in columns.items()]
    for first in range(0, n_rows, BLOCK_ROWS):
        for step in steps:
            step(first)
    return PackedRows(words, tables.n_splits)


def _step(
    tables: AnswerTables,
    index: int,
    column: Column,
    splits: SplitNumbers | None,
    words: NDArray[np.uint32],
) -> Callable[[int], None]:
    """Return what packs one column's rows from a first row on."""
    questions = tables.questions[index]
    column = _as_trained(questions, column)
    if isinstance(column, Labels):
        masks = label_masks(questions, tables.first_split[index], column.labels)
        masks = masks if splits is None else only_bits(masks, splits, words.shape[1])
        codes = column.codes
        return lambda first: pack_codes(_codes(codes[first : first + BLOCK_ROWS]), masks, words, first)
    masks = tables.masks if splits is None else only_bits(tables.masks, splits, words.shape[1])
    lookup = chosen_columns(tables.lookup, np.array([index]), np.array([0]))
    values = column.values

    def pack_block(first: int) -> None:
        infinite = pack_numbers(
            _floats(values[first : first + BLOCK_ROWS, None]), lookup, masks, words, first
        )
        check_finite(questions.name, values, first + infinite if infinite >= 0 else -1)

    return pack_block


def _floats(block: NDArray[Any]) -> NDArray[np.float64]:
    """Return a block as the one type of array for which the kernel is compiled."""
    return np.require(block, np.float64, ["C", "W"])


def _codes(block: NDArray[Any]) -> NDArray[np.int32]:
    return np.require(block, np.int32, ["C", "W"])


def _as_trained(questions: Questions, column: Column) -> Column:
    """Return the column as numbers or labels, whichever the training column was, or complain."""
    kind, trained = column.kind, questions.kind
    if kind == trained or {kind, trained} <= {"number", "boolean"}:
        return column
    missing = column.codes < 0 if isinstance(column, Labels) else np.isnan(column.values.astype(np.float64))
    if trained == "empty":
        return Numbers(column.name, "empty", np.where(missing, np.nan, 0.0))
    if missing.all():
        if trained == "text":
            return Labels(column.name, np.full(len(missing), -1, np.int32), [])
        return Numbers(column.name, "empty", np.full(len(missing), np.nan))
    raise TypeError(
        f"Column {questions.name!r} held {KIND_TEXT[trained]} in training (such as {questions.example}), "
        f"but now it holds {KIND_TEXT[kind]} (such as {_example(column, int(np.argmin(missing)))}); "
        f"convert it to {KIND_TEXT[trained]}, or fit again."
    )


def _example(column: Column, row: int) -> str:
    if isinstance(column, Labels):
        return repr(column.labels[column.codes[row]])
    from foretree.encode.questions import readable

    value = readable(float(column.values[row]), column.kind, column.name)
    return f"{value:g}" if isinstance(value, float) else str(value)
