"""BendersOCT's cuts as a solver meets them: aggregated over the datapoints of each class.

The solvers' model holds one column eta_c per class instead of one g_i per datapoint. At any b and w, also
fractional, the maximum flows of the datapoints of class c bound eta_c together, and the sum of their minimum
cuts is a cut that is tight there. Measured on tic-tac-toe at depth 2: proven optimal in 6 s, where cuts of
single datapoints left the bound at 93% after 30 s, since two columns stand for 958 and thousands of rows.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from foretree.baselines.heap import HeapTree, n_branch, n_nodes, objective
from foretree.baselines.points import Floats, Indices
from foretree.baselines.rounding import climbed, rounded
from foretree.baselines.skeleton import Columns, Skeleton, Task, add_skeleton, fill_skeleton
from foretree.mio.model import Builder

VIOLATED = 1e-6
# Climbing from a rounding costs p evaluations a node: only what comes this near the incumbent is worth it.
WORTH_CLIMBING = 0.97


@dataclass(frozen=True, slots=True)
class Cut:
    """eta_`label` <= `weights` @ `columns`."""

    label: int
    columns: Indices
    weights: Floats
    excess: float


@dataclass(frozen=True, slots=True)
class Master:
    """The columns of a model without its cuts, and the task that makes them."""

    task: Task
    skeleton: Skeleton
    gains: Columns  # eta (C,)


def needed_bytes(task: Task) -> int:
    """About what separating holds at once: a few numbers per row and node, and the rows as numbers."""
    return int(task.points.rows.shape[0]) * (8 * n_nodes(task.depth) + 2 * task.n_columns) * 8


def build_master(task: Task, check: Callable[[], None]) -> tuple[Builder, Master]:
    """b, p, w and eta, each eta at most what rows equal but for their class leave to it, all together too."""
    builder = Builder(check)
    skeleton = add_skeleton(builder, task)
    gains = builder.columns((task.n_classes,), -(1.0 - task.regularization), upper=np.inf)
    one = builder.rows((task.n_classes,), upper=task.points.weights.sum(axis=0))
    builder.entries(one, gains)
    together = builder.rows((1,), upper=float(task.points.weights.max(axis=1).sum()))
    builder.entries(together, gains)
    return builder, Master(task, skeleton, gains)


def start_values(master: Master, tree: HeapTree) -> Floats:
    """The values of all columns at a tree."""
    points = master.task.points
    values = np.zeros(int(master.gains.max()) + 1)
    fill_skeleton(master.skeleton, tree, values)
    answer = tree.predict(points.rows)
    right = points.weights[np.arange(answer.size), answer]
    values[master.gains] = np.bincount(answer, right, minlength=master.task.n_classes)
    return values


@dataclass(slots=True)
class Cutter:
    """Separates cuts and rounds points, both given as values of all columns."""

    master: Master
    best: float = -np.inf
    tried: set[bytes] = field(default_factory=set)
    _ones: Floats = field(init=False)

    def __post_init__(self) -> None:
        """Keep the rows as numbers, once."""
        self._ones = self.master.task.points.rows.astype(np.float64)

    def cuts(self, values: Floats, slack: float = VIOLATED) -> list[Cut]:
        """The cuts that the point violates by more than `slack`, at most one per class."""
        skeleton, points = self.master.skeleton, self.master.task.points
        branch, vote = values[skeleton.branch], values[skeleton.vote]
        found = []
        right = self._ones @ branch.T
        through = np.stack([branch.sum(axis=1) - right, right])
        for label, gain in enumerate(values[self.master.gains]):
            rows = np.flatnonzero(points.weights[:, label])
            weights = points.weights[rows, label]
            takes, source = _minimum_cuts(through[:, rows], vote[:, label])
            excess = float(gain - weights @ takes)
            if excess > slack:
                found.append(self._cut(label, rows, weights, source, excess))
        return found

    def _cut(self, label: int, rows: Indices, weights: Floats, source: Floats, excess: float) -> Cut:
        skeleton, ones = self.master.skeleton, self._ones[rows]
        inner = skeleton.branch.shape[0]
        leaving = [
            weights[:, None] * (source[:, :inner] * (1.0 - source[:, 1 + side :: 2][:, :inner]))
            for side in (0, 1)
        ]
        # A left arc lets rows with x = 0 pass, a right arc those with x = 1.
        to_right = (leaving[1] - leaving[0]).T @ ones
        branch = to_right + leaving[0].sum(axis=0)[:, None]
        columns = np.concatenate([skeleton.branch.ravel(), skeleton.vote[:, label]])
        summed = np.concatenate([branch.ravel(), weights @ source])
        kept = summed > 1e-9
        return Cut(label, columns[kept], summed[kept], excess)

    def improved(self, values: Floats) -> HeapTree | None:
        """A tree rounded and climbed from the point, if it is better than all before it."""
        task = self.master.task
        tree = rounded(task.points, values[self.master.skeleton.branch], task.depth)
        key = tree.splits.tobytes()
        if key in self.tried:
            return None
        self.tried.add(key)
        if objective(tree, task.points, task.regularization) < WORTH_CLIMBING * self.best:
            return None
        tree = climbed(tree, task.points, task.regularization)
        value = objective(tree, task.points, task.regularization)
        if value <= self.best + 1e-9:
            return None
        self.best = value
        return tree


def _minimum_cuts(through: Floats, vote: Floats) -> tuple[Floats, Floats]:
    """Maximum flows (m,) under arc capacities (2, m, branch nodes), and their cuts' source sides (m, nodes).

    In a tree one bottom-up pass is enough, for fractional points too: a node takes what its own vote and its
    two arcs let through, an arc the less of its capacity and what its child takes.
    """
    inner = through.shape[2]
    takes = np.tile(vote, (through.shape[1], 1))
    for node in range(inner)[::-1]:
        for side in (0, 1):
            takes[:, node] += np.minimum(through[side, :, node], takes[:, 2 * node + 1 + side])
    source = np.zeros(takes.shape)
    source[:, 0] = 1.0
    for node in range(inner):
        for side in (0, 1):
            child = 2 * node + 1 + side
            source[:, child] = source[:, node] * (takes[:, child] < through[side, :, node])
    return takes[:, 0], source


def priorities(skeleton: Skeleton) -> dict[int, int]:
    """Column → branching priority: votes first, from the bottom up, then splits, from the root down.

    With the votes of two sibling leaves settled, what is left of their parent's splits is a linear choice:
    on balance-scale at depth 3 the bound is 97.4% after 15 s, with votes from the top it was still 100%.
    """
    inner = n_branch(skeleton.depth)
    level = [int(np.log2(node + 1)) for node in range(n_nodes(skeleton.depth))]
    votes = {int(c): 2 * skeleton.depth + level[v] for v in range(len(level)) for c in skeleton.vote[v]}
    splits = {int(c): skeleton.depth - level[n] for n in range(inner) for c in skeleton.branch[n]}
    return votes | splits
