"""Plots in scikit-learn's Display convention.

The constructors ``from_...`` compute, draw and return a display. It keeps the arrays that it draws as
attributes, so that ``plot`` can draw them again, on other axes or in another style, without computing them
anew. Only drawing needs Matplotlib.
"""

from dropglm.plots.models import ConvergenceDisplay, CVSurfaceDisplay, NgramWeightsDisplay, SelectiveDisplay
from dropglm.plots.online import FisherDisplay, ProgressiveCurvesDisplay
from dropglm.plots.penalties import (
    LossExpansionDisplay,
    PenaltyCurvesDisplay,
    PenaltyPathDisplay,
    RidgeContoursDisplay,
)

__all__ = [
    "CVSurfaceDisplay",
    "ConvergenceDisplay",
    "FisherDisplay",
    "LossExpansionDisplay",
    "NgramWeightsDisplay",
    "PenaltyCurvesDisplay",
    "PenaltyPathDisplay",
    "ProgressiveCurvesDisplay",
    "RidgeContoursDisplay",
    "SelectiveDisplay",
]
