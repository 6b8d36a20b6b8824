"""The estimators of dropglm on a Dask cluster.

The seam is ``places.partitions.Engine``: ``DaskEngine`` (``engine``) has its two verbs, ``keep`` and
``total``, on futures of Dask, and ``partitions`` turns collections and files into parts for it. All else is
that of rows in partitions anywhere (``places.partitions.rows``) and of the local estimators, from which those
here inherit.
"""

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
