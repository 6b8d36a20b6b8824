"""Plots in scikit-learn's Display convention, one display per file.

The constructors ``from_...`` compute, draw and return a display. It keeps the arrays that it draws as
attributes, so that ``plot`` can draw them again, on other axes or in another style, without computing them
anew. Only drawing needs Matplotlib.
"""

from dropglm.plots.convergence import ConvergenceDisplay
from dropglm.plots.cv_surface import CVSurfaceDisplay
from dropglm.plots.fisher import FisherDisplay
from dropglm.plots.loss_expansion import LossExpansionDisplay
from dropglm.plots.ngram_weights import NgramWeightsDisplay
from dropglm.plots.penalty_curves import PenaltyCurvesDisplay
from dropglm.plots.penalty_path import PenaltyPathDisplay
from dropglm.plots.progressive_curves import ProgressiveCurvesDisplay
from dropglm.plots.ridge_contours import RidgeContoursDisplay

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
]
