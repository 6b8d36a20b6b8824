"""Fits to rows in partitions, wherever these are: the same sums over rows, added up by an engine."""

from dropglm.places.partitions.engine import Engine, SerialEngine
from dropglm.places.partitions.fitting import fit_logistic, fit_logistic_cv, fit_regression
from dropglm.places.partitions.out_of_core import fit
from dropglm.places.partitions.rows import Rows

__all__ = ["Engine", "Rows", "SerialEngine", "fit", "fit_logistic", "fit_logistic_cv", "fit_regression"]
