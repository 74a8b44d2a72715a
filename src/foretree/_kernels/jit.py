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


def for_callables(function: F) -> F:
    """Compile `function` anew for every compiled function it is given; Numba cannot keep such code on disk."""
    compiled: F = numba.njit(nogil=True, error_model="numpy")(function)
    return compiled


def is_ready(dispatcher: Any) -> bool:
    """Tell whether a kernel is compiled in this process or on disk, as far as can be seen."""
    if dispatcher.signatures:
        return True
    file = getattr(dispatcher._cache, "_cache_file", None)
    return file is not None and Path(file._index_path).exists()


def _compiled(function: F, for_python: bool) -> F:
    compiled: F = numba.njit(
        cache=True,
        nogil=True,
        error_model="numpy",
        no_cfunc_wrapper=True,
        no_cpython_wrapper=not for_python,
    )(function)
    _name_by_all_sources(compiled)
    return compiled


def _name_by_all_sources(dispatcher: Any) -> None:
    """Name the cached code of a kernel after all kernels' sources.

    Numba dates a cached function by its own file alone, so that a caller would keep the old code of
    a callee from another file, and an index that names a type which is gone cannot even be read.
    Where these private names of Numba's are gone, nothing is cached on disk.
    """
    try:
        file = dispatcher._cache._cache_file
        name = f"{file._index_name.removesuffix('.nbi')}-{_SOURCES[:12]}"
        file._index_name = f"{name}.nbi"
        file._index_path = str(Path(file._cache_path) / file._index_name)
        file._data_name_pattern = name + ".{number:d}.nbc"
        file._source_stamp = _SOURCES
    except AttributeError:
        from numba.core.caching import NullCache

        dispatcher._cache = NullCache()
