"""Checks of y, sample_weight and class_weight, and class numbers from labels."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples, column_or_1d

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Target:
    """What is predicted: the classes, each row's class number (n,), the classes' factors (C,), weights (n,) or None."""

    classes: NDArray[Any]
    codes: NDArray[np.int64]
    factors: Floats
    row_weights: Floats | None


# Whole labels that lie this close together are numbered by a table instead of a sort.
_SMALL_RANGE = 1024
LEAST_TOTAL, MOST_TOTAL = 1e-100, 1e100


def read_classes(y: Any, n_rows: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the sorted classes of y (n_rows,) and each row's class number."""
    labels = y if type(y) is np.ndarray and y.ndim == 1 else _as_column(y)
    if labels.shape[0] != n_rows:
        raise ValueError(
            f"X has {n_rows} rows but y has {labels.shape[0]}; inconsistent numbers of samples: pass one label per row."
        )
    if labels.dtype.kind not in "iub":
        _refuse_non_classes(labels)
    classes, codes = _number(labels)
    if classes.size < 2:
        raise ValueError(
            f"y holds one class only, {classes.tolist()[0]!r}; a classifier needs rows of at least two classes."
        )
    return classes, codes


def _as_column(y: Any) -> NDArray[Any]:
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    array = np.asarray(y)
    if array.ndim > 1 and array.shape[-1] != 1:
        raise ValueError(
            f"y should be a 1d array, got an array of shape {array.shape} instead; pass one column of labels "
            "(one tree predicts one target)."
        )
    out: NDArray[Any] = column_or_1d(y, warn=True)
    return out


def _refuse_non_classes(labels: NDArray[Any]) -> None:
    if labels.dtype.kind in "mM" and np.isnat(labels).any():
        raise _missing_label(int(np.flatnonzero(np.isnat(labels))[0]), "NaT")
    if labels.dtype.kind == "S" or (labels.dtype.kind == "O" and any(type(v) is bytes for v in labels)):
        raise TypeError(
            "y holds bytes, and labels represented as bytes are not supported; decode them, as in y.astype(str)."
        )
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        place = int(np.flatnonzero(~np.isfinite(labels))[0])
        raise ValueError(
            f"Input y contains NaN or infinity (row {place} is {labels[place]}); drop these rows or give them a class."
        )
    if labels.dtype.kind == "O":
        missing = [place for place, label in enumerate(labels.tolist()) if _is_missing(label)]
        if missing:
            raise _missing_label(missing[0], "NaN or None")
    try:
        check_classification_targets(labels)
    except TypeError:
        raise _not_ordered(labels) from None
    except ValueError as error:
        raise ValueError(f"{str(error).split('. ')[0]}: {_labels_wanted(labels)}") from None


def _labels_wanted(labels: NDArray[Any]) -> str:
    first = labels.tolist()[0]
    if labels.dtype.kind == "O":
        kind = type(first).__name__
        name = kind if kind in ("bool", "int") else "str"
        return f"y holds {first!r} ({kind}) as a Python object; give y a type of its own, as in y.astype({name})."
    return f"y holds numbers such as {first!r}; give every row one of a few labels: strings, whole numbers or booleans."


def _is_missing(label: Any) -> bool:
    # pandas' marker is known by name, so that pandas need not be installed; it equals neither itself nor another.
    return label is None or type(label).__name__ == "NAType" or bool(label != label)


def _missing_label(row: int, what: str) -> ValueError:
    return ValueError(f"Input y contains {what} (first in row {row}); drop these rows or give them a class.")


def _not_ordered(labels: NDArray[Any]) -> ValueError:
    kinds = sorted({type(label).__name__ for label in labels.tolist()})
    return ValueError(
        f"y mixes labels that cannot be ordered ({', '.join(kinds)}); give all labels one type, such as str."
    )


def _number(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    if labels.dtype.kind in "iu" and labels.size:
        least, most = labels.min(), labels.max()
        if int(most) - int(least) < _SMALL_RANGE:
            codes = labels.astype(np.int64)
            codes -= least.astype(np.int64)
            present = np.flatnonzero(np.bincount(codes))
            number = np.empty(int(most) - int(least) + 1, np.int64)
            number[present] = np.arange(present.size)
            np.take(number, codes, out=codes, mode="clip")
            # In narrow types both summands may wrap round, but their sum is right.
            return present.astype(labels.dtype) + least, codes
    classes, codes = np.unique(labels, return_inverse=True)
    return classes, codes.astype(np.int64)


def read_row_weights(sample_weight: Any, X: Any) -> Floats | None:
    """Return checked weights of X's rows (n_rows,), or None where all rows weigh the same 1."""
    if sample_weight is None:
        return None
    n_rows = _num_samples(X)
    if np.isscalar(sample_weight):
        weights = np.full(n_rows, sample_weight, np.float64)
    else:
        try:
            weights = np.asarray(sample_weight, np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                "sample_weight holds something that is not a number; pass one number per row."
            ) from None
    if weights.ndim != 1 or weights.size != n_rows:
        raise ValueError(
            f"sample_weight has shape {weights.shape}, but X has {n_rows} rows; "
            "sample_weight must be 1D with one weight per row."
        )
    if not np.isfinite(weights).all():
        place = int(np.flatnonzero(~np.isfinite(weights))[0])
        raise ValueError(f"sample_weight of row {place} is {weights[place]}; weights must be finite numbers.")
    if weights.min() < 0:
        place = int(weights.argmin())
        raise ValueError(f"sample_weight of row {place} is {weights[place]}; weights must not be negative.")
    if not weights.any():
        raise ValueError(
            "sample_weight is zero for every row, so there is nothing to learn from; give some rows weight."
        )
    if (weights == 1.0).all():
        return None
    with np.errstate(over="ignore"):
        check_total(float(weights.sum()), "sample_weight")
    return weights


def check_total(total: float, what: str) -> None:
    """Refuse a sum of weights whose square, which losses compute, no float can hold."""
    if not LEAST_TOTAL <= total <= MOST_TOTAL:
        raise ValueError(
            f"{what} adds up to {total:.3g} over all rows, but losses can be computed from {LEAST_TOTAL:g} to "
            f"{MOST_TOTAL:g} only; multiply all weights by the same number."
        )


def read_class_weights(
    class_weight: Any, classes: NDArray[Any], codes: NDArray[np.int64], row_weights: Floats | None
) -> Floats:
    """Return each class's factor (C,); "balanced" gives every class the same total weight."""
    if class_weight is None:
        return np.ones(classes.size)
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ValueError(
                f"class_weight={class_weight!r} is unknown; use 'balanced', a dict from class to weight, or None."
            )
        totals = np.bincount(codes, weights=row_weights, minlength=classes.size).astype(np.float64)
        present = totals > 0
        return np.where(present, totals.sum() / (present.sum() * np.where(present, totals, 1.0)), 1.0)
    if not isinstance(class_weight, Mapping):
        raise ValueError(
            f"class_weight={class_weight!r} must be 'balanced', a dict from class to weight, or None."
        )
    labels = classes.tolist()
    unknown = [label for label in class_weight if label not in labels]
    if unknown:
        raise ValueError(
            f"class_weight names the class {unknown[0]!r}, which y lacks; its classes are {labels}."
        )
    try:
        factors = np.array([class_weight.get(label, 1.0) for label in labels], np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"class_weight={class_weight!r} must give each class a number.") from None
    if not np.isfinite(factors).all() or factors.min() < 0 or factors.sum() == 0:
        raise ValueError(
            f"class_weight={class_weight!r} must give finite weights of at least 0, and not 0 to every class."
        )
    return factors
