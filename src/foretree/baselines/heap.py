"""A tree in heap order, as formulations see it: node v has the children 2v + 1 (x = 0) and 2v + 2 (x = 1)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foretree.baselines.points import Indices, Points

LEAF = -1


@dataclass(frozen=True, slots=True)
class HeapTree:
    """Per node of a full tree of `depth`: its split (LEAF where it ends) and the class it would answer."""

    depth: int
    splits: Indices  # (2**depth - 1,)
    labels: Indices  # (2**(depth + 1) - 1,)

    @property
    def n_splits(self) -> int:
        """How many nodes reached from the root are split."""
        return int((self.splits[self.reached[: self.splits.size]] != LEAF).sum())

    @property
    def reached(self) -> NDArray[np.bool_]:
        """(nodes,) whether the node belongs to the tree, as a leaf or split."""
        inside = np.zeros(self.labels.size, dtype=np.bool_)
        inside[0] = True
        for node in range(self.splits.size):
            inside[2 * node + 1 : 2 * node + 3] = inside[node] and self.splits[node] != LEAF
        return inside

    def apply(self, rows: NDArray[np.bool_]) -> Indices:
        """The leaf in which each row of `rows` (n, p) ends, (n,)."""
        node = np.zeros(rows.shape[0], dtype=np.intp)
        splits = np.append(self.splits, np.full(self.splits.size + 1, LEAF))
        for _ in range(self.depth):
            split = splits[node]
            goes = np.flatnonzero(split != LEAF)
            node[goes] = 2 * node[goes] + 1 + rows[goes, split[goes]]
        return node

    def predict(self, rows: NDArray[np.bool_]) -> Indices:
        """The class of each row, (n,)."""
        return self.labels[self.apply(rows)]

    def correct(self, points: Points) -> float:
        """How many training rows the tree classifies as they are."""
        return float(points.weights[np.arange(points.rows.shape[0]), self.predict(points.rows)].sum())


def n_branch(depth: int) -> int:
    """The number of nodes that may be split."""
    return int(2**depth - 1)


def n_nodes(depth: int) -> int:
    """The number of nodes."""
    return int(2 ** (depth + 1) - 1)


Choose = Callable[[int, Indices, NDArray[np.bool_]], int]


def grown(points: Points, depth: int, choose: Choose) -> HeapTree:
    """A tree whose splits `choose(node, rows here, which splits separate them)` names, top down.

    Pure nodes and nodes that no split separates become leaves; each class is that of most rows, and an
    empty node takes its parent's.
    """
    splits = np.full(n_branch(depth), LEAF, dtype=np.intp)
    labels = np.zeros(n_nodes(depth), dtype=np.intp)
    here: dict[int, Indices] = {0: np.arange(points.rows.shape[0])}
    for node in range(labels.size):
        rows = here.pop(node, np.zeros(0, dtype=np.intp))
        if not rows.size:
            labels[node] = labels[(node - 1) // 2] if node else 0
            continue
        counts = points.weights[rows].sum(axis=0)
        labels[node] = np.argmax(counts)
        if node >= splits.size or np.count_nonzero(counts) == 1:
            continue
        ones = points.rows[rows].sum(axis=0)
        separates = (ones > 0) & (ones < rows.size)
        split = choose(node, rows, separates) if separates.any() else LEAF
        if split == LEAF or not separates[split]:
            continue
        splits[node] = split
        goes = points.rows[rows, split]
        here[2 * node + 1], here[2 * node + 2] = rows[~goes], rows[goes]
    return HeapTree(depth, splits, labels)


def _refit(tree: HeapTree, points: Points) -> HeapTree:
    """The tree with its leaves' best classes; a split that separates nothing gives way to what is below."""
    origin = {0: 0}

    def choose(node: int, rows: Indices, separates: NDArray[np.bool_]) -> int:
        place = origin.get(node, tree.splits.size)
        while place < tree.splits.size and tree.splits[place] != LEAF:
            split = int(tree.splits[place])
            if separates[split]:
                origin[2 * node + 1], origin[2 * node + 2] = 2 * place + 1, 2 * place + 2
                return split
            place = 2 * place + 1 + int(points.rows[rows[0], split])
        return LEAF

    return grown(points, tree.depth, choose)


def pruned(tree: HeapTree, points: Points, regularization: float) -> HeapTree:
    """The tree without the splits that do not earn `regularization`, and with its leaves' best classes."""
    refit = _refit(tree, points)
    splits = refit.splits.copy()
    leaf = refit.apply(points.rows)
    counts = np.zeros((refit.labels.size, points.weights.shape[1]))
    np.add.at(counts, leaf, points.weights)
    for node in range(1, refit.labels.size)[::-1]:
        counts[(node - 1) // 2] += counts[node]
    value = (1.0 - regularization) * counts.max(axis=1)
    for node in range(splits.size)[::-1]:
        if splits[node] == LEAF:
            continue
        below = value[2 * node + 1] + value[2 * node + 2] - regularization
        if below <= value[node] + 1e-9:
            splits[node] = LEAF
        else:
            value[node] = below
    return HeapTree(tree.depth, splits, refit.labels)


def objective(tree: HeapTree, points: Points, regularization: float) -> float:
    """What all three formulations maximise: (1 - λ) rows classified as they are - λ splits."""
    return (1.0 - regularization) * tree.correct(points) - regularization * tree.n_splits
