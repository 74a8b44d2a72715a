"""Pair counts of a node: how many rows of each group have two splits at once."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from foretree._kernels.jit import kernel

LANES = 16
TILE = 4
# Words of one pass: 512 words of 300 splits are 600 KB, which a core's second cache holds.
PASS_WORDS = 512


@intrinsic
def _add_tile(typingctx: Any, columns: Any, first: Any, last: Any, split: Any, k: Any, counts: Any) -> Any:
    """Add to counts[split : split + 4, k : k + 16] the popcounts over words first to last.

    Written as vectors because the four sums must stay in registers over the whole word loop,
    which loops over memory do not achieve (measured: three times slower).
    """
    signature = types.void(columns, types.int64, types.int64, types.int64, types.int64, counts)

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        table, first, last, split, k, counts = arguments
        table = context.make_array(signature.args[0])(context, builder, table)
        counts = context.make_array(signature.args[5])(context, builder, counts)
        integer = first.type
        width = cgutils.unpack_tuple(builder, table.shape)[1]
        out_width = cgutils.unpack_tuple(builder, counts.shape)[1]
        vector = ir.VectorType(ir.IntType(32), LANES)
        ctpop = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(vector, [vector]), f"llvm.ctpop.v{LANES}i32"
        )

        def number(value: int) -> Any:
            return ir.Constant(ir.IntType(32), value)

        def vector_at(data: Any, place: Any) -> Any:
            return builder.bitcast(builder.gep(data, [place]), vector.as_pointer())

        outs = []
        sums = []
        for i in range(TILE):
            row = builder.add(split, ir.Constant(integer, i))
            out = vector_at(counts.data, builder.add(builder.mul(row, out_width), k))
            outs.append(out)
            sums.append(cgutils.alloca_once_value(builder, builder.load(out, align=4)))
        with cgutils.for_range(builder, last, start=first) as loop:
            start = builder.mul(loop.index, width)
            theirs = builder.load(vector_at(table.data, builder.add(start, k)), align=4)
            mine = builder.gep(table.data, [builder.add(start, split)])
            for i in range(TILE):
                word = builder.load(builder.gep(mine, [ir.Constant(integer, i)]))
                lane = builder.insert_element(ir.Constant(vector, ir.Undefined), word, number(0))
                spread = builder.shuffle_vector(lane, lane, ir.Constant(vector, [0] * LANES))
                both = builder.call(ctpop, [builder.and_(spread, theirs)])
                builder.store(builder.add(builder.load(sums[i]), both), sums[i])
        for out, total in zip(outs, sums, strict=True):
            builder.store(builder.load(total), out, align=4)
        return context.get_dummy_value()

    return signature, codegen


@kernel
def clear_pairs(counts: np.ndarray, n_splits: int, width: int) -> None:
    """Set to 0 what `add_pairs` of the same `n_splits` and `width` adds to, in counts (n_groups, ., .)."""
    for group in range(counts.shape[0]):
        for split in range(n_splits):
            row = counts[group, split, split - split % LANES : width]
            for k in range(row.size):
                row[k] = 0


@kernel
def add_pairs(
    columns: np.ndarray, first: int, last: int, n_splits: int, width: int, counts: np.ndarray
) -> None:
    """Add to counts[j, k] the rows with splits j and k among the words first to last of columns (n_words, .).

    Filled are the k from the multiple of 16 at or below j up to `width`, a multiple of 16 itself.
    """
    for start in range(first, last, PASS_WORDS):
        end = min(start + PASS_WORDS, last)
        for split in range(0, n_splits, TILE):
            for k in range(split - split % LANES, width, LANES):
                _add_tile(columns, start, end, split, k, counts)
