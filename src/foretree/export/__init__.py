"""Trees in other words: text."""

from foretree.export.text import export_text

__all__ = ["export_text"]
