"""Seconds inside kernels: the C library's own clock, which costs tens of nanoseconds a look."""

import sys
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from foretree._kernels.jit import kernel

_MONOTONIC = 6 if sys.platform == "darwin" else 1
_WINDOWS = sys.platform == "win32"


@intrinsic
def _read_clock(typingctx: Any, out: Any) -> Any:
    """Fill out[0] with seconds and out[1] with nanoseconds."""
    signature = types.void(out)

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        int32, int64 = ir.IntType(32), ir.IntType(64)
        if _WINDOWS:  # clock() is wall time in milliseconds there
            clock = cgutils.get_or_insert_function(builder.module, ir.FunctionType(int32, []), "clock")
            milliseconds = builder.sext(builder.call(clock, []), int64)
            builder.store(ir.Constant(int64, 0), data)
            nanoseconds = builder.mul(milliseconds, ir.Constant(int64, 1_000_000))
            builder.store(nanoseconds, builder.gep(data, [ir.Constant(int32, 1)]))
        else:
            kind = ir.FunctionType(int32, [int32, data.type])
            clock = cgutils.get_or_insert_function(builder.module, kind, "clock_gettime")
            builder.call(clock, [ir.Constant(int32, _MONOTONIC), data])
        return context.get_dummy_value()

    return signature, codegen


@kernel
def seconds(scratch: np.ndarray) -> float:
    """Return the seconds of a clock that never goes back; `scratch` is int64 (2,)."""
    _read_clock(scratch)
    now: float = scratch[0] + 1e-9 * scratch[1]
    return now
