"""Costs → Plan: the best two-level tree in closed form."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Plan:
    """A two-level tree: the splits of its root and of the children where the root is 0 and 1.

    `low == root` (or `high == root`) says that this child stays a leaf.
    """

    root: int
    low: int
    high: int
    cost: float
