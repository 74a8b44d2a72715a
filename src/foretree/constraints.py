"""Wishes about a tree as small frozen objects: masks where a node decides alone, rows where nodes share.

A *separable* wish forbids pairs of splits at a node and knows only the path there: `allowed(place)` gives a
mask (2, p, p) for the costs, and the closed form stays as it is.
A *coupling* wish bounds a sum over all rows of the tree: `couplings(totals)` gives `Coupling`s, whose
coefficients say what one row of group g and class c contributes where its leaf says class d. Rows are counted
by (group, class), so the pair counts of a node hold every coefficient: no engine needs to know of wishes.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Name = Hashable


@dataclass(frozen=True, slots=True)
class Place:
    """A node as a separable wish sees it: column names, each split's column (p,), and the path's columns."""

    names: tuple[Name, ...]
    column_of_split: NDArray[np.intp]
    path: tuple[int, ...] = ()

    def number(self, name: Name) -> int:
        """The column's number."""
        if name not in self.names:
            raise ValueError(f"A constraint names the column {name!r}, which the table does not have.")
        return self.names.index(name)

    def pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The columns of roots (p, 1) and of their children (1, p)."""
        return self.column_of_split[:, None], self.column_of_split[None, :]


@dataclass(frozen=True, slots=True)
class Coupling:
    """lower <= Σ over rows of coefficients[group, class, said] <= upper; coefficients is (G, C, C)."""

    text: str
    coefficients: Floats
    lower: float
    upper: float

    def of_leaves(self, counts: Floats) -> Floats:
        """What leaves with counts (..., G, C) contribute when they say each class, (..., C)."""
        contributed: Floats = np.einsum("...gc,gcd->...d", counts, self.coefficients)
        return contributed

    def excess(self, value: float) -> float:
        """How far a tree's sum lies outside the bounds, 0 inside."""
        return max(0.0, self.lower - value, value - self.upper)


class Separable(Protocol):
    """A wish that every node can keep alone."""

    def allowed(self, place: Place) -> Mask:
        """(2, p, p) which pairs (branch, root, child) keep the wish; child == root is a leaf."""


class Coupled(Protocol):
    """A wish that nodes must keep together."""

    def couplings(self, totals: Floats, classes: Sequence[Hashable]) -> tuple[Coupling, ...]:
        """The wish as linear rows, given the training rows (G, C) of each group and class."""


def _class_number(classes: Sequence[Hashable], label: Hashable) -> int:
    known = list(classes)
    if label not in known:
        raise ValueError(f"A constraint names the class {label!r}; the classes are {known}.")
    return known.index(label)


def _gaps(text: str, totals: Floats, inside: Mask, said: int, at_most: float) -> tuple[Coupling, ...]:
    """For every two groups, the gap between their shares of rows said `said`, among rows of `inside` (C,)."""
    sizes = (totals * inside).sum(axis=1)
    if (sizes == 0).any():
        group = int(np.argmin(sizes))
        raise ValueError(f"{text}: group {group} has no training row to compare; leave it out or merge it.")
    found = []
    for first, second in combinations(range(totals.shape[0]), 2):
        coefficients = np.zeros((*totals.shape, totals.shape[1]))
        coefficients[first, inside, said] = 1.0 / sizes[first]
        coefficients[second, inside, said] = -1.0 / sizes[second]
        found.append(Coupling(f"{text} of groups {first} and {second}", coefficients, -at_most, at_most))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class ParityGap:
    """Demographic parity: the groups' shares of rows said `positive` differ by at most `at_most`."""

    sensitive: Name
    positive: Hashable
    at_most: float

    def couplings(self, totals: Floats, classes: Sequence[Hashable]) -> tuple[Coupling, ...]:
        """One row for every two groups."""
        everyone = np.ones(totals.shape[1], dtype=np.bool_)
        return _gaps("ParityGap", totals, everyone, _class_number(classes, self.positive), self.at_most)


@dataclass(frozen=True, slots=True)
class EqualOpportunityGap:
    """Among rows that are `positive`, the groups' shares said so differ by at most `at_most`."""

    sensitive: Name
    positive: Hashable
    at_most: float

    def couplings(self, totals: Floats, classes: Sequence[Hashable]) -> tuple[Coupling, ...]:
        """One row for every two groups."""
        said = _class_number(classes, self.positive)
        inside = np.arange(totals.shape[1]) == said
        return _gaps("EqualOpportunityGap", totals, inside, said, self.at_most)


@dataclass(frozen=True, slots=True)
class EqualizedOddsGap:
    """Among positive rows and among the others, the groups' shares said `positive` differ by `at_most`."""

    sensitive: Name
    positive: Hashable
    at_most: float

    def couplings(self, totals: Floats, classes: Sequence[Hashable]) -> tuple[Coupling, ...]:
        """Two rows for every two groups."""
        said = _class_number(classes, self.positive)
        inside = np.arange(totals.shape[1]) == said
        return _gaps("EqualizedOddsGap", totals, inside, said, self.at_most) + _gaps(
            "EqualizedOddsGap", totals, ~inside, said, self.at_most
        )


@dataclass(frozen=True, slots=True)
class RecallFloor:
    """Of the rows of this class, at least this share is said to be of it."""

    cls: Hashable
    at_least: float

    def couplings(self, totals: Floats, classes: Sequence[Hashable]) -> tuple[Coupling, ...]:
        """One row."""
        said = _class_number(classes, self.cls)
        coefficients = np.zeros((*totals.shape, totals.shape[1]))
        coefficients[:, said, said] = 1.0 / totals[:, said].sum()
        return (Coupling(f"RecallFloor of {self.cls!r}", coefficients, self.at_least, np.inf),)


@dataclass(frozen=True, slots=True)
class PrecisionFloor:
    """Of the rows said to be of this class, at least this share is; kept where none is said to be."""

    cls: Hashable
    at_least: float

    def couplings(self, totals: Floats, classes: Sequence[Hashable]) -> tuple[Coupling, ...]:
        """One row: right ones minus `at_least` times all, so the share itself need not be linear."""
        said = _class_number(classes, self.cls)
        coefficients = np.zeros((*totals.shape, totals.shape[1]))
        coefficients[:, :, said] = -self.at_least / totals.sum()
        coefficients[:, said, said] += 1.0 / totals.sum()
        return (Coupling(f"PrecisionFloor of {self.cls!r}", coefficients, 0.0, np.inf),)


@dataclass(frozen=True, slots=True)
class ForcedRoot:
    """The tree begins with a split of this column."""

    column: Name

    def allowed(self, place: Place) -> Mask:
        """Only at the tree's root is a root forbidden."""
        root, child = place.pairs()
        free = np.ones((root.size, child.size), dtype=np.bool_)
        return _both(free & (root == place.number(self.column)) if not place.path else free)


@dataclass(frozen=True, slots=True)
class Forbidden:
    """These pairs of columns never stand on one path."""

    pairs: tuple[tuple[Name, Name], ...]

    def allowed(self, place: Place) -> Mask:
        """Pairs of the node's own two levels, and of either level with the path."""
        root, child = place.pairs()
        kept = np.ones((root.size, child.size), dtype=np.bool_)
        for names in self.pairs:
            first, second = (place.number(name) for name in names)
            for one, other in ((first, second), (second, first)):
                kept &= ~((root == one) & (child == other))
                if one in place.path:
                    kept &= (root != other) & (child != other)
        return _both(kept)


@dataclass(frozen=True, slots=True)
class Interaction:
    """The columns of any path all belong to one of these groups; a column in no group stands alone."""

    groups: tuple[tuple[Name, ...], ...]

    def allowed(self, place: Place) -> Mask:
        """Pairs that some group holds together with the whole path."""
        root, child = place.pairs()
        members = [{place.number(name) for name in group} for group in self.groups]
        members += [{column} for column in range(len(place.names)) if not any(column in m for m in members)]
        kept = np.zeros((root.size, child.size), dtype=np.bool_)
        for group in members:
            if set(place.path) <= group:
                inside = np.isin(place.column_of_split, list(group))
                kept |= inside[:, None] & inside[None, :]
        return _both(kept)


@dataclass(frozen=True, slots=True)
class AcquisitionCost:
    """No path asks for columns that cost more than `at_most` together; a column is paid once."""

    costs: Mapping[Name, float]
    at_most: float

    def allowed(self, place: Place) -> Mask:
        """Pairs that the path leaves the means for."""
        price = np.zeros(len(place.names))
        for name, cost in self.costs.items():
            price[place.number(name)] = cost
        spent = price[list(set(place.path))].sum()
        price[list(set(place.path))] = 0.0
        root, child = place.pairs()
        return _both(spent + price[root] + np.where(child == root, 0.0, price[child]) <= self.at_most + 1e-9)

    def __hash__(self) -> int:
        """Equal wishes hash alike, whatever mapping states the costs."""
        return hash((frozenset(self.costs.items()), self.at_most))


def _both(kept: Mask) -> Mask:
    return np.stack([kept, kept])


def allowed_pairs(wishes: Sequence[Separable], place: Place) -> Mask:
    """(2, p, p) the pairs that keep all separable wishes: the others' costs become infinite."""
    n_splits = place.column_of_split.size
    kept = np.ones((2, n_splits, n_splits), dtype=np.bool_)
    for wish in wishes:
        kept &= wish.allowed(place)
    return kept


def broken(couplings: Sequence[Coupling], leaves: Floats, said: NDArray[np.intp]) -> list[str]:
    """One sentence for each coupling that a tree of leaves (L, G, C) saying classes (L,) does not keep."""
    sentences = []
    for coupling in couplings:
        value = float(coupling.of_leaves(leaves)[np.arange(said.size), said].sum())
        excess = coupling.excess(value)
        if excess > 1e-9:
            sentences.append(
                f"{coupling.text} is {value:.4f} and must lie in [{coupling.lower:g}, {coupling.upper:g}]: "
                f"it misses by {excess:.4f}."
            )
    return sentences
