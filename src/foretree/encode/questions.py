"""What one training column is asked: its splits, and which of them each value answers with yes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from foretree._kernels.encode import count_distinct, count_whole, survey
from foretree.encode.columns import KIND_TEXT, Column, Kind, Labels, Numbers
from foretree.encode.splits import Split
from foretree.encode.thresholds import decile_edges, thresholds

FloatArray = NDArray[np.float64]
Runs = NDArray[np.int32]

PAPER_MIN_DISTINCT = 7
DAY = 86_400_000_000  # microseconds

# Whole numbers within a range of so many a row are counted in an array.
WHOLE_RANGE_PER_ROW = 4


@dataclass(frozen=True, slots=True)
class Rules:
    """How columns become splits; the parameters of SplitEncoder."""

    scheme: Literal["threshold", "onehot"] = "threshold"
    max_bins: int = 12
    min_category_size: float = 1
    missing: Literal["ask", "mode"] = "ask"


@dataclass(frozen=True, slots=True)
class Questions:
    """The splits of one column, numbered from 0; code c affirms those from runs[c, 0] to runs[c, 1] - 1.

    Numbers: code i means that i of the edges lie below the value, len(edges) + 1 is missing.
    Labels: code i is labels[i], len(labels) is missing, len(labels) + 1 any label not seen in training.
    """

    name: str
    kind: Kind
    splits: tuple[Split, ...]
    runs: Runs  # (n_codes, 2)
    edges: FloatArray  # (n_edges,)
    labels: tuple[Any, ...] = ()
    example: str = ""


@dataclass(frozen=True, slots=True)
class Seen:
    """The distinct values of a training column, lowest first, their weights, and the weight of missing."""

    distinct: FloatArray
    weights: FloatArray
    missing: float


def ask(column: Column, index: int, rules: Rules, weight: FloatArray | None) -> Questions:
    """Return the questions for a training column; rows of weight 0 count as absent."""
    if isinstance(column, Labels):
        return _ask_labels(column, index, rules, weight)
    return _ask_numbers(column, index, rules, weight)


def _ask_labels(column: Labels, index: int, rules: Rules, weight: FloatArray | None) -> Questions:
    counts = _sizes(np.add(column.codes, 1, dtype=np.int64), weight, len(column.labels) + 1)
    missing, counts = float(counts[0]), counts[1:]
    if not counts.any():
        nothing = Numbers(column.name, "empty", np.full(len(column.codes), np.nan))
        return _ask_numbers(nothing, index, rules, weight)
    if column.ordered:
        labels, sizes = list(column.labels), counts
    else:
        used = np.flatnonzero(counts)
        in_order = sorted(used.tolist(), key=lambda code: _sort_key(column.labels[code]))
        labels, sizes = [column.labels[code] for code in in_order], counts[in_order]
    if column.ordered and rules.scheme == "threshold":
        drafts, runs = _ordered_drafts(labels, sizes, missing, rules)
    else:
        drafts, runs = _category_drafts(labels, sizes, missing, rules)
    runs = np.vstack([runs, np.zeros((1, 2), np.int32)])
    splits = _named(drafts, column.name, index, runs[-2], missing)
    example = repr(labels[0])
    return Questions(column.name, "text", splits, runs, np.zeros(0), tuple(labels), example)


def _sizes(codes: NDArray[Any], weight: FloatArray | None, n_codes: int) -> FloatArray:
    sizes: FloatArray = np.bincount(codes, weight, n_codes).astype(np.float64)
    return sizes


def _sort_key(label: Any) -> tuple[str, Any]:
    # Strings among strings and numbers among numbers; a number's type is no reason to part them.
    return ("", label) if isinstance(label, int | float) else (type(label).__name__, label)


Draft = tuple[Any, ...]  # (kind, value) or (kind, value, order)


def _category_drafts(
    values: Sequence[Any], sizes: FloatArray, missing: float, rules: Rules
) -> tuple[list[Draft], Runs]:
    """One split per large enough value, and one for missing; the first of exactly two cells needs none."""
    asked = [i for i, size in enumerate(sizes.tolist()) if size > 0 and size >= rules.min_category_size]
    n_seen = np.count_nonzero(sizes)
    asks_missing = missing > 0 and (rules.missing == "ask" or n_seen == 0)
    n_cells = n_seen + asks_missing
    constant = n_cells <= 1
    if constant and rules.scheme == "threshold":
        asked, asks_missing = [], False
    elif n_cells == 2 and len(asked) + asks_missing == 2:
        asked = asked[1:]
    runs = np.zeros((len(values) + 1, 2), np.int32)
    for number, i in enumerate(asked):
        runs[i] = number, number + 1
    drafts: list[Draft] = [("category", values[i]) for i in asked]
    if asks_missing:
        runs[-1] = len(drafts), len(drafts) + 1
        drafts.append(("missing", None))
    _let_missing_answer_as_mode(runs, sizes, rules)
    return drafts, runs


def _ordered_drafts(
    labels: list[Any], sizes: FloatArray, missing: float, rules: Rules
) -> tuple[list[Draft], Runs]:
    """Thresholds on the order of the categories."""
    seen = np.flatnonzero(sizes)
    cuts = thresholds(seen.astype(np.float64), sizes[seen], rules.max_bins) if len(seen) else np.zeros(0)
    # The cut between two categories that occur is named by the lower one.
    last = seen[np.searchsorted(seen, cuts, side="right") - 1] if len(cuts) else np.zeros(0, np.int64)
    order = tuple(labels)
    drafts: list[Draft] = [("threshold", labels[code], order) for code in last.tolist()]
    first = np.searchsorted(last, np.arange(len(labels)), side="left")
    return _with_missing(drafts, first, sizes, missing, rules)


def _with_missing(
    drafts: list[Draft], first: NDArray[Any], sizes: FloatArray, missing: float, rules: Rules
) -> tuple[list[Draft], Runs]:
    """Runs of thresholds from `first` on for each code (n_codes,), then of the code for missing."""
    n_thresholds = len(drafts)
    runs = np.zeros((len(first) + 1, 2), np.int32)
    runs[:-1, 0] = first
    runs[:-1, 1] = n_thresholds
    if missing > 0 and rules.missing == "ask" and np.any(sizes > 0):
        runs[-1] = n_thresholds, n_thresholds + 1
        drafts = [*drafts, ("missing", None)]
    _let_missing_answer_as_mode(runs, sizes, rules)
    return drafts, runs


def _let_missing_answer_as_mode(runs: Runs, sizes: FloatArray, rules: Rules) -> None:
    if rules.missing == "mode" and np.any(sizes > 0):
        runs[-1] = runs[int(np.argmax(sizes))]


def _ask_numbers(column: Numbers, index: int, rules: Rules, weight: FloatArray | None) -> Questions:
    limit = rules.max_bins if rules.scheme == "threshold" else PAPER_MIN_DISTINCT
    seen = _see(column, weight, limit)
    paper_bins = rules.scheme == "onehot" and len(seen.distinct) >= PAPER_MIN_DISTINCT
    if _is_true_column(column, seen, rules):
        edges, drafts, runs = _true_drafts(column, seen, rules)
    elif paper_bins:
        edges, drafts, runs = _interval_drafts(column, seen, rules)
    elif rules.scheme == "onehot":
        edges, drafts, runs = _value_drafts(column, seen, rules)
    else:
        edges, drafts, runs = _threshold_drafts(column, seen, rules)
    splits = _named(drafts, column.name, index, runs[-1], seen.missing)
    example = _example(column, seen)
    kind = column.kind if len(seen.distinct) else "empty"
    return Questions(column.name, kind, splits, runs, edges, (), example)


def _see(column: Numbers, weight: FloatArray | None, limit: int) -> Seen:
    """Return the distinct numbers of a column, found by hashing if there are at most `limit`."""
    values = np.array(column.values, np.float64)
    lowest, highest, n_missing, whole, infinite = survey(values)
    check_finite(column.name, values, infinite)
    if weight is not None:
        return _see_weighted(values, weight)
    if n_missing == len(values):
        return Seen(np.zeros(0), np.zeros(0), float(n_missing))
    if whole and highest - lowest < WHOLE_RANGE_PER_ROW * len(values):
        counts = count_whole(values, lowest, int(highest - lowest) + 1)
        places = np.flatnonzero(counts)
        return Seen(places + lowest, counts[places].astype(np.float64), float(n_missing))
    distinct, counts, more = count_distinct(values, limit)
    if more:
        return _see_sorted(values[~np.isnan(values)] if n_missing else values, float(n_missing))
    order = np.argsort(distinct)
    return Seen(distinct[order] + 0.0, counts[order].astype(np.float64), float(n_missing))


def _see_sorted(values: FloatArray, missing: float) -> Seen:
    values.sort()
    ends = np.concatenate(([-1], np.flatnonzero(values[1:] != values[:-1]), [len(values) - 1]))
    return Seen(values[ends[1:]] + 0.0, (ends[1:] - ends[:-1]).astype(np.float64), missing)


def _see_weighted(values: FloatArray, weight: FloatArray) -> Seen:
    present = ~np.isnan(values)
    kept = present & (weight > 0)
    distinct, place = np.unique(values[kept] + 0.0, return_inverse=True)
    return Seen(distinct, _sizes(place, weight[kept], len(distinct)), float(weight[~present].sum()))


def check_finite(name: str, values: NDArray[Any], infinite: int) -> None:
    """Complain about the infinite value at row `infinite`, unless that is -1."""
    if infinite >= 0:
        raise ValueError(
            f"Column {name!r} holds {values[infinite]} in row {infinite}; NaN means missing and is allowed, "
            "but infinity is not: replace it with a finite number or NaN."
        )


def _is_true_column(column: Numbers, seen: Seen, rules: Rules) -> bool:
    # One column per category means three columns for 0, 1 and missing.
    one_column = rules.scheme == "threshold" or seen.missing == 0 or rules.missing == "mode"
    zero_one = len(seen.distinct) == 2 and seen.distinct.tolist() == [0.0, 1.0]
    return zero_one and one_column and column.kind in ("number", "boolean")


def _true_drafts(column: Numbers, seen: Seen, rules: Rules) -> tuple[FloatArray, list[Draft], Runs]:
    """A 0/1 column as it is: yes to exactly 1."""
    edges, codes = _exact_edges(np.array([1.0]))
    runs = np.zeros((len(edges) + 2, 2), np.int32)
    runs[codes] = 0, 1
    drafts: list[Draft] = [("true", True if column.kind == "boolean" else 1)]
    if rules.missing == "mode":
        runs[-1] = 0, seen.weights[1] > seen.weights[0]
    elif seen.missing > 0:
        runs[-1] = 1, 2
        drafts.append(("missing", None))
    return edges, drafts, runs


def _exact_edges(values: FloatArray) -> tuple[FloatArray, NDArray[np.int64]]:
    """Edges such that number i and no other float has the code codes[i]."""
    with np.errstate(over="ignore"):  # below the lowest float lies -inf
        edges = np.unique(np.concatenate([np.nextafter(values, -np.inf), values]))
    return edges, np.searchsorted(edges, values, side="left")


def _threshold_drafts(column: Numbers, seen: Seen, rules: Rules) -> tuple[FloatArray, list[Draft], Runs]:
    cuts = thresholds(seen.distinct, seen.weights, rules.max_bins) if len(seen.distinct) > 1 else np.zeros(0)
    cuts = _whole_days(column, seen.distinct, cuts)
    drafts: list[Draft] = [("threshold", readable(cut, column.kind, column.name)) for cut in cuts.tolist()]
    sizes = _bin_sizes(seen, cuts)
    drafts, runs = _with_missing(drafts, np.arange(len(cuts) + 1), sizes, seen.missing, rules)
    return cuts, drafts, runs


def _bin_sizes(seen: Seen, cuts: FloatArray) -> FloatArray:
    reached = np.concatenate(([0.0], np.cumsum(seen.weights)))
    places = np.searchsorted(seen.distinct, cuts, side="right")
    ends = np.concatenate((reached[:1], reached[places], reached[-1:]))
    sizes: FloatArray = ends[1:] - ends[:-1]
    return sizes


def _whole_days(column: Numbers, distinct: FloatArray, cuts: FloatArray) -> FloatArray:
    # Where all times are midnights, the midnight before the middle separates the same rows and reads better.
    if column.kind in ("date", "moment") and np.all(distinct % DAY == 0):
        return np.floor(cuts / DAY) * DAY
    return np.floor(cuts) if column.kind in ("date", "moment", "duration") else cuts


def _value_drafts(column: Numbers, seen: Seen, rules: Rules) -> tuple[FloatArray, list[Draft], Runs]:
    """Few distinct numbers as categories; other numbers answer no."""
    values = [readable(value, column.kind, column.name) for value in seen.distinct.tolist()]
    drafts, value_runs = _category_drafts(values, seen.weights, seen.missing, rules)
    edges, codes = _exact_edges(seen.distinct)
    runs = np.zeros((len(edges) + 2, 2), np.int32)
    runs[codes] = value_runs[:-1]
    runs[-1] = value_runs[-1]
    return edges, drafts, runs


def _interval_drafts(column: Numbers, seen: Seen, rules: Rules) -> tuple[FloatArray, list[Draft], Runs]:
    edges = _whole_days(column, seen.distinct, decile_edges(seen.distinct, seen.weights))
    ends = [None, *(readable(edge, column.kind, column.name) for edge in edges.tolist()), None]
    bins = list(pairwise(ends))
    sizes = _bin_sizes(seen, edges)
    drafts, runs = _category_drafts(bins, sizes, seen.missing, replace(rules, min_category_size=1))
    return edges, [("interval" if draft[0] == "category" else draft[0], *draft[1:]) for draft in drafts], runs


def readable(number: float, kind: Kind, name: str) -> Any:
    """Return a number of a column as a person would write it: a float, datetime or timedelta."""
    if kind in ("number", "empty"):
        return number
    if kind == "boolean":
        return bool(number)
    try:
        step = timedelta(microseconds=int(number))
        if kind == "duration":
            return step
        return datetime(1970, 1, 1, tzinfo=UTC if kind == "moment" else None) + step
    except OverflowError as error:
        raise ValueError(
            f"Column {name!r} holds {KIND_TEXT[kind]} beyond the years 1 to 9999; clip or drop them."
        ) from error


def _example(column: Numbers, seen: Seen) -> str:
    if not len(seen.distinct):
        return ""
    value = readable(float(seen.distinct[0]), column.kind, column.name)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _named(
    drafts: list[Draft], name: str, index: int, missing_run: Runs, missing: float
) -> tuple[Split, ...]:
    """Give the drafts their column and what a missing value answers to each."""
    first, stop = missing_run.tolist()
    seen = missing > 0
    return tuple(
        [
            Split(name, index, kind, value, order[0] if order else (), first <= number < stop, seen)
            for number, (kind, value, *order) in enumerate(drafts)
        ]
    )
