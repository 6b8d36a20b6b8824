"""What a fit minimises: the loss of the labelled rows, the noise penalty of all rows, and l2."""

from dropglm.objective.objective import Line, Objective, Point, sum_of_rows
from dropglm.objective.terms import Block, Coefficients, Labels, penalty_factors, semi_supervised

__all__ = [
    "Block",
    "Coefficients",
    "Labels",
    "Line",
    "Objective",
    "Point",
    "penalty_factors",
    "semi_supervised",
    "sum_of_rows",
]
