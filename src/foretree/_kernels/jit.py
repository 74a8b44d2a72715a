"""The one way kernels are compiled."""

from collections.abc import Callable
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile `function` without the interpreter, cached on disk and free of the GIL."""
    compiled: F = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    return compiled


def inlined(function: F) -> F:
    """Compile a small `function` into its callers."""
    compiled: F = numba.njit(cache=True, nogil=True, error_model="numpy", inline="always")(function)
    return compiled
