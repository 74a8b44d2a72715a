"""Interpretable classification trees that look ahead, on bit-packed rows."""

from foretree.encode import SplitEncoder
from foretree.estimators import LookaheadTreeClassifier
from foretree.export import export_text

__all__ = ["LookaheadTreeClassifier", "SplitEncoder", "export_text"]
__version__ = "0.1.0.dev0"
