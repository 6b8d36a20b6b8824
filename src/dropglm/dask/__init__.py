"""The estimators of dropglm on a Dask cluster."""

from dropglm.base.imports import import_extra

import_extra("distributed", "dask", "dropglm.dask needs")

from dropglm.dask.linear import (  # noqa: E402
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    PoissonRegressor,
)
from dropglm.dask.text import TextClassifier  # noqa: E402

__all__ = [
    "LinearRegression",
    "LogisticRegression",
    "LogisticRegressionCV",
    "PoissonRegressor",
    "TextClassifier",
]
