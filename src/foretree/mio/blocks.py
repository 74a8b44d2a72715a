"""Open nodes as blocks of options: two-level trees whose leaves' classes are part of the choice, or a leaf."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from foretree.constraints.place import Coupling, Floats, Mask
from foretree.solve import Plan

Labels = tuple[tuple[int, int], tuple[int, int]]
Integers = NDArray[np.int64]
# How far a sum of shares may miss its bound by rounding.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Block:
    """What an open node may become, by the class that each leaf says.

    costs[r, s, j, k, d] is what the cell {x_j = r, x_k = s} costs when it says d, values[m, ...] what it adds to
    coupling m; allowed (2, p, p) the pairs that may be chosen. As a leaf the node costs leaf_costs (D,) and adds
    leaf_values (m, D). Cells without rows cost and add nothing.
    """

    costs: Floats
    values: Floats
    allowed: Mask
    leaf_costs: Floats
    leaf_values: Floats

    @property
    def n_splits(self) -> int:
        """The number of splits."""
        return int(self.allowed.shape[1])

    def among(self, splits: Integers) -> "Block":
        """Return the block with these splits alone."""
        pick = np.ix_(splits, splits)
        return Block(
            self.costs[:, :, pick[0], pick[1]],
            self.values[:, :, :, pick[0], pick[1]],
            self.allowed[:, pick[0], pick[1]],
            self.leaf_costs,
            self.leaf_values,
        )


@dataclass(frozen=True, slots=True)
class LabelledPlan:
    """A two-level tree (None: a leaf) whose leaves' classes are decided: labels[side] for x_child = 0 and 1."""

    plan: Plan | None
    labels: Labels
    cost: float
    values: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Together:
    """A plan for every block, what they cost together, and what no such plans can undercut.

    `excess` is how far the couplings are missed, each in its own unit: above 0 only where nothing keeps them.
    """

    plans: tuple[LabelledPlan, ...]
    cost: float
    bound: float
    excess: tuple[float, ...] = ()


def leaf_block(costs: Floats, values: Floats) -> Block:
    """Return the block of a node that stays a leaf: what it costs (D,) and adds (m, D) saying each class."""
    n_classes = costs.size
    return Block(
        np.empty((2, 2, 0, 0, n_classes)),
        np.empty((values.shape[0], 2, 2, 0, 0, n_classes)),
        np.empty((2, 0, 0), np.bool_),
        costs,
        values,
    )


def keeps(found: Together) -> bool:
    """Tell whether the couplings are kept."""
    return max(found.excess, default=0.0) <= ROUNDING


def labelled(block: Block, plan: Plan | None, labels: Labels) -> LabelledPlan:
    """Return a tree whose leaves say `labels`, with what it costs and adds in the block."""
    if plan is None:
        said = labels[0][0]
        return LabelledPlan(None, labels, float(block.leaf_costs[said]), _floats(block.leaf_values[:, said]))
    cost, values = 0.0, np.zeros(block.values.shape[0])
    for side, child in enumerate((plan.low, plan.high)):
        says = list(labels[side])
        cost += float(block.costs[side, [0, 1], plan.root, child, says].sum())
        values += block.values[:, side, [0, 1], plan.root, child, says].sum(axis=1)
    return LabelledPlan(replace(plan, cost=cost), labels, cost, _floats(values))


def cheapest(block: Block, duals: Floats, most: int = 1) -> tuple[list[LabelledPlan], float]:
    """Return the best plans of up to `most` roots where couplings are paid for, and what the best costs so."""
    paid = block.costs - np.tensordot(duals, block.values, 1)
    leaf = block.leaf_costs - duals @ block.leaf_values
    label = int(leaf.argmin())
    stays = labelled(block, None, ((label, label), (label, label)))
    if block.n_splits == 0:
        return [stays], float(leaf[label])
    cells = paid.min(axis=-1)
    pairs = np.where(block.allowed, cells.sum(axis=1), np.inf)
    children = pairs.argmin(axis=2)
    roots = pairs.min(axis=2).sum(axis=0)
    least = float(roots.min())
    order = np.argsort(roots, kind="stable")[:most]
    plans = [
        _plan_of(block, int(root), children[:, root], paid) for root in order if np.isfinite(roots[root])
    ]
    if not plans or leaf[label] < least:
        return [stays, *plans], float(min(leaf[label], least))
    return plans, least


def _plan_of(block: Block, root: int, children: Integers, paid: Floats) -> LabelledPlan:
    """Return the tree of a root and its two children, each leaf saying what is cheapest."""
    labels = [paid[side, :, root, child].argmin(axis=-1).tolist() for side, child in enumerate(children)]
    plan = Plan(root, int(children[0]), int(children[1]), 0.0)
    return labelled(block, plan, ((labels[0][0], labels[0][1]), (labels[1][0], labels[1][1])))


def _floats(values: Floats) -> tuple[float, ...]:
    return tuple(float(value) for value in values)


def combined(
    plans: Sequence[LabelledPlan], couplings: Sequence[Coupling], bound: float | None = None
) -> Together:
    """Return what plans of blocks cost together, and how far they miss the couplings."""
    cost = sum(plan.cost for plan in plans)
    sums = [sum(plan.values[m] for plan in plans) for m in range(len(couplings))]
    excess = tuple(coupling.excess(value) for coupling, value in zip(couplings, sums, strict=True))
    return Together(tuple(plans), cost, cost if bound is None else min(bound, cost), excess)
