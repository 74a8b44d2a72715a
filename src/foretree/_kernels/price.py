"""Pair costs of a compiled loss, without a table of the cells."""

from typing import Any

import numpy as np

from foretree._kernels.jit import for_callables


@for_callables
def price_pairs(loss: Any, both: np.ndarray, total: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the costs (2, p, p) of a loss of one leaf's weights (C,), from both (C, p, p) and total (C,).

    rows (2, 2, p, p) tells which cells are empty: differences of weights are off by rounding.
    """
    n_classes, n_splits = both.shape[0], both.shape[1]
    costs = np.zeros((2, n_splits, n_splits))
    cell = np.empty(n_classes)
    for root in range(n_splits):
        for child in range(n_splits):
            for corner in range(4):
                side, answer = corner >> 1, corner & 1
                # An empty leaf is no leaf and costs nothing.
                if rows[side, answer, root, child] == 0:
                    continue
                for c in range(n_classes):
                    branch = both[c, root, root] if side else total[c] - both[c, root, root]
                    mine = both[c, root, child] if side else both[c, child, child] - both[c, root, child]
                    cell[c] = max(mine if answer else branch - mine, 0.0)
                costs[side, root, child] += loss(cell)
    return costs
