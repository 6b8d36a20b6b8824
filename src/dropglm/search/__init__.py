"""Cross-validation: which settings win, how predictors are blended, and the estimator that searches."""

from typing import TYPE_CHECKING

from dropglm.base.imports import lazy_names

if TYPE_CHECKING:
    from dropglm.search.logistic_cv import LogisticRegressionCV

__all__ = ["LogisticRegressionCV"]

__getattr__, __dir__ = lazy_names(__name__, {"logistic_cv": ("LogisticRegressionCV",)})
