"""Bits in words: population count, packing of 0/1 tables and the 32 × 32 transpose.

Row-major rows hold split j at bit j % 32 of word j // 32. A node turns its rows to column-major
words, in which bit i % 32 of word i // 32 is row i of one split.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from foretree._kernels.jit import inner, kernel

WORD = 32


@intrinsic
def popcount(typingctx: Any, word: Any) -> Any:
    """Count the ones of a uint32 as int32: LLVM's own instruction, so that loops over it vectorise."""
    signature = types.int32(types.uint32)

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return signature, codegen


@intrinsic
def ones_of_32(typingctx: Any, values: Any, start: Any) -> Any:
    """Pack values[start : start + 32] of a flat array; bits of `== 1` low, of `neither 0 nor 1` high."""
    signature = types.uint64(values, types.int64)
    floating = isinstance(values.dtype, types.Float)

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        vector = ir.VectorType(array.data.type.pointee, WORD)
        first = builder.gep(array.data, [arguments[1]])
        loaded = builder.load(builder.bitcast(first, vector.as_pointer()), align=1)
        compare = builder.fcmp_ordered if floating else builder.icmp_unsigned
        one, zero = (ir.Constant(vector, [float(bit) if floating else bit] * WORD) for bit in (1, 0))
        is_one = compare("==", loaded, one)
        known = builder.or_(is_one, compare("==", loaded, zero))
        word = ir.IntType(WORD)
        wide = ir.IntType(2 * WORD)
        ones = builder.zext(builder.bitcast(is_one, word), wide)
        other = builder.zext(builder.not_(builder.bitcast(known, word)), wide)
        return builder.or_(ones, builder.shl(other, ir.Constant(wide, WORD)))

    return signature, codegen


@kernel
def pack_binary(values: np.ndarray, n_rows: int, n_splits: int, words: np.ndarray) -> int:
    """Pack a flat C-ordered 0/1 table into words (n_rows, n_words); -1, or where a value is neither."""
    n_words = words.shape[1]
    whole = n_splits // WORD
    for row in range(n_rows):
        start = row * n_splits
        out = words[row]
        for word in range(whole):
            packed = ones_of_32(values, start + word * WORD)
            if packed >> np.uint64(WORD) != 0:
                return _first_other(values, start + word * WORD, WORD)
            out[word] = np.uint32(packed)
        if whole < n_words:
            last = np.uint32(0)
            for bit in range(n_splits - whole * WORD):
                value = values[start + whole * WORD + bit]
                if value == 1:
                    last |= np.uint32(1) << np.uint32(bit)
                elif value != 0:
                    return start + whole * WORD + bit
            out[whole] = last
    return -1


@inner
def _first_other(values: np.ndarray, start: int, length: int) -> int:
    for place in range(start, start + length):
        if values[place] != 1 and values[place] != 0:
            return place
    return -1


@inner
def transpose32(block: np.ndarray) -> None:
    """Transpose a 32 × 32 bit block in place: bit c of word r goes to bit r of word c."""
    mask = np.uint32(0x0000FFFF)
    step = 16
    while step > 0:
        shift = np.uint32(step)
        for base in range(0, WORD, 2 * step):
            upper = block[base : base + step]
            lower = block[base + step : base + 2 * step]
            for i in range(step):
                swap = ((upper[i] >> shift) ^ lower[i]) & mask
                upper[i] ^= swap << shift
                lower[i] ^= swap
        step >>= 1
        if step:
            mask ^= mask << np.uint32(step)
    # Kept as plain loops: LLVM vectorises the wide steps, and the narrow ones cost little.
