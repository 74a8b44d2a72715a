"""The rolling tree: look some steps ahead at a node, keep the first split, look again from each child."""

import heapq
import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from foretree._kernels.exact import TOLERANCE
from foretree._kernels.grow import (
    HIGH,
    LOSS,
    LOW,
    PLANNED,
    ROWS,
    SECONDS,
    SPLIT,
    SPLITS_SEEN,
    STEPS,
    WEIGHTS,
    grow_tree,
)  # fmt: skip
from foretree._kernels.jit import is_ready
from foretree.costs import Limits
from foretree.counts import MemoryRows, Path
from foretree.gap import Kinds, count_kinds, cut_short, least_losses
from foretree.groups import GroupedRows
from foretree.look import LEAF, CountsLooker, KernelLooker, Look, Looker, Searcher, Survey, is_pure, now
from foretree.losses import Loss
from foretree.rules import make_rules
from foretree.tree import Tree, total_loss

# The shares of a time limit after which a first try ends, and after which shorter looks do.
FIRST_SHARE, SHORT_SHARE = 0.1, 0.7


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


def grow_in_kernel(rows: GroupedRows, loss: Loss, plan: GrowthPlan, reach: int = 2**31) -> Grown:
    """Grow the whole tree in one kernel: built-in losses, up to three steps, no limit on leaves or time.

    The root looks `reach` steps ahead at most.
    """
    rules = make_rules(
        loss, rows.n_classes, plan.limits, plan.tie_by_gini, plan.stop_without_gain, plan.min_decrease
    )
    whole, real, n_nodes = grow_tree(
        rows.words, rows.n_splits, rows.order, rows.starts[:-1], rows.starts[1:], rows.groups, rules,
        plan.max_depth, plan.lookahead, reach, True if plan.lookahead > 2 else None,
    )  # fmt: skip
    # Rounding may leave a pure node a little less than nothing to pay.
    whole, real = whole[:n_nodes], np.maximum(real[:n_nodes], 0.0)
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
    reach: int = 2**31
    steps: int = 0  # as planned, by which its children are settled or not
    looked: int = 0  # as they were
    seconds: float = 0.0
    children: "tuple[_Node, _Node] | None" = None
    waits: bool = False  # whether the deadline came before its look
    subtree: "Grown | None" = None  # what a thread has grown below it


@dataclass(slots=True)
class _Grower:
    looker: Looker
    plan: GrowthPlan
    searcher: Searcher
    last_call: float = np.inf  # after which no node is looked at any more
    frontier: list[tuple[float, int, _Node]] = field(default_factory=list)
    n_made: int = 0

    def wait(self, node: _Node) -> None:
        """Put a node that may be split in the frontier, or leave it a leaf."""
        began = now()
        if self.must_stay(node):
            return
        if began > self.last_call:
            node.waits = True
            return
        left = self.plan.max_depth - len(node.path)
        node.look = node.known
        if node.look is None:
            node.steps = min(self.plan.lookahead, left, node.reach)
            node.look = self._look(node, late=began > self.searcher.deadline)
        node.seconds = now() - began
        decrease = node.survey.loss - node.look.cost
        if node.look.root == LEAF or self._stops(node, decrease):
            return
        # Level by level; with a limit on leaves the largest decrease first.
        order = len(node.path) if self.plan.max_leaves is None else -decrease
        heapq.heappush(self.frontier, (order, self.n_made, node))
        self.n_made += 1

    def _look(self, node: _Node, late: bool) -> Look:
        """Look as far as planned, or two steps once it is late: what a longer look has seen is not lost then."""
        if not late or node.steps <= 2:
            node.looked = node.steps
            return self.searcher.look(node.path, node.steps)
        node.looked = 2
        return replace(self.searcher.look(node.path, 2), bound=0.0)

    def must_stay(self, node: _Node) -> bool:
        """Tell whether a node is a leaf whatever a look would find."""
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

    def split(self, node: _Node) -> "tuple[_Node, _Node]":
        """Make the children of a node, which are to wait in turn."""
        look = node.look
        assert look is not None
        began = now()
        settled = node.known is not None or node.steps == self.plan.max_depth - len(node.path)
        tolerance = TOLERANCE * float(node.survey.totals.sum())
        children = []
        for answer, known in enumerate((look.low, look.high)):
            path = (*node.path, (look.root, answer))
            child = _Node(path, self.looker.weigh(path), known if settled else None)
            if known is not None and known.cost <= tolerance:
                # Only parents of impure leaves are solved anew (Algorithm 1).
                child.reach = max(node.steps - 1, 1)
            children.append(child)
        low, high = children
        node.children = (low, high)
        node.seconds += now() - began
        return low, high


def grow(looker: Looker, plan: GrowthPlan) -> Grown:
    """Grow a tree node by node with any looker, lookahead and limit."""
    if plan.seconds is None:
        return _grow_until(plan, Searcher(looker), np.inf)
    deadline = now() + plan.seconds
    return _grow_until(plan, Searcher(looker, deadline), deadline + _spare(plan.seconds))


def _spare(seconds: float) -> float:
    """Return how long nodes may be looked at behind a time limit, two steps ahead."""
    return max(0.1, 0.05 * seconds)


def _grow_until(plan: GrowthPlan, searcher: Searcher, last_call: float) -> Grown:
    """Grow a tree by looks that the searcher's deadline cuts short; none begins after the last call."""
    root = _Node((), searcher.looker.weigh(()))
    grower = _Grower(searcher.looker, plan, searcher, last_call)
    grower.wait(root)
    n_leaves = 1
    while grower.frontier and (plan.max_leaves is None or n_leaves < plan.max_leaves):
        for child in grower.split(heapq.heappop(grower.frontier)[2]):
            grower.wait(child)
        n_leaves += 1
    return _as_arrays(root)


def _as_arrays(root: _Node) -> Grown:
    """Number the nodes in preorder and lay them out flat."""
    parts: list[Grown] = []
    made = 0
    waiting: list[tuple[_Node, Grown | None, int]] = [(root, None, 0)]
    while waiting:
        node, parent, side = waiting.pop()
        if parent is not None:
            (parent.tree.high if side else parent.tree.low)[0] = made
        part = _shifted(node.subtree, made) if node.subtree is not None else _one_node(node)
        parts.append(part)
        made += part.tree.n_nodes
        if node.children is not None:
            waiting += [(node.children[1], part, 1), (node.children[0], part, 0)]
    laid = (name for name in Tree.__slots__ if name != "decided")
    tree = Tree(*(np.concatenate([getattr(part.tree, name) for part in parts]) for name in laid))
    rest = (name for name in Grown.__slots__ if name != "tree")
    return Grown(tree, *(np.concatenate([getattr(part, name) for part in parts]) for name in rest))


def _one_node(node: _Node) -> Grown:
    """Return a node's record alone; its children are filled in once they are numbered."""
    survey, look = node.survey, node.look
    split = LEAF if node.children is None or look is None else look.root
    planned = survey.loss if look is None else max(0.0, look.cost)
    # What a plan above has settled is as proven as that plan.
    bound = 0.0 if node.waits else planned if look is None or node.known is not None else look.bound
    tree = Tree(
        np.array([split]), np.array([LEAF]), np.array([LEAF]), survey.totals[None, :],
        np.array([survey.n_rows]), np.array([survey.loss]),
    )  # fmt: skip
    seen = 0 if look is None else look.n_splits
    return Grown(
        tree, np.array([seen]), np.array([node.looked]), np.array([planned]), np.array([bound]),
        np.array([node.seconds]),
    )  # fmt: skip


def _shifted(grown: Grown, first: int) -> Grown:
    """Return a subtree whose root is node number `first`."""
    low, high = (np.where(child < 0, LEAF, child + first) for child in (grown.tree.low, grown.tree.high))
    return replace(grown, tree=replace(grown.tree, low=low, high=high))


def grow_in_threads(rows: GroupedRows, loss: Loss, plan: GrowthPlan, n_threads: int) -> Grown:
    """Grow the top of the tree until there are subtrees for all threads, then each subtree in one kernel.

    Where a subtree begins the kernel is the first to look.
    """
    looker = KernelLooker(rows, loss, plan.limits, plan.tie_by_gini)
    root = _Node((), looker.weigh(()))
    grower = _Grower(looker, plan, Searcher(looker))
    # Below this level a look may settle its children, which a kernel that starts anew would not know.
    last_level = plan.max_depth - plan.lookahead
    unseen = deque([root])
    while unseen and len(unseen) < 4 * n_threads and len(unseen[0].path) < last_level:
        node = unseen.popleft()
        grower.wait(node)
        if grower.frontier:
            unseen += grower.split(heapq.heappop(grower.frontier)[2])
            looker.rows.forget(node.path)
    waiting = [node for node in unseen if not grower.must_stay(node)]
    # The largest first, so that no thread is left with it at the end.
    waiting.sort(key=lambda node: -node.survey.n_rows)
    parts = [(node, _subtree_rows(rows, looker, node.path)) for node in waiting]
    with ThreadPoolExecutor(n_threads) as pool:
        grown = pool.map(
            lambda part: grow_in_kernel(
                part[1], loss, replace(plan, max_depth=plan.max_depth - len(part[0].path)), part[0].reach
            ),
            parts,
        )
        for (node, _), subtree in zip(parts, grown, strict=True):
            node.subtree = subtree
    return _as_arrays(root)


def _subtree_rows(rows: GroupedRows, looker: KernelLooker, path: Path) -> GroupedRows:
    """Return the rows of a node, in arrays that are a kernel's to reorder."""
    order, starts = looker.rows.entries(path)
    looker.rows.forget(path)
    return replace(rows, order=order, starts=starts)


def grow_rows(
    rows: GroupedRows, loss: Loss, plan: GrowthPlan, n_jobs: int | None = None, verbose: bool = False
) -> Grown:
    """Grow a tree over rows in memory by the fastest way that can do what the plan asks."""
    if verbose and not is_ready(grow_tree):
        print(
            "foretree: compiling its kernels, once on this machine; this takes about 20 seconds.", flush=True
        )
    if loss.code is None:
        return grow_in_time(CountsLooker(MemoryRows(rows), loss, plan.limits, plan.tie_by_gini), plan)
    if plan.max_leaves is None and plan.seconds is None and plan.lookahead <= KernelLooker.reach:
        n_threads = _threads(n_jobs)
        return (
            grow_in_kernel(rows, loss, plan)
            if n_threads == 1
            else grow_in_threads(rows, loss, plan, n_threads)
        )
    looker = KernelLooker(rows, loss, plan.limits, plan.tie_by_gini)
    return grow_in_time(looker, plan, partial(count_kinds, rows, loss))


def grow_in_time(looker: Looker, plan: GrowthPlan, count: Callable[[], Kinds] | None = None) -> Grown:
    """Grow a tree within its time limit; where that cuts looks short, no worse a tree than shorter looks grow.

    A first try that ends early is the answer. Else looks of 2, 3, ... steps come first, as far as they
    end in time, and then the rest of the time is the planned look's, which forgets nothing it has seen. Where
    rows can be counted by kind, that proves something too.
    """
    if plan.seconds is None or plan.lookahead <= 2:
        return grow(looker, plan)
    began, seconds = now(), plan.seconds
    spare = _spare(seconds) / 2
    searcher = Searcher(looker)

    def attempt(steps: int, share: float) -> Grown:
        searcher.deadline = began + share * seconds
        return _grow_until(replace(plan, lookahead=steps), searcher, searcher.deadline + spare)

    planned = [attempt(plan.lookahead, FIRST_SHARE)]
    if _is_proven(planned[0]):
        return planned[0]
    first_took = now() - began
    kinds = None if count is None else count()
    shorter: list[Grown] = []
    for steps in range(2, plan.lookahead):
        shorter.append(attempt(steps, SHORT_SHARE))
        if not _is_proven(shorter[-1]):
            break
    # In less time than the first try had, a second would see no more.
    if now() + first_took < began + seconds:
        planned.append(attempt(plan.lookahead, 1.0))
        if _is_proven(planned[-1]):
            return planned[-1]
    best = _best_of(planned, shorter, plan)
    if kinds is None:
        return best
    least = np.minimum(least_losses(kinds, best.tree), best.planned)
    return replace(best, bound=np.maximum(best.bound, least))


def _is_proven(grown: Grown) -> bool:
    return not cut_short(grown.tree, grown.planned, grown.bound).any()


def _best_of(planned: list[Grown], shorter: list[Grown], plan: GrowthPlan) -> Grown:
    """Return the tree of least loss, with what the planned looks have proven: shorter ones prove nothing of them."""
    best = min([*planned, *shorter], key=lambda each: total_loss(each.tree))
    if any(best is each for each in planned):
        return best
    bound = np.zeros_like(best.bound)
    if plan.lookahead >= plan.max_depth:
        # The root's look reached the bottom: what it has proven, it has proven of any tree.
        bound[0] = max(each.bound[0] for each in planned)
    return replace(best, bound=bound)


def _threads(n_jobs: int | None) -> int:
    if n_jobs is None:
        return 1
    return (os.cpu_count() or 1) if n_jobs == -1 else int(n_jobs)
