"""Interpretable classification trees that look ahead, on bit-packed rows."""

__version__ = "0.1.0.dev0"
