"""The rolling tree: look some steps ahead at a node, keep the first split, look again from each child."""

import heapq
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from foretree._kernels.exact import TOLERANCE
from foretree._kernels.grow import (
    HIGH, LOSS, LOW, PLANNED, ROWS, SECONDS, SPLIT, SPLITS_SEEN, STEPS, WEIGHTS, grow_tree,
)  # fmt: skip
from foretree.costs import Limits
from foretree.counts import MemoryRows, Path
from foretree.groups import GroupedRows
from foretree.look import LEAF, CountsLooker, KernelLooker, Look, Looker, Searcher, Survey, is_pure, now
from foretree.losses import Loss
from foretree.rules import make_rules
from foretree.tree import Tree


@dataclass(frozen=True, slots=True)
class GrowthPlan:
    """How a tree grows: its depth, the lookahead, when nodes stop, and how long it may take.

    `min_decrease` is in weight; `seconds` and `max_leaves` are None where there is no such limit.
    """

    max_depth: int
    lookahead: int
    limits: Limits
    stop_without_gain: bool = False
    min_decrease: float = 0.0
    max_leaves: int | None = None
    tie_by_gini: bool = True
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Grown:
    """A tree and what happened at each node, arrays (n_nodes,).

    `splits_seen` are the splits a node chose among, `steps` how far it looked (0: not at all),
    `planned` the loss it saw at the end of the look, `bound` what no such look could undercut.
    """

    tree: Tree
    splits_seen: NDArray[np.int64]
    steps: NDArray[np.int64]
    planned: NDArray[np.float64]
    bound: NDArray[np.float64]
    seconds: NDArray[np.float64]


def grow_in_kernel(rows: GroupedRows, loss: Loss, plan: GrowthPlan) -> Grown:
    """Grow the whole tree in one kernel: built-in losses, up to three steps, no limit on leaves or time."""
    rules = make_rules(
        loss, rows.n_classes, plan.limits, plan.tie_by_gini, plan.stop_without_gain, plan.min_decrease
    )
    whole, real, n_nodes = grow_tree(
        rows.words, rows.n_splits, rows.order, rows.starts[:-1], rows.starts[1:], rows.groups, rules,
        plan.max_depth, plan.lookahead, True if plan.lookahead > 2 else None,
    )  # fmt: skip
    whole, real = whole[:n_nodes], real[:n_nodes]
    tree = Tree(
        whole[:, SPLIT], whole[:, LOW], whole[:, HIGH], real[:, WEIGHTS:], whole[:, ROWS], real[:, LOSS]
    )
    planned = real[:, PLANNED]
    return Grown(tree, whole[:, SPLITS_SEEN], whole[:, STEPS], planned, planned, real[:, SECONDS])


@dataclass(slots=True)
class _Node:
    path: Path
    survey: Survey
    known: Look | None = None
    look: Look | None = None
    steps: int = 0
    seconds: float = 0.0
    children: "tuple[_Node, _Node] | None" = None
    waits: bool = False  # whether the deadline came before its look


@dataclass(slots=True)
class _Grower:
    looker: Looker
    plan: GrowthPlan
    searcher: Searcher
    tolerance: float
    frontier: list[tuple[float, int, _Node]] = field(default_factory=list)
    n_made: int = 0

    def wait(self, node: _Node) -> None:
        """Put a node that may be split in the frontier, or leave it a leaf."""
        began = now()
        if self._must_stay(node):
            return
        if began > self.searcher.deadline:
            node.waits = True
            return
        left = self.plan.max_depth - len(node.path)
        node.look = node.known
        if node.look is None:
            node.steps = min(self.plan.lookahead, left)
            node.look = self.searcher.look(node.path, node.steps)
        node.seconds = now() - began
        decrease = node.survey.loss - node.look.cost
        if node.look.root == LEAF or self._stops(node, decrease):
            return
        # Level by level; with a limit on leaves the largest decrease first.
        order = len(node.path) if self.plan.max_leaves is None else -decrease
        heapq.heappush(self.frontier, (order, self.n_made, node))
        self.n_made += 1

    def _must_stay(self, node: _Node) -> bool:
        return (
            len(node.path) >= self.plan.max_depth
            or node.survey.n_rows < self.looker.limits.min_internal
            or is_pure(node.survey.totals)
            or (node.known is not None and node.known.root == LEAF)
        )

    def _stops(self, node: _Node, decrease: float) -> bool:
        tolerance = TOLERANCE * float(node.survey.totals.sum())
        if self.plan.stop_without_gain and decrease <= tolerance:
            return True
        return self.plan.min_decrease > 0 and decrease < self.plan.min_decrease - tolerance

    def split(self, node: _Node) -> None:
        """Make the children of a node, which wait in turn."""
        look = node.look
        assert look is not None
        began = now()
        settled = node.known is not None or node.steps == self.plan.max_depth - len(node.path)
        paths = [(*node.path, (look.root, answer)) for answer in (0, 1)]
        low, high = (
            _Node(path, self.looker.weigh(path), known if settled else None)
            for path, known in zip(paths, (look.low, look.high), strict=True)
        )
        node.children = (low, high)
        node.seconds += now() - began
        self.wait(low)
        self.wait(high)


def grow(looker: Looker, plan: GrowthPlan) -> Grown:
    """Grow a tree node by node with any looker, lookahead and limit."""
    deadline = np.inf if plan.seconds is None else now() + plan.seconds
    root = _Node((), looker.weigh(()))
    tolerance = TOLERANCE * float(root.survey.totals.sum())
    grower = _Grower(looker, plan, Searcher(looker, deadline), tolerance)
    grower.wait(root)
    n_leaves = 1
    while grower.frontier and (plan.max_leaves is None or n_leaves < plan.max_leaves):
        grower.split(heapq.heappop(grower.frontier)[2])
        n_leaves += 1
    return _as_arrays(root)


def _as_arrays(root: _Node) -> Grown:
    """Number the nodes in preorder and lay them out flat."""
    nodes: list[_Node] = []
    waiting = [root]
    while waiting:
        node = waiting.pop()
        nodes.append(node)
        if node.children is not None:
            waiting += [node.children[1], node.children[0]]
    number = {id(node): place for place, node in enumerate(nodes)}
    split = np.array([-1 if n.children is None or n.look is None else n.look.root for n in nodes])
    low, high = (
        np.array([-1 if n.children is None else number[id(n.children[side])] for n in nodes]) for side in (0, 1)
    )
    tree = Tree(
        split,
        low,
        high,
        np.array([n.survey.totals for n in nodes], np.float64),
        np.array([n.survey.n_rows for n in nodes]),
        np.array([n.survey.loss for n in nodes], np.float64),
    )
    planned = [n.survey.loss if n.look is None else n.look.cost for n in nodes]
    bound = [0.0 if n.waits else n.survey.loss if n.look is None else n.look.bound for n in nodes]
    return Grown(
        tree,
        np.array([0 if n.look is None else n.look.n_splits for n in nodes]),
        np.array([n.steps for n in nodes]),
        np.array(planned),
        np.array(bound),
        np.array([n.seconds for n in nodes]),
    )


def grow_rows(
    rows: GroupedRows, loss: Loss, plan: GrowthPlan, n_jobs: int | None = None, verbose: bool = False
) -> Grown:
    """Grow a tree over rows in memory by the fastest way that can do what the plan asks."""
    plain = plan.max_leaves is None and plan.seconds is None
    if loss.code is None:
        memory = MemoryRows(rows)
        return grow(CountsLooker(memory, loss, plan.limits, plan.tie_by_gini), plan)
    if plain and plan.lookahead <= KernelLooker.reach:
        return grow_in_kernel(rows, loss, plan)
    return grow(KernelLooker(rows, loss, plan.limits, plan.tie_by_gini), plan)
