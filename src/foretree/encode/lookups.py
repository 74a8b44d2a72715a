"""Flat tables for the kernels: which words and bits each code sets."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from foretree._kernels.encode import Masks, NumberLookup
from foretree.encode.questions import Questions

WORD_BITS = 32
FULL_WORD = np.uint64(0xFFFFFFFF)


def masks_of_runs(runs: NDArray[np.int32], cover: NDArray[np.int32] | None = None) -> Masks:
    """Return the words and bits of runs (n_codes, 2) of splits [first, stop).

    With `cover` (n_codes, 2) a code lists all words of its cover, so that all codes of a column list as many.
    """
    first, stop = (runs if cover is None else cover).T
    n_words = np.where(stop > first, (stop - 1) // WORD_BITS - first // WORD_BITS + 1, 0)
    start = np.zeros(len(runs) + 1, np.int32)
    np.cumsum(n_words, out=start[1:])
    code = np.repeat(np.arange(len(runs)), n_words)
    word = (first[code] // WORD_BITS + np.arange(start[-1], dtype=np.int32) - start[code]).astype(np.int32)
    low = np.clip(runs[code, 0] - WORD_BITS * word, 0, WORD_BITS).astype(np.uint64)
    high = np.clip(runs[code, 1] - WORD_BITS * word, 0, WORD_BITS).astype(np.uint64)
    bits = (FULL_WORD >> (np.uint64(WORD_BITS) - high)) & (FULL_WORD << low)
    return Masks(start, word, bits.astype(np.uint32))


def only_bits(masks: Masks, splits: NDArray[np.intp], n_words: int) -> Masks:
    """Return masks that set the bits of `splits` alone."""
    wanted = np.zeros(n_words, np.uint32)
    np.bitwise_or.at(wanted, splits // WORD_BITS, np.uint32(1) << (splits % WORD_BITS).astype(np.uint32))
    return Masks(masks.start, masks.word, masks.bits & wanted[masks.word])


def number_tables(questions: Sequence[Questions], offsets: Sequence[int]) -> tuple[NumberLookup, Masks]:
    """Return the tables of number columns whose splits begin at `offsets`; column k sits at position k."""
    n_edges = np.array([len(q.edges) for q in questions], np.int32)
    n_codes = np.array([len(q.runs) for q in questions], np.int32)
    stop = np.cumsum(n_edges, dtype=np.int32)
    shift = np.array(offsets, np.int32).repeat(n_codes)[:, None]
    n_splits = np.array([len(q.splits) for q in questions], np.int32).repeat(n_codes)
    cover = np.stack([np.zeros_like(n_splits), n_splits], axis=1) + shift
    masks = masks_of_runs(np.vstack([q.runs for q in questions]) + shift, cover)
    lookup = NumberLookup(
        np.arange(len(questions), dtype=np.int32),
        stop - n_edges,
        stop,
        np.cumsum(n_codes, dtype=np.int32) - n_codes,
        np.concatenate([q.edges for q in questions]),
    )
    return lookup, masks


def chosen_columns(
    lookup: NumberLookup, chosen: NDArray[np.intp], positions: NDArray[np.intp]
) -> NumberLookup:
    """Return the tables of the chosen columns, which sit at `positions` of a block."""
    return NumberLookup(
        positions.astype(np.int32),
        lookup.edge_start[chosen],
        lookup.edge_stop[chosen],
        lookup.code_start[chosen],
        lookup.edges,
    )


def label_masks(questions: Questions, offset: int, labels: Sequence[object]) -> Masks:
    """Return masks for missing and then for codes that number `labels` in their order."""
    code_of = {label: code for code, label in enumerate(questions.labels)}
    missing = len(questions.labels)
    codes = [missing, *(code_of.get(label, missing + 1) for label in labels)]
    return masks_of_runs(questions.runs[codes] + np.int32(offset))
