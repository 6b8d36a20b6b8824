"""Predictions of an online text model, and what its state says about it."""

from typing import Any

import numpy as np

from dropglm import checks
from dropglm.estimators.online_model import OnlineModel
from dropglm.text.hashed_features import HashedFeatures
from dropglm.text.online_summary import OnlineSummary
from dropglm.text.predictions import TextPredictions


class OnlinePredictions(TextPredictions):
    """Predictions of a text model whose ``model_`` is an ``OnlineModel``."""

    def _feature_scale(self, vectorizer: Any, model: Any) -> np.ndarray:
        """Return √s_j for hashed n-grams, whose frequencies are not counted.

        The sum s_j is close to the information that the texts hold about a weight, so the weight times √s_j
        is its distance from 0 in standard errors. A rule with the same step size for all n-grams gives the
        largest weights to frequent ones, so they need no scale.
        """
        if not isinstance(vectorizer, HashedFeatures):
            return super()._feature_scale(vectorizer, model)
        return np.ones(1) if model._unchanged_rule().same_metric_for_all() else np.sqrt(model.sums_)

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
