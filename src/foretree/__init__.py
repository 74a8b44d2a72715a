"""Interpretable classification trees that look ahead, on bit-packed rows."""

from foretree.encode import SplitEncoder
from foretree.estimators import LookaheadTreeClassifier

__all__ = ["LookaheadTreeClassifier", "SplitEncoder"]
__version__ = "0.1.0.dev0"
