"""The estimators for matrices, batch and online: scikit-learn's interface around ``core``.

``fit`` checks the data (``validation``), asks ``places`` for the rows, builds the problem and solves it
(``logistic``, ``regression``). ``base`` has what all of them share: predictions, checks and callbacks.
"""

from typing import TYPE_CHECKING

from dropglm.base.imports import lazy_names

if TYPE_CHECKING:
    from dropglm.linear.logistic import LogisticRegression
    from dropglm.linear.online_logistic import OnlineLogisticRegression
    from dropglm.linear.regression import GeneralizedLinearRegressor, LinearRegression, PoissonRegressor
    from dropglm.linear.transformers import BlockTransformer, LatentFeatures

__all__ = [
    "BlockTransformer",
    "GeneralizedLinearRegressor",
    "LatentFeatures",
    "LinearRegression",
    "LogisticRegression",
    "OnlineLogisticRegression",
    "PoissonRegressor",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "logistic": ("LogisticRegression",),
        "online_logistic": ("OnlineLogisticRegression",),
        "transformers": ("BlockTransformer", "LatentFeatures"),
        "regression": ("GeneralizedLinearRegressor", "LinearRegression", "PoissonRegressor"),
    },
)
