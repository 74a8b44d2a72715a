"""The tree under constraints that couple nodes: the open nodes of a level are solved together, level by level.

At every level all open nodes get their two-step trees at once, so that together they keep the couplings and
the budgets; their first splits stay, and the children look again. What was found is among what the next
level may choose, so a level never loses what the one before it has reached, and a wish once kept stays kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter

import numpy as np

from foretree.constraints.place import Finished, Floats, Integers, Mask
from foretree.constraints.reading import PathMasks, Wishes
from foretree.costs import Limits, cell_rows, cell_weights
from foretree.counts import PairCounts, Path, Rows
from foretree.grow import Grown, GrowthPlan
from foretree.losses import Loss, gini
from foretree.mio.blocks import Block, LabelledPlan, Labels, Together, combined, labelled, leaf_block
from foretree.mio.budget import within_budgets
from foretree.mio.coupled import Effort, coupled
from foretree.solve import Plan
from foretree.tree import LEAF, Tree

# What the Gini loss of a leaf counts among trees of equal cost, as a share of the least difference of costs.
TIE = 1e-3


@dataclass(frozen=True, slots=True)
class Task:
    """What is grown: rows counted by (group, class), the constraints, and what leaves cost.

    `factors` (C,) are the classes' weights. `prices` (C, C) is what a row of class c costs where its leaf says d; it
    is None where no coupling makes the classes of leaves a choice, and leaves cost what `loss` says. No two sums of
    costs differ by less than `grain` (0: unknown); `total` is the weight of all rows.
    """

    rows: Rows
    wishes: Wishes
    loss: Loss
    factors: Floats
    prices: Floats | None
    limits: Limits
    masks: PathMasks
    grain: float
    total: float

    def by_group(self, counts: Floats) -> Floats:
        """Return counts (..., G * C) as (..., G, C)."""
        return counts.reshape(*counts.shape[:-1], self.wishes.n_groups, self.factors.size)

    def class_weights(self, counts: Floats) -> Floats:
        """Return the class weights (..., C) of counts (..., G * C)."""
        out: Floats = self.by_group(counts).sum(axis=-2) * self.factors
        return out

    def costs(self, counts: Floats) -> Floats:
        """Return what leaves with these counts cost by the class they say (..., D); D is 1 where it is no choice."""
        weights = self.class_weights(counts)
        impurity = gini(weights)[..., None]
        if self.prices is None:
            own: Floats = np.asarray(self.loss.of(weights))[..., None]
        else:
            own = self.by_group(counts).sum(axis=-2) @ self.prices
        out: Floats = own + self.tie * impurity
        return out

    def values(self, counts: Floats) -> Floats:
        """Return what leaves with these counts add to each coupling by the class they say, (M, ..., D)."""
        by_group = self.by_group(counts)
        values = [coupling.of_leaves(by_group) for coupling in self.wishes.couplings]
        n_said = 1 if self.prices is None else self.factors.size
        return np.stack(values) if values else np.empty((0, *counts.shape[:-1], n_said))

    @property
    def tie(self) -> float:
        """What a unit of Gini loss costs: too little to outweigh any difference of the loss itself."""
        return TIE * self.grain / self.total if self.grain > 0 else TIE * 1e-6

    def said(self, counts: Floats, label: int) -> int:
        """Return the class that a leaf with these counts says, given its label in the plan."""
        return label if self.prices is not None else int(self.class_weights(counts).argmax())


@dataclass(slots=True)
class _Node:
    path: Path
    counts: Floats  # (G * C,)
    n_rows: int
    label: int = 0
    is_open: bool = True
    # While it is open: the splits that part its rows, and their cells.
    splits: Integers = field(default_factory=lambda: np.empty(0, np.int64))
    cells: Floats | None = None
    cell_rows: Integers | None = None
    block: Block | None = None
    plan: LabelledPlan | None = None
    # Its split and labels in its parent's plan, in the table's own splits, and the counts and rows of its parts there.
    known: tuple[int, Labels] | None = None
    parts: tuple[tuple[Floats, int], ...] = ()
    # What is told of it at the end.
    split: int = LEAF
    children: "tuple[_Node, _Node] | None" = None
    steps: int = 0
    seen: int = 0
    planned: float = np.nan
    gap: float = 0.0
    seconds: float = 0.0


def grow_together(task: Task, plan: GrowthPlan, solver: str = "closed") -> Grown:
    """Grow a tree whose nodes keep the couplings and budgets together."""
    deadline = np.inf if plan.seconds is None else perf_counter() + plan.seconds
    counts = task.rows.count(())
    root = _Node((), counts.total, counts.n_rows)
    leaves: list[_Node] = []
    nodes = [root]
    level = 0
    while nodes:
        steps = min(plan.lookahead, plan.max_depth - level)
        for node in nodes:
            _open(task, node, counts if node is root else task.rows.count(node.path), steps)
        _settle_level(task, [*nodes, *leaves], _paid(task, root), Effort(solver, deadline, task.grain))
        late = perf_counter() > deadline
        level += 1
        opened: list[_Node] = []
        for node in nodes:
            node.steps = steps
            leaves += _split(node, opened)
        if late or level - 1 + steps >= plan.max_depth:
            for node in opened:
                _keep_whole(node, late and level - 1 + steps < plan.max_depth)
            break
        nodes = opened
    return _as_grown(task, root)


def _open(task: Task, node: _Node, counts: PairCounts, steps: int) -> None:
    """Give a node the block of its options, in the splits that part its rows."""
    began = perf_counter()
    cells, rows = np.maximum(cell_weights(counts), 0.0), cell_rows(counts)
    cells[rows == 0] = 0.0
    allowed: Mask = task.masks(node.path, counts) & _large_enough(task, cells, rows, counts.n_rows)
    if steps == 1:
        allowed &= np.eye(allowed.shape[1], dtype=np.bool_)
    pure = _pure_branches(task, cells)
    if task.prices is None:
        # Parting rows of one class changes nothing where classes are no choice.
        allowed &= ~pure[:, :, None] | np.eye(pure.shape[1], dtype=np.bool_)
    is_pure = int((task.class_weights(counts.total) > 0).sum()) <= 1
    if counts.n_rows < task.limits.min_internal or (is_pure and task.prices is None):
        allowed[:] = False
    allowed &= np.all(allowed.any(axis=2), axis=0, keepdims=True)[..., None]
    node.splits = np.flatnonzero(allowed.any(axis=(0, 1)) | allowed.any(axis=(0, 2)))
    node.seen = int(node.splits.size)
    node.cells = cells.take(node.splits, axis=2).take(node.splits, axis=3)
    node.cell_rows = rows.take(node.splits, axis=2).take(node.splits, axis=3)
    costs = task.costs(node.cells)
    costs[node.cell_rows == 0] = 0.0
    # Elsewhere it pays only where a coupling gains by it: otherwise a branch of one class stays a leaf.
    pure = pure[:, node.splits]
    costs += (
        TIE
        * task.tie
        * task.total
        * (pure[:, :, None] & ~np.eye(pure.shape[1], dtype=np.bool_))[:, None, ..., None]
    )
    if is_pure:
        costs += TIE * task.tie * task.total
    node.block = Block(
        costs,
        task.values(node.cells),
        allowed.take(node.splits, axis=1).take(node.splits, axis=2),
        _leaf_costs(task, node, counts.total),
        task.values(counts.total),
    )
    node.seconds += perf_counter() - began


def _leaf_costs(task: Task, node: _Node, counts: Floats) -> Floats:
    """Return what a node costs as a leaf, by the class it says (D,).

    A root that must ask something costs twice as much: where its question gains nothing, a leaf of the
    same class would else be as good.
    """
    costs = task.costs(counts)
    bare = Finished(task.wishes.columns, ((),), task.class_weights(counts)[None, :])
    must_ask = not node.path and any(wish.faults(bare) for wish in task.wishes.constraints)
    return costs + costs.max() if must_ask else costs


def _pure_branches(task: Task, cells: Floats) -> Mask:
    """Return (2, p) which branches of each root hold rows of one class."""
    alone = np.arange(cells.shape[2])
    weights = np.stack([task.class_weights(cells[side, side, alone, alone]) for side in (0, 1)])
    out: Mask = (weights > 0).sum(axis=-1) <= 1
    return out


def _large_enough(task: Task, cells: Floats, rows: Integers, n_rows: int) -> Mask:
    """Return (2, p, p) the pairs whose leaves and inner nodes have the minimum sizes; empty cells are no leaves.

    A child that parts nothing is left to the pair (root, root), which says the same.
    """
    limits = task.limits
    n_splits = rows.shape[2]
    diagonal, alone = np.eye(n_splits, dtype=np.bool_), np.arange(n_splits)
    branches = np.stack([rows[side, side, alone, alone] for side in (0, 1)])
    fits: Mask = (rows >= max(1, limits.min_leaf)).all(axis=1) & (branches >= limits.min_internal)[:, :, None]
    roots: Mask = np.all(branches >= max(1, limits.min_leaf), axis=0) & (n_rows >= limits.min_internal)
    if limits.min_weight > 0:
        weights = task.class_weights(cells).sum(axis=-1)
        fits &= (weights >= limits.min_weight).all(axis=1)
        roots &= np.all(weights[:, :, alone, alone].sum(axis=1) >= limits.min_weight, axis=0)
    out: Mask = (fits | diagonal) & roots[None, :, None]
    return out


def _settle_level(task: Task, nodes: Sequence[_Node], paid: frozenset[int], effort: Effort) -> None:
    """Find the plans of all nodes together; finished leaves choose no more than what they say."""
    began = perf_counter()
    for node in nodes:
        if node.block is None:
            node.block = leaf_block(task.costs(node.counts), task.values(node.counts))
    known = [_known_plan(node) for node in nodes]
    found = _solve_level(task, nodes, known, paid, effort)
    gap = max(0.0, found.cost - found.bound)
    open_nodes = [node for node in nodes if node.is_open]
    for node, plan in zip(nodes, found.plans, strict=True):
        node.plan = plan
        if not node.is_open:
            _say(node, plan.labels[0][0])
    for node in open_nodes:
        assert node.plan is not None
        node.planned, node.gap = node.plan.cost, gap / len(open_nodes)
        node.seconds += (perf_counter() - began) / len(open_nodes)


def _say(node: _Node, label: int) -> None:
    """Let a leaf say a class, which the next level may still change."""
    node.label = label
    node.known = (LEAF, ((label, label), (label, label)))


def _known_plan(node: _Node) -> LabelledPlan | None:
    """Return what the level before had in mind for a node, in its block's splits."""
    assert node.block is not None
    if node.known is None:
        return None
    split, labels = node.known
    if split == LEAF:
        return labelled(node.block, None, labels)
    place = int(np.searchsorted(node.splits, split))
    if (
        place == node.splits.size
        or node.splits[place] != split
        or not node.block.allowed[:, place, place].all()
    ):
        return labelled(node.block, None, ((labels[0][0],) * 2, (labels[0][0],) * 2))
    return labelled(node.block, Plan(place, place, place, 0.0), labels)


def _solve_level(
    task: Task,
    nodes: Sequence[_Node],
    known: Sequence[LabelledPlan | None],
    paid: frozenset[int],
    effort: Effort,
) -> Together:
    blocks = [node.block for node in nodes if node.block is not None]
    plans = [plan for plan in known if plan is not None]
    start = plans if len(plans) == len(blocks) else None
    if not task.wishes.budgets:
        return coupled(blocks, task.wishes.couplings, effort, start)
    of_split = task.wishes.columns.of_split
    columns = [of_split[node.splits] for node in nodes]

    def solve(masks: Sequence[Mask]) -> Together:
        kept = [np.flatnonzero(mask) for mask in masks]
        parts = [block.among(splits) for block, splits in zip(blocks, kept, strict=True)]
        found = coupled(parts, task.wishes.couplings, effort)
        named = [_renumbered(plan, splits) for plan, splits in zip(found.plans, kept, strict=True)]
        return replace(found, plans=tuple(named))

    before = None if start is None else combined(start, task.wishes.couplings)
    return within_budgets(columns, task.wishes.budgets, paid, solve, effort.deadline, before)


def _renumbered(plan: LabelledPlan, splits: Integers) -> LabelledPlan:
    if plan.plan is None:
        return plan
    root, low, high = (int(splits[place]) for place in (plan.plan.root, plan.plan.low, plan.plan.high))
    return replace(plan, plan=replace(plan.plan, root=root, low=low, high=high))


def _paid(task: Task, root: _Node) -> frozenset[int]:
    """Return the columns that the tree asks about already."""
    asked, waiting = set(), [root]
    while waiting:
        node = waiting.pop()
        if node.split != LEAF and node.children is not None:
            asked.add(int(task.wishes.columns.of_split[node.split]))
            waiting += node.children
    return frozenset(asked)


def _split(node: _Node, opened: list[_Node]) -> list[_Node]:
    """Keep a node's first split and open its children; return the node if it stays a leaf."""
    assert node.plan is not None
    node.is_open = False
    if node.plan.plan is None:
        _say(node, node.plan.labels[0][0])
        _forget(node)
        return [node]
    plan = node.plan.plan
    node.split = int(node.splits[plan.root])
    node.children = (_child(node, 0, plan.low), _child(node, 1, plan.high))
    opened += node.children
    _forget(node)
    return []


def _child(node: _Node, side: int, split: int) -> _Node:
    """Return the child x_root = side as its parent's plan has it: split once more, or a leaf where split == root."""
    assert node.plan is not None
    assert node.plan.plan is not None
    assert node.cells is not None
    assert node.cell_rows is not None
    root, labels = node.plan.plan.root, node.plan.labels[side]
    path = (*node.path, (node.split, side))
    child = _Node(path, node.cells[side, side, root, root], int(node.cell_rows[side, side, root, root]))
    if split == root:
        _say(child, labels[side])
        return child
    child.known = (int(node.splits[split]), ((labels[0], labels[0]), (labels[1], labels[1])))
    child.parts = (
        (node.cells[side, 0, root, split], int(node.cell_rows[side, 0, root, split])),
        (node.cells[side, 1, root, split], int(node.cell_rows[side, 1, root, split])),
    )
    return child


def _forget(node: _Node) -> None:
    """Drop the tables of a node that is settled."""
    node.cells = node.cell_rows = node.block = None


def _keep_whole(node: _Node, late: bool) -> None:
    """Settle a child as its parent's plan has it; `late` says that for want of time it was not looked at."""
    node.is_open = False
    assert node.known is not None
    split, labels = node.known
    if late:
        node.gap = np.inf
    if split == LEAF:
        return
    node.split = split
    low, high = (
        _Node((*node.path, (split, side)), *node.parts[side], label=labels[side][side], is_open=False)
        for side in (0, 1)
    )
    node.children = (low, high)


def _as_grown(task: Task, root: _Node) -> Grown:
    """Number the nodes in preorder and lay them out flat."""
    nodes, waiting = [], [root]
    while waiting:
        node = waiting.pop()
        nodes.append(node)
        if node.children is not None:
            waiting += [node.children[1], node.children[0]]
    number = {id(node): place for place, node in enumerate(nodes)}
    counts = np.stack([node.counts for node in nodes])
    weights = task.class_weights(counts)
    is_leaf = np.array([node.children is None for node in nodes])
    heaviest = weights.argmax(axis=1)
    said = np.array([task.said(node.counts, node.label) for node in nodes])
    said = np.where(is_leaf, said, heaviest)
    loss = task.loss.of(weights) if task.prices is None else _priced(task, counts, said)
    low, high = (
        np.array([LEAF if node.children is None else number[id(node.children[side])] for node in nodes])
        for side in (0, 1)
    )
    tree = Tree(
        np.array([LEAF if node.children is None else node.split for node in nodes]),
        low,
        high,
        weights,
        np.array([node.n_rows for node in nodes]),
        loss,
        None if task.prices is None else said,
    )
    below = loss.copy()
    for place in np.flatnonzero(~is_leaf)[::-1]:
        below[place] = below[tree.low[place]] + below[tree.high[place]]
    planned = np.array([node.planned for node in nodes])
    planned = np.where(np.isnan(planned), below, planned)
    gaps = np.array([node.gap for node in nodes])
    return Grown(
        tree,
        np.array([node.seen for node in nodes]),
        np.array([node.steps for node in nodes]),
        planned,
        np.maximum(planned - gaps, 0.0),
        np.array([node.seconds for node in nodes]),
    )


def _priced(task: Task, counts: Floats, said: Integers) -> Floats:
    """Return what nodes with these counts (n, G * C) cost as leaves that say these classes (n,)."""
    assert task.prices is not None
    by_class = task.by_group(counts).sum(axis=-2)
    out: Floats = (by_class * task.prices[:, said].T).sum(axis=1)
    return out


def grain_of(weights: Floats) -> float:
    """Return the least difference between sums of such weights, 0 where they have no common unit."""
    some = weights[weights > 0]
    for unit in (float(some.min()), 1.0) if some.size else ():
        times = some / unit
        if (times == np.rint(times)).all() and times.max() < 2**53:
            return unit * float(np.gcd.reduce(times.astype(np.int64)))
    return 0.0
