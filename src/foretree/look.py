"""The best tree of k steps at a node: by kernel, from counts, or by search over either.

A looker knows nodes by their paths. `KernelLooker` solves up to three steps at once for built-in
losses on rows in memory; `CountsLooker` solves up to two for any loss on any engine. `search` takes as
many more steps as asked, branch and bound over the splits of the first.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from foretree._kernels.clock import seconds
from foretree._kernels.exact import TOLERANCE
from foretree._kernels.fences import Fence
from foretree._kernels.grow import look_three, look_two, workspace
from foretree._kernels.grow import survey as survey_splits
from foretree._kernels.three import LATE, sides_for
from foretree.costs import Limits, PairCosts, pair_costs, without
from foretree.counts import MemoryRows, PairCounts, Path, Rows
from foretree.groups import GroupedRows
from foretree.losses import Loss
from foretree.rules import make_rules
from foretree.solve import Plan, best_pair, best_single

LEAF = -1


def now() -> float:
    """Return the seconds of the kernels' clock, by which deadlines are told."""
    return float(seconds(np.empty(2, np.int64)))


@dataclass(frozen=True, slots=True)
class Look:
    """The best tree found at a node: its loss, what no tree of as many steps costs less than, its root.

    `low` and `high` are the looks at the children where they are known; a root of -1 is a leaf.
    """

    cost: float
    bound: float
    root: int = LEAF
    low: "Look | None" = None
    high: "Look | None" = None
    n_splits: int = 0


@dataclass(frozen=True, slots=True)
class Survey:
    """A node before any look: class weights (C,), rows, its loss as a leaf, and the splits worth trying.

    `splits` stand in the order of promise, weights[i] is the weight where splits[i] is 1.
    """

    totals: NDArray[np.float64]
    n_rows: int
    loss: float
    splits: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    weights: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))


class Looker(Protocol):
    """What growing and searching ask of a node, named by its path."""

    reach: int
    most_per_weight: float
    limits: Limits

    def weigh(self, path: Path) -> Survey:
        """Return the node's survey without its splits."""

    def survey(self, path: Path) -> Survey:
        """Return the node's survey with the splits that may be its root."""

    def look(self, path: Path, steps: int, upper: float, deadline: float) -> Look:
        """Return the best tree of `steps` ≤ reach steps; those that cost more than `upper` may be left out."""

    def allows(self, path: Path) -> bool:
        """Tell whether the node may stand in a tree at all, if only as a leaf."""

    def key(self, path: Path) -> Hashable:
        """Return what names the node, whichever way leads to it."""


class Masks(Protocol):
    """Which pairs of splits a node may choose among."""

    @property
    def know_order(self) -> bool:
        """Whether the order of the questions on a path matters."""

    def __call__(self, path: Path, counts: PairCounts) -> NDArray[np.bool_]:
        """Return (2, p, p) the pairs (branch, root, child) that are allowed; child == root is a leaf."""

    def fence(self, path: Path, steps: int) -> Fence:
        """Return the same for a look of so many steps in the kernels' words; after one, both branches are leaves."""

    def allow_leaf(self, path: Path) -> bool:
        """Tell whether the node may be a leaf; where it may not, nothing below it may."""


class KernelLooker:
    """Looks by the kernels: built-in losses on rows in memory, up to three steps at once, two under masks."""

    reach = 3

    def __init__(
        self, rows: GroupedRows, loss: Loss, limits: Limits, tie_by_gini: bool, masks: Masks | None = None
    ) -> None:
        self.rows = MemoryRows(rows)
        self.limits = limits
        self.loss = loss
        self.rules = make_rules(loss, rows.n_classes, limits, tie_by_gini)
        # What one row can add to a tree's loss is what taking it away can save (entropy knows no such limit).
        prices = 1.0 if loss.prices is None else float(loss.prices.max())
        self.most_per_weight = {"misclassification": 1.0, "gini": 2.0, "cost matrix": prices}.get(
            loss.name, np.inf
        )
        self.masks = masks
        if masks is not None:
            # What is allowed below a question need not be above it, nor for more rows: no side bounds another.
            self.reach, self.most_per_weight = 2, np.inf
        self._grouped = rows
        starts, ends = rows.starts[:-1], rows.starts[1:]
        self._space = workspace(starts, ends, rows.n_splits, rows.n_classes, True, masks is not None)
        self._sides: Any = None

    def weigh(self, path: Path) -> Survey:
        """Return the node's survey without its splits."""
        totals, n_rows = self.rows.total(path)
        return Survey(totals, n_rows, float(self.loss.of(totals[None, :])[0]))

    def survey(self, path: Path) -> Survey:
        """Return the node's survey with the splits that may be its root, the cheapest in two steps first."""
        order, starts = self.rows.entries(path)
        rows = self._grouped
        splits, bounds, weights = survey_splits(
            rows.words, order, starts[:-1], starts[1:], rows.n_splits, self.rules, rows.groups, self._space
        )
        if self.masks is not None:
            pairs = self.masks.fence(path, 2).pairs[:, splits]
            possible = pairs.any(axis=2).all(axis=0)
            splits, bounds, weights = splits[possible], bounds[possible], weights[possible]
        promise = np.argsort(bounds, kind="stable")
        plain = self.weigh(path)
        return Survey(plain.totals, plain.n_rows, plain.loss, splits[promise], weights[promise])

    def look(self, path: Path, steps: int, upper: float, deadline: float) -> Look:
        """Return the best tree of up to three steps."""
        order, starts = self.rows.entries(path)
        rows = self._grouped
        where = (rows.words, order, starts[:-1], starts[1:], rows.n_splits)
        if steps < 3:
            # With a fence the kernel is compiled anew, where masks are used and only there.
            fence = None if self.masks is None else self.masks.fence(path, steps)
            step, n_splits = look_two(*where, steps, self.rules, fence, rows.groups, self._space)
            low = high = None
            if step.root != LEAF:
                low = Look(step.low_cost, step.low_cost, int(step.low))
                high = Look(step.high_cost, step.high_cost, int(step.high))
            return Look(float(step.cost), float(step.cost), int(step.root), low, high, int(n_splits))
        if self._sides is None:
            n_entries = int(rows.starts[-1])
            self._sides = sides_for(n_entries, rows.n_splits, rows.groups.classes.size, rows.n_classes)
        step, n_splits = look_three(
            *where, self.rules, rows.groups, self._space, self._sides, upper, deadline
        )
        bound = 0.0 if self._sides.clock[LATE] else min(step.cost, upper)
        low = high = None
        if upper == np.inf and step.root != LEAF:
            low = Look(step.low_cost, step.low_cost, int(step.low))
            high = Look(step.high_cost, step.high_cost, int(step.high))
        return Look(float(step.cost), float(bound), int(step.root), low, high, int(n_splits))

    def allows(self, path: Path) -> bool:
        """Tell whether the masks leave the node anything, if only to be a leaf."""
        return self.masks is None or self.masks.allow_leaf(path)

    def key(self, path: Path) -> Hashable:
        """Return what names the node: the order of its questions matters where masks know it."""
        return path if self.masks is not None and self.masks.know_order else frozenset(path)


Solver = Callable[[PairCosts, bool], Plan | None]


class CountsLooker:
    """Looks from pair counts alone: any loss, any engine, any solver, any masks, two steps at once."""

    reach = 2

    def __init__(
        self,
        rows: Rows,
        loss: Loss,
        limits: Limits,
        tie_by_gini: bool,
        solver: Solver = best_pair,
        masks: Masks | None = None,
    ) -> None:
        self.rows = rows
        self.loss = loss
        self.limits = limits
        self.tie_by_gini = tie_by_gini
        self.solver = solver
        self.masks = masks
        self.most_per_weight = np.inf
        self._last: tuple[Path, Survey, PairCosts] | None = None

    def _cost(self, path: Path) -> tuple[Survey, PairCosts]:
        if self._last is None or self._last[0] != path:
            counts = self.rows.count(path)
            pairs = pair_costs(counts, self.loss, self.limits)
            if self.masks is not None:
                pairs = without(pairs, self.masks(path, counts))
            weights = np.diagonal(counts.both.sum(axis=0))
            survey = Survey(
                counts.total,
                counts.n_rows,
                pairs.leaf,
                np.flatnonzero(pairs.separates),
                weights[pairs.separates],
            )
            self._last = (path, survey, pairs)
        return self._last[1], self._last[2]

    def weigh(self, path: Path) -> Survey:
        """Return the node's survey."""
        return self._cost(path)[0]

    def survey(self, path: Path) -> Survey:
        """Return the node's survey, the splits that are cheapest in two steps first."""
        survey, pairs = self._cost(path)
        promise = np.argsort(pairs.costs.min(axis=2).sum(axis=0)[survey.splits], kind="stable")
        return Survey(
            survey.totals, survey.n_rows, survey.loss, survey.splits[promise], survey.weights[promise]
        )

    def look(self, path: Path, steps: int, upper: float, deadline: float) -> Look:  # noqa: ARG002
        """Return the best tree of one or two steps."""
        survey, pairs = self._cost(path)
        leaf = Look(survey.loss, survey.loss, n_splits=survey.splits.size)
        if survey.n_rows < self.limits.min_internal or survey.loss <= TOLERANCE * pairs.weight:
            return leaf
        plan = best_single(pairs, self.tie_by_gini) if steps == 1 else self.solver(pairs, self.tie_by_gini)
        if plan is None or plan.cost > survey.loss + TOLERANCE * pairs.weight:
            return leaf
        low, high = (
            Look(cost, cost, LEAF if child == plan.root else child)
            for cost, child in (
                (float(pairs.costs[0, plan.root, plan.low]), plan.low),
                (float(pairs.costs[1, plan.root, plan.high]), plan.high),
            )
        )
        return Look(plan.cost, plan.cost, plan.root, low, high, survey.splits.size)

    def allows(self, path: Path) -> bool:
        """Tell whether the masks leave the node anything, if only to be a leaf."""
        return self.masks is None or self.masks.allow_leaf(path)

    def key(self, path: Path) -> Hashable:
        """Return what names the node: the order of its questions matters where masks know it."""
        return path if self.masks is not None and self.masks.know_order else frozenset(path)


def is_pure(totals: NDArray[np.float64]) -> bool:
    """Tell whether at most one class has weight."""
    return int((totals > 0).sum()) <= 1


@dataclass(slots=True)
class Searcher:
    """Branch and bound over first splits, for more steps than the looker reaches.

    Equal trees are decided by the order of the search, which the counts alone determine.
    """

    looker: Looker
    deadline: float = np.inf
    known: dict[tuple[Hashable, int], tuple[float, Look]] = field(default_factory=dict)

    def look(self, path: Path, steps: int, upper: float = np.inf) -> Look:
        """Return the best tree of `steps` steps, or any tree and a bound ≥ upper where none is cheaper."""
        if not self.looker.allows(path):
            return Look(np.inf, np.inf)
        if steps <= self.looker.reach:
            return self.looker.look(path, steps, upper, self.deadline)
        key = (self.looker.key(path), steps)
        if key in self.known:
            asked, look = self.known[key]
            if look.bound >= min(look.cost, upper) or asked >= upper:
                return look
        look = self._branch(path, steps, upper)
        if now() <= self.deadline:
            self.known[key] = (upper, look)
        return look

    def _branch(self, path: Path, steps: int, upper: float) -> Look:
        if now() > self.deadline:
            # Two steps are at hand wherever a search is cut short.
            return replace(self.looker.look(path, 2, np.inf, np.inf), bound=0.0)
        survey = self.looker.survey(path)
        leaf = Look(survey.loss, survey.loss, n_splits=survey.splits.size)
        total = float(survey.totals.sum())
        tolerance = TOLERANCE * total
        if survey.loss <= tolerance or survey.n_rows < self.looker.limits.min_internal:
            return leaf
        # Above the leaf's loss, so that some split is found also where none lowers it.
        best = self.look(path, steps - 1, survey.loss + 1e-3 * total)
        fewer = best.bound
        open_bound = np.inf
        for split, weight in zip(survey.splits.tolist(), survey.weights.tolist(), strict=True):
            least = min(best.cost, upper) - tolerance
            if best.cost <= tolerance:
                break
            small = 1 if 2 * weight <= total else 0
            # Rows taken from the larger side save its tree no more than they can cost it.
            taken = min(weight, total - weight)
            floor = max(0.0, fewer - self.looker.most_per_weight * taken) if taken > 0 else 0.0
            if floor >= least:
                continue
            if now() > self.deadline:
                open_bound = min(open_bound, floor)
                continue
            sides = self._sides(path, split, small, steps - 1, least, floor)
            cost = sum(side.cost for side in sides)
            bound = sum(side.bound for side in sides) if len(sides) == 2 else sides[0].bound + floor
            if len(sides) == 2 and cost < best.cost - tolerance:
                low, high = (sides[1], sides[0]) if small else (sides[0], sides[1])
                best = Look(cost, cost, split, low, high, survey.splits.size)
            if bound < least and bound < cost - tolerance:
                open_bound = min(open_bound, bound)
        return Look(
            best.cost, min(best.cost, upper, open_bound), best.root, best.low, best.high, survey.splits.size
        )

    def _sides(
        self, path: Path, split: int, small: int, steps: int, least: float, floor: float
    ) -> list[Look]:
        """Look at the smaller side and, unless its bound already decides, at the larger."""
        first = self.look((*path, (split, small)), steps, least - floor)
        if first.bound + floor >= least:
            return [first]
        return [first, self.look((*path, (split, 1 - small)), steps, least - first.bound)]
