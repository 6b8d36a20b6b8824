"""The estimators for matrices, batch and online: scikit-learn's interface around ``core``."""

from typing import TYPE_CHECKING

from dropglm.base.imports import lazy_names

if TYPE_CHECKING:
    from dropglm.linear.block_transformer import BlockTransformer
    from dropglm.linear.latent_features import LatentFeatures
    from dropglm.linear.logistic import LogisticRegression
    from dropglm.linear.online_logistic import OnlineLogisticRegression
    from dropglm.linear.regression import GeneralizedLinearRegressor, LinearRegression, PoissonRegressor

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
        "block_transformer": ("BlockTransformer",),
        "latent_features": ("LatentFeatures",),
        "logistic": ("LogisticRegression",),
        "online_logistic": ("OnlineLogisticRegression",),
        "regression": ("GeneralizedLinearRegressor", "LinearRegression", "PoissonRegressor"),
    },
)
