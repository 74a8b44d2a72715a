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


# So many rows of one column are coded before their answers are written.
CHUNK = 1024

# Up to so many edges, comparing with all of them in vectors is quicker than a binary search.
MAX_LINEAR_EDGES = 160


@kernel
def pack_numbers(
    block: FloatArray, lookup: NumberLookup, masks: Masks, words: WordArray, first_row: int
) -> int:
    """OR the answers of a block (rows, columns) into words[first_row:]; return the first infinity's place, or -1."""
    infinite = -1
    values = np.empty(CHUNK, np.float64)
    codes = np.empty(CHUNK, np.int32)
    for begin in range(0, block.shape[0], CHUNK):
        n_rows = min(CHUNK, block.shape[0] - begin)
        for k in range(lookup.position.shape[0]):
            position = lookup.position[k]
            n_special = 0
            for i in range(n_rows):
                values[i] = block[begin + i, position]
                n_special += int(values[i] - values[i] != 0.0)  # NaN or infinite
            edges = lookup.edges[lookup.edge_start[k] : lookup.edge_stop[k]]
            _count_edges_below(values[:n_rows], edges, codes[:n_rows])
            if n_special > 0:
                for i in range(n_rows):
                    if np.isnan(values[i]):
                        codes[i] = edges.shape[0] + 1
                    elif np.isinf(values[i]):
                        place = (begin + i) * block.shape[1] + position
                        infinite = place if infinite < 0 else min(infinite, place)
            _set_bits(codes[:n_rows], lookup.code_start[k], masks, words[first_row + begin :])
    return infinite


@kernel
def _count_edges_below(values: FloatArray, edges: FloatArray, codes: IntArray) -> None:
    n_edges = edges.shape[0]
    if n_edges > MAX_LINEAR_EDGES:
        for i in range(values.shape[0]):
            low, high = 0, n_edges
            while low < high:
                middle = (low + high) >> 1
                if edges[middle] < values[i]:
                    low = middle + 1
                else:
                    high = middle
            codes[i] = low
        return
    for i in range(values.shape[0]):
        codes[i] = 0
    in_fours = n_edges - n_edges % 4
    for e in range(0, in_fours, 4):
        a, b, c, d = edges[e], edges[e + 1], edges[e + 2], edges[e + 3]
        for i in range(values.shape[0]):
            value = values[i]
            codes[i] += np.int32(value > a) + np.int32(value > b) + np.int32(value > c) + np.int32(value > d)
    for e in range(in_fours, n_edges):
        edge = edges[e]
        for i in range(values.shape[0]):
            codes[i] += np.int32(values[i] > edge)


@kernel
def _set_bits(codes: IntArray, code_start: int, masks: Masks, words: WordArray) -> None:
    for i in range(codes.shape[0]):
        code = code_start + codes[i]
        for m in range(masks.start[code], masks.start[code + 1]):
            words[i, masks.word[m]] |= masks.bits[m]


@kernel
def pack_codes(codes: IntArray, masks: Masks, words: WordArray, first_row: int) -> None:
    """OR the masks of each row's code into words[first_row:]; code -1 has the first mask, 0 the second."""
    _set_bits(codes, 1, masks, words[first_row:])


@kernel
def survey(values: FloatArray) -> Any:
    """Return (lowest, highest, n_missing, whether the others are whole, the row of the first infinity or -1)."""
    lowest, highest = np.inf, -np.inf
    n_missing = 0
    n_broken = 0
    infinite = -1
    for row in range(values.shape[0]):
        value = values[row]
        lowest = value if value < lowest else lowest
        highest = value if value > highest else highest
        n_missing += int(value != value)
        n_broken += int(np.floor(value) != value)
    if np.isinf(lowest) or np.isinf(highest):
        for row in range(values.shape[0]):
            if np.isinf(values[row]):
                infinite = row
                break
    return lowest, highest, n_missing, n_broken == n_missing, infinite


@kernel
def count_whole(values: FloatArray, lowest: float, size: int) -> IntArray:
    """Count the whole numbers from `lowest` on (size,), NaN left out."""
    counts = np.zeros(size, np.int32)
    for row in range(values.shape[0]):
        value = values[row]
        if value == value:
            counts[np.int64(value - lowest)] += 1
    return counts


@kernel
def count_distinct(values: FloatArray, limit: int) -> Any:
    """Return up to `limit` distinct numbers without NaN, their counts, and whether there are more."""
    shift = 60
    while 1 << (64 - shift) < 4 * limit:
        shift -= 1
    last_slot = (1 << (64 - shift)) - 1
    keys = np.empty(last_slot + 1, np.float64)
    counts = np.zeros(last_slot + 1, np.int64)
    used = np.empty(limit, np.int64)
    n_used = 0
    bits = values.view(np.uint64)
    for row in range(values.shape[0]):
        value = values[row]
        if np.isnan(value):
            continue
        # -0.0 equals 0.0, so it must start from the same slot.
        pattern = bits[row] if value != 0.0 else np.uint64(0)
        slot = np.int64((pattern * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(shift))
        while counts[slot] > 0 and keys[slot] != value:
            slot = (slot + 1) & last_slot
        if counts[slot] == 0:
            if n_used == limit:
                return keys[used], counts[used], True
            keys[slot] = value
            used[n_used] = slot
            n_used += 1
        counts[slot] += 1
    return keys[used[:n_used]], counts[used[:n_used]], False
