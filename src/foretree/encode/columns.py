"""One column of any table as plain numbers or as codes of labels."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from numbers import Number
from typing import Any, Literal

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

NumberKind = Literal["number", "boolean", "date", "moment", "duration", "empty"]
Kind = Literal["number", "boolean", "date", "moment", "duration", "empty", "text"]

KIND_TEXT: dict[str, str] = {
    "number": "numbers",
    "boolean": "booleans",
    "date": "dates without a time zone",
    "moment": "dates with a time zone",
    "duration": "durations",
    "empty": "only missing values",
    "text": "text or categories",
}


@dataclass(frozen=True, slots=True)
class Numbers:
    """A column of numbers; times are microseconds, dates since 1970 (in UTC with a zone); NaN is missing."""

    name: str
    kind: NumberKind
    values: NDArray[Any]  # (n_rows,), boolean, integer or float


@dataclass(frozen=True, slots=True)
class Labels:
    """A column of labels: row i holds labels[codes[i]]; code -1 is missing; labels may be unused."""

    name: str
    codes: NDArray[Any]  # (n_rows,), integer
    labels: Sequence[Any]
    ordered: bool = False

    @property
    def kind(self) -> Literal["text"]:
        """Text and categories are one kind: they are compared by label."""
        return "text"


Column = Numbers | Labels


def column_of_array(values: NDArray[Any], name: str) -> Column:
    """Read one column (n_rows,) of a NumPy array."""
    match values.dtype.kind:
        case "b":
            return Numbers(name, "boolean", values)
        case "i" | "u" | "f":
            return Numbers(name, "number", values)
        case "M":
            return Numbers(name, "date", _microseconds(values, "datetime64[us]"))
        case "m":
            return Numbers(name, "duration", _microseconds(values, "timedelta64[us]"))
        case "U" | "T":
            return column_of_objects(values.tolist(), name)
        case "O":
            return column_of_objects(values.tolist(), name)
        case "c":
            raise ValueError(
                f"Complex data not supported: column {name!r} holds complex numbers; pass real ones."
            )
    raise TypeError(_unknown_type_text(name, values.dtype))


def _microseconds(values: NDArray[Any], unit: str) -> NDArray[np.float64]:
    steps = values.astype(unit)
    numbers = steps.astype(np.int64).astype(np.float64)
    numbers[np.isnat(steps)] = np.nan
    return numbers


def column_of_series(series: "nw.Series[Any]", name: str) -> Column:
    """Read one column of a pandas, polars or Arrow table."""
    dtype = series.dtype
    if dtype.is_numeric() or dtype == nw.Boolean:
        return Numbers(name, "boolean" if dtype == nw.Boolean else "number", _plain_numbers(series))
    match dtype:
        case nw.Date() | nw.Datetime():
            has_zone = isinstance(dtype, nw.Datetime) and dtype.time_zone is not None
            return Numbers(name, "moment" if has_zone else "date", _floats(series.dt.timestamp("us")))
        case nw.Duration():
            return Numbers(name, "duration", _floats(series.dt.total_microseconds()))
        case nw.String():
            return _text(series, name)
        case nw.Categorical() | nw.Enum():
            return _categories(series, name)
        case nw.Object():
            return column_of_objects(series.to_list(), name)
    native = series.to_native()
    native_dtype = getattr(native, "dtype", dtype)
    if dtype == nw.Unknown() and getattr(native_dtype, "tz", None) is not None:
        # To narwhals, pandas' zones with more than letters and / in their names are no zones: America/New_York.
        return column_of_series(nw.from_native(native.dt.tz_convert("UTC"), series_only=True), name)
    if series.null_count() == len(series):
        return Numbers(name, "empty", np.full(len(series), np.nan))
    raise TypeError(_unknown_type_text(name, native_dtype))


def _unknown_type_text(name: str, dtype: Any) -> str:
    return (
        f"Column {name!r} has the type {dtype}, about which foretree has no questions; convert it to "
        "numbers, booleans, text, categories or dates, or drop it."
    )


def _plain_numbers(series: "nw.Series[Any]") -> NDArray[Any]:
    """Numbers as they lie in memory where that needs no copy, else as floats with NaN for null."""
    native = series.to_native()
    if isinstance(getattr(native, "dtype", None), np.dtype):
        values: NDArray[Any] = native.to_numpy()
        return values
    return _floats(series)


def _floats(series: "nw.Series[Any]") -> NDArray[np.float64]:
    # NumPy has no integers of 128 bits.
    if not series.dtype.is_integer() or series.dtype in (nw.Int128, nw.UInt128):
        values: NDArray[np.float64] = series.cast(nw.Float64()).to_numpy()
        return values
    # NumPy rounds whole numbers beyond 2**53; Arrow refuses to.
    missing = series.is_null().to_numpy()
    whole: NDArray[np.float64] = series.fill_null(0).to_numpy().astype(np.float64)
    whole[missing] = np.nan
    return whole


def _text(series: "nw.Series[Any]", name: str) -> Labels:
    native = series.to_native()
    if series.implementation.is_polars():
        return _polars_text(native, name)
    if series.implementation.is_pyarrow():
        return _arrow_text(native, name)
    if hasattr(getattr(native, "array", None), "__arrow_array__"):
        return _arrow_text(series.to_arrow(), name)
    values = series.to_list()
    return _labels_of_list(values, dict.fromkeys(values), name)


def _polars_text(series: Any, name: str) -> Labels:
    import polars as pl

    labels = series.drop_nulls().unique()
    numbers = pl.Series(range(len(labels)), dtype=pl.Int32)
    codes = series.replace_strict(labels, numbers, default=-1, return_dtype=pl.Int32)
    return Labels(name, codes.fill_null(-1).to_numpy(), labels.to_list())


def _arrow_text(array: Any, name: str) -> Labels:
    import pyarrow as pa

    chunked = array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])
    encoded = chunked.dictionary_encode().combine_chunks()
    # Indices may be unsigned, as polars' are.
    codes = encoded.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    return Labels(name, codes, encoded.dictionary.to_pylist())


def _categories(series: "nw.Series[Any]", name: str) -> Labels:
    native = series.to_native()
    if series.implementation.is_pandas() and hasattr(native, "cat"):
        return Labels(name, native.cat.codes.to_numpy(), native.cat.categories.tolist(), native.cat.ordered)
    in_arrow = series.implementation.is_pyarrow()
    if in_arrow or hasattr(getattr(native, "array", None), "__arrow_array__"):
        array = native if in_arrow else series.to_arrow()
        return replace(_arrow_text(array, name), ordered=bool(array.type.ordered))
    text = _text(series.cast(nw.String()), name)
    if not isinstance(series.dtype, nw.Enum):
        return text
    order = list(series.dtype.categories)
    place = {label: code for code, label in enumerate(order)}
    place_of_code = np.array([place[label] for label in text.labels] + [-1], np.int32)
    return Labels(name, place_of_code[text.codes], order, ordered=True)


def column_of_objects(values: list[Any], name: str) -> Column:
    """Read a list of Python objects (n_rows,): all text, all numbers or all dates, besides missing ones."""
    # Text is told quickest by its few distinct values. Of other kinds these tell less: True would hide 1.
    if any(type(value) is str for value in values[:SNIFF]):
        distinct = _distinct(values)
        if distinct and all(type(value) is str or _is_missing(value) for value in distinct):
            return _labels_of_list(values, distinct, name)
    present = _present_types(values)
    kind = _common_kind(present, name)
    if kind == "text":
        return _labels_of_list(values, dict.fromkeys(values), name)
    if kind in ("date", "moment"):
        _refuse_mixed_zones(values, name)
    return Numbers(name, kind, _number_array(values, kind, name))


# So many values tell whether a column of objects is worth reading as text first.
SNIFF = 100


def _distinct(values: list[Any]) -> dict[Any, None]:
    try:
        return dict.fromkeys(values)
    except TypeError:  # a value without a hash is no text
        return {}


def _labels_of_list(values: list[Any], distinct: dict[Any, None], name: str) -> Labels:
    labels = [value for value in distinct if isinstance(value, str)]
    code_of = {**dict.fromkeys(distinct, -1), **{label: code for code, label in enumerate(labels)}}
    codes = np.fromiter(map(code_of.__getitem__, values), np.int32, len(values))
    return Labels(name, codes, labels)


def _present_types(values: list[Any]) -> dict[type, Any]:
    """Return an example of each type among the values that are not missing."""
    example: dict[type, Any] = dict(zip(map(type, values), values, strict=True))
    present = {kind: value for kind, value in example.items() if not _always_missing(kind)}
    if float in present and not all(issubclass(kind, Number | np.number) for kind in present):
        # NaN stands for missing among text or dates; a real float does not belong there.
        real = next((v for v in values if type(v) is float and v == v), None)
        present = {kind: value for kind, value in present.items() if kind is not float}
        if real is not None:
            present[float] = real
    return present


def _always_missing(kind: type) -> bool:
    # pandas' two markers are known by name, so that pandas need not be installed.
    return kind is type(None) or kind.__name__ in ("NAType", "NaTType")


def _common_kind(present: dict[type, Any], name: str) -> Kind:
    if not present:
        return "empty"
    kinds = {_kind_of_type(kind, example): example for kind, example in present.items()}
    if set(kinds) <= {"number", "boolean"} and "number" in kinds:
        return "number"
    if len(kinds) == 1 and None not in kinds:
        return next(kind for kind in kinds if kind is not None)
    listed = " and ".join(f"{example!r} ({type(example).__name__})" for example in list(kinds.values())[:2])
    raise _mixed(name, listed)


def _mixed(name: str, listed: str) -> TypeError:
    return TypeError(
        f"Column {name!r} holds {listed}, but every column of the argument must be all strings, all "
        f"numbers, all booleans or all dates; make the column one kind, or drop it."
    )


def _refuse_mixed_zones(values: list[Any], name: str) -> None:
    """Complain of times with and without a zone in one column: one type, but two kinds."""
    zoned = {value.tzinfo is not None: value for value in values if _is_time(value)}
    if len(zoned) == 2:
        raise _mixed(name, f"{str(zoned[True])!r} (with a time zone) and {str(zoned[False])!r} (without)")


def _is_time(value: Any) -> bool:
    return isinstance(value, datetime) and not _is_missing(value)


def _kind_of_type(kind: type, example: Any) -> Kind | None:
    if issubclass(kind, bool | np.bool_):
        return "boolean"
    if issubclass(kind, str):
        return "text"
    if issubclass(kind, datetime):
        return "date" if example.tzinfo is None else "moment"
    if issubclass(kind, date | np.datetime64):
        return "date"
    if issubclass(kind, timedelta | np.timedelta64):
        return "duration"
    if issubclass(kind, Number | np.number) and not issubclass(kind, complex | np.complexfloating):
        return "number"
    return None


def _number_array(values: list[Any], kind: Kind, name: str) -> NDArray[np.float64]:
    if kind in ("number", "boolean"):
        return _plain_floats([np.nan if _always_missing(type(v)) else v for v in values], name)
    if kind == "moment":
        epoch = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
        steps = [np.nan if _is_missing(v) else (v - epoch) / timedelta(microseconds=1) for v in values]
        return np.array(steps, np.float64)
    unit = "datetime64[us]" if kind == "date" else "timedelta64[us]"
    nat = np.datetime64("NaT") if kind == "date" else np.timedelta64("NaT")
    return _microseconds(np.array([nat if _is_missing(v) else v for v in values], unit), unit)


def _plain_floats(values: list[Any], name: str) -> NDArray[np.float64]:
    try:
        return np.array(values, np.float64)
    except OverflowError as error:
        raise ValueError(f"Column {name!r} holds a number beyond 1.8e308; scale the column down.") from error


def _is_missing(value: Any) -> bool:
    return _always_missing(type(value)) or value != value
