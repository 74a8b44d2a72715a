"""A grown tree as flat arrays: where rows end up, what paths say, and how it simplifies."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
LEAF = -1


@dataclass(frozen=True, slots=True)
class Tree:
    """Nodes in preorder, each array (n_nodes, ...): node i asks split[i] and goes to low[i] or high[i].

    In leaves split, low and high are -1. weights (n_nodes, C) are class weights, rows numbers of rows,
    loss what the node costs as a leaf. decided (n_nodes,) are the classes that nodes say where that is not their
    heaviest: under constraints, or where classes are priced.
    """

    split: Integers
    low: Integers
    high: Integers
    weights: Floats
    rows: Integers
    loss: Floats
    decided: Integers | None = None

    @property
    def n_nodes(self) -> int:
        """The number of nodes."""
        return int(self.split.size)

    @property
    def is_leaf(self) -> NDArray[np.bool_]:
        """Which nodes are leaves, (n_nodes,)."""
        out: NDArray[np.bool_] = self.split == LEAF
        return out

    @property
    def n_leaves(self) -> int:
        """The number of leaves."""
        return int(self.is_leaf.sum())

    @property
    def voices(self) -> Floats:
        """The class weights by which each node speaks, (n_nodes, C): its own, or, lacking any, those above."""
        light = np.flatnonzero(~self.weights.any(axis=1))
        if not light.size:
            return self.weights
        out = self.weights.copy()
        above = parents(self)
        # Preorder: a parent has its voice before its children.
        for node in light:
            out[node] = out[above[node]]
        return out

    @property
    def classes(self) -> Integers:
        """The class each node says, the heaviest unless it was decided otherwise, ties to the first."""
        out: Integers = self.voices.argmax(axis=1) if self.decided is None else self.decided
        return out

    @property
    def probabilities(self) -> Floats:
        """Each node's class weights as shares, (n_nodes, C)."""
        voices = self.voices
        out: Floats = voices / voices.sum(axis=1, keepdims=True)
        return out


def levels(tree: Tree) -> Integers:
    """Return each node's distance from the root, (n_nodes,)."""
    out = np.zeros(tree.n_nodes, np.int64)
    # Preorder: a parent stands before its children.
    for node in np.flatnonzero(~tree.is_leaf):
        out[tree.low[node]] = out[tree.high[node]] = out[node] + 1
    return out


def parents(tree: Tree) -> Integers:
    """Return each node's parent, -1 for the root, (n_nodes,)."""
    out = np.full(tree.n_nodes, -1, np.int64)
    inner = np.flatnonzero(~tree.is_leaf)
    out[tree.low[inner]] = inner
    out[tree.high[inner]] = inner
    return out


def total_loss(tree: Tree) -> float:
    """Return the loss of all leaves together."""
    return float(tree.loss[tree.is_leaf].sum())


def importances(tree: Tree, column_of_split: Integers, n_columns: int) -> Floats:
    """Return each column's share of the loss that splits remove, (n_columns,); all 0 where none is removed."""
    inner = np.flatnonzero(~tree.is_leaf)
    removed = tree.loss[inner] - tree.loss[tree.low[inner]] - tree.loss[tree.high[inner]]
    out = np.bincount(
        column_of_split[tree.split[inner]], weights=np.maximum(removed, 0.0), minlength=n_columns
    ).astype(np.float64)
    total = out.sum()
    return out / total if total > 0 else out


def simplify(tree: Tree) -> Tree:
    """Merge sibling leaves of the same class, bottom up, and number what remains in preorder.

    No prediction of the class changes; probabilities become those of the merged leaf.
    """
    split = tree.split.copy()
    classes = tree.classes.copy()
    for node in np.flatnonzero(~tree.is_leaf)[::-1]:
        low, high = tree.low[node], tree.high[node]
        if split[low] == LEAF and split[high] == LEAF and classes[low] == classes[high]:
            split[node] = LEAF
            # The merged leaf says what its leaves said, which on ties need not be its own heaviest class.
            classes[node] = classes[low]
    return _reachable(replace(tree, split=split, decided=classes))


def _reachable(tree: Tree) -> Tree:
    """Drop the nodes below leaves and number the others in preorder."""
    keep = []
    waiting = [0]
    while waiting:
        node = waiting.pop()
        keep.append(node)
        if tree.split[node] != LEAF:
            waiting += [int(tree.high[node]), int(tree.low[node])]
    kept = np.array(keep)
    number = np.full(tree.n_nodes, LEAF, np.int64)
    number[kept] = np.arange(kept.size)
    inner = tree.split[kept] != LEAF
    return Tree(
        tree.split[kept],
        np.where(inner, number[tree.low[kept]], LEAF),
        np.where(inner, number[tree.high[kept]], LEAF),
        tree.weights[kept],
        tree.rows[kept],
        tree.loss[kept],
        None if tree.decided is None else tree.decided[kept],
    )


def path_matrix(tree: Tree, leaves: Integers) -> Any:
    """Return the nodes on the way to each row's leaf as a sparse indicator matrix (n_rows, n_nodes)."""
    from scipy.sparse import csr_matrix

    parent, level = parents(tree), levels(tree)
    lengths = level[leaves] + 1
    ends = np.concatenate([[0], np.cumsum(lengths)])
    nodes = np.empty(int(ends[-1]), np.int64)
    at, place = leaves.copy(), ends[1:] - 1
    while at.size:
        nodes[place] = at
        at = parent[at]
        open_rows = at >= 0
        at, place = at[open_rows], place[open_rows] - 1
    return csr_matrix((np.ones(nodes.size, np.int64), nodes, ends), shape=(leaves.size, tree.n_nodes))
