"""Small problems for hypothesis to argue with, in the kernels' words and in the oracle's."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

import oracle
from foretree.costs import Limits
from foretree.groups import group_rows

# Weights as users give them: none, few whole ones, many whole ones (written in binary digits), importances.
WEIGHT_KINDS = ("none", "few whole", "many whole", "fractional")
ORACLE_LOSSES = {
    "misclassification": oracle.misclassification,
    "gini": oracle.gini,
    "entropy": oracle.entropy,
}


@dataclass(frozen=True)
class Problem:
    """Rows x (n, p) of 0/1 with classes y (n,), their weights (n,) or None, and the classes' factors (C,)."""

    x: np.ndarray
    y: np.ndarray
    row_weights: np.ndarray | None
    class_weights: np.ndarray

    def grouped(self):
        return group_rows(pack(self.x), self.x.shape[1], self.y, self.class_weights, self.row_weights)

    def task(self, loss, limits=None, **rules):
        """Return the same problem for the oracle, which knows no row of weight 0."""
        limits = limits or Limits()
        kept = np.ones(len(self.y), bool) if self.row_weights is None else self.row_weights > 0
        weights = self.class_weights[self.y] * (1.0 if self.row_weights is None else self.row_weights)
        whole = self.row_weights is not None and (self.row_weights % 1 == 0).all()
        sizes = self.row_weights.astype(int) if whole else np.ones(len(self.y), int)
        return oracle.task(
            self.x[kept], self.y[kept], self.class_weights.size, weights[kept], sizes[kept], loss,
            min_leaf=limits.min_leaf, min_internal=limits.min_internal, min_weight=limits.min_weight, **rules,
        )  # fmt: skip

    def reordered(self, order):
        weights = None if self.row_weights is None else self.row_weights[order]
        return Problem(self.x[order], self.y[order], weights, self.class_weights)


def pack(x):
    """Pack rows of 0/1 (n, p) as the kernels want them, by NumPy alone."""
    octets = np.zeros((x.shape[0], (x.shape[1] + 31) // 32 * 4), np.uint8)
    packed = np.packbits(x, axis=1, bitorder="little")
    octets[:, : packed.shape[1]] = packed
    return octets.view("<u4").astype(np.uint32)


def nested(tree, node=0):
    """Return a Tree as the oracle writes trees: (split, low, high), None for a leaf."""
    if tree.split[node] < 0:
        return None
    return int(tree.split[node]), nested(tree, tree.low[node]), nested(tree, tree.high[node])


def bits(n_rows, n_splits):
    """Draw 0/1 rows (n_rows, n_splits); some columns constant, equal or complementary more often than chance."""
    size = n_rows * n_splits
    return st.binary(min_size=size, max_size=size).map(
        lambda octets: (np.frombuffer(octets, np.uint8) & 1).reshape(n_rows, n_splits)
    )


def classes(n_rows, n_classes):
    return st.binary(min_size=n_rows, max_size=n_rows).map(
        lambda octets: (np.frombuffer(octets, np.uint8) % n_classes).astype(np.int64)
    )


@st.composite
def row_weights(draw, n_rows, kind):
    if kind == "none":
        return None
    octets = np.frombuffer(draw(st.binary(min_size=2 * n_rows, max_size=2 * n_rows)), np.uint16)
    if kind == "few whole":
        weights = (octets % 4).astype(float)
    elif kind == "many whole":
        weights = 1.0 + octets % 1000
    else:
        weights = 0.1 + octets / 65536
    weights[0] = max(weights[0], 1.0)
    return weights


@st.composite
def problems(draw, most_rows=40, most_splits=5, most_classes=3, kinds=WEIGHT_KINDS):
    n_rows = draw(st.integers(2, most_rows))
    n_splits = draw(st.integers(1, most_splits))
    n_classes = draw(st.integers(2, most_classes))
    x = draw(bits(n_rows, n_splits))
    if n_splits > 2 and draw(st.booleans()):
        x = x.copy()
        x[:, draw(st.integers(1, n_splits - 1))] = x[:, 0] ^ draw(st.integers(0, 1))
    weights = draw(row_weights(n_rows, draw(st.sampled_from(kinds))))
    rising = np.arange(1.0, n_classes + 1)
    factors = draw(st.sampled_from([np.ones(n_classes), rising, rising[::-1] / 2]))
    return Problem(x, draw(classes(n_rows, n_classes)), weights, factors)


# No sum of weights is one of these shares, so that rounding decides nothing.
limits = st.builds(
    Limits, st.integers(1, 3), st.integers(2, 5), st.sampled_from([0.0, 0.0, 0.0, np.pi, 10 * np.pi])
)
losses = st.sampled_from(sorted(ORACLE_LOSSES))
