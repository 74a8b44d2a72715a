"""The seam between a formulation and the estimator that solves it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from foretree.baselines.heap import HeapTree
from foretree.baselines.points import Floats, Indices
from foretree.baselines.skeleton import Columns, Skeleton, Task
from foretree.mio.model import Builder, Model


@dataclass(frozen=True, slots=True)
class Built:
    """A model, where its tree is, how a tree becomes a start; the objective is `offset` - its minimum."""

    model: Model
    skeleton: Skeleton
    start: Callable[[HeapTree], Floats]
    offset: float = 0.0


@dataclass(frozen=True, slots=True)
class Formulation:
    """How a model is sized and built: `entries(task)` and `build(task, check)`."""

    entries: Callable[[Task], int]
    build: Callable[[Task, Callable[[], None]], Built]


def equal_rows(builder: Builder, row: Indices, correct: Columns) -> None:
    """Rows that are equal but for their class: at most one class of them is answered correctly."""
    times = np.bincount(row)
    conflicting = np.flatnonzero(times > 1)
    if not conflicting.size:
        return
    limits = builder.rows((conflicting.size,), upper=1.0)
    place = np.searchsorted(conflicting, row)
    inside = times[row] > 1
    builder.entries(limits[place[inside]], correct[inside])
