"""The scikit-learn front: checks, labels and wiring. No formula lives here."""

from dropglm.estimators.classifier import LogisticRegression
from dropglm.estimators.cv import LogisticRegressionCV
from dropglm.estimators.online_logistic import OnlineLogisticRegression
from dropglm.estimators.regressor import LinearRegression, PoissonRegressor

__all__ = [
    "LinearRegression",
    "LogisticRegression",
    "LogisticRegressionCV",
    "OnlineLogisticRegression",
    "PoissonRegressor",
]
