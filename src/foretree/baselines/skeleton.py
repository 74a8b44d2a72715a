"""What the three formulations share: the columns and rows that say what a tree is.

Node v of a full tree of the given depth has the children 2v + 1 (x = 0) and 2v + 2 (x = 1). Binary are b_nf, that
branch node n asks column f; p_v, that node v is a leaf; w_vc, that leaf v answers class c. λ is the price of a split.
    Σ_f b_nf + p_n + Σ_{a above n} p_a = 1      every branch node n
    p_v + Σ_{a above v} p_a = 1                 every bottom node v
    Σ_c w_vc = p_v                              every node v
Ours, and it cuts off no best tree: two leaves of one class at the bottom would be no split.
    w_left(n),c + w_right(n),c <= Σ_f b_nf      every branch node n just above the bottom, every class c
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foretree.baselines.heap import LEAF, HeapTree, n_branch, n_nodes
from foretree.baselines.points import Floats, Points
from foretree.mio.model import Builder

Columns = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Skeleton:
    """Column numbers of b (branch nodes, p), p (nodes,) and w (nodes, C)."""

    depth: int
    branch: Columns
    leaf: Columns
    vote: Columns


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be modelled: the training rows, the depth and the price λ of a split."""

    points: Points
    depth: int
    regularization: float

    @property
    def n_columns(self) -> int:
        """The number of binary columns p of the table."""
        return int(self.points.rows.shape[1])

    @property
    def n_classes(self) -> int:
        """The number of classes C."""
        return int(self.points.weights.shape[1])


def ancestors(depth: int) -> NDArray[np.bool_]:
    """(nodes, branch nodes) whether the second is a proper ancestor of the first."""
    above = np.zeros((n_nodes(depth), n_branch(depth)), dtype=np.bool_)
    for node in range(1, n_nodes(depth)):
        parent = (node - 1) // 2
        above[node] = above[parent]
        above[node, parent] = True
    return above


def add_skeleton(builder: Builder, task: Task) -> Skeleton:
    """Add b, p, w and: each node is split, a leaf or below one; each leaf answers one class."""
    branches, nodes = n_branch(task.depth), n_nodes(task.depth)
    branch = builder.columns((branches, task.n_columns), task.regularization, integral=True)
    leaf = builder.columns((nodes,), integral=True)
    vote = builder.columns((nodes, task.n_classes), integral=True)
    settled = builder.rows((nodes,), 1.0, 1.0)
    builder.entries(settled[:branches, None], branch)
    builder.entries(settled, leaf)
    node, above = np.nonzero(ancestors(task.depth))
    builder.entries(settled[node], leaf[above])
    one_class = builder.rows((nodes,), 0.0, 0.0)
    builder.entries(one_class[:, None], vote)
    builder.entries(one_class, leaf, -1.0)
    # Ours: two bottom leaves of one class would be no split.
    parents = np.arange(n_branch(task.depth - 1), branches)
    differ = builder.rows((parents.size, task.n_classes), upper=0.0)
    builder.entries(differ, vote[2 * parents + 1])
    builder.entries(differ, vote[2 * parents + 2])
    builder.entries(differ[:, :, None], branch[parents][:, None, :], -1.0)
    return Skeleton(task.depth, branch, leaf, vote)


def fill_skeleton(skeleton: Skeleton, tree: HeapTree, values: Floats) -> None:
    """Write the tree's b, p and w into a start's values."""
    values[skeleton.branch] = 0.0
    values[skeleton.leaf] = 0.0
    values[skeleton.vote] = 0.0
    for node in np.flatnonzero(tree.reached):
        if node < tree.splits.size and tree.splits[node] != LEAF:
            values[skeleton.branch[node, tree.splits[node]]] = 1.0
        else:
            values[skeleton.leaf[node]] = 1.0
            values[skeleton.vote[node, tree.labels[node]]] = 1.0


def read_skeleton(skeleton: Skeleton, values: Floats) -> HeapTree:
    """The tree that b and w describe."""
    weights = values[skeleton.branch]
    splits = np.where(weights.max(axis=1) > 0.5, weights.argmax(axis=1), LEAF).astype(np.intp)
    return HeapTree(skeleton.depth, splits, values[skeleton.vote].argmax(axis=1).astype(np.intp))
