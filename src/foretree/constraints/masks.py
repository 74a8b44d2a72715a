"""Constraints that a node keeps alone: masks on the costs of its pairs of splits."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foretree.constraints.place import Columns, Constraint, Finished, Floats, Integers, Mask, Name, Place

DIRECTIONS = {"increasing": 1, "decreasing": -1}


def both_branches(kept: Mask) -> Mask:
    """Return a mask of pairs (p, p) for either branch, (2, p, p)."""
    return np.stack([kept, kept])


@dataclass(frozen=True, slots=True)
class ForcedRoot(Constraint):
    """The tree begins with a split of this column."""

    column: Name

    def allowed(self, place: Place) -> Mask | None:
        """Forbid other roots at the tree's root, and nothing below it."""
        if place.path:
            return None
        root, child = place.pairs()
        forced = root == place.columns.number(self.column)
        return both_branches(np.broadcast_to(forced, (root.size, child.size)))

    def faults(self, tree: Finished) -> list[str]:
        """Look at the first question of the tree."""
        column = tree.columns.number(self.column)
        if all(asked and asked[0] == column for asked in map(tree.asked, range(len(tree.paths)))):
            return []
        return [
            f"ForcedRoot: no question about {self.column!r} separates the rows as the minimum sizes, stop and the "
            "other constraints want it."
        ]


@dataclass(frozen=True, slots=True)
class Forbidden(Constraint):
    """These pairs of columns never stand on one path."""

    pairs: tuple[tuple[Name, Name], ...]

    def __post_init__(self) -> None:
        """Read lists of pairs as tuples, and refuse what is no pair."""
        object.__setattr__(self, "pairs", _as_lists(self.pairs, "Forbidden"))
        for pair in self.pairs:
            if len(pair) != 2:
                raise ValueError(
                    f"Forbidden: {pair!r} is no pair; pass pairs of columns, [('age', 'sex'), ...]."
                )

    def allowed(self, place: Place) -> Mask | None:
        """Forbid pairs of the node's own two levels, and of either level with the path."""
        root, child = place.pairs()
        leaf = np.eye(place.columns.of_split.size, dtype=np.bool_)
        kept = np.ones((root.size, child.size), dtype=np.bool_)
        for names in self.pairs:
            first, second = (place.columns.number(name) for name in names)
            for one, other in ((first, second), (second, first)):
                kept &= ~((root == one) & (child == other)) | leaf
                if one in place.path:
                    kept &= (root != other) & (child != other)
        return both_branches(kept)

    def faults(self, tree: Finished) -> list[str]:
        """Look at every path."""
        found = []
        for names in self.pairs:
            first, second = (tree.columns.number(name) for name in names)
            for asked in map(tree.asked, range(len(tree.paths))):
                alone = asked.count(first) < 2 if first == second else not {first, second} <= set(asked)
                if not alone:
                    found.append(f"Forbidden: {names[0]!r} and {names[1]!r} stand on one path.")
                    break
        return found


@dataclass(frozen=True, slots=True)
class Interaction(Constraint):
    """The columns of any path all belong to one of these groups; a column in no group stands alone."""

    groups: tuple[tuple[Name, ...], ...]

    def __post_init__(self) -> None:
        """Read lists of groups as tuples."""
        object.__setattr__(self, "groups", _as_lists(self.groups, "Interaction"))

    def allowed(self, place: Place) -> Mask | None:
        """Keep the pairs that some group holds together with the whole path."""
        root, child = place.pairs()
        kept = np.zeros((root.size, child.size), dtype=np.bool_)
        for group in self._members(place.columns):
            if set(place.path) <= group:
                inside = np.isin(place.columns.of_split, list(group))
                kept |= inside[:, None] & inside[None, :]
        return both_branches(kept)

    def faults(self, tree: Finished) -> list[str]:
        """Look at every path."""
        members = self._members(tree.columns)
        for asked in map(tree.asked, range(len(tree.paths))):
            if asked and not any(set(asked) <= group for group in members):
                names = [tree.columns.names[column] for column in dict.fromkeys(asked)]
                return [f"Interaction: no group holds {names}, which stand on one path."]
        return []

    def _members(self, columns: Columns) -> list[set[int]]:
        members = [{columns.number(name) for name in group} for group in self.groups]
        named = set().union(*members)
        return members + [{column} for column in range(len(columns.names)) if column not in named]


def _as_lists(groups: object, kind: str) -> tuple[tuple[Name, ...], ...]:
    if not isinstance(groups, Iterable):
        raise ValueError(f"{kind}: {groups!r} is no list; pass lists of names, [('age', 'sex'), ...].")
    return tuple(_as_names(group, kind) for group in groups)


def _as_names(group: object, kind: str) -> tuple[Name, ...]:
    if isinstance(group, str) or not isinstance(group, Iterable):
        raise ValueError(f"{kind}: {group!r} is one name; pass lists of names, [('age', 'sex'), ...].")
    return tuple(group)


@dataclass(frozen=True, slots=True)
class Monotone(Constraint):
    """The share of the second class never falls ("increasing") or never rises as the column grows.

    It holds for predict_proba and predict, everything else being equal. Splits of missing values are free.
    """

    column: Name
    direction: str = "increasing"

    def __post_init__(self) -> None:
        """Refuse other directions."""
        if self.direction not in DIRECTIONS:
            raise ValueError(f"Monotone: direction={self.direction!r} must be 'increasing' or 'decreasing'.")

    def signs(self, columns: Columns) -> Integers:
        """Return for each split whether yes asks for a larger (1) or smaller (-1) share, (p,)."""
        mine = columns.of_split == columns.number(self.column)
        if (mine & ~columns.ordered).any() or not (mine & (columns.rises != 0)).any():
            raise ValueError(
                f"Monotone: the column {self.column!r} is not asked by thresholds, so nothing can rise or fall along "
                "it; pass numbers, dates or ordered categories, and encoder='auto' or scheme='threshold'."
            )
        out: Integers = np.where(mine, DIRECTIONS[self.direction] * columns.rises, 0)
        return out

    def faults(self, tree: Finished) -> list[str]:
        """Compare every two leaves that a split of the column parts."""
        signs = self.signs(tree.columns)
        shares = tree.weights[:, 1] / tree.weights.sum(axis=1)
        for first, path in enumerate(tree.paths):
            for second in range(first):
                parting = next(
                    step for step, other in zip(path, tree.paths[second], strict=False) if step != other
                )
                sign = signs[parting[0]] * (1 if parting[1] else -1)
                if sign * (shares[first] - shares[second]) < 0:
                    return [
                        f"Monotone: the share of the second class is not {self.direction} in {self.column!r}."
                    ]
        return []


def keep_order(cells: Floats, signs: Integers, between: tuple[float, float]) -> Mask:
    """Return (2, p, p) the pairs whose leaves' shares of the second class stand in order and `between`.

    Where a root asks about order, the middle of its branches' shares becomes the border that no leaf on
    either side crosses, at whatever depth.
    """
    with np.errstate(invalid="ignore"):
        shares = cells[..., 1] / cells.sum(axis=-1)
    n_splits = signs.size
    diagonal = np.arange(n_splits)
    branches = np.stack([shares[0, 0, diagonal, diagonal], shares[1, 1, diagonal, diagonal]])
    least, most = borders(branches[0], branches[1], signs, between)
    # A cell without rows has no share, and no leaf.
    empty = np.isnan(shares)
    inside = (shares >= least[:, None, :, None]) & (shares <= most[:, None, :, None])
    kept: Mask = (inside | empty).all(axis=1)
    rising = signs * (shares[:, 1] - shares[:, 0])
    kept &= (rising >= 0) | empty.any(axis=1)
    kept &= ~(signs * (branches[1] - branches[0]) < 0)[None, :, None]
    return kept


def borders(
    low: Floats, high: Floats, signs: Integers, between: tuple[float, float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the least and the largest share (2, p) that leaves below each branch may have.

    `low` and `high` (p,) are the shares where each split is 0 and 1.
    """
    least = np.full((2, signs.size), between[0])
    most = np.full((2, signs.size), between[1])
    middle = (low + high) / 2
    for sign, above in ((1, 1), (-1, 0)):
        asked = signs == sign
        least[above, asked] = np.fmax(least[above, asked], middle[asked])
        most[1 - above, asked] = np.fmin(most[1 - above, asked], middle[asked])
    return least, most
