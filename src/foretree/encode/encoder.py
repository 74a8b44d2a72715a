"""The transformer from tables to yes/no answers."""

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from foretree.encode.columns import Column, Numbers
from foretree.encode.packed import PackedRows, unpack
from foretree.encode.packing import answer_tables, asked_columns, pack_columns, pack_matrix
from foretree.encode.questions import Rules, ask
from foretree.encode.splits import Split
from foretree.encode.tables import ArrayTable, Table, places_of, read_table


class NoSplitError(ValueError):
    """No column of the training table varies, so there is no question to ask."""


class SplitEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turn a table into yes/no questions about its columns and the rows into packed answers.

    The scheme "threshold" asks `age <= 37.5`; "onehot" bins numbers into deciles, as the paper does.
    """

    splits_: tuple[Split, ...]
    n_splits_: int
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    def __init__(
        self,
        scheme: Literal["threshold", "onehot"] = "threshold",
        max_bins: int = 12,
        min_category_size: float = 1,
        missing: Literal["ask", "mode"] = "ask",
    ) -> None:
        """Keep the parameters as they are given; `fit` checks them."""
        self.scheme = scheme
        self.max_bins = max_bins
        self.min_category_size = min_category_size
        self.missing = missing

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 - scikit-learn passes y
        """Learn the questions from a table (n_rows, n_columns)."""
        self._learn(X, None)
        return self

    def fit_pack(self, X: Any, sample_weight: ArrayLike | None = None) -> PackedRows:
        """Learn the questions and return the packed answers of the same table, read once.

        Rows of weight 0 teach nothing; quantiles, category sizes and modes count weights.
        """
        columns = self._learn(X, sample_weight)
        n_rows = len(columns[0].values if isinstance(columns[0], Numbers) else columns[0].codes)
        asked = {i: columns[i] for i in asked_columns(self._tables, None).tolist()}
        return pack_columns(self._tables, asked, n_rows, None)

    def fit_transform(self, X: Any, y: Any = None) -> NDArray[np.uint8]:  # noqa: ARG002 - as fit
        """Learn the questions and return the answers of the same table as a 0/1 matrix."""
        return unpack(self.fit_pack(X))

    def transform(self, X: Any) -> NDArray[np.uint8]:
        """Return the answers of a table as a 0/1 matrix (n_rows, n_splits)."""
        return unpack(self.pack(X))

    def pack(self, X: Any, splits: ArrayLike | None = None) -> PackedRows:
        """Return the packed answers of a table; of `splits` alone if given, the other bits being 0."""
        check_is_fitted(self)
        chosen = None if splits is None else _checked_splits(splits, self.n_splits_)
        table = read_table(X)
        positions = self._positions(table)
        tables = self._tables
        if tables.all_numbers and isinstance(table, ArrayTable) and table.values.dtype.kind in "fiub":
            return pack_matrix(tables, table.values, positions, chosen)
        asked = asked_columns(tables, chosen).tolist()
        columns = {i: table.column(int(positions[i])) for i in asked}
        return pack_columns(tables, columns, table.n_rows, chosen)

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> NDArray[Any]:
        """Return the questions as texts (n_splits,), about `input_features` if these are given."""
        check_is_fitted(self)
        splits: Sequence[Split] = self.splits_
        if input_features is not None:
            names = np.asarray(input_features, dtype=object)
            self._check_input_features(names)
            splits = [replace(split, column=names[split.column_index]) for split in splits]
        return np.array([str(split) for split in splits], dtype=object)

    def __sklearn_tags__(self) -> Any:
        """Say what inputs are fit; strings are, but the tag `string` also promises to take any object."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _learn(self, X: Any, sample_weight: ArrayLike | None) -> list[Column]:
        rules = _checked_rules(self)
        table = read_table(X)
        weight = None if sample_weight is None else _checked_weight(sample_weight, table.n_rows)
        columns = [table.column(i) for i in range(len(table.names))]
        questions = tuple(ask(column, i, rules, weight) for i, column in enumerate(columns))
        splits = tuple(split for q in questions for split in q.splits)
        if not splits:
            raise NoSplitError(_no_split_text(table))
        self.n_features_in_ = len(columns)
        if table.named:
            self.feature_names_in_ = np.array(table.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.splits_ = splits
        self.n_splits_ = len(splits)
        self._names = table.names
        self._tables = answer_tables(questions)
        return columns

    def _positions(self, table: Table) -> NDArray[np.intp]:
        """Return where each training column sits in a table."""
        return places_of(table, self._names, hasattr(self, "feature_names_in_"), type(self).__name__)

    def _check_input_features(self, names: NDArray[Any]) -> None:
        trained = getattr(self, "feature_names_in_", None)
        if trained is not None and not np.array_equal(trained, names):
            raise ValueError("input_features is not equal to feature_names_in_")
        if len(names) != self.n_features_in_:
            raise ValueError(
                "input_features should have length equal to number of features "
                f"({self.n_features_in_}), got {len(names)}"
            )


def _no_split_text(table: Table) -> str:
    rows = "only row (1 sample)" if table.n_rows == 1 else f"{table.n_rows} rows"
    return (
        f"No column of X gives a question: in the {rows}, each column holds a single "
        "value, or categories that are all rarer than min_category_size. Pass columns that vary."
    )


def _checked_rules(encoder: SplitEncoder) -> Rules:
    for name, allowed in (("scheme", ("threshold", "onehot")), ("missing", ("ask", "mode"))):
        value = getattr(encoder, name)
        if value not in allowed:
            raise ValueError(f"{name}={value!r} is not known; choose {allowed[0]!r} or {allowed[1]!r}.")
    if not isinstance(encoder.max_bins, Integral) or encoder.max_bins < 2:
        raise ValueError(f"max_bins={encoder.max_bins!r} must be a whole number of at least 2.")
    if not isinstance(encoder.min_category_size, Real) or not encoder.min_category_size >= 0:
        raise ValueError(f"min_category_size={encoder.min_category_size!r} must be a number of at least 0.")
    return Rules(encoder.scheme, int(encoder.max_bins), float(encoder.min_category_size), encoder.missing)


def _checked_splits(splits: ArrayLike, n_splits: int) -> NDArray[np.intp]:
    chosen = np.asarray(splits)
    if chosen.size == 0:
        return np.zeros(0, np.intp)
    if chosen.ndim != 1 or chosen.dtype.kind not in "iu" or chosen.min() < 0 or chosen.max() >= n_splits:
        raise ValueError(
            f"splits must be a list of whole numbers from 0 to {n_splits - 1}, but is {splits!r}."
        )
    return chosen.astype(np.intp)


def _checked_weight(sample_weight: ArrayLike, n_rows: int) -> NDArray[np.float64]:
    weight = np.asarray(sample_weight, np.float64)
    if weight.shape != (n_rows,):
        raise ValueError(
            f"sample_weight has the shape {weight.shape}, but X has {n_rows} rows; pass one weight a row."
        )
    if not np.all(np.isfinite(weight)) or np.any(weight < 0) or not np.any(weight > 0):
        raise ValueError("sample_weight must hold finite numbers, none negative and at least one above 0.")
    return weight
