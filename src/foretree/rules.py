"""What a tree minimises and obeys, in the kernels' words."""

import numpy as np

from foretree._kernels.exact import Rules
from foretree.costs import Limits
from foretree.losses import Loss


def make_rules(
    loss: Loss,
    n_classes: int,
    limits: Limits,
    tie_by_gini: bool,
    stop_without_gain: bool = False,
    min_decrease: float = 0.0,
) -> Rules:
    """Return the rules of a built-in loss; min_decrease is in weight, not a share."""
    if loss.code is None:
        raise ValueError(f"The kernels know no rules for the loss {loss.name!r}; grow it from counts.")
    prices = np.zeros((n_classes, n_classes)) if loss.prices is None else loss.prices
    return Rules(
        loss.code, prices, tie_by_gini, stop_without_gain, limits.min_leaf, limits.min_internal, limits.min_weight,
        min_decrease,
    )  # fmt: skip
