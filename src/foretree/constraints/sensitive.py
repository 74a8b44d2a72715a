"""Sensitive attributes: columns of a table, or arrays beside it, as numbered groups."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from foretree.constraints.place import Integers, Name
from foretree.encode.columns import Column, Labels, column_of_array, column_of_series
from foretree.encode.tables import Table, read_table

# Gaps are stated for every two groups: 32 groups make 496 of them.
MOST_GROUPS = 32


@dataclass(frozen=True, slots=True)
class Grouping:
    """Which group each row is in, (n_rows,), and what the groups are called."""

    codes: Integers
    labels: tuple[Hashable, ...]


def read_grouping(name: Name | None, X: Any, given: Any, n_rows: int) -> Grouping:
    """Return the groups of a constraint's `sensitive`: from what was given to `fit`, else from the table X."""
    _refuse_no_data(given)
    if name is None:
        if given is None:
            raise ValueError(
                "A constraint compares groups without naming a column; name one, as in ParityGap('sex', ...), or "
                "pass the groups to fit(X, y, sensitive=...)."
            )
        return _checked(_one_column(given), n_rows)
    is_one_column = given is not None and _is_one_column(given)
    if is_one_column and getattr(given, "name", None) == name:
        return _checked(_one_column(given), n_rows)
    tables = [] if given is None or is_one_column else [_beside(given)]
    for table in (*tables, read_table(X)):
        position = _position(table, name)
        if position is not None:
            return _checked(table.column(position), n_rows)
    raise ValueError(
        f"The sensitive column {name!r} is neither in X nor in what was given to fit(sensitive=...); pass it there if "
        "it is no feature."
    )


def _refuse_no_data(given: Any) -> None:
    if isinstance(given, str):
        raise ValueError(
            f"fit(sensitive={given!r}) is a name, and data are wanted there; a column of X is named in the constraint: "
            f"ParityGap({given!r}, ...)."
        )
    is_sized = (
        hasattr(given, "__len__") and hasattr(given, "__getitem__") and getattr(given, "shape", None) != ()
    )
    if given is not None and not is_sized:
        raise ValueError(
            f"fit(sensitive=...) was given a {type(given).__name__}; pass an array of one group a row, or a table."
        )


def _beside(given: Any) -> Table:
    if isinstance(given, dict):
        import pandas as pd

        return read_table(pd.DataFrame(given))
    return read_table(given)


def _position(table: Table, name: Name) -> int | None:
    if isinstance(name, Hashable) and name in table.names:
        return table.names.index(str(name))
    inside = isinstance(name, int) and not table.named and 0 <= name < len(table.names)
    return name if inside else None  # type: ignore[return-value]


def _is_one_column(given: Any) -> bool:
    if isinstance(given, list | tuple):
        return True
    shape = getattr(given, "shape", None)
    return not isinstance(given, dict) and (shape is None or len(shape) == 1)


def _one_column(given: Any) -> Column:
    """Read an array, a list or a series; of a table only if it has one column."""
    if not _is_one_column(given):
        table = _beside(given)
        if len(table.names) != 1:
            raise ValueError(
                f"fit(sensitive=...) was given {len(table.names)} columns, {list(table.names)}, and a constraint that "
                "names none; let it name one, as in ParityGap('sex', ...)."
            )
        return table.column(0)
    try:
        return column_of_series(nw.from_native(given, series_only=True), "sensitive")
    except TypeError:
        values = np.asarray(given)
        # Among lists, NumPy would turn the numbers beside a string into strings.
        return column_of_array(
            values if hasattr(given, "dtype") else np.asarray(given, dtype=object), "sensitive"
        )


def _checked(column: Column, n_rows: int) -> Grouping:
    """Number a column's values, refusing missing ones and more than can be compared."""
    values = column.codes if isinstance(column, Labels) else column.values
    if len(values) != n_rows:
        raise ValueError(
            f"The sensitive column {column.name!r} has {len(values)} rows and X has {n_rows}; pass one group a row."
        )
    missing = values < 0 if isinstance(column, Labels) else np.isnan(np.asarray(values, np.float64))
    if missing.any():
        raise ValueError(
            f"The sensitive column {column.name!r} is missing in row {int(np.argmax(missing))}; give rows without an "
            "answer a group of their own, such as 'unknown'."
        )
    found, codes = np.unique(values, return_inverse=True)
    if not 2 <= found.size <= MOST_GROUPS:
        what = "one value only, so there is nothing to compare" if found.size == 1 else f"{found.size} values"
        remedy = "" if found.size == 1 else f"; bin it into at most {MOST_GROUPS} groups"
        raise ValueError(f"The sensitive column {column.name!r} has {what}{remedy}.")
    labels = [column.labels[code] for code in found] if isinstance(column, Labels) else found.tolist()
    return Grouping(codes.astype(np.int64), tuple(labels))
