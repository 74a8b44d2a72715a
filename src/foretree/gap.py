"""What is not proven of a tree: where looks were cut short, and what no tree could cost less than."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foretree._kernels.descend import descend_words
from foretree._kernels.exact import TOLERANCE
from foretree.groups import GroupedRows
from foretree.losses import Loss
from foretree.tree import Tree

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
# Every step of a search leaves its tolerance open.
OPEN_PER_WEIGHT = 100 * TOLERANCE
# Odd, and its bits without a pattern: what hashes are multiplied by.
_MIX = np.uint64(0x9E3779B97F4A7C15)


def cut_short(tree: Tree, planned: Floats, bound: Floats) -> NDArray[np.bool_]:
    """Tell of which nodes the look was cut short, (n_nodes,), and not only its bound rounded."""
    out: NDArray[np.bool_] = planned - bound > OPEN_PER_WEIGHT * tree.weights.sum(axis=1) + 1e-9 * planned
    return out


def losses_below(tree: Tree, of_leaves: Floats) -> Floats:
    """Return what the leaves below each node cost together, (n_nodes,)."""
    out = of_leaves.copy()
    # Preorder: children stand behind their parents.
    for node in np.flatnonzero(~tree.is_leaf)[::-1]:
        out[node] = out[tree.low[node]] + out[tree.high[node]]
    return out


def unproven_loss(tree: Tree, planned: Floats, bound: Floats) -> float:
    """Return how much less the tree might cost, had no look been cut short: its loss there, less what is proven.

    What a node's own look left open and what the looks below it did overlap: the larger of the two counts.
    """
    is_open = cut_short(tree, planned, bound)
    out = np.where(is_open, np.maximum(losses_below(tree, tree.loss) - bound, 0.0), 0.0)
    for node in np.flatnonzero(~tree.is_leaf)[::-1]:
        out[node] = max(out[node], out[tree.low[node]] + out[tree.high[node]])
    return float(out[0])


@dataclass(frozen=True, slots=True)
class Kinds:
    """Rows that no split tells apart: the packed row of each kind (n_kinds, n_words), and what it costs alone."""

    words: NDArray[np.uint32]
    losses: Floats


def count_kinds(rows: GroupedRows, loss: Loss) -> Kinds:
    """Count rows that are equal, with a concave loss (as all built-in losses are)."""
    kinds, first = _kinds(rows.words)
    weights = np.zeros((rows.n_classes, first.size))
    for group, weight in enumerate(rows.groups.weights):
        entries = rows.order[rows.starts[group] : rows.starts[group + 1]]
        weights[rows.groups.classes[group]] += weight * np.bincount(kinds[entries], minlength=first.size)
    return Kinds(rows.words[first], loss.of(np.ascontiguousarray(weights.T)))


def least_losses(kinds: Kinds, tree: Tree) -> Floats:
    """Return what no tree below each node can cost less than, (n_nodes,): parting rows makes no concave loss larger."""
    leaves = np.empty(kinds.losses.size, np.int64)
    descend_words(kinds.words, tree.split, tree.low, tree.high, leaves)
    return losses_below(tree, np.bincount(leaves, kinds.losses, minlength=tree.n_nodes).astype(np.float64))


def _kinds(words: NDArray[np.uint32]) -> tuple[Integers, Integers]:
    """Number rows (n_rows, n_words) so that equal ones share a number; also return where each number first stands.

    Rows are sorted by a hash; equal ones may get several numbers where hashes collide, unequal ones never one.
    """
    hashes = np.zeros(len(words), np.uint64)
    for column in words.T:
        hashes = (hashes ^ column) * _MIX
        hashes ^= hashes >> np.uint64(29)
    order = np.argsort(hashes)
    ordered = words[order]
    begins = np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)])
    kinds = np.empty(len(words), np.int64)
    kinds[order] = np.cumsum(begins) - 1
    return kinds, order[begins]
