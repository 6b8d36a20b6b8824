"""Minimisers of smooth functions, independent of what the function represents."""

from dropglm.core.solvers.base import Callback, Function, History, Result, Status, Store
from dropglm.core.solvers.lbfgs import LBFGS

__all__ = ["LBFGS", "Callback", "Function", "History", "Result", "Status", "Store"]
