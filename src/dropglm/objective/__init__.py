"""What a fit minimises: the loss of the labelled rows, the noise penalty of all rows, and l2."""

from dropglm.objective.objective import Line, Objective, Point, mean_row
from dropglm.objective.terms import Block, Coefficients, Labels, semi_supervised

__all__ = ["Block", "Coefficients", "Labels", "Line", "Objective", "Point", "mean_row", "semi_supervised"]
