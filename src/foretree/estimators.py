"""The scikit-learn face of the rolling lookahead tree."""

from dataclasses import replace
from time import perf_counter
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from foretree._kernels.descend import descend_values, descend_words
from foretree.costs import Limits
from foretree.encode import NoSplitError, PackedRows, Split, SplitEncoder
from foretree.encode.tables import places_of, read_table
from foretree.encode.zero_one import matrix_of, named_zero_one, pack_zero_one, zero_one_values
from foretree.gap import cut_short, unproven_loss
from foretree.groups import GroupedRows, group_rows
from foretree.grow import Grown, GrowthPlan, grow_rows
from foretree.losses import resolve_loss
from foretree.parameters import check_parameters
from foretree.targets import Target, check_total, read_class_weights, read_classes, read_row_weights
from foretree.tree import Tree, importances, levels, path_matrix, total_loss

Floats = NDArray[np.float64]


class LookaheadTreeClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classification tree that looks some steps ahead before it splits a node.

    At every node the optimal tree of `lookahead` steps is found exactly, its first split is kept, and the
    children look again, unless what was planned for them has no loss. 1 is greedy CART, 2 the rolling
    subtrees of Organ, Kayış and Khaniyev, "optimal" (or `max_depth`) the optimal tree.

    Parameters
    ----------
    max_depth : int or None, default=4
        The most questions on a path; None for no limit.
    lookahead : int or "optimal", default=2
        How many steps a node looks ahead.
    loss : str, cost matrix (C, C) or callable, default="hybrid"
        "misclassification", "gini", "entropy", "hybrid" (misclassification up to max_depth 5, Gini
        beyond), prices[true, said], or a function of class weights (..., C). A Numba-compiled function
        gets the weights of one leaf (C,) and runs inside the kernel.
    min_samples_leaf, min_samples_internal : int, default=1 and 2
        The fewest rows of a leaf, and of a node that is split. Whole sample weights count as repeated rows.
    min_loss_decrease : float, default=0.0
        A node is split only if its look lowers the loss per unit of training weight by as much.
    max_leaf_nodes : int or None, default=None
        The most leaves; nodes whose look lowers the loss most are split first.
    class_weight : "balanced", dict or None, default=None
        Factors of the classes' weights.
    stop : "pure" or "no_gain", default="pure"
        Whether impure nodes are split also when the look lowers no loss.
    encoder : "auto", None or SplitEncoder, default="auto"
        How tables become yes/no questions: "auto" takes a 0/1 matrix as it is and encodes anything else.
    time_limit : float or None, default=None
        Seconds of `fit` after which the best tree so far is returned; `optimality_gap_` then says what is unproven.
    n_jobs : int or None, default=None
        Threads; the tree is the same with any number. Only rolling trees of built-in losses and up to three steps,
        without limits on leaves or time, are grown by more than one.
    verbose : int, default=0
        Whether to say what takes time.
    tie_break : "gini" or "first", default="gini"
        What decides between trees of equal loss and equally many leaves.
    min_weight_fraction_leaf : float, default=0.0
        The least weight of a leaf, as a share of the weight of all rows.
    constraints : list of constraints or None, default=None
        What the tree must keep, from `foretree.constraints`, such as ParityGap("sex", at_most=0.05).
    solver : "closed", "lp" or "mip", default="closed"
        What solves a node's two steps: the closed form, or the paper's [OCT-2] by HiGHS, for the same tree.
    """

    feature_names_in_: NDArray[Any]

    def __init__(
        self,
        max_depth: int | None = 4,
        lookahead: int | str = 2,
        loss: Any = "hybrid",
        min_samples_leaf: int = 1,
        min_samples_internal: int = 2,
        min_loss_decrease: float = 0.0,
        max_leaf_nodes: int | None = None,
        class_weight: Any = None,
        stop: str = "pure",
        encoder: Any = "auto",
        time_limit: float | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        tie_break: str = "gini",
        min_weight_fraction_leaf: float = 0.0,
        constraints: Any = None,
        solver: str = "closed",
    ) -> None:
        """Keep the parameters as they are given; `fit` checks them."""
        self.max_depth = max_depth
        self.lookahead = lookahead
        self.loss = loss
        self.min_samples_leaf = min_samples_leaf
        self.min_samples_internal = min_samples_internal
        self.min_loss_decrease = min_loss_decrease
        self.max_leaf_nodes = max_leaf_nodes
        self.class_weight = class_weight
        self.stop = stop
        self.encoder = encoder
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.tie_break = tie_break
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.constraints = constraints
        self.solver = solver

    def fit(self, X: Any, y: Any, sample_weight: Any = None, sensitive: Any = None) -> Self:
        """Grow the tree on a table (n_rows, n_columns) and its classes (n_rows,).

        `sensitive` holds what constraints compare groups by where that is no column of X: an array (n_rows,)
        or a table with columns that the constraints name.
        """
        began = perf_counter()
        # What a fit that fails leaves behind is no tree, least of all the one before.
        self.__dict__.pop("tree_", None)
        check_parameters(self)
        row_weights = read_row_weights(sample_weight, X)
        rows = self._read_table(X, y, row_weights)
        classes, codes = read_classes(y, rows.n_rows)
        factors = read_class_weights(self.class_weight, classes, codes, row_weights)
        _refuse_one_class(codes, row_weights)
        grouped = group_rows(rows.words, rows.n_splits, codes, factors, row_weights)
        total = float(grouped.groups.weights @ np.diff(grouped.starts))
        check_total(total, "sample_weight times class_weight")
        plan = self._plan(rows.n_splits, total, perf_counter() - began)
        loss = resolve_loss(self.loss, self._deepest(), classes.size)
        if self.solver == "closed" and self._wishes_nothing():
            del codes  # 8 bytes a row that growing has no use for
            grown = grow_rows(grouped, loss, plan, self.n_jobs, bool(self.verbose))
        else:
            # Loaded here: few trees need it, and every process would wait for it.
            from foretree import constrained

            target = Target(classes, codes, factors, row_weights)
            wanted = self._wanted(grouped, X, sensitive)
            grown = constrained.grow_constrained(rows, target, loss, plan, wanted)
        if grown.tree.n_nodes == 1:
            _refuse_constant(rows.words, row_weights)
        self.classes_ = classes
        self.tree_ = grown.tree
        if loss.prices is not None and grown.tree.decided is None:
            # Where classes are priced, a leaf says the cheapest, which need not be its heaviest.
            self.tree_ = replace(grown.tree, decided=loss.says(grown.tree.voices))
        self.loss_value_ = total_loss(grown.tree) / total
        self._grown = grown
        self._total = total
        if self.verbose:
            print(
                f"foretree: {self.tree_.n_leaves} leaves, depth {self.get_depth()}, {loss.name} {self.loss_value_:.4g} "
                f"from {rows.n_rows} rows and {rows.n_splits} splits in {perf_counter() - began:.3g} s."
            )
        return self

    def _wishes_nothing(self) -> bool:
        return self.constraints is None or (
            isinstance(self.constraints, list | tuple) and not self.constraints
        )

    def _deepest(self) -> int:
        return 2**31 if self.max_depth is None else int(self.max_depth)

    def _plan(self, n_splits: int, total: float, spent: float) -> GrowthPlan:
        """Return how to grow on `n_splits` questions and rows of weight `total`, `spent` seconds after the start."""
        # No path asks a question twice.
        deepest = min(self._deepest(), n_splits)
        share = float(self.min_weight_fraction_leaf)
        return GrowthPlan(
            deepest,
            deepest if self.lookahead == "optimal" else min(int(self.lookahead), deepest),
            Limits(int(self.min_samples_leaf), int(self.min_samples_internal), share * total),
            self.stop == "no_gain",
            float(self.min_loss_decrease) * total,
            self.max_leaf_nodes,
            self.tie_break == "gini",
            None if self.time_limit is None else max(0.0, self.time_limit - spent),
        )

    def _wanted(self, grouped: GroupedRows, X: Any, sensitive: Any) -> Any:
        """Return the constraints and the solver, in the words of `constrained`."""
        from foretree import constrained

        return constrained.Wanted(
            grouped,
            self.constraints,
            self.solver,
            self.loss,
            constrained.read_columns(self._feature_names(), self._splits()),
            lambda name: constrained.read_grouping(name, X, sensitive, len(grouped.words)),
            self.n_jobs,
        )

    def _read_table(self, X: Any, y: Any, row_weights: Floats | None) -> PackedRows:
        """Pack the training table and remember how, in encoder_ and the names of features."""
        if y is None:
            raise ValueError(
                "This LookaheadTreeClassifier requires y to be passed, but the target y is None."
            )
        if self.encoder is None or (isinstance(self.encoder, str) and type(X) is np.ndarray):
            values, names = (X, None) if type(X) is np.ndarray else named_zero_one(X)
            packed = pack_zero_one(values, names)
            if isinstance(packed, PackedRows):
                self.encoder_ = None
                self.n_features_in_ = packed.n_splits
                self._keep_names(names)
                return packed
            if self.encoder is None:
                raise ValueError(packed)
        self.encoder_ = SplitEncoder() if isinstance(self.encoder, str) else clone(self.encoder)
        rows: PackedRows = self.encoder_.fit_pack(X, row_weights)
        self.n_features_in_ = self.encoder_.n_features_in_
        self._keep_names(getattr(self.encoder_, "feature_names_in_", None))
        return rows

    def _keep_names(self, names: NDArray[Any] | None) -> None:
        if names is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def apply(self, X: Any) -> NDArray[np.int64]:
        """Return the leaf each row ends in, as a node number of tree_, (n_rows,)."""
        check_is_fitted(self)
        tree = self.tree_
        if self.encoder_ is not None:
            asked = np.unique(tree.split[~tree.is_leaf])
            words = self.encoder_.pack(X, asked).words
            leaves = np.empty(len(words), np.int64)
            descend_words(words, tree.split, tree.low, tree.high, leaves)
            return leaves
        values = self._read_zero_one(X)
        leaves = np.empty(len(values), np.int64)
        place = descend_values(values, tree.split, tree.low, tree.high, leaves)
        if place >= 0:
            row, column = divmod(int(place), values.shape[1])
            raise ValueError(
                f"Column {self._feature_names()[column]!r} is {values[row, column]} in row {row}; the tree was "
                "fitted on a 0/1 table and can only answer for 0 and 1 (no NaN, no infinity)."
            )
        return leaves

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row, (n_rows,)."""
        leaves = self.apply(X)
        out: NDArray[Any] = self.classes_[self.tree_.classes].take(leaves)
        return out

    def predict_proba(self, X: Any) -> Floats:
        """Return the class shares of each row's leaf, (n_rows, C)."""
        leaves = self.apply(X)
        out: Floats = self.tree_.probabilities.take(leaves, axis=0)
        return out

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithms of predict_proba, (n_rows, C)."""
        probabilities = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return np.log(probabilities)

    def decision_path(self, X: Any) -> Any:
        """Return which nodes each row visits, a sparse indicator matrix (n_rows, n_nodes)."""
        leaves = self.apply(X)
        return path_matrix(self.tree_, leaves)

    def get_depth(self) -> int:
        """Return the most questions on a path."""
        check_is_fitted(self)
        return int(levels(self.tree_).max())

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    @property
    def splits_(self) -> tuple[Split, ...]:
        """The questions the tree chose among."""
        check_is_fitted(self)
        return self._splits()

    @property
    def feature_importances_(self) -> Floats:
        """Each column's share of the loss that the splits remove, (n_features_in_,)."""
        check_is_fitted(self)
        column = np.array([split.column_index for split in self.splits_])
        return importances(self.tree_, column, self.n_features_in_)

    @property
    def optimality_gap_(self) -> float:
        """The most by which looks that a time limit cut short could have lowered the loss, per unit of weight."""
        check_is_fitted(self)
        grown: Grown = self._grown
        return unproven_loss(grown.tree, grown.planned, grown.bound) / self._total

    @property
    def growth_log_(self) -> list[dict[str, Any]]:
        """What happened at each node, a dict a node in preorder, fit for pandas.DataFrame."""
        check_is_fitted(self)
        grown: Grown = self._grown
        tree: Tree = grown.tree
        level = levels(tree)
        is_open = cut_short(tree, grown.planned, grown.bound)
        return [
            {
                "node": node,
                "depth": int(level[node]),
                "question": None if tree.split[node] < 0 else str(self.splits_[tree.split[node]]),
                "rows": int(tree.rows[node]),
                "steps": int(grown.steps[node]),
                "splits_considered": int(grown.splits_seen[node]),
                "loss_before": float(tree.loss[node] / self._total),
                "loss_after": float(grown.planned[node] / self._total),
                "seconds": float(grown.seconds[node]),
                "proven": not is_open[node],
            }
            for node in range(tree.n_nodes)
        ]

    def __sklearn_is_fitted__(self) -> bool:
        """Tell whether there is a tree."""
        return hasattr(self, "tree_")

    def __sklearn_tags__(self) -> Any:
        """Say what inputs are fit: missing values, strings and categories are, sparse matrices are not."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _splits(self) -> tuple[Split, ...]:
        if self.encoder_ is not None:
            splits: tuple[Split, ...] = self.encoder_.splits_
            return splits
        return tuple(Split(name, j, "true", 1) for j, name in enumerate(self._feature_names()))

    def _feature_names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        return [f"x{j}" for j in range(self.n_features_in_)] if names is None else [str(n) for n in names]

    def _read_zero_one(self, X: Any) -> NDArray[Any]:
        named = hasattr(self, "feature_names_in_")
        if type(X) is np.ndarray and not named:
            return zero_one_values(X, self.n_features_in_)
        table = read_table(X)
        places = places_of(table, tuple(self._feature_names()), named, type(self).__name__)
        return zero_one_values(matrix_of(table, places), self.n_features_in_)


def _refuse_one_class(codes: NDArray[np.int64], row_weights: Floats | None) -> None:
    if row_weights is not None:
        present = np.unique(codes[row_weights > 0])
        if present.size < 2:
            raise ValueError(
                "sample_weight leaves rows of a single class; a classifier needs at least two classes."
            )


def _refuse_constant(words: NDArray[np.uint32], row_weights: Floats | None) -> None:
    """Complain of rows that all answer alike, as the encoder does of columns that give no question."""
    weighing = words if row_weights is None else words[row_weights > 0]
    if (weighing == weighing[0]).all():
        raise NoSplitError(
            f"No column of X separates any of its {len(weighing)} rows: each holds a single value. "
            "Pass columns that vary."
        )
