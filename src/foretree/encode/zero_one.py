"""Matrices of 0 and 1, which need no questions: packed as they are, and read again for predicting."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretree._kernels.bits import pack_binary
from foretree.encode.columns import KIND_TEXT, Numbers
from foretree.encode.packed import PackedRows
from foretree.encode.tables import ArrayTable, Table, read_table

# Kinds of array whose 0/1 values the packing kernel reads as they are; others are turned to float64.
_READ_AS_IS = frozenset(np.dtype(kind) for kind in ("u1", "f4", "f8", "i8"))


def named_zero_one(X: Any) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Return a table of any library as an array, and the names of its columns if it has any."""
    table = read_table(X)
    names = np.array(table.names, dtype=object) if table.named else None
    return matrix_of(table, np.arange(len(table.names))), names


def matrix_of(table: Table, places: NDArray[np.intp]) -> NDArray[Any]:
    """Return the columns of a table at `places` as an array (n_rows, n_places)."""
    if isinstance(table, ArrayTable):
        in_order = np.array_equal(places, np.arange(table.values.shape[1]))
        return table.values if in_order else table.values[:, places]
    columns = [table.column(int(place)) for place in places]
    for column in columns:
        if not isinstance(column, Numbers) or column.kind not in ("number", "boolean", "empty"):
            raise TypeError(
                f"Column {column.name!r} holds {KIND_TEXT[column.kind]}, but without an encoder a tree takes nothing "
                "but 0 and 1; fit with encoder='auto' to have other columns encoded."
            )
    return np.column_stack([column.values for column in columns if isinstance(column, Numbers)])


def pack_zero_one(X: Any, names: NDArray[Any] | None = None) -> PackedRows | str:
    """Pack a table of 0 and 1 (n_rows, n_splits), or say in a sentence why it is none."""
    values = X if type(X) is np.ndarray else np.asarray(X)
    if values.ndim != 2 or 0 in values.shape:
        return _not_two_dimensional(values)
    if values.dtype == np.bool_:
        values = values.view(np.uint8)
    if values.dtype.kind not in "iuf":
        return f"X holds {values.dtype} values; with encoder=None it must be a matrix of 0 and 1."
    if values.dtype not in _READ_AS_IS:
        values = values.astype(np.float64)
    n_rows, n_splits = values.shape
    words = np.empty((n_rows, (n_splits + 31) // 32), np.uint32)
    place = pack_binary(np.ascontiguousarray(values).reshape(-1), n_rows, n_splits, words)
    if place < 0:
        return PackedRows(words, n_splits)
    row, column = divmod(int(place), n_splits)
    name = column if names is None else repr(names[column])
    return (
        f"Column {name} of X is {values[row, column]} in row {row}; with encoder=None X must hold nothing but "
        "0 and 1. Leave encoder='auto' to have other tables encoded."
    )


def zero_one_values(values: NDArray[Any], n_splits: int) -> NDArray[Any]:
    """Return an array (n_rows, n_splits) as the descending kernel reads it; its values are checked there."""
    if values.ndim != 2:
        raise ValueError(_not_two_dimensional(values))
    if values.shape[1] != n_splits:
        raise ValueError(
            f"X has {values.shape[1]} features, but LookaheadTreeClassifier is expecting {n_splits} "
            "features as input; pass the columns of training, in their order."
        )
    if values.dtype == np.bool_:
        values = values.view(np.uint8)
    if values.dtype not in _READ_AS_IS:
        values = _as_floats(values)
    return np.ascontiguousarray(values)


def _not_two_dimensional(values: NDArray[Any]) -> str:
    return (
        f"X has shape {values.shape}; it must be a table of at least one row and one column. Reshape your data "
        "with X.reshape(-1, 1) if it is one column, or X.reshape(1, -1) if it is one row."
    )


def _as_floats(values: NDArray[Any]) -> NDArray[np.float64]:
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"X holds {values.dtype} values, but the tree was fitted on a 0/1 matrix; pass the same 0/1 columns."
        ) from None
