"""FlowOCT: every datapoint is a unit of flow from the root to a leaf that answers its class.

The model, after Aghaei, Gómez and Vayanos, "Strong Optimal Classification Trees", written from the published
formulation. Datapoint i is a distinct (row, class) pair of weight m_i; the tree is b, p, w (see `skeleton`).
    max  (1 - λ) Σ_i m_i z^i_root - λ Σ b
    z^i_n = z^i_left(n) + z^i_right(n) + z^i_n,t      every branch node n
    z^i_left(n)  <= Σ_{f: x_if = 0} b_nf              every branch node n
    z^i_right(n) <= Σ_{f: x_if = 1} b_nf
    z^i_n,t <= w_n,class(i)                           every node n (at the bottom z_n,t is z_n)
Ours: rows that are equal but for their class share a unit, Σ_i z^i_root <= 1, which cuts off no tree.
"""

from collections.abc import Callable

import numpy as np

from foretree.baselines.formulation import Built, equal_rows
from foretree.baselines.heap import HeapTree, n_branch, n_nodes
from foretree.baselines.points import Floats
from foretree.baselines.skeleton import Columns, Skeleton, Task, add_skeleton, fill_skeleton
from foretree.mio.model import Builder


def entries(task: Task) -> int:
    """About how many matrix entries the model has: what decides its memory."""
    per_point = n_branch(task.depth) * (task.n_columns + 8) + 2 * n_nodes(task.depth)
    return int(np.count_nonzero(task.points.weights)) * per_point


def build(task: Task, check: Callable[[], None]) -> Built:
    """The FlowOCT model of the task."""
    builder = Builder(check)
    skeleton = add_skeleton(builder, task)
    row, label = task.points.pairs
    branches, nodes = n_branch(task.depth), n_nodes(task.depth)
    gain = np.zeros((row.size, nodes))
    gain[:, 0] = -(1.0 - task.regularization) * task.points.weights[row, label]
    into = builder.columns((row.size, nodes), gain)
    out = builder.columns((row.size, branches))
    inner = np.arange(branches)
    kept = builder.rows((row.size, branches), 0.0, 0.0)
    builder.entries(kept, into[:, :branches])
    for part in (into[:, 2 * inner + 1], into[:, 2 * inner + 2], out):
        builder.entries(kept, part, -1.0)
    for side in (0, 1):
        passes = builder.rows((row.size, branches), upper=0.0)
        builder.entries(passes, into[:, 2 * inner + 1 + side])
        for node in range(branches):
            point, split = np.nonzero(task.points.rows[row] == side)
            builder.entries(passes[point, node], skeleton.branch[node, split], -1.0)
    answered = builder.rows((row.size, nodes), upper=0.0)
    builder.entries(answered, np.concatenate([out, into[:, branches:]], axis=1))
    builder.entries(answered, skeleton.vote[:, label].T, -1.0)
    equal_rows(builder, row, into[:, 0])
    return Built(builder.model(), skeleton, _starter(task, skeleton, into, out))


def _starter(task: Task, skeleton: Skeleton, into: Columns, out: Columns) -> Callable[[HeapTree], Floats]:
    row, label = task.points.pairs

    def start(tree: HeapTree) -> Floats:
        values = np.zeros(int(max(into.max(), out.max())) + 1)
        fill_skeleton(skeleton, tree, values)
        leaf = tree.apply(task.points.rows[row])
        flows = np.flatnonzero(tree.labels[leaf] == label)
        node = leaf[flows]
        inner = node < out.shape[1]
        values[out[flows[inner], node[inner]]] = 1.0
        while True:
            values[into[flows, node]] = 1.0
            below = node > 0
            if not below.any():
                return values
            flows, node = flows[below], (node[below] - 1) // 2

    return start
