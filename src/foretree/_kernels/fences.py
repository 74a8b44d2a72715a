"""What a node's constraints allow, in the kernels' words."""

from typing import NamedTuple

import numpy as np


class Fence(NamedTuple):
    """What a node's constraints allow, in the table's own splits.

    pairs (2, p, p) are the pairs (branch, root, child), child == root a branch that stays a leaf. signs (p,) say
    which answers ask for a larger (1) or smaller (-1) share of the second class, and no leaf's share
    may lie outside least to most.
    """

    pairs: np.ndarray
    signs: np.ndarray
    least: float
    most: float
