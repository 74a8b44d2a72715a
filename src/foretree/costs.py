"""PairCounts + loss → the costs of all pairs of splits, with minimum sizes as masks."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from foretree._kernels.price import price_pairs
from foretree.counts import PairCounts
from foretree.losses import ROUNDING, Floats, Loss, gini


@dataclass(frozen=True, slots=True)
class Limits:
    """The fewest rows of a leaf and of a node that is split, and the least weight of a leaf."""

    min_leaf: int = 1
    min_internal: int = 2
    min_weight: float = 0.0


@dataclass(frozen=True, slots=True)
class PairCosts:
    """What each branch costs with each child split, and what decides between equals.

    costs[r, j, k] = c_jk^(r,0) + c_jk^(r,1), infinite where a minimum size forbids it; the diagonal is
    the branch as a leaf. empty[r, j, k] counts empty leaves, ginis[r, j, k] is the Gini loss. separates[j]
    says whether j may part the node at all, and `leaf` what the node costs unsplit.
    """

    costs: Floats
    empty: NDArray[np.int64]
    ginis: Floats
    separates: NDArray[np.bool_]
    leaf: float
    weight: float


def branch_weights(counts: PairCounts) -> Floats:
    """Return the class weights (2, p, C) of the rows with x_j = 0 and x_j = 1."""
    ones = np.diagonal(counts.both, axis1=1, axis2=2)
    return np.stack([(counts.total[:, None] - ones).T, ones.T])


def cell_weights(counts: PairCounts) -> Floats:
    """Return the class weights (2, 2, p, p, C) of the cells {x_j = r, x_k = s}."""
    ones = np.diagonal(counts.both, axis1=1, axis2=2)
    high_high = counts.both
    high_low = ones[:, :, None] - high_high
    low_high = ones[:, None, :] - high_high
    low_low = counts.total[:, None, None] - ones[:, :, None] - low_high
    cells = np.stack([np.stack([low_low, low_high]), np.stack([high_low, high_high])])
    return np.ascontiguousarray(np.moveaxis(cells, 2, -1))


def cell_rows(counts: PairCounts) -> NDArray[np.int64]:
    """Return the numbers of rows (2, 2, p, p) of the cells {x_j = r, x_k = s}."""
    ones = np.diagonal(counts.both_rows)
    high_low = ones[:, None] - counts.both_rows
    low_high = ones[None, :] - counts.both_rows
    low_low = counts.n_rows - ones[:, None] - low_high
    return np.stack([np.stack([low_low, low_high]), np.stack([high_low, counts.both_rows])])


def pair_costs(counts: PairCounts, loss: Loss, limits: Limits) -> PairCosts:
    """Return the costs of all pairs of a node's splits."""
    cells, rows = cell_weights(counts), cell_rows(counts)
    # Differences of fractional weights are off by rounding, which must not fill an empty cell or leave a debt.
    np.maximum(cells, 0.0, out=cells)
    cells[rows == 0] = 0.0
    costs = loss.of(cells).sum(axis=1) if loss.compiled is None else _fused_costs(counts, rows, loss)
    ginis = gini(cells).sum(axis=1)
    sizes = rows.sum(axis=1)[:, :, :1]
    is_leaf = (rows == 0).any(axis=1)
    too_small = (rows < limits.min_leaf).any(axis=1) | (sizes < limits.min_internal)
    separates = (sizes[..., 0] >= max(1, limits.min_leaf)).all(axis=0)
    if limits.min_weight > 0:
        too_small |= (cells.sum(axis=-1) < limits.min_weight).any(axis=1)
        separates &= (branch_weights(counts).sum(axis=-1) >= limits.min_weight).all(axis=0)
    total = counts.total
    return PairCosts(
        np.where(~is_leaf & too_small, np.inf, costs),
        is_leaf.astype(np.int64),
        ginis,
        separates,
        float(loss.of(total[None, :])[0]),
        float(total.sum()),
    )


def without(pairs: PairCosts, allowed: NDArray[np.bool_]) -> PairCosts:
    """Return the costs with all pairs but the `allowed` (2, p, p) forbidden; child == root is a branch as a leaf."""
    costs = np.where(allowed, pairs.costs, np.inf)
    roots = np.isfinite(costs.min(axis=2)).all(axis=0)
    return replace(pairs, costs=costs, separates=pairs.separates & roots)


def _fused_costs(counts: PairCounts, rows: NDArray[np.int64], loss: Loss) -> Floats:
    """Return costs (2, p, p) of a compiled loss, called in the kernel cell by cell."""
    costs: Floats = price_pairs(loss.compiled, counts.both, counts.total, rows)
    bad = ~(costs >= -ROUNDING * counts.total.sum())
    if bad.any():
        side, root, child = (int(place) for place in np.argwhere(bad)[0])
        cells = cell_weights(counts)[side, :, root, child].tolist()
        raise ValueError(
            f"The loss {loss.name!r} adds up to {costs[side, root, child]} over leaves of class weights {cells}; "
            "a leaf's loss must be a number of at least 0."
        )
    return np.maximum(costs, 0.0)
