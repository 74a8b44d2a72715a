"""The paper's formulations as linear and mixed-integer programs."""

from foretree.mio.oct2 import oct2
from foretree.mio.oct3 import Plan3, oct3

__all__ = ["Plan3", "oct2", "oct3"]
