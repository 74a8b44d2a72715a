"""The one way kernels are compiled."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., Any])


def _fingerprint() -> str:
    """Return a hash of all kernels' sources."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


_SOURCES = _fingerprint()


def kernel(function: F) -> F:
    """Compile `function` without the interpreter, cached on disk and free of the GIL."""
    return _compiled(function, for_python=True)


def inner(function: F) -> F:
    """Compile `function` for other kernels alone: without the wrapper for Python it takes a third less time."""
    return _compiled(function, for_python=False)


def _compiled(function: F, for_python: bool) -> F:
    compiled: F = numba.njit(
        cache=True,
        nogil=True,
        error_model="numpy",
        no_cfunc_wrapper=True,
        no_cpython_wrapper=not for_python,
    )(function)
    _date_by_all_sources(compiled)
    return compiled


def _date_by_all_sources(dispatcher: Any) -> None:
    """Let a cached kernel be stale as soon as any kernel's source changes.

    Numba dates a cached function by its own file alone, so that a caller would keep the old code of
    a callee from another file. Where this private name of Numba's is gone, nothing is cached on disk.
    """
    try:
        dispatcher._cache._cache_file._source_stamp = _SOURCES
    except AttributeError:
        from numba.core.caching import NullCache

        dispatcher._cache = NullCache()
