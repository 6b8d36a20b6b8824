"""What a fit minimises: loss of the labelled rows, noising penalty of all rows, ridge."""

from dropglm.objective.objective import Line, Objective, Point, mean_row
from dropglm.objective.terms import Block, Coefficients, Labels, semi_supervised

__all__ = ["Block", "Coefficients", "Labels", "Line", "Objective", "Point", "mean_row", "semi_supervised"]
