"""Wishes about a tree as small frozen objects.

Some a node keeps alone: they are masks on its costs, and the closed form stays. Others bound a sum over the
leaves, or what the asked columns cost together: the open nodes of a level are then solved together.
"""

from foretree.constraints.budgets import AcquisitionCost, FeatureBudget
from foretree.constraints.couplings import (
    EqualizedOddsGap,
    EqualOpportunityGap,
    ParityGap,
    PrecisionFloor,
    RecallFloor,
)
from foretree.constraints.masks import Forbidden, ForcedRoot, Interaction, Monotone
from foretree.constraints.place import Constraint
from foretree.constraints.reading import InfeasibleConstraintsError

__all__ = [
    "AcquisitionCost",
    "Constraint",
    "EqualOpportunityGap",
    "EqualizedOddsGap",
    "FeatureBudget",
    "Forbidden",
    "ForcedRoot",
    "InfeasibleConstraintsError",
    "Interaction",
    "Monotone",
    "ParityGap",
    "PrecisionFloor",
    "RecallFloor",
]
