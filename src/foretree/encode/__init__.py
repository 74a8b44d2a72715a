"""From tables to named yes/no questions and packed answers."""

from foretree.encode.encoder import NoSplitError, SplitEncoder
from foretree.encode.packed import PackedRows, unpack
from foretree.encode.splits import Split, value_text

__all__ = ["NoSplitError", "PackedRows", "Split", "SplitEncoder", "unpack", "value_text"]
