"""What a fit minimises: the loss of the labelled rows, the noise penalty of all rows, and l2."""

from dropglm.core.objective.objective import Objective, sum_of_rows
from dropglm.core.objective.terms import Block, Coefficients, Labels, penalty_scales, semi_supervised

__all__ = ["Block", "Coefficients", "Labels", "Objective", "penalty_scales", "semi_supervised", "sum_of_rows"]
