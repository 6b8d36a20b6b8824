"""Generalized linear models with dropout and other feature noise integrated out."""

from importlib.metadata import version

from dropglm.estimators import LinearRegression, LogisticRegression, LogisticRegressionCV, PoissonRegressor
from dropglm.noising import noising_penalty

__version__ = version("dropglm")

__all__ = [
    "LinearRegression",
    "LogisticRegression",
    "LogisticRegressionCV",
    "PoissonRegressor",
    "__version__",
    "noising_penalty",
]
