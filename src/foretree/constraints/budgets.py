"""Constraints on what the asked columns cost: on every path, or in the tree as a whole."""

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real

import numpy as np

from foretree.constraints.masks import both_branches
from foretree.constraints.place import Budget, Columns, Constraint, Finished, Floats, Mask, Name, Place


@dataclass(frozen=True, slots=True)
class FeatureBudget(Constraint):
    """The tree asks about at most this many of the original columns."""

    at_most: int

    def __post_init__(self) -> None:
        """Refuse budgets that are no number of columns."""
        if (
            isinstance(self.at_most, bool)
            or not isinstance(self.at_most, int | np.integer)
            or self.at_most < 1
        ):
            raise ValueError(f"FeatureBudget: at_most={self.at_most!r} must be a whole number of at least 1.")

    def budget(self, columns: Columns) -> Budget | None:
        """Every column costs 1."""
        return Budget(
            "FeatureBudget: the number of columns asked", np.ones(len(columns.names)), float(self.at_most)
        )

    def faults(self, tree: Finished) -> list[str]:
        """Count the columns asked."""
        return _overspent(self.budget(tree.columns), tree)


@dataclass(frozen=True, slots=True)
class AcquisitionCost(Constraint):
    """No path ("path"), or not the tree as a whole ("tree"), asks for columns that cost more than `at_most`.

    A column is paid once; one without a cost is free.
    """

    costs: Mapping[Name, float]
    at_most: float
    per: str = "path"

    def __post_init__(self) -> None:
        """Refuse costs that are no numbers."""
        if self.per not in ("path", "tree"):
            raise ValueError(f"AcquisitionCost: per={self.per!r} must be 'path' or 'tree'.")
        if not isinstance(self.costs, Mapping):
            raise ValueError(
                f"AcquisitionCost: costs={self.costs!r} must map columns to what they cost, as in {{'scan': 20}}."
            )
        for what, value in (
            *((f"the cost of {name!r}", cost) for name, cost in self.costs.items()),
            ("at_most", self.at_most),
        ):
            if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) < np.inf:
                raise ValueError(f"AcquisitionCost: {what} is {value!r} and must be a number of at least 0.")

    def __hash__(self) -> int:
        """Equal wishes hash alike, whatever mapping states the costs."""
        return hash((frozenset(self.costs.items()), self.at_most, self.per))

    def _prices(self, columns: Columns) -> Floats:
        prices = np.zeros(len(columns.names))
        for name, cost in self.costs.items():
            prices[columns.number(name)] = cost
        return prices

    def allowed(self, place: Place) -> Mask | None:
        """Keep the pairs that the path leaves the means for."""
        if self.per != "path":
            return None
        prices = self._prices(place.columns)
        paid = list(set(place.path))
        spent = prices[paid].sum()
        prices[paid] = 0.0
        root, child = place.pairs()
        total = spent + prices[root] + np.where(child == root, 0.0, prices[child])
        return both_branches(total <= self.at_most + 1e-9)

    def budget(self, columns: Columns) -> Budget | None:
        """Every column costs what it costs, if the tree pays as a whole."""
        if self.per != "tree":
            return None
        return Budget(
            "AcquisitionCost: what the columns asked cost", self._prices(columns), float(self.at_most)
        )

    def faults(self, tree: Finished) -> list[str]:
        """Add up what every path, or the tree, asks for."""
        if self.per == "tree":
            return _overspent(self.budget(tree.columns), tree)
        prices = self._prices(tree.columns)
        dearest = max(prices[list(set(tree.asked(leaf)))].sum() for leaf in range(len(tree.paths)))
        if dearest <= self.at_most + 1e-9:
            return []
        return [f"AcquisitionCost: a path costs {dearest:g} and may cost {self.at_most:g}."]


def _overspent(budget: Budget | None, tree: Finished) -> list[str]:
    assert budget is not None
    asked = set().union(*map(tree.asked, range(len(tree.paths))))
    if budget.allows(asked):
        return []
    return [f"{budget.text} is {budget.cost(asked):g} and must be at most {budget.at_most:g}."]
