"""Order rows by class."""

import numpy as np

from foretree._kernels.jit import kernel


@kernel
def order_by_class(classes: np.ndarray, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the row numbers ordered by class, stably, and where each class begins, (n_classes + 1,)."""
    starts = np.zeros(n_classes + 1, np.int64)
    for label in classes:
        starts[label + 1] += 1
    for label in range(n_classes):
        starts[label + 1] += starts[label]
    place = starts.copy()
    order = np.empty(classes.size, np.int32)
    for row in range(classes.size):
        label = classes[row]
        order[place[label]] = row
        place[label] += 1
    return order, starts
