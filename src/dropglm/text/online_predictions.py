"""Predictions of an online text model, and what its state says about it."""

from typing import Any

import numpy as np

from dropglm import checks
from dropglm.estimators.online_model import OnlineModel
from dropglm.estimators.predictions import FittedLogistic
from dropglm.online.kernels import SUM
from dropglm.text.hashed_features import HashedFeatures
from dropglm.text.predictions import TextPredictions
from dropglm.text.summary import OnlineSummary
from dropglm.text.top_ngrams import NgramWeight, top_ngrams


class OnlinePredictions(TextPredictions):
    """Predictions of a text model whose ``model_`` is an ``OnlineModel``."""

    def top_features(self, k: int = 10) -> dict[Any, list[NgramWeight]]:  # noqa: D102 (inherited)
        vectorizer, model = self._fitted_parts()
        if not isinstance(vectorizer, HashedFeatures):
            return super().top_features(k)
        # Most hashed columns have not occurred, and are left out. The others are ranked by weight times √s_j,
        # since their frequencies are not counted: the sum s_j is close to the information that the texts hold
        # about a weight, so this is its distance from 0 in standard errors. A rule with the same step size
        # for all n-grams gives the largest weights to frequent ones, so they need no scale.
        buckets: Any = vectorizer.ngrams_
        columns = np.flatnonzero(buckets.lengths)
        fitted: Any = model
        part = FittedLogistic(
            fitted.classes_, fitted._coefficients_at(columns), fitted.intercept_, "ovr", len(columns)
        )
        alike = fitted._unchanged_rule().same_metric_for_all()
        scale = np.ones(1) if alike else np.sqrt(fitted._state.cells[:, columns, SUM])
        return top_ngrams(lambda chosen: buckets.names(columns[chosen]), part, np.ones(1), scale, k)

    def _fitted_model(self) -> OnlineModel:
        checks.fitted(self, "model_")
        model: OnlineModel = self.model_
        return model

    @property
    def t_(self) -> int:
        """Number of steps taken."""
        return self._fitted_model().t_

    @property
    def progressive_accuracy_(self) -> float:
        """Accuracy of the predictions that were made for each text before learning from it."""
        return self._fitted_model().progressive_accuracy_

    @property
    def progressive_log_loss_(self) -> float:
        """Log loss of the same predictions, summed over the one-versus-rest problems."""
        return self._fitted_model().progressive_log_loss_

    @property
    def summary_(self) -> OnlineSummary:
        """The data, the settings and the progressive scores."""
        checks.fitted(self, "model_")
        return OnlineSummary.of(self)
