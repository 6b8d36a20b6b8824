"""The estimators: scikit-learn's interface around the mathematics. No formula is defined here."""

from typing import TYPE_CHECKING

from dropglm.lazy import lazy_names

if TYPE_CHECKING:
    from dropglm.estimators.block_transformer import BlockTransformer
    from dropglm.estimators.logistic import LogisticRegression
    from dropglm.estimators.logistic_cv import LogisticRegressionCV
    from dropglm.estimators.online_logistic import OnlineLogisticRegression
    from dropglm.estimators.regression import GeneralizedLinearRegressor, LinearRegression, PoissonRegressor

__all__ = [
    "BlockTransformer",
    "GeneralizedLinearRegressor",
    "LinearRegression",
    "LogisticRegression",
    "LogisticRegressionCV",
    "OnlineLogisticRegression",
    "PoissonRegressor",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "block_transformer": ("BlockTransformer",),
        "logistic": ("LogisticRegression",),
        "logistic_cv": ("LogisticRegressionCV",),
        "online_logistic": ("OnlineLogisticRegression",),
        "regression": ("GeneralizedLinearRegressor", "LinearRegression", "PoissonRegressor"),
    },
)
