"""Interpretable classification trees that look ahead, on bit-packed rows."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from foretree._collector import paused, set_aside

if TYPE_CHECKING:
    from foretree.encode import SplitEncoder
    from foretree.estimators import LookaheadTreeClassifier
    from foretree.export import export_text

__all__ = ["LookaheadTreeClassifier", "SplitEncoder", "export_text"]
__version__ = "0.1.0.dev0"

# scikit-learn's base alone takes a second to import, so each name is fetched from its home when first asked for:
# `import foretree`, and the command line's help, take a hundredth of that.
_HOMES = {
    "LookaheadTreeClassifier": "foretree.estimators",
    "SplitEncoder": "foretree.encode",
    "export_text": "foretree.export",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'foretree' has no attribute {name!r}; it offers {', '.join(__all__)}.")
    with paused():
        found = globals()[name] = getattr(import_module(_HOMES[name]), name)
    set_aside()
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
