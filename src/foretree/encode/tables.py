"""Tables of any library as named columns that are read one at a time."""

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from foretree.encode.columns import Column, column_of_array, column_of_series

# The types of numbers that columns of any table may have.
_BLOCK_TYPES = frozenset(["f4", "f8", *(f"{sign}{size}" for sign in "iu" for size in (1, 2, 4, 8))])


@dataclass(frozen=True, slots=True)
class ArrayTable:
    """A matrix (n_rows, n_columns) of one dtype."""

    values: NDArray[Any]
    names: tuple[str, ...]
    named: bool = False

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.values)

    def column(self, position: int) -> Column:
        """Read one column."""
        return column_of_array(self.values[:, position], self.names[position])


@dataclass(frozen=True, slots=True)
class FrameTable:
    """A pandas, polars or Arrow table; its own names count only if all are strings."""

    frame: "nw.DataFrame[Any]"
    names: tuple[str, ...]
    named: bool
    n_rows: int

    def column(self, position: int) -> Column:
        """Read one column."""
        return column_of_series(self.frame[:, position], self.names[position])


Table = ArrayTable | FrameTable


def read_table(X: Any) -> Table:
    """Return `X` as a table with at least one row and one column."""
    table = ArrayTable(X, _numbered(X.shape[1])) if _is_plain_matrix(X) else _read_any(X)
    shape = (table.n_rows, len(table.names))
    if shape[1] == 0:
        raise ValueError(f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required.")
    if shape[0] == 0:
        raise ValueError(f"Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required.")
    return table


def _is_plain_matrix(X: Any) -> bool:
    return type(X) is np.ndarray and X.ndim == 2


def _numbered(n_columns: int) -> tuple[str, ...]:
    return tuple([f"x{i}" for i in range(n_columns)])


def _read_any(X: Any) -> Table:
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        raise TypeError(
            "Sparse data was passed, but foretree packs dense tables; use X.toarray() if it is small."
        )
    try:
        frame = nw.from_native(X, eager_only=True)
        names: Sequence[Any] = frame.columns
    except TypeError:
        return _read_array(X)
    except nw.exceptions.DuplicateError:
        names = list(getattr(X, "column_names", None) or X.columns)
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(
            f"The column name {repeated[0]!r} occurs more than once; give every column its own name."
        )
    table = _read_frame(frame, names)
    values = _one_block(X)
    return table if values is None else ArrayTable(values, table.names, table.named)


def _one_block(X: Any) -> NDArray[Any] | None:
    """Return the values of a pandas table whose columns are NumPy numbers of one type, which pandas keeps together.

    To read them column by column takes a quarter of the time of a small fit.
    """
    kinds = set(getattr(getattr(X, "dtypes", None), "array", ()))
    if len(kinds) != 1 or not hasattr(X, "to_numpy"):
        return None
    (kind,) = kinds
    if not isinstance(kind, np.dtype) or not kind.isnative or kind.str[1:] not in _BLOCK_TYPES:
        return None
    values: NDArray[Any] = X.to_numpy()
    return values


def _read_frame(frame: "nw.DataFrame[Any]", names: Sequence[Any]) -> FrameTable:
    n_strings = sum(isinstance(name, str) for name in names)
    if 0 < n_strings < len(names):
        other = next(name for name in names if not isinstance(name, str))
        raise TypeError(
            f"Some column names are strings and {other!r} is not; name all columns with strings, "
            "for example X.columns = X.columns.astype(str)."
        )
    named = n_strings > 0
    return FrameTable(frame, tuple(names) if named else _numbered(len(names)), named, frame.shape[0])


def _read_array(X: Any) -> ArrayTable:
    for collect in ("collect", "compute"):
        if hasattr(X, collect):
            raise TypeError(
                f"A lazy table was passed ({type(X).__name__}); read it first with X.{collect}()."
            )
    try:
        values = _with_none(X) if isinstance(X, np.ma.MaskedArray) else np.asarray(X)
        if values.dtype.kind in "US" and not hasattr(X, "dtype"):
            # Among lists, NumPy would turn the numbers beside a string into strings.
            values = np.asarray(X, dtype=object)
    except ValueError as error:
        raise ValueError(
            f"X is no table: its rows must all have the same number of values ({error})."
        ) from error
    if values.ndim == 0:
        raise ValueError(
            f"X has the type {type(X).__name__} and is no table; pass a data frame, a 2D array or rows."
        )
    _check_two_dimensions(values)
    return ArrayTable(values, _numbered(values.shape[1]))


def _with_none(masked: "np.ma.MaskedArray[Any, Any]") -> NDArray[Any]:
    # A plain conversion would show the values that the mask hides.
    values = masked.data.astype(object)
    values[np.ma.getmaskarray(masked)] = None
    return values


def _check_two_dimensions(values: NDArray[Any]) -> None:
    if values.ndim == 2:
        return
    if values.ndim > 2:
        raise ValueError(
            f"Found array with dim {values.ndim}, while dim <= 2 is required: pass a table, rows by columns."
        )
    raise ValueError(
        f"Expected 2D array, got {values.ndim}D array instead. Reshape your data: X.reshape(-1, 1) if it is "
        "a single column, X.reshape(1, -1) if it is a single row."
    )


def places_of(table: Table, names: tuple[str, ...], named: bool, reader: str) -> NDArray[np.intp]:
    """Return where each training column sits in a table: by name, or by place if either has no names.

    `reader` is the name of the estimator that asks.
    """
    if table.named and named:
        if table.names == names:
            return np.arange(len(names))
        place = {name: position for position, name in enumerate(table.names)}
        lost = [name for name in names if name not in place]
        if lost:
            raise ValueError(_lost_column_text(lost, table.names))
        return np.array([place[name] for name in names])
    if len(table.names) != len(names):
        raise ValueError(
            f"X has {len(table.names)} features, but {reader} is expecting {len(names)} features as input; "
            "pass the columns of training, in their order."
        )
    if table.named or named:
        _warn_of_names(reader, table.named)
    return np.arange(len(names))


def _warn_of_names(reader: str, named: bool) -> None:
    text = (
        f"X has feature names, but {reader} was fitted without feature names"
        if named
        else f"X does not have valid feature names, but {reader} was fitted with feature names"
    )
    warnings.warn(f"{text}; columns are matched by their place.", UserWarning, stacklevel=5)


def _lost_column_text(lost: list[str], names: tuple[str, ...]) -> str:
    listed = ", ".join(repr(name) for name in lost[:5]) + (", ..." if len(lost) > 5 else "")
    near = [name for name in names if name.strip().lower() == lost[0].strip().lower()]
    hint = f" ({near[0]!r} is there: rename it?)" if near else ""
    return f"X lacks the column {listed}, which training had{hint}; add it, with missing values if need be."
