"""Fits to rows in partitions, wherever these are: the same sums over rows, added up by an engine."""

from dropglm.partitions.engine import Engine, SerialEngine
from dropglm.partitions.fitting import fit_logistic, fit_logistic_cv, fit_regression
from dropglm.partitions.out_of_core import fit
from dropglm.partitions.rows import Rows

__all__ = ["Engine", "Rows", "SerialEngine", "fit", "fit_logistic", "fit_logistic_cv", "fit_regression"]
