"""BinOCT: few rows, since the datapoints of a split are bounded together.

A reconstruction. Verwer and Zhang, "Learning Optimal Classification Trees Using a Binary Linear Program
Formulation", give the model for complete trees; the variant for trees that may end early, which Aghaei, Azizi
and Vayanos describe and which the paper compares with, was not at hand. The model solved here, in full:
Distinct row u has m_uc datapoints of class c; the tree is b, p, w (see `skeleton`), w binary; r_uv >= 0 says
that u ends in node v; e_vc >= 0 counts the errors on class c in v; U is the number of distinct rows.
    min  (1 - λ) Σ e + λ Σ b
    Σ_v r_uv = 1                                                        every row u
    Σ_{u: x_uf = 1} Σ_{v left of n}  r_uv <= |{u: x_uf = 1}| (1 - b_nf)  every branch node n, column f
    Σ_{u: x_uf = 0} Σ_{v right of n} r_uv <= |{u: x_uf = 0}| (1 - b_nf)
    Σ_u r_uv <= U p_v                                                   every node v
    Σ_u m_uc r_uv - e_vc <= M_c w_vc, read as: without the vote for c,   every node v, class c
        its datapoints in v are errors (M_c = Σ_u m_uc)
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from foretree.baselines.formulation import Built
from foretree.baselines.heap import HeapTree, n_branch, n_nodes
from foretree.baselines.points import Floats
from foretree.baselines.skeleton import Columns, Skeleton, Task, add_skeleton, ancestors, fill_skeleton
from foretree.mio.model import Builder


def entries(task: Task) -> int:
    """About how many matrix entries the model has: what decides its memory."""
    n_rows = task.points.rows.shape[0]
    below = int(ancestors(task.depth).sum())
    return int(n_rows * (below * task.n_columns // 2 + n_nodes(task.depth) * (2 + task.n_classes)))


def build(task: Task, check: Callable[[], None]) -> Built:
    """The BinOCT model of the task."""
    builder = Builder(check)
    skeleton = add_skeleton(builder, task)
    n_rows, nodes = task.points.rows.shape[0], n_nodes(task.depth)
    ends = builder.columns((n_rows, nodes))
    errors = builder.columns((nodes, task.n_classes), 1.0 - task.regularization, upper=np.inf)
    once = builder.rows((n_rows,), 1.0, 1.0)
    builder.entries(once[:, None], ends)
    _add_routes(builder, task, skeleton, ends)
    only_leaves = builder.rows((nodes,), upper=0.0)
    builder.entries(only_leaves[None, :], ends)
    builder.entries(only_leaves, skeleton.leaf, -float(n_rows))
    counted = builder.rows((nodes, task.n_classes), upper=0.0)
    row, label = task.points.pairs
    weight = task.points.weights[row, label]
    builder.entries(counted[:, label].T, ends[row], weight[:, None])
    builder.entries(counted, errors, -1.0)
    builder.entries(counted, skeleton.vote, -task.points.weights.sum(axis=0))
    offset = (1.0 - task.regularization) * task.points.total
    return Built(builder.model(), skeleton, _starter(task, skeleton, ends, errors), offset)


def _add_routes(builder: Builder, task: Task, skeleton: Skeleton, ends: Columns) -> None:
    for node in range(n_branch(task.depth)):
        for side in (0, 1):
            below = subtree(task.depth, 2 * node + 1 + side)
            row, split = np.nonzero(task.points.rows != side)  # those that must not pass this way
            most = np.bincount(split, minlength=task.n_columns).astype(float)
            routes = builder.rows((task.n_columns,), upper=most)
            builder.entries(routes[split][:, None], ends[row][:, below])
            builder.entries(routes, skeleton.branch[node], most)


def subtree(depth: int, node: int) -> NDArray[np.intp]:
    """The node and all below it."""
    inside = [node]
    for member in inside:
        if member < n_branch(depth):
            inside += [2 * member + 1, 2 * member + 2]
    return np.array(inside, dtype=np.intp)


def _starter(task: Task, skeleton: Skeleton, ends: Columns, errors: Columns) -> Callable[[HeapTree], Floats]:
    def start(tree: HeapTree) -> Floats:
        values = np.zeros(int(max(ends.max(), errors.max())) + 1)
        fill_skeleton(skeleton, tree, values)
        leaf = tree.apply(task.points.rows)
        values[ends[np.arange(leaf.size), leaf]] = 1.0
        wrong = np.zeros(errors.shape)
        np.add.at(wrong, leaf, task.points.weights)
        wrong[np.arange(errors.shape[0]), tree.labels] = 0.0
        values[errors] = wrong
        return values

    return start
