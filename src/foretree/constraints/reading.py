"""A list of constraints and a training table → what growing must keep."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from foretree._kernels.fences import Fence
from foretree.constraints.masks import borders, keep_order
from foretree.constraints.place import (
    Budget,
    Columns,
    Constraint,
    Coupling,
    Finished,
    Floats,
    Integers,
    Mask,
    Name,
    Place,
)  # fmt: skip
from foretree.constraints.sensitive import Grouping
from foretree.costs import cell_rows, cell_weights
from foretree.counts import PairCounts, Path

# How far a sum of shares may lie beyond its bound by rounding alone.
TOLERANCE = 1e-8
# The same of one share.
ROUNDING = 1e-12
# How many nodes' masks and borders are kept at hand.
MOST_MASKS, MOST_BORDERS = 64, 10_000


class InfeasibleConstraintsError(ValueError):
    """No tree that was found keeps the constraints; the message says which one fails and by how much."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a tree over these rows must keep: masks at nodes, couplings of leaves, budgets of columns.

    `groups` (n_rows,) numbers the combinations of sensitive attributes that occur, and couplings count by them.
    """

    constraints: tuple[Constraint, ...]
    columns: Columns
    signs: Integers
    couplings: tuple[Coupling, ...]
    budgets: tuple[Budget, ...]
    groups: Integers
    n_groups: int

    @property
    def mask_nodes(self) -> bool:
        """Whether some pairs of splits are forbidden to some nodes."""
        place = Place(self.columns, ())
        return bool(self.signs.any()) or any(wish.allowed(place) is not None for wish in self.constraints)

    @property
    def couple_nodes(self) -> bool:
        """Whether nodes cannot be settled one by one."""
        return bool(self.couplings or self.budgets)


def check_constraints(constraints: Any) -> tuple[Constraint, ...]:
    """Return the constraints of an estimator as a tuple, or say what is none."""
    if constraints is None:
        return ()
    if isinstance(constraints, Constraint):
        return (constraints,)
    if isinstance(constraints, str) or not hasattr(constraints, "__iter__"):
        raise ValueError(
            f"constraints={constraints!r} must be a list of constraints, as in [ParityGap('sex')]."
        )
    wishes = tuple(constraints)
    for wish in wishes:
        if not isinstance(wish, Constraint):
            hint = ": create it, as in ParityGap('sex')" if isinstance(wish, type) else ""
            raise ValueError(f"constraints holds {wish!r}, which is no constraint{hint}.")
    return wishes


def read_wishes(
    constraints: Sequence[Constraint],
    columns: Columns,
    classes: Sequence[Hashable],
    codes: Integers,
    row_weights: Floats | None,
    grouping_of: Callable[[Name | None], Grouping],
) -> Wishes:
    """Return what the constraints ask of a tree over rows with class numbers `codes` (n_rows,)."""
    place = Place(columns)
    for wish in constraints:
        wish.allowed(place)  # names what is not there before anything is grown
    one_group = Grouping(np.zeros(codes.size, np.int64), ("all",))
    groupings = [
        grouping_of(getattr(wish, "sensitive", None)) if wish.compares_groups else one_group
        for wish in constraints
    ]
    groups, group_of = _combined([grouping.codes for grouping in groupings], codes.size)
    couplings: list[Coupling] = []
    for wish, grouping, lifted in zip(constraints, groupings, group_of, strict=True):
        totals = np.zeros((len(grouping.labels), len(classes)))
        np.add.at(totals, (grouping.codes, codes), 1.0 if row_weights is None else row_weights)
        couplings += [
            replace(coupling, coefficients=coupling.coefficients[lifted])
            for coupling in wish.couplings(totals, classes, grouping.labels)
        ]
    budgets = [budget for wish in constraints if (budget := wish.budget(columns)) is not None]
    signs = _signs(constraints, columns, len(classes))
    if signs.any() and couplings:
        decider = next(wish for wish in constraints if wish.decides_classes)
        raise ValueError(
            f"Monotone orders the shares of leaves and {type(decider).__name__} decides what leaves say whatever their "
            "shares; the two cannot be kept together, drop one of them."
        )
    n_groups = group_of.shape[1]
    return Wishes(tuple(constraints), columns, signs, tuple(couplings), tuple(budgets), groups, n_groups)


def _combined(codes: list[Integers], n_rows: int) -> tuple[Integers, Integers]:
    """Return the number of each row's combination of groups (n_rows,), and each combination's groups (A, G)."""
    if not any(each.any() for each in codes):
        return np.zeros(n_rows, np.int64), np.zeros((len(codes), 1), np.int64)
    found, numbers = np.unique(np.stack(codes), axis=1, return_inverse=True)
    return numbers.reshape(-1).astype(np.int64), found


def _signs(constraints: Sequence[Constraint], columns: Columns, n_classes: int) -> Integers:
    """Return which answers ask for a larger or smaller share of the second class, (p,)."""
    out = np.zeros(columns.of_split.size, np.int64)
    for wish in constraints:
        signs = wish.signs(columns)
        if signs is None:
            continue
        if n_classes != 2:
            raise ValueError(
                f"Monotone needs two classes, of which the second's share is ordered; y has {n_classes}."
            )
        if (out * signs < 0).any():
            name = columns.names[columns.of_split[int(np.argmax(out * signs < 0))]]
            raise ValueError(
                f"Monotone asks {name!r} to be both increasing and decreasing; keep one of the two."
            )
        out = np.where(signs != 0, signs, out)
    return out


@dataclass(slots=True)
class PathMasks:
    """The masks of nodes named by their paths, for lookers; `weigh` gives a path's class weights (C,)."""

    wishes: Wishes
    weigh: Callable[[Path], Floats]
    _kept: dict[tuple[int, ...], Mask] = field(default_factory=dict)
    _borders: dict[Path, tuple[float, float]] = field(default_factory=dict)

    @property
    def know_order(self) -> bool:
        """Whether the order of the questions on a path matters."""
        return bool(self.wishes.signs.any())

    def __call__(self, path: Path, counts: PairCounts) -> Mask:
        """Return (2, p, p) the pairs of splits that keep the constraints at a node with these counts."""
        kept = self._pairs(path)
        if self.know_order:
            cells = np.where((cell_rows(counts) == 0)[..., None], 0.0, cell_weights(counts))
            kept = kept & keep_order(cells, self.wishes.signs, self._between(path))
        return kept

    def fence(self, path: Path, steps: int) -> Fence:
        """Return the same for a look of so many steps in the words of the kernels, which know the node's counts."""
        least, most = self._between(path) if self.know_order else (0.0, 1.0)
        return Fence(self._pairs(path), self.wishes.signs, least, most, steps == 1)

    def allow_leaf(self, path: Path) -> bool:
        """Tell whether a leaf's share may stand here; if not, some leaf's below it would lie as far outside."""
        if not self.know_order:
            return True
        (least, most), share = self._between(path), self._share(path)
        return not (share < least - ROUNDING or share > most + ROUNDING)

    def _pairs(self, path: Path) -> Mask:
        """Return what the constraints allow below the columns of the path; the two children of a node share it."""
        columns = self.wishes.columns
        place = Place(columns, tuple(int(columns.of_split[split]) for split, _ in path))
        if place.path not in self._kept:
            n_splits = columns.of_split.size
            kept = np.ones((2, n_splits, n_splits), dtype=np.bool_)
            for wish in self.wishes.constraints:
                mask = wish.allowed(place)
                if mask is not None:
                    kept &= mask
            if len(self._kept) >= MOST_MASKS:
                self._kept.clear()
            self._kept[place.path] = kept
        return self._kept[place.path]

    def _between(self, path: Path) -> tuple[float, float]:
        """Return the least and the largest share of the second class that the questions above leave to a node."""
        if not path:
            return 0.0, 1.0
        if path not in self._borders:
            above, (split, answer) = path[:-1], path[-1]
            between = self._between(above)
            sign = self.wishes.signs[[split]]
            if sign[0]:
                low, high = (np.array([self._share((*above, (split, side)))]) for side in (0, 1))
                least, most = borders(low, high, sign, between)
                between = float(least[answer, 0]), float(most[answer, 0])
            if len(self._borders) >= MOST_BORDERS:
                self._borders.clear()
            self._borders[path] = between
        return self._borders[path]

    def _share(self, path: Path) -> float:
        """Return the second class's share, NaN (which stands in no order) where nothing weighs."""
        weights = self.weigh(path)
        total = float(weights.sum())
        return float(weights[1]) / total if total > 0 else np.nan


def faults_of(wishes: Wishes, tree: Finished, leaves: Floats, said: Integers) -> list[str]:
    """Return a sentence for everything that a tree does not keep.

    `leaves` (L, G, C) are its leaves' weights by group and class, counted row by row, `said` (L,) their classes.
    """
    found = [sentence for wish in wishes.constraints for sentence in wish.faults(tree)]
    for coupling in wishes.couplings:
        value = float(coupling.of_leaves(leaves)[np.arange(said.size), said].sum())
        excess = coupling.excess(value)
        if excess > TOLERANCE:
            bounds = (
                f"at least {coupling.lower:g}"
                if np.isinf(coupling.upper)
                else f"{coupling.lower:g} to {coupling.upper:g}"
            )
            found.append(f"{coupling.text} is {value:.4g} and must be {bounds}: it misses by {excess:.4g}.")
    return found
