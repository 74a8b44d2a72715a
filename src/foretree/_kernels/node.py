"""The rows of one node as columns: gather, drop what cannot split, and count what stands alone."""

import numpy as np

from foretree._kernels.bits import WORD, popcount, transpose32
from foretree._kernels.jit import inner, kernel
from foretree._kernels.pairs import LANES

_PRIME = np.uint32(0x9E3779B1)


@kernel
def padded(n_splits: int) -> int:
    """Return the least multiple of the vector width that holds `n_splits`."""
    return (n_splits + LANES - 1) // LANES * LANES


@kernel
def gather(words: np.ndarray, rows: np.ndarray, first: int, last: int, columns: np.ndarray, at: int) -> int:
    """Write rows[first:last] of words (., n_words) to columns (., 32 n_words) from word `at`; the next free word."""
    block = np.empty(WORD, np.uint32)
    for base in range(first, last, WORD):
        size = min(WORD, last - base)
        for word in range(words.shape[1]):
            for i in range(size):
                block[i] = words[rows[base + i], word]
            for i in range(size, WORD):
                block[i] = 0
            transpose32(block)
            out = columns[at, word * WORD :]
            for i in range(WORD):
                out[i] = block[i]
        at += 1
    return at


@inner
def add_ones(columns: np.ndarray, first: int, last: int, ones: np.ndarray) -> None:
    """Add to ones[k] the rows with split k among the words first to last of columns (n_words, n_splits)."""
    for word in range(first, last):
        row = columns[word]
        for k in range(ones.size):
            ones[k] += popcount(row[k])


@inner
def keep_splitting(ones: np.ndarray, n_entries: int, n_splits: int, kept: np.ndarray) -> int:
    """Fill kept[:n] with the splits that have both answers, from ones[g, k]; return n."""
    n_kept = 0
    for split in range(n_splits):
        total = 0
        for group in range(ones.shape[0]):
            total += ones[group, split]
        if 0 < total < n_entries:
            kept[n_kept] = split
            n_kept += 1
    return n_kept


@kernel
def compact(columns: np.ndarray, n_words: int, kept: np.ndarray, n_kept: int) -> None:
    """Move the kept columns to the front of columns (., .), in place, and clear the lanes behind them."""
    width = padded(n_kept)
    for word in range(n_words):
        row = columns[word]
        for k in range(n_kept):
            row[k] = row[kept[k]]
        for k in range(n_kept, width):
            row[k] = 0


@inner
def _hash_columns(
    columns: np.ndarray,
    bounds: np.ndarray,
    sizes: np.ndarray,
    n_groups: int,
    n_splits: int,
    hashes: np.ndarray,
) -> None:
    """Hash the first n_splits columns so that equal and complementary ones agree, (n_splits,)."""
    first = columns[0]
    for k in range(n_splits):
        hashes[k] = 0
    for group in range(n_groups):
        for word in range(bounds[group], bounds[group + 1]):
            left = sizes[group] - (word - bounds[group]) * WORD
            valid = np.uint32(0xFFFFFFFF) if left >= WORD else np.uint32((1 << left) - 1)
            row = columns[word]
            for k in range(n_splits):
                flip = (~((first[k] & np.uint32(1)) - np.uint32(1))) & valid
                mixed = np.uint32((hashes[k] ^ row[k] ^ flip) * _PRIME)
                hashes[k] = mixed ^ (mixed >> np.uint32(15))


@inner
def _same_answers(
    columns: np.ndarray, bounds: np.ndarray, sizes: np.ndarray, n_groups: int, one: int, other: int
) -> bool:
    """Tell whether two columns are equal or complementary on the rows there are."""
    opposite = (columns[0, one] ^ columns[0, other]) & np.uint32(1)
    for group in range(n_groups):
        for word in range(bounds[group], bounds[group + 1]):
            left = sizes[group] - (word - bounds[group]) * WORD
            valid = np.uint32(0xFFFFFFFF) if left >= WORD else np.uint32((1 << left) - 1)
            flip = valid if opposite else np.uint32(0)
            if columns[word, one] ^ columns[word, other] != flip:
                return False
    return True


@inner
def keep_distinct(
    columns: np.ndarray, bounds: np.ndarray, sizes: np.ndarray, n_groups: int, n_splits: int, kept: np.ndarray
) -> int:
    """Fill kept[:n] with the first of each set of equal or complementary columns; return n.

    Group g has sizes[g] rows in the words bounds[g] to bounds[g + 1]. The smallest index stands for
    its set, so that ties between splits are decided as if none had been dropped.
    """
    hashes = np.empty(n_splits, np.uint32)
    _hash_columns(columns, bounds, sizes, n_groups, n_splits, hashes)
    n_slots = 16
    while n_slots < 2 * n_splits:
        n_slots *= 2
    slots = np.empty(n_slots, np.int32)
    for slot in range(n_slots):
        slots[slot] = -1
    n_kept = 0
    for split in range(n_splits):
        slot = np.int64(hashes[split]) & (n_slots - 1)
        twin = False
        while slots[slot] >= 0 and not twin:
            other = slots[slot]
            twin = hashes[other] == hashes[split] and _same_answers(
                columns, bounds, sizes, n_groups, other, split
            )
            slot = (slot + 1) & (n_slots - 1)
        if not twin:
            slots[slot] = split
            kept[n_kept] = split
            n_kept += 1
    return n_kept


@kernel
def split_rows(
    words: np.ndarray, rows: np.ndarray, first: int, last: int, split: int, scratch: np.ndarray
) -> int:
    """Order rows[first:last] stably, those without `split` first; return where those with it begin."""
    word = split // WORD
    bit = np.uint32(split % WORD)
    low = first
    high = 0
    for place in range(first, last):
        row = rows[place]
        answer = np.int64((words[row, word] >> bit) & np.uint32(1))
        # Both are written, one counts: no branch for the processor to guess.
        rows[low] = row
        scratch[high] = row
        low += 1 - answer
        high += answer
    for place in range(high):
        rows[low + place] = scratch[place]
    return low
