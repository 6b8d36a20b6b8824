"""Generalized linear models with dropout and other feature noise integrated out."""

from importlib.metadata import version

from dropglm.datasets import load_dataset
from dropglm.estimators import LinearRegression, LogisticRegression, LogisticRegressionCV, PoissonRegressor
from dropglm.noising import noising_penalty
from dropglm.text import NgramVectorizer, TextClassifier

__version__ = version("dropglm")

__all__ = [
    "LinearRegression",
    "LogisticRegression",
    "LogisticRegressionCV",
    "NgramVectorizer",
    "PoissonRegressor",
    "TextClassifier",
    "__version__",
    "load_dataset",
    "noising_penalty",
]
