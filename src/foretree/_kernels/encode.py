"""Kernels that turn columns into packed answers and look for distinct numbers."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from foretree._kernels.jit import kernel

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int32]
WordArray = NDArray[np.uint32]


class Masks(NamedTuple):
    """For code c, entries mask_from[c]:mask_from[c+1] of (word, bits) hold the splits that answer yes."""

    start: IntArray  # (n_codes + 1,)
    word: IntArray  # (n_masks,)
    bits: WordArray  # (n_masks,)


class NumberLookup(NamedTuple):
    """Column k sits at position[k] of a block; its sorted edges are edges[edge_start[k]:edge_stop[k]].

    Code code_start[k] + i means that i edges lie below the value; one code more means missing.
    """

    position: IntArray  # (n_columns,)
    edge_start: IntArray  # (n_columns,)
    edge_stop: IntArray  # (n_columns,)
    code_start: IntArray  # (n_columns,)
    edges: FloatArray  # (n_edges,)


@kernel
def pack_numbers(
    block: FloatArray, lookup: NumberLookup, masks: Masks, words: WordArray, first_row: int
) -> int:
    """OR the answers of a block (rows, columns) into words[first_row:]; return an infinity's place, or -1."""
    infinite = -1
    edges = lookup.edges
    for row in range(block.shape[0]):
        for k in range(lookup.position.shape[0]):
            value = block[row, lookup.position[k]]
            start = lookup.edge_start[k]
            length = lookup.edge_stop[k] - start
            if np.isnan(value):
                code = length + 1
            else:
                if np.isinf(value):
                    infinite = row * block.shape[1] + lookup.position[k]
                at = start
                left = length
                # A halving without an early exit: the compiler needs no branch that it could guess wrongly.
                while left > 1:
                    half = left >> 1
                    at += half * (edges[at + half - 1] < value)
                    left -= half
                if left == 1:
                    at += 1 * (edges[at] < value)
                code = at - start
            code += lookup.code_start[k]
            for m in range(masks.start[code], masks.start[code + 1]):
                words[first_row + row, masks.word[m]] |= masks.bits[m]
    return infinite


@kernel
def pack_codes(codes: IntArray, masks: Masks, words: WordArray, first_row: int) -> None:
    """OR the masks of each row's code into words[first_row:]; code -1 has the first mask, 0 the second."""
    for row in range(codes.shape[0]):
        code = codes[row] + 1
        for m in range(masks.start[code], masks.start[code + 1]):
            words[first_row + row, masks.word[m]] |= masks.bits[m]


@kernel
def count_distinct(values: FloatArray, limit: int) -> Any:
    """Return up to `limit` distinct numbers as met, their counts, and what else there is.

    The tuple is (distinct, counts, whether there are more, n_missing, the row of an infinity or -1).
    """
    size = 8
    while size < 4 * limit:
        size *= 2
    slots = np.full(size, -1, np.int32)
    distinct = np.empty(limit, np.float64)
    counts = np.zeros(limit, np.int64)
    n_distinct = 0
    n_missing = 0
    infinite = -1
    more = False
    bits = values.view(np.uint64)
    for row in range(values.shape[0]):
        value = values[row]
        if np.isnan(value):
            n_missing += 1
            continue
        if np.isinf(value):
            infinite = row
        if more:
            continue
        # -0.0 equals 0.0, so it must start from the same slot.
        key = bits[row] if value != 0.0 else np.uint64(0)
        slot = np.int64(((key * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)) & np.uint64(size - 1))
        while slots[slot] >= 0 and distinct[slots[slot]] != value:
            slot = (slot + 1) & (size - 1)
        if slots[slot] < 0:
            if n_distinct == limit:
                more = True
                continue
            slots[slot] = n_distinct
            distinct[n_distinct] = value + 0.0
            n_distinct += 1
        counts[slots[slot]] += 1
    return distinct[:n_distinct], counts[:n_distinct], more, n_missing, infinite
