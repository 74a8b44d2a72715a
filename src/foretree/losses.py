"""What a leaf costs: class weights (..., C) → loss (...), a dict of built-ins and any callable."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
LossFunction = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Loss:
    """A loss of leaves: its name, the function on class weights (..., C), and how kernels know it.

    `code` is the kernels' number of a built-in loss, None for a callable; `prices` (C, C) belongs to
    the cost matrix; `compiled` is a Numba function of one leaf's weights (C,).
    """

    name: str
    of: LossFunction
    code: int | None = None
    prices: Floats | None = None
    compiled: Any = None

    def says(self, weights: Floats) -> NDArray[np.int64]:
        """Return the class that leaves of class weights (..., C) say: the cheapest where classes are priced."""
        out: NDArray[np.int64] = (
            weights.argmax(axis=-1) if self.prices is None else (weights @ self.prices).argmin(axis=-1)
        )
        return out


def misclassification(weights: Floats) -> Floats:
    """Return the weight outside each leaf's heaviest class, eq. (4) without the division by n."""
    out: Floats = weights.sum(axis=-1) - weights.max(axis=-1)
    return out


def gini(weights: Floats) -> Floats:
    """Return each leaf's weight times its Gini impurity, eq. (5) without the division by n; 0 when empty."""
    total = weights.sum(axis=-1)
    out: Floats = total - (weights * weights).sum(axis=-1) / np.where(total > 0, total, 1.0)
    # A pure leaf's may come out a rounding error below.
    return np.maximum(out, 0.0)


def entropy(weights: Floats) -> Floats:
    """Return each leaf's weight times its entropy in bits; 0 when empty."""
    total = weights.sum(axis=-1, keepdims=True)
    shares = weights / np.where(total > 0, total, 1.0)
    out: Floats = -(weights * np.log2(np.where(shares > 0, shares, 1.0))).sum(axis=-1)
    return out


LOSSES: dict[str, Loss] = {
    "misclassification": Loss("misclassification", misclassification, code=0),
    "gini": Loss("gini", gini, code=1),
    "entropy": Loss("entropy", entropy, code=2),
}
HYBRID = "hybrid"
# The paper's Section 5.3: above this depth Gini trees overtake on the training data.
HYBRID_SWITCH = 5
COST_MATRIX = 3
# What a callable's loss may lack of 0, as a share of the leaf's weight: it adds up floats.
ROUNDING = 1e-12


def resolve_loss(loss: str | LossFunction | Floats, max_depth: int, n_classes: int) -> Loss:
    """Return the Loss that a name, a cost matrix (C, C) or a callable stands for."""
    if isinstance(loss, str):
        if loss == HYBRID:
            return LOSSES["misclassification" if max_depth <= HYBRID_SWITCH else "gini"]
        if loss in LOSSES:
            return LOSSES[loss]
        known = ", ".join(repr(name) for name in (*LOSSES, HYBRID))
        raise ValueError(
            f"loss={loss!r} is unknown. Choose one of {known}, a cost matrix of shape "
            f"({n_classes}, {n_classes}), or a function of class weights (..., {n_classes})."
        )
    if callable(loss):
        return _checked_callable(loss, n_classes)
    return _cost_matrix(loss, n_classes)


def _cost_matrix(prices: Any, n_classes: int) -> Loss:
    """Return the loss that pays prices[c, d] for every row of class c in a leaf that says d."""
    try:
        table = np.array(prices, dtype=np.float64, order="C")
        if table.ndim == 0:
            raise ValueError("one number is no matrix")
    except (TypeError, ValueError):
        raise ValueError(
            f"loss={prices!r} is neither a name, nor a cost matrix of numbers, nor a function."
        ) from None
    if table.shape != (n_classes, n_classes):
        raise ValueError(
            f"The cost matrix has shape {table.shape}; with {n_classes} classes it needs "
            f"({n_classes}, {n_classes}): row = true class, column = class the leaf says."
        )
    if not np.isfinite(table).all() or table.min() < 0:
        raise ValueError(
            "The cost matrix needs finite prices of at least 0; add to a row what makes its least price 0 "
            "(this moves every tree's loss alike)."
        )

    def of(weights: Floats) -> Floats:
        out: Floats = (weights @ table).min(axis=-1)
        return out

    return Loss("cost matrix", of, code=COST_MATRIX, prices=table)


def _checked_callable(loss: LossFunction, n_classes: int) -> Loss:
    """Return the callable as a Loss once it has answered a few leaves as a loss must."""
    name = getattr(loss, "__name__", type(loss).__name__)
    if _is_compiled(loss):
        return Loss(name, _over_leaves(loss, name, n_classes), compiled=loss)
    checked = Loss(name, _guarded(loss, name))
    probes = _probe_leaves(n_classes)
    together = checked.of(probes)
    alone = np.array([checked.of(probe[None, :])[0] for probe in probes])
    if not np.allclose(together, alone, rtol=1e-9, atol=1e-12):
        raise ValueError(
            f"The loss {name!r} is not additive over leaves: it gives a leaf another value when other leaves "
            "stand beside it. Let the value of each row of weights (..., C) depend on that row alone."
        )
    return checked


def _is_compiled(loss: LossFunction) -> bool:
    from numba.core.dispatcher import Dispatcher

    return isinstance(loss, Dispatcher)


def _probe_leaves(n_classes: int) -> Floats:
    """Return a few leaves' class weights (5, C): even, mixed, pure and light."""
    ramp = np.arange(1.0, n_classes + 1)
    pure = np.zeros(n_classes)
    pure[-1] = 4.0
    return np.stack([np.ones(n_classes), ramp, ramp[::-1] * 3, pure, 0.5 * ramp])


def _guarded(loss: LossFunction, name: str) -> LossFunction:
    """Wrap the callable so that a wrong shape, NaN or a negative loss is a sentence, not a strange tree."""

    def of(weights: Floats) -> Floats:
        # The weights are needed again: a loss that writes into them is told so.
        given = weights.view()
        given.flags.writeable = False
        with np.errstate(divide="ignore", invalid="ignore"):
            out = _as_numbers(loss(given), name)
        if out.shape != weights.shape[:-1]:
            raise ValueError(
                f"The loss {name!r} returned shape {out.shape} for class weights {weights.shape}; it must return "
                f"one value per leaf, shape {weights.shape[:-1]}: sum or take the maximum over the last axis."
            )
        # An empty leaf is no leaf and costs nothing, whatever 0/0 a loss makes of it.
        out = np.where(weights.sum(axis=-1) > 0, out, 0.0)
        return _refuse_bad_values(out, weights, name)

    return of


def _as_numbers(values: Any, name: str) -> Floats:
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        raise ValueError(
            f"The loss {name!r} returned values of type {array.dtype}; a leaf's loss must be a real number."
        )
    return array.astype(np.float64)


def _refuse_bad_values(out: Floats, weights: Floats, name: str) -> Floats:
    """Return the losses, those below 0 by rounding alone as 0."""
    bad = ~(out >= -ROUNDING * weights.sum(axis=-1))
    if bad.any():
        where = tuple(np.argwhere(bad)[0])
        raise ValueError(
            f"The loss {name!r} is {out[where]} for class weights {weights[where].tolist()}; a leaf's loss must be "
            "a number of at least 0 (add a constant per row of weight if yours measures a gain)."
        )
    return np.maximum(out, 0.0)


def _over_leaves(loss: Any, name: str, n_classes: int) -> LossFunction:
    """Turn a Numba function of one leaf's weights (C,) into one of leaves (..., C)."""

    from numba.core.errors import TypingError

    def one(weights: Floats) -> float:
        try:
            value = loss(weights)
        except TypingError as error:
            raise ValueError(
                f"Numba cannot compile the loss {name!r} for the weights of one leaf, a float64 array of shape "
                f"({n_classes},); compiled losses get these and return one number."
            ) from error
        if not isinstance(value, Real):
            raise ValueError(
                f"The compiled loss {name!r} returned {type(value).__name__}; compiled losses get the weights of one "
                f"leaf, shape ({n_classes},), and return one number."
            )
        return float(value)

    def of(weights: Floats) -> Floats:
        # A copy: the loss may write into what it is given.
        leaves = np.array(weights, np.float64, order="C").reshape(-1, weights.shape[-1])
        out = np.array([one(leaf) if leaf.sum() > 0 else 0.0 for leaf in leaves])
        return _refuse_bad_values(out, leaves, name).reshape(weights.shape[:-1])

    of(_probe_leaves(n_classes))
    return of
