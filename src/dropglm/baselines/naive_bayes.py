"""Multinomial naive Bayes, however its probabilities were estimated.

    log P(c | x) = log P(c) + Σ_w x_w log P(w | c) + const

A linear classifier, and a logistic model with these weights: two classes have the difference of theirs.
"""

from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils.metadata_routing import UNUSED

from dropglm import checks
from dropglm.baselines.counts import CountsClassifier
from dropglm.estimators.logistic_model import LogisticModel


class Counted(NamedTuple):
    """What naive Bayes needs to know of its rows."""

    classes: np.ndarray
    rows: np.ndarray  # labelled rows of each class, (K,)
    words: np.ndarray  # N_cw, how often each class has each word, (K, d)
    X_unlabeled: Any


class NaiveBayes(CountsClassifier, LogisticModel):
    """Checks, counts and predictions; an estimator adds its estimates."""

    __metadata_request__fit: ClassVar[dict[str, Any]] = {"unlabeled_weight": UNUSED}

    def _counted(self, X: Any, y: Any, X_unlabeled: Any) -> Counted:
        """The input, checked and counted."""
        checks.positive(self.alpha, "alpha")
        X, X_unlabeled = self._checked_counts(X, X_unlabeled)
        classes, y = self._checked_labels(y, X.shape[0])
        indicators = (y[:, None] == np.arange(len(classes))).astype(np.float64)
        return Counted(classes, indicators.sum(axis=0), sums(X, indicators), X_unlabeled)

    def _keep(self, classes: np.ndarray, class_log_prior: np.ndarray, feature_log_prob: np.ndarray) -> None:
        """Become fitted."""
        self.classes_ = classes
        self.class_log_prior_, self.feature_log_prob_ = class_log_prior, feature_log_prob
        two = len(classes) == 2
        self.coef_ = np.diff(feature_log_prob, axis=0) if two else feature_log_prob
        self.intercept_ = np.diff(class_log_prior) if two else class_log_prior
        self.multi_class_ = "multinomial"


def sums(X: Any, weights: np.ndarray) -> np.ndarray:
    """Σ_i weights_ic x_iw, in float64 whatever X is; (K, d)."""
    return np.asarray(X.T @ weights).T
