"""BendersOCT: FlowOCT with each datapoint's flow replaced by the minimum cuts that bound it.

After Aghaei, Gómez and Vayanos, "Strong Optimal Classification Trees", written from the published text.
Datapoint i is a distinct (row, class) pair of weight m_i; the tree is b, p, w (see `skeleton`).
    max  (1 - λ) Σ_i m_i g_i - λ Σ b,   0 <= g_i <= 1
    g_i <= capacity of every cut between the root and i's sink
where the arc into left(n) has the capacity Σ_{f: x_if = 0} b_nf, the arc into right(n) Σ_{f: x_if = 1} b_nf,
and the arc from n to the sink w_n,class(i). Ours: rows equal but for their class share Σ_i g_i <= 1.

The static model holds, for each datapoint and each path from the root to the bottom, the cut around that
path: the votes on the path and the arcs that leave it. At a tree these n · 2^D rows say all that cuts say.
"""

from collections.abc import Callable

import numpy as np

from foretree.baselines.formulation import Built, equal_rows
from foretree.baselines.heap import HeapTree, n_branch, n_nodes
from foretree.baselines.points import Floats
from foretree.baselines.skeleton import Columns, Skeleton, Task, add_skeleton, fill_skeleton
from foretree.mio.model import Builder


def entries(task: Task) -> int:
    """About how many matrix entries the static model has: what decides its memory."""
    per_row = task.depth * task.n_columns // 2 + task.depth + 2
    return int(np.count_nonzero(task.points.weights)) * int(2**task.depth) * per_row


def build(task: Task, check: Callable[[], None]) -> Built:
    """The static BendersOCT model of the task: every path's cut, for every datapoint."""
    builder = Builder(check)
    skeleton = add_skeleton(builder, task)
    row, label = task.points.pairs
    gain = -(1.0 - task.regularization) * task.points.weights[row, label]
    correct = builder.columns((row.size,), gain)
    equal_rows(builder, row, correct)
    ones = task.points.rows[row]
    arcs = [np.nonzero(ones == side) for side in (0, 1)]
    for bottom in range(n_branch(task.depth), n_nodes(task.depth)):
        cut = builder.rows((row.size,), upper=0.0)
        builder.entries(cut, correct)
        node = bottom
        builder.entries(cut, skeleton.vote[node, label], -1.0)
        while node:
            parent, side = (node - 1) // 2, (node - 1) % 2
            point, split = arcs[1 - side]  # the arc that leaves the path
            builder.entries(cut[point], skeleton.branch[parent, split], -1.0)
            builder.entries(cut, skeleton.vote[parent, label], -1.0)
            node = parent
    return Built(builder.model(), skeleton, _starter(task, skeleton, correct))


def _starter(task: Task, skeleton: Skeleton, correct: Columns) -> Callable[[HeapTree], Floats]:
    row, label = task.points.pairs

    def start(tree: HeapTree) -> Floats:
        values = np.zeros(int(correct.max()) + 1)
        fill_skeleton(skeleton, tree, values)
        values[correct] = tree.predict(task.points.rows[row]) == label
        return values

    return start
