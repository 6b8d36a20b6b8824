"""The estimators of dropglm on a Dask cluster."""

from dropglm.extras import import_extra

import_extra("distributed", "dask", "dropglm.dask needs")

from dropglm.dask.linear import LinearRegression, LogisticRegression, PoissonRegressor  # noqa: E402
from dropglm.dask.logistic_cv import LogisticRegressionCV  # noqa: E402
from dropglm.dask.text import TextClassifier  # noqa: E402

__all__ = [
    "LinearRegression",
    "LogisticRegression",
    "LogisticRegressionCV",
    "PoissonRegressor",
    "TextClassifier",
]
