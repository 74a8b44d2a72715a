"""Rows of yes/no answers, 32 to a word."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class PackedRows:
    """Answers of every row: split j is bit j % 32 of word j // 32; bits without a split are 0."""

    words: NDArray[np.uint32]  # (n_rows, ceil(n_splits / 32)), C-contiguous
    n_splits: int

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.words)


def words_for(n_splits: int) -> int:
    """Return how many words one row of `n_splits` answers takes."""
    return (n_splits + 31) // 32


def unpack(rows: PackedRows) -> NDArray[np.uint8]:
    """Return the answers as a 0/1 matrix (n_rows, n_splits)."""
    if rows.n_splits == 0:
        return np.zeros((rows.n_rows, 0), np.uint8)
    octets = np.ascontiguousarray(rows.words, dtype="<u4").view(np.uint8)
    return np.unpackbits(octets, axis=1, count=rows.n_splits, bitorder="little")
