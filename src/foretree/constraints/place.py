"""What constraints see: the table's columns, a node and its path, rows of class counts, a finished tree."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretree.encode import Split

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]
Name = Hashable


@dataclass(frozen=True, slots=True)
class Columns:
    """The original columns: their names, each split's column (p,), and what an answer of yes says of its value.

    `rises` (p,) is 1 where yes means a larger value, -1 where it means a smaller one, 0 where neither;
    `ordered` (p,) whether the question parts values by their order, or the missing from the rest.
    """

    names: tuple[Name, ...]
    of_split: Integers
    rises: Integers
    ordered: Mask

    def number(self, name: Name) -> int:
        """Return a column's number; a table without names has x0, x1, … and knows plain numbers too."""
        if isinstance(name, Hashable) and name in self.names:
            return self.names.index(name)
        unnamed = self.names == tuple(f"x{i}" for i in range(len(self.names)))
        if unnamed and isinstance(name, int) and 0 <= name < len(self.names):
            return name
        known = ", ".join(map(repr, self.names[:8])) + (", ..." if len(self.names) > 8 else "")
        raise ValueError(
            f"A constraint names the column {name!r}, which the table does not have; it has {known}."
        )


def read_columns(names: Sequence[Name], splits: Sequence[Split]) -> Columns:
    """Return the columns as constraints see them, from their names and the splits about them."""
    rises = [{"threshold": -1, "true": 1}.get(split.kind, 0) for split in splits]
    of_split = np.array([split.column_index for split in splits], np.int64)
    ordered = [split.kind in ("threshold", "true", "missing") for split in splits]
    return Columns(tuple(names), of_split, np.array(rises, np.int64), np.array(ordered, np.bool_))


@dataclass(frozen=True, slots=True)
class Place:
    """A node as a constraint on one node sees it.

    `path` are the columns asked on the way; child == root stands for a branch that stays a leaf.
    """

    columns: Columns
    path: tuple[int, ...] = ()

    def pairs(self) -> tuple[Integers, Integers]:
        """Return the columns of roots (p, 1) and of their children (1, p)."""
        of_split = self.columns.of_split
        return of_split[:, None], of_split[None, :]


@dataclass(frozen=True, slots=True)
class Coupling:
    """lower <= Σ over rows of coefficients[group, class, said] <= upper; coefficients is (G, C, C)."""

    text: str
    coefficients: Floats
    lower: float
    upper: float

    def of_leaves(self, counts: Floats) -> Floats:
        """Return what leaves with counts (..., G, C) contribute when they say each class, (..., C)."""
        contributed: Floats = np.einsum("...gc,gcd->...d", counts, self.coefficients)
        return contributed

    def excess(self, value: float) -> float:
        """Return how far a tree's sum lies outside the bounds, 0 inside."""
        return max(0.0, self.lower - value, value - self.upper)


@dataclass(frozen=True, slots=True)
class Budget:
    """What the columns a tree asks about may cost together: prices (n_columns,), each column paid once."""

    text: str
    prices: Floats
    at_most: float

    def cost(self, columns: Any) -> float:
        """Return what these columns cost together."""
        return float(self.prices[list(columns)].sum())

    def allows(self, columns: Any) -> bool:
        """Tell whether these columns can be paid together."""
        return self.cost(columns) <= self.at_most + 1e-9


@dataclass(frozen=True, slots=True)
class Finished:
    """A grown tree as constraints see it: the columns, and the splits and answers on the way to each leaf.

    `weights` (L, C) are the leaves' class weights.
    """

    columns: Columns
    paths: tuple[tuple[tuple[int, int], ...], ...]
    weights: Floats

    def asked(self, leaf: int) -> tuple[int, ...]:
        """Return the columns on the way to a leaf, in order."""
        return tuple(int(self.columns.of_split[split]) for split, _ in self.paths[leaf])


class Constraint:
    """A wish about a tree. What it does not speak of it leaves free."""

    __slots__ = ()
    # Whether it decides what leaves say, and whether it counts rows by a sensitive attribute.
    decides_classes: bool = False
    compares_groups: bool = False

    def couples(self, columns: Columns) -> bool:
        """Tell whether nodes can keep the wish only together."""
        return self.decides_classes or self.budget(columns) is not None

    def allowed(self, place: Place) -> Mask | None:
        """Return (2, p, p) which pairs (branch, root, child) keep the wish, None for all; child == root is a leaf."""
        return None

    def signs(self, columns: Columns) -> Integers | None:
        """Return which answers ask for a larger (1) or smaller (-1) share of the second class, (p,), None for none."""
        return None

    def couplings(
        self, totals: Floats, classes: Sequence[Hashable], groups: Sequence[Hashable]
    ) -> tuple[Coupling, ...]:
        """Return the wish as linear rows, given the training rows (G, C) of each group and class."""
        return ()

    def budget(self, columns: Columns) -> Budget | None:
        """Return what the wish lets the columns of the whole tree cost, None for any cost."""
        return None

    def faults(self, tree: Finished) -> list[str]:
        """Return a sentence for each way in which a finished tree's questions do not keep the wish."""
        return []
