"""Send rows down a tree."""

import numpy as np

from foretree._kernels.jit import kernel


@kernel
def descend_values(
    values: np.ndarray, split: np.ndarray, low: np.ndarray, high: np.ndarray, leaves: np.ndarray
) -> int:
    """Write the leaf of each row of a 0/1 table (n_rows, n_splits); -1, or the place of a value that is neither."""
    for row in range(values.shape[0]):
        answers = values[row]
        node = 0
        asked = split[node]
        while asked >= 0:
            answer = answers[asked]
            if answer == 1:
                node = high[node]
            elif answer == 0:
                node = low[node]
            else:
                return row * values.shape[1] + asked
            asked = split[node]
        leaves[row] = node
    return -1


@kernel
def descend_words(
    words: np.ndarray, split: np.ndarray, low: np.ndarray, high: np.ndarray, leaves: np.ndarray
) -> None:
    """Write the leaf of each packed row of words (n_rows, n_words)."""
    for row in range(words.shape[0]):
        answers = words[row]
        node = 0
        asked = split[node]
        while asked >= 0:
            answer = (answers[asked >> 5] >> np.uint32(asked & 31)) & np.uint32(1)
            node = high[node] if answer else low[node]
            asked = split[node]
        leaves[row] = node
