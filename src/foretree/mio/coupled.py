"""Two-level trees under couplings: leaf classes become decisions, nodes are solved together.

`cells` (2, 2, p, p, G, C) counts the rows of each group and class in {x_j = r, x_k = s}; a pair (r, j, k)
with labels (d, e) for its two leaves is one labelled column. One coupling at one node is solved exactly by
sorted sweeps; several couplings or nodes by one [OCT-2] block per node, the couplings as rows across blocks.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foretree.constraints import Coupling, Mask
from foretree.mio.model import Builder, Floats, Limits
from foretree.mio.solvers import solver_named
from foretree.solve import Plan

Labels = tuple[tuple[int, int], tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Node:
    """An open node: cells, what a row of class c costs where its leaf says d (C, C), and allowed pairs."""

    cells: Floats
    prices: Floats
    allowed: Mask


@dataclass(frozen=True, slots=True)
class LabelledPlan:
    """A two-level tree whose leaves' classes are decided: `labels[side]` for x_child = 0 and 1."""

    plan: Plan
    labels: Labels


@dataclass(frozen=True, slots=True)
class _Columns:
    """Labelled columns: (n, 5) side, root, child and the two labels; costs (n,); values (couplings, n)."""

    labels: NDArray[np.intp]
    costs: Floats
    values: Floats


def coupled(
    nodes: Sequence[Node], couplings: Sequence[Coupling], solver: str = "highs", time_limit: float = np.inf
) -> list[LabelledPlan] | None:
    """The cheapest trees of the nodes that keep the couplings together, or None where no trees do."""
    if len(nodes) == 1 and len(couplings) == 1:
        found = _swept(_columns(nodes[0], couplings), couplings[0])
        return None if found is None else [found]
    return _solved([_columns(node, couplings) for node in nodes], couplings, solver, time_limit)


def _columns(node: Node, couplings: Sequence[Coupling]) -> _Columns:
    """All labelled columns of a node; of those with equal values in one branch only the cheapest."""
    cells = np.moveaxis(node.cells, 1, 3)  # side, root, child, leaf, group, class
    costs = np.einsum("...gc,cd->...d", cells, node.prices)
    both = costs[..., 0, :, None] + costs[..., 1, None, :]
    one_leaf = (cells.sum(axis=(-2, -1)) == 0).any(axis=-1)
    n_classes = node.prices.shape[1]
    unequal = ~np.eye(n_classes, dtype=np.bool_)
    # The empty leaf's label decides nothing: keep it equal to its sibling's.
    usable = node.allowed[..., None, None] & ~(one_leaf[..., None, None] & unequal)
    labels = np.argwhere(usable)
    values = np.empty((len(couplings), labels.shape[0]))
    for row, coupling in zip(values, couplings, strict=True):
        leaf = coupling.of_leaves(cells)
        row[:] = (leaf[..., 0, :, None] + leaf[..., 1, None, :])[usable]
    return _cheapest(_Columns(labels, both[usable], values))


def _cheapest(columns: _Columns) -> _Columns:
    """Without the columns that another of the same branch equals in every value and undercuts in cost."""
    keys = [columns.costs, *np.round(columns.values, 12), columns.labels[:, 1], columns.labels[:, 0]]
    order = np.lexsort(keys)
    same = np.ones(order.size - 1, dtype=np.bool_)
    for key in keys[1:]:
        same &= key[order[1:]] == key[order[:-1]]
    kept = np.sort(order[np.concatenate([[True], ~same])]) if order.size else order
    return _Columns(columns.labels[kept], columns.costs[kept], columns.values[:, kept])


def _swept(columns: _Columns, coupling: Coupling) -> LabelledPlan | None:
    """For each root, every column of one side beside the cheapest of the other whose value fits."""
    best, chosen = np.inf, None
    side, root = columns.labels[:, 0], columns.labels[:, 1]
    value = columns.values[0]
    for j in np.unique(root):
        low, high = (np.flatnonzero((root == j) & (side == s)) for s in (0, 1))
        if not low.size or not high.size:
            continue
        high = high[np.argsort(value[high], kind="stable")]
        begin = np.searchsorted(value[high], coupling.lower - value[low] - 1e-12, side="left")
        end = np.searchsorted(value[high], coupling.upper - value[low] + 1e-12, side="right")
        partner = _range_least(columns.costs[high], begin, end)
        costs = np.where(partner >= 0, columns.costs[low] + columns.costs[high[partner]], np.inf)
        place = int(np.argmin(costs))
        if costs[place] < best:
            best, chosen = float(costs[place]), (int(low[place]), int(high[partner[place]]))
    return None if chosen is None else _plan(columns, *chosen)


def _range_least(costs: Floats, begin: NDArray[np.intp], end: NDArray[np.intp]) -> NDArray[np.intp]:
    """The place of the least cost in each [begin, end), -1 where that is empty: a sparse table."""
    table = [np.arange(costs.size)]
    while 2 ** len(table) <= costs.size:
        half = 2 ** (len(table) - 1)
        left, right = table[-1][:-half], table[-1][half:]
        table.append(np.where(costs[right] < costs[left], right, left))
    found = np.full(begin.size, -1, dtype=np.intp)
    for level, places in enumerate(table):
        inside = np.flatnonzero((end - begin >= 2**level) & (end - begin < 2 ** (level + 1)))
        left, right = places[begin[inside]], places[end[inside] - 2**level]
        found[inside] = np.where(costs[right] < costs[left], right, left)
    return found


def _plan(columns: _Columns, low: int, high: int) -> LabelledPlan:
    (_, root, k, *of_low), (_, _, m, *of_high) = columns.labels[[low, high]].tolist()
    plan = Plan(root, k, m, float(columns.costs[low] + columns.costs[high]))
    return LabelledPlan(plan, ((of_low[0], of_low[1]), (of_high[0], of_high[1])))


def _solved(
    blocks: Sequence[_Columns], couplings: Sequence[Coupling], solver: str, time_limit: float
) -> list[LabelledPlan] | None:
    """One [OCT-2] block per node and one row per coupling, by branch and cut."""
    builder = Builder()
    rows = builder.rows(
        (len(couplings),), np.array([c.lower for c in couplings]), np.array([c.upper for c in couplings])
    )
    numbers = []
    for columns in blocks:
        side, root = columns.labels[:, 0], columns.labels[:, 1]
        number = builder.columns((side.size,), columns.costs, integral=True)
        builder.entries(builder.rows((2,), 1.0, 1.0)[side], number)
        shared = builder.rows((int(root.max(initial=-1)) + 1,), 0.0, 0.0)
        builder.entries(shared[root], number, np.where(side == 0, 1.0, -1.0))
        builder.entries(rows[:, None], number[None, :], columns.values)
        numbers.append(number)
    solution = solver_named(solver)(builder.model(), False, Limits(time_limit))
    if solution.values is None:
        if "infeasible" in solution.status:
            return None
        raise TimeoutError(f"No trees that keep the constraints were found ({solution.status}).")
    found = []
    for columns, number in zip(blocks, numbers, strict=True):
        low, high = np.flatnonzero(solution.values[number] > 0.5).tolist()
        found.append(_plan(columns, low, high))
    return found
