"""Constraints that couple the leaves: sums over all rows of the tree, by group, class and class said."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from foretree.constraints.place import Constraint, Coupling, Floats, Mask, Name


def class_number(classes: Sequence[Hashable], label: Hashable) -> int:
    """Return the number of a class that a constraint names."""
    known = list(classes)
    if not isinstance(label, Hashable) or label not in known:
        raise ValueError(f"A constraint names the class {label!r}; the classes are {known}.")
    return known.index(label)


def _positives(classes: Sequence[Hashable], label: Hashable | None) -> list[int]:
    """Return the classes whose shares are compared: the one named, else the second of two, else every one."""
    if label is not None:
        return [class_number(classes, label)]
    return [1] if len(classes) == 2 else list(range(len(classes)))


def _check_share(wish: Constraint, field: str) -> None:
    value = getattr(wish, field)
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 <= value <= 1:
        raise ValueError(f"{type(wish).__name__}: {field}={value!r} must be a share, a number from 0 to 1.")


def _gaps(
    wish: "_Gap",
    totals: Floats,
    inside: Mask,
    said: int,
    names: tuple[Sequence[Hashable], Sequence[Hashable]],
) -> tuple[Coupling, ...]:
    """For every two groups, the gap between their shares of rows said `said`, among rows of `inside` (C,)."""
    classes, groups = names
    kind = type(wish).__name__
    among = (
        "rows" if inside.all() else f"rows of {[c for c, kept in zip(classes, inside, strict=True) if kept]}"
    )
    sizes = (totals * inside).sum(axis=1)
    if (sizes == 0).any():
        group = groups[int(np.argmin(sizes))]
        raise ValueError(f"{kind}: the group {group!r} has no {among} to compare; leave it out or merge it.")
    found = []
    for first, second in combinations(range(totals.shape[0]), 2):
        coefficients = np.zeros((*totals.shape, totals.shape[1]))
        coefficients[first, inside, said] = 1.0 / sizes[first]
        coefficients[second, inside, said] = -1.0 / sizes[second]
        of = "" if wish.sensitive is None else f" of {wish.sensitive!r}"
        text = (
            f"{kind}{of}: the share of {among} said to be {classes[said]!r} in {groups[first]!r} less that in "
            f"{groups[second]!r}"
        )
        found.append(Coupling(text, coefficients, -wish.at_most, wish.at_most))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Gap(Constraint):
    """What the three gaps share: whose groups are compared, how far apart they may be, for which class.

    `sensitive` names a column (of the table, or of the one given to `fit(sensitive=...)`); without a name
    it is the array given to `fit(sensitive=...)`. `positive` is a class; without one it is the
    second of two classes, and every class of more.
    """

    sensitive: Name | None = None
    at_most: float = 0.05
    positive: Hashable | None = None
    decides_classes = True
    compares_groups = True

    def __post_init__(self) -> None:
        """Refuse gaps that are no shares."""
        _check_share(self, "at_most")


@dataclass(frozen=True, slots=True)
class ParityGap(_Gap):
    """Demographic parity: the groups' shares of rows said `positive` differ by at most `at_most`."""

    def couplings(
        self, totals: Floats, classes: Sequence[Hashable], groups: Sequence[Hashable]
    ) -> tuple[Coupling, ...]:
        """Return one row for every two groups and class."""
        everyone = np.ones(totals.shape[1], dtype=np.bool_)
        found: tuple[Coupling, ...] = ()
        for said in _positives(classes, self.positive):
            found += _gaps(self, totals, everyone, said, (classes, groups))
        return found


@dataclass(frozen=True, slots=True)
class EqualOpportunityGap(_Gap):
    """Among rows that are `positive`, the groups' shares said so differ by at most `at_most`."""

    def couplings(
        self, totals: Floats, classes: Sequence[Hashable], groups: Sequence[Hashable]
    ) -> tuple[Coupling, ...]:
        """Return one row for every two groups and class."""
        found: tuple[Coupling, ...] = ()
        for said in _positives(classes, self.positive):
            inside = np.arange(totals.shape[1]) == said
            found += _gaps(self, totals, inside, said, (classes, groups))
        return found


@dataclass(frozen=True, slots=True)
class EqualizedOddsGap(_Gap):
    """Among positive rows and among the others, the groups' shares said `positive` differ by at most `at_most`."""

    def couplings(
        self, totals: Floats, classes: Sequence[Hashable], groups: Sequence[Hashable]
    ) -> tuple[Coupling, ...]:
        """Return two rows for every two groups and class."""
        found: tuple[Coupling, ...] = ()
        for said in _positives(classes, self.positive):
            inside = np.arange(totals.shape[1]) == said
            found += _gaps(self, totals, inside, said, (classes, groups))
            found += _gaps(self, totals, ~inside, said, (classes, groups))
        return found


@dataclass(frozen=True, slots=True)
class _Floor(Constraint):
    """What the two floors share: the class they speak of, and the least share."""

    cls: Hashable
    at_least: float
    decides_classes = True

    def __post_init__(self) -> None:
        """Refuse floors that are no shares."""
        _check_share(self, "at_least")

    def couplings(
        self, totals: Floats, classes: Sequence[Hashable], groups: Sequence[Hashable]
    ) -> tuple[Coupling, ...]:
        """Return one row."""
        return (self._row(totals, class_number(classes, self.cls)),)

    def _row(self, totals: Floats, said: int) -> Coupling:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class RecallFloor(_Floor):
    """Of the rows of this class, at least this share is said to be of it."""

    def _row(self, totals: Floats, said: int) -> Coupling:
        weight = totals[:, said].sum()
        if weight == 0:
            raise ValueError(
                f"RecallFloor: no row of the class {self.cls!r} has any weight, so it has no share."
            )
        coefficients = np.zeros((*totals.shape, totals.shape[1]))
        coefficients[:, said, said] = 1.0 / weight
        text = f"RecallFloor: the share of {self.cls!r} that is said to be so"
        return Coupling(text, coefficients, self.at_least, np.inf)


@dataclass(frozen=True, slots=True)
class PrecisionFloor(_Floor):
    """Of the rows said to be of this class, at least this share is; kept where none is said to be."""

    def _row(self, totals: Floats, said: int) -> Coupling:
        # Right ones minus `at_least` times all said: the share itself is not linear.
        coefficients = np.zeros((*totals.shape, totals.shape[1]))
        coefficients[:, :, said] = -self.at_least / totals.sum()
        coefficients[:, said, said] += 1.0 / totals.sum()
        text = (
            f"PrecisionFloor: rows rightly said to be {self.cls!r} less {self.at_least:g} times all said to be, as "
            "a share of the table,"
        )
        return Coupling(text, coefficients, 0.0, np.inf)
