"""Minimisers of smooth functions; what the function is about they do not know."""

from dropglm.solvers.base import Callback, Function, History, Result, Status
from dropglm.solvers.lbfgs import LBFGS

__all__ = ["LBFGS", "Callback", "Function", "History", "Result", "Status"]
