"""The paper's formulations as linear and mixed-integer programs."""

from foretree.mio.blocks import Block, LabelledPlan, Together
from foretree.mio.coupled import coupled
from foretree.mio.oct2 import oct2
from foretree.mio.oct3 import Plan3, oct3
from foretree.mio.pairs import pair_solver
from foretree.mio.pricing import PairSource, Priced, TableSource, priced_oct2

__all__ = [
    "Block",
    "LabelledPlan",
    "PairSource",
    "Plan3",
    "Priced",
    "TableSource",
    "Together",
    "coupled",
    "oct2",
    "oct3",
    "pair_solver",
    "priced_oct2",
]
