"""What an estimator's parameters may be, said where they are not."""

from numbers import Integral, Real
from typing import Any


def check_parameters(model: Any) -> None:
    """Refuse parameters that mean nothing, each with the values that do."""
    depth, look = model.max_depth, model.lookahead
    if depth is not None and not _whole(depth, 1):
        raise ValueError(f"max_depth={depth!r} must be a whole number of at least 1, or None for no limit.")
    if not _whole(look, 1) and look != "optimal":
        raise ValueError(f"lookahead={look!r} must be a whole number of at least 1, or 'optimal'.")
    if look == "optimal" and depth is None:
        raise ValueError(
            "lookahead='optimal' needs a max_depth: an optimal tree without limit is not searched for."
        )
    for name, least in (("min_samples_leaf", 1), ("min_samples_internal", 2)):
        if not _whole(getattr(model, name), least):
            raise ValueError(f"{name}={getattr(model, name)!r} must be a whole number of at least {least}.")
    if not isinstance(model.min_loss_decrease, Real) or not float(model.min_loss_decrease) >= 0:
        raise ValueError(f"min_loss_decrease={model.min_loss_decrease!r} must be a number of at least 0.")
    share = model.min_weight_fraction_leaf
    if not isinstance(share, Real) or not 0 <= float(share) <= 0.5:
        raise ValueError(f"min_weight_fraction_leaf={share!r} must be a number from 0 to 0.5.")
    leaves, limit = model.max_leaf_nodes, model.time_limit
    if leaves is not None and not _whole(leaves, 2):
        raise ValueError(f"max_leaf_nodes={leaves!r} must be a whole number of at least 2, or None.")
    if limit is not None and (not isinstance(limit, Real) or not float(limit) > 0):
        raise ValueError(f"time_limit={limit!r} must be a number of seconds above 0, or None.")
    _check_choices(model)


def _check_choices(model: Any) -> None:
    for name, known in (
        ("stop", ("pure", "no_gain")),
        ("tie_break", ("gini", "first")),
        ("solver", ("closed", "lp", "mip")),
    ):
        if getattr(model, name) not in known:
            choices = f"{', '.join(map(repr, known[:-1]))} or {known[-1]!r}"
            raise ValueError(f"{name}={getattr(model, name)!r} must be {choices}.")
    jobs = model.n_jobs
    if jobs is not None and not (_whole(jobs, 1) or jobs == -1):
        raise ValueError(f"n_jobs={jobs!r} must be a whole number of at least 1, -1 for all cores, or None.")
    encoder = model.encoder
    if not (encoder is None or encoder == "auto" or hasattr(encoder, "fit_pack")):
        raise ValueError(f"encoder={encoder!r} must be 'auto', None for a 0/1 matrix, or a SplitEncoder.")


def _whole(value: Any, least: int) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least
