"""Costs → Plan: the best two-level tree of a node in closed form, every tie decided.

Costs within TOLERANCE of the node's weight are equal; equals are decided by the fewest empty leaves,
then the lowest Gini loss (unless `tie_break="first"`), then the smallest (root, low, high). A branch that
costs nothing stays a leaf, and lacks none.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foretree._kernels.exact import TOLERANCE
from foretree.costs import PairCosts
from foretree.losses import Floats


@dataclass(frozen=True, slots=True)
class Plan:
    """A two-level tree: the splits of its root and of the children where the root is 0 and 1.

    `low == root` (or `high == root`) says that this child stays a leaf.
    """

    root: int
    low: int
    high: int
    cost: float


def choose(costs: Floats, empty: NDArray[np.int64], ginis: Floats, tolerance: float) -> int:
    """Return the place of the least (cost, empty, gini, place) of flat arrays; the cost must be finite somewhere."""
    equal = costs <= costs.min() + tolerance
    equal &= empty == empty[equal].min()
    equal &= ginis <= ginis[equal].min() + tolerance
    return int(np.flatnonzero(equal)[0])


def lacking(pairs: PairCosts) -> NDArray[np.int64]:
    """Return how many leaves each branch lacks with each child split, (2, p, p), as ties count them.

    An empty leaf is one too few, but where the branch costs nothing any second leaf is one too many.
    """
    free = np.diagonal(pairs.costs, axis1=1, axis2=2) <= TOLERANCE * pairs.weight
    return np.where(free[:, :, None], 1 - pairs.empty, pairs.empty)


def best_pair(pairs: PairCosts, tie_by_gini: bool = True) -> Plan | None:
    """Return the optimal two-step tree ([OCT-2] in closed form), or None where no split may be made.

    Given the root j, eq. (1) falls apart: the best child of each branch is a minimum over k.
    """
    if not pairs.separates.any():
        return None
    tolerance = TOLERANCE * pairs.weight
    ginis = pairs.ginis if tie_by_gini else np.zeros_like(pairs.ginis)
    lacks = lacking(pairs)
    roots = np.flatnonzero(pairs.separates)
    children = np.empty((2, roots.size), np.int64)
    costs, ginis_of_root = np.zeros(roots.size), np.zeros(roots.size)
    empty = np.zeros(roots.size, np.int64)
    for place, root in enumerate(roots):
        for side in range(2):
            branch = pairs.costs[side, root]
            child = choose(branch, lacks[side, root], ginis[side, root], tolerance)
            children[side, place] = root if pairs.empty[side, root, child] else child
            costs[place] += branch.min()
            empty[place] += lacks[side, root, child]
            ginis_of_root[place] += ginis[side, root, child]
    best = choose(costs, empty, ginis_of_root, tolerance)
    return Plan(int(roots[best]), int(children[0, best]), int(children[1, best]), float(costs[best]))


def best_single(pairs: PairCosts, tie_by_gini: bool = True) -> Plan | None:
    """Return the best single split, both children leaves, or None where no split may be made."""
    roots = np.flatnonzero(pairs.separates)
    if roots.size == 0:
        return None
    costs = pairs.costs[:, roots, roots].sum(axis=0)
    ginis = pairs.ginis[:, roots, roots].sum(axis=0) if tie_by_gini else np.zeros(roots.size)
    best = choose(costs, np.zeros(roots.size, np.int64), ginis, TOLERANCE * pairs.weight)
    root = int(roots[best])
    return Plan(root, root, root, float(costs[best]))
