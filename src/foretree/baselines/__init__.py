"""The mixed-integer trees that the paper compares with, on open solvers."""

from foretree.baselines.estimators import BendersOCTClassifier, BinOCTClassifier, FlowOCTClassifier

__all__ = ["BendersOCTClassifier", "BinOCTClassifier", "FlowOCTClassifier"]
