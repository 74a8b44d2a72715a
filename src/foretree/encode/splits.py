"""Yes/no questions about one column, and how they read."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

SplitKind = Literal["threshold", "category", "missing", "true", "interval"]


@dataclass(frozen=True, slots=True)
class Split:
    """One yes/no question about one original column.

    `value` is what the column is compared with: a number, label, datetime or timedelta; True or 1 for kind
    "true"; a pair (low, high) with None for an open end for kind "interval"; None for kind "missing".
    """

    column: str
    column_index: int
    kind: SplitKind
    value: Any = None
    order: tuple[Any, ...] = ()  # the ordered categories, lowest first, where `value` is one of them
    missing_answer: bool = False  # what a missing value answers
    missing_seen: bool = False  # whether the training column had any

    def __str__(self) -> str:
        """Return the question as it reads when the answer is yes."""
        text = _yes_text(self)
        return f"{text} or missing" if self._mentions_missing(True) else text

    @property
    def negated(self) -> str:
        """The question as it reads when the answer is no."""
        text = _no_text(self)
        return f"{text} or missing" if self._mentions_missing(False) else text

    def _mentions_missing(self, answer: bool) -> bool:
        speaks_of_missing = self.kind == "missing" or self.value == (None, None)
        return self.missing_seen and self.missing_answer is answer and not speaks_of_missing


def _yes_text(split: Split) -> str:
    name, value = split.column, split.value
    match split.kind:
        case "threshold":
            return f"{name} <= {value_text(value)}"
        case "category":
            return f"{name} = {value_text(value)}"
        case "missing":
            return f"{name} is missing"
        case "true":
            return f"{name} is true" if value is True else f"{name} = 1"
        case "interval":
            return _interval_text(name, *value)


def _no_text(split: Split) -> str:
    name, value = split.column, split.value
    match split.kind:
        case "threshold":
            return f"{name} > {value_text(value)}"
        case "category":
            return f"{name} != {value_text(value)}"
        case "missing":
            return f"{name} is present"
        case "true":
            return f"{name} is false" if value is True else f"{name} = 0"
        case "interval":
            return _outside_text(name, *value)


def _interval_text(name: str, low: Any, high: Any) -> str:
    if low is None and high is None:
        return f"{name} is present"
    if low is None:
        return f"{name} <= {value_text(high)}"
    if high is None:
        return f"{name} > {value_text(low)}"
    return f"{value_text(low)} < {name} <= {value_text(high)}"


def _outside_text(name: str, low: Any, high: Any) -> str:
    if low is None and high is None:
        return f"{name} is missing"
    sides = [] if low is None else [f"{name} <= {value_text(low)}"]
    if high is not None:
        sides.append(f"{name} > {value_text(high)}")
    return " or ".join(sides)


def value_text(value: Any) -> str:
    """Return the shortest text that still names `value` and nothing else."""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e16 else repr(value)
    if isinstance(value, datetime):
        return _moment_text(value)
    text = str(value)
    plain = bool(text) and text == text.strip() and text.isprintable()
    # A label that cannot be seen as it is gets quotes.
    return repr(text) if isinstance(value, str) and not plain else text


def _moment_text(value: datetime) -> str:
    midnight = (value.hour, value.minute, value.second, value.microsecond) == (0, 0, 0, 0)
    text = value.date().isoformat() if midnight else value.replace(tzinfo=None).isoformat(sep=" ")
    return text if value.tzinfo is None else f"{text} UTC"
