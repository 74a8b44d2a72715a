"""The three mixed-integer baselines as scikit-learn classifiers over binary columns."""

import os
import threading
import time
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from foretree.baselines import benders, binoct, flow, lazy
from foretree.baselines.formulation import Formulation
from foretree.baselines.heap import HeapTree, grown, objective, pruned
from foretree.baselines.points import Floats, Indices, Points, as_binary, merged
from foretree.baselines.skeleton import Skeleton, Task, read_skeleton
from foretree.baselines.warm import STARTS, warm_tree
from foretree.mio.interrupt import noticed_signals
from foretree.mio.model import Limits, Solution
from foretree.mio.solvers import solver_named

# Measured per matrix entry: building takes 72 to 86 bytes; with 20 s of HiGHS it is 150 to 320 in models of half a
# million entries and more, and up to 860 in smaller ones, where it matters less.
BYTES_PER_ENTRY = 400


class _StoppedError(Exception):
    """The clock ran out, or a signal came, while the model was being built; says what `status_` will say."""


@dataclass(frozen=True, slots=True)
class Clock:
    """When the time limit ends; building counts. `asked` is set by a signal to stop."""

    end: float
    asked: threading.Event

    def left(self) -> float:
        """The seconds left, at least 0."""
        return max(0.0, self.end - time.monotonic())

    def check(self) -> None:
        """Give up building once the time is over, or at a signal."""
        if self.asked.is_set():
            raise _StoppedError("interrupted")
        if time.monotonic() > self.end:
            raise _StoppedError("time limit reached while building")


Answer = tuple[Solution, Skeleton, float]


class _MioTreeClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn is untyped
    """What the three share: everything but the formulation."""

    _formulation: ClassVar[Formulation]

    def __init__(
        self,
        max_depth: int = 2,
        *,
        solver: str = "highs",
        time_limit: float | None = 60.0,
        regularization: float = 0.0,
        warm_start: str | None = None,
        memory_limit: float | None = None,
    ) -> None:
        """Keep the parameters; `fit` checks them."""
        self.max_depth = max_depth
        self.solver = solver
        self.time_limit = time_limit
        self.regularization = regularization
        self.warm_start = warm_start
        self.memory_limit = memory_limit

    def fit(self, X: Any, y: Any) -> Self:
        """Solve for the best tree on X (n, p) of zeros and ones and classes y (n,)."""
        began = time.monotonic()
        self._check_parameters()
        X, y = validate_data(self, X, y)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        points = merged(self._binary(X), labels, self.classes_.size)
        task = Task(points, self.max_depth, self.regularization)
        self._refuse_what_does_not_fit(task)
        begin = None
        if self.warm_start and self.classes_.size > 1:
            begin = pruned(warm_tree(self.warm_start, task), points, self.regularization)
        end = np.inf if self.time_limit is None else began + self.time_limit
        with noticed_signals() as asked:
            answer = self._solved(task, Clock(end, asked), begin)
        self._keep_best(task, begin, answer)
        return self

    def predict(self, X: Any) -> Any:
        """The class of each row of X (n, p)."""
        leaf = self.apply(X)
        return self.classes_[self.tree_.labels[leaf]]

    def predict_proba(self, X: Any) -> Floats:
        """The shares (n, C) of the classes among the training rows of each row's leaf."""
        leaf = self.apply(X)
        return self._shares[leaf]

    def apply(self, X: Any) -> Indices:
        """The leaf of each row of X (n, p), numbered in heap order."""
        check_is_fitted(self)
        return self.tree_.apply(self._binary(validate_data(self, X, reset=False)))

    def _binary(self, X: Floats) -> Any:
        return as_binary(X, getattr(self, "feature_names_in_", np.arange(X.shape[1])).tolist())

    def _check_parameters(self) -> None:
        depth, price = self.max_depth, self.regularization
        if isinstance(depth, bool) or not isinstance(depth, (int, np.integer)) or not 1 <= depth <= 12:
            raise ValueError(f"max_depth={depth!r}: these models take depths from 1 to 12.")
        if not isinstance(price, Real) or not 0.0 <= float(price) < 1.0:
            raise ValueError(f"regularization={price!r}: choose λ from 0 to below 1.")
        for name, unit in (("time_limit", "seconds"), ("memory_limit", "bytes")):
            limit = getattr(self, name)
            if limit is not None and not (isinstance(limit, Real) and float(limit) > 0):
                raise ValueError(f"{name}={limit!r}: give {unit} above 0, or None for no limit of your own.")
        # scikit-learn's own word for no warm start is False.
        if not (self.warm_start is None or self.warm_start is False or self.warm_start in STARTS):
            known = ", ".join(map(repr, STARTS))
            raise ValueError(f"warm_start={self.warm_start!r} is unknown: choose None or one of {known}.")
        solver_named(self.solver)

    def _refuse_what_does_not_fit(self, task: Task) -> None:
        need = self._bytes(task)
        limit = default_memory_limit() if self.memory_limit is None else self.memory_limit
        if need > limit:
            raise MemoryError(
                f"{type(self).__name__} at max_depth={self.max_depth} over {int(task.points.total)} rows and "
                f"{task.n_columns} columns needs about {need / 1e9:.3g} GB and memory_limit is "
                f"{limit / 1e9:.3g} GB: take fewer rows, a lower max_depth, or BendersOCTClassifier on SCIP."
            )

    def _bytes(self, task: Task) -> int:
        return self._formulation.entries(task) * BYTES_PER_ENTRY

    def _solved(self, task: Task, clock: Clock, begin: HeapTree | None) -> Answer | str:
        """The solver's answer, or what ended the building before the model was there."""
        try:
            return self._solve(task, clock, begin)
        except _StoppedError as stopped:
            return str(stopped)

    def _solve(self, task: Task, clock: Clock, begin: HeapTree | None) -> Answer:
        built = self._formulation.build(task, clock.check)
        start = None if begin is None else built.start(begin)
        solution = solver_named(self.solver)(built.model, False, Limits(clock.left(), start, clock.check))
        return solution, built.skeleton, built.offset

    def _keep_best(self, task: Task, begin: HeapTree | None, answer: Answer | str) -> None:
        points, price = task.points, self.regularization
        found = [stump(task)] if begin is None else [begin]
        bound = (1.0 - price) * float(points.weights.max(axis=1).sum())
        if isinstance(answer, str):
            self.status_, self.nodes_, self.log_ = answer, 0, ""
        else:
            solution, skeleton, offset = answer
            if solution.values is not None:
                found.append(pruned(read_skeleton(skeleton, solution.values), points, price))
            if np.isfinite(solution.bound):
                bound = min(bound, offset - solution.bound)
            self.status_, self.nodes_, self.log_ = solution.status, solution.nodes, solution.log
        self.tree_ = max(found, key=lambda tree: objective(tree, points, price))
        self.objective_ = objective(self.tree_, points, price)
        if price == 0.0:
            # Rows are whole, so is the best number of them.
            bound = np.floor(bound + 1e-4)
        self.bound_ = max(float(bound), self.objective_)
        self.gap_ = relative_gap(self.objective_, self.bound_)
        if self.gap_ <= 1e-9:
            self.status_ = "optimal"
        self._shares = leaf_shares(self.tree_, points)


def relative_gap(objective: float, bound: float) -> float:
    """How far the bound is above the objective, relative to the objective."""
    if bound <= objective + 1e-6:
        return 0.0
    return (bound - objective) / abs(objective) if objective else float("inf")


def stump(task: Task) -> HeapTree:
    """The tree of one leaf, which is always feasible."""
    return grown(task.points, task.depth, lambda _node, _rows, _separates: -1)


def leaf_shares(tree: HeapTree, points: Points) -> Floats:
    """(nodes, C) the class shares of each leaf's training rows; a leaf without rows is sure of its label."""
    counts = np.zeros((tree.labels.size, points.weights.shape[1]))
    np.add.at(counts, tree.apply(points.rows), points.weights)
    empty = counts.sum(axis=1) == 0
    counts[empty, tree.labels[empty]] = 1.0
    shares: Floats = counts / counts.sum(axis=1, keepdims=True)
    return shares


def default_memory_limit() -> float:
    """Half of the machine's memory in bytes, or 4 GB where the system does not tell."""
    try:
        return 0.5 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 4e9


# What each of the three says of itself is followed by what all have in common.
COMMON = """

    Columns must be 0/1; identical rows are merged with weights. Proofs of optimality are realistic at depth 2, and
    deeper where a tree without errors exists; elsewhere what is returned is an incumbent, and
    `LookaheadTreeClassifier(lookahead="optimal")` finds and proves the best tree much sooner.

    Parameters
    ----------
    max_depth : int, default=2
        The most questions on a path, up to 12.
    solver : "highs", "scip" or "gurobi"
        What solves the model.
    time_limit : float or None, default=60.0
        Seconds for the whole of `fit`, building included.
    regularization : float, default=0.0
        The price λ of a split, from 0 to below 1.
    warm_start : None, "cart" or "lookahead", default=None
        The tree to begin from; the answer is never worse.
    memory_limit : float or None, default=None
        Bytes that a model may need before it is refused; None for half of the machine's memory.

    Attributes
    ----------
    objective_, bound_, gap_ : float
        (1 - λ) · rows classified as they are - λ · splits, what no tree exceeds, and (bound - objective) / objective.
    status_ : str
        "optimal", "time limit reached", "interrupted" (by Ctrl-C or a kill), or what the solver says.
    nodes_, log_ : int and str
        The nodes of the search, and what the solver wrote.
    tree_ : HeapTree
        The tree in heap order.
    classes_ : ndarray
        The classes in the order of `predict_proba`.
    """


class FlowOCTClassifier(_MioTreeClassifier):
    """FlowOCT: the tree through which the most training rows flow to their class.

    The model is stated in full in `foretree.baselines.flow` and `.skeleton`.
    """

    _formulation = Formulation(flow.entries, flow.build)


class BinOCTClassifier(_MioTreeClassifier):
    """BinOCT for trees that may end early: few rows, since the datapoints of a split are bounded together.

    A reconstruction, since the text of this variant was not at hand; the model is stated in full in
    `foretree.baselines.binoct` and `.skeleton`.
    """

    _formulation = Formulation(binoct.entries, binoct.build)


class BendersOCTClassifier(_MioTreeClassifier):
    """BendersOCT: FlowOCT by lazy minimum cuts on SCIP (default) and Gurobi, by static path cuts on HiGHS.

    The model is stated in full in `foretree.baselines.benders` and `.skeleton`.
    """

    _formulation = Formulation(benders.entries, benders.build)

    def __init__(
        self,
        max_depth: int = 2,
        *,
        solver: str = "scip",
        time_limit: float | None = 60.0,
        regularization: float = 0.0,
        warm_start: str | None = None,
        memory_limit: float | None = None,
    ) -> None:
        """Keep the parameters; `fit` checks them."""
        super().__init__(
            max_depth,
            solver=solver,
            time_limit=time_limit,
            regularization=regularization,
            warm_start=warm_start,
            memory_limit=memory_limit,
        )

    def _bytes(self, task: Task) -> int:
        return super()._bytes(task) if self.solver == "highs" else lazy.needed_bytes(task)

    def _solve(self, task: Task, clock: Clock, begin: HeapTree | None) -> Answer:
        if self.solver == "highs":
            return super()._solve(task, clock, begin)
        if self.solver == "scip":
            from foretree.baselines import benders_scip as lazily
        else:
            from foretree.baselines import benders_gurobi as lazily  # type: ignore[no-redef]
        solution, skeleton = lazily.solve(task, Limits(clock.left(), check=clock.check), begin)
        return solution, skeleton, 0.0


for _kind in (FlowOCTClassifier, BinOCTClassifier, BendersOCTClassifier):
    _kind.__doc__ = (_kind.__doc__ or "").rstrip() + COMMON
