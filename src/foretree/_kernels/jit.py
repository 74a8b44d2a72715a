"""The one way kernels are compiled."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from llvmlite.binding import Linkage, parse_assembly
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

# The names of the variables in which Numba keeps a function's environment begin so.
_ENVIRONMENT = "_ZN08NumbaEnv"
# Private names of Numba's that `_InnerLibrary` stands on; where one is gone, inner functions are compiled as others.
_STEPS = ("_optimize_final_module", "_finalize_final_module", "_get_module_for_linking")
F = TypeVar("F", bound=Callable[..., Any])


def _fingerprint() -> str:
    """Return a hash of all kernels' sources."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


_SOURCES = _fingerprint()


class _InnerLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The code of an inner function: linked into kernels, but neither optimised nor made machine code itself.

    Numba does both for every function and again for each that calls it, so that a function five calls
    deep is optimised five times: half of all compile time.
    """

    _final_module: Any

    def _optimize_final_module(self) -> None:
        """Leave it to the kernel's library, which optimises all that is linked into it."""

    def _finalize_final_module(self) -> None:
        """Keep the code for linking, and have a module made that holds nothing but what Numba looks for in it."""
        code = self._final_module
        for function in code.functions:
            if not function.is_declaration and function.linkage == Linkage.external:
                function.linkage = "linkonce_odr"
        self._shared_module = code
        environments = [each for each in code.global_variables if each.name.startswith(_ENVIRONMENT)]
        rest = parse_assembly("\n".join(str(each) for each in environments))
        rest.name, rest.triple, rest.data_layout = code.name, code.triple, code.data_layout
        self._final_module = rest
        super()._finalize_final_module()


class _InnerCompiler(Compiler):  # type: ignore[misc]
    """Numba's compiler, into an `_InnerLibrary`."""

    def define_pipelines(self) -> Any:
        """Hand Numba's own passes the library to fill."""
        self.state.library = _InnerLibrary(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        self.state.library.enable_object_caching()
        return super().define_pipelines()


def kernel(function: F) -> F:
    """Compile `function` without the interpreter, cached on disk and free of the GIL."""
    return _compiled(function, for_python=True)


def inner(function: F) -> F:
    """Compile `function` for other kernels alone: it is optimised where it ends up, in a kernel."""
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
    only_linked = not for_python and all(hasattr(JITCodeLibrary, step) for step in _STEPS)
    compiled: F = numba.njit(
        cache=True,
        nogil=True,
        error_model="numpy",
        no_cfunc_wrapper=True,
        no_cpython_wrapper=not for_python,
        **({"pipeline_class": _InnerCompiler} if only_linked else {}),
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
