"""Multinomial naive Bayes, however its probabilities are estimated.

    log P(c | x) = log P(c) + Σ_w x_w log P(w | c) + const

This is a linear classifier and a logistic model; with two classes its weights are the differences of theirs.
"""

from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.metadata_routing import UNUSED

from dropglm import checks
from dropglm.estimators.linear_model import LinearClassifier, LogisticModel
from dropglm.estimators.validation import check_features, check_labels


class CountsClassifier(LinearClassifier):
    """Base class of linear classifiers whose features are counts, or 0 and 1 for absent and present."""

    def _checked_counts(self, X: Any, X_unlabeled: Any = None) -> tuple[Any, Any]:
        """Return X and X_unlabeled (or None), which must have the same features and no negative entry."""
        X, X_unlabeled, _ = check_features(self, X, X_unlabeled)
        for part, name in ((X, "X"), (X_unlabeled, "X_unlabeled")):
            if part is not None and _smallest(part) < 0.0:
                raise ValueError(f"Negative values in data: {name} must hold counts or frequencies.")
        return X, X_unlabeled

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn to test with counts, and not to expect good scores on other data."""
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.classifier_tags.poor_score = True
        return tags


class ClassCounts(NamedTuple):
    """The counts from which naive Bayes estimates its probabilities."""

    classes: np.ndarray
    rows: np.ndarray  # sum of the weights of each class's rows, (K,)
    words: np.ndarray  # N_cw, weighted count of word w in class c, (K, d)
    X_unlabeled: Any


class NaiveBayes(CountsClassifier, LogisticModel):
    """Base class of naive Bayes models: checks, counts and predictions. Subclasses add the estimates."""

    __metadata_request__fit: ClassVar[dict[str, Any]] = {"unlabeled_weight": UNUSED}

    def _counted(self, X: Any, y: Any, sample_weight: Any, X_unlabeled: Any) -> ClassCounts:
        """Check the input and count words and rows per class."""
        checks.positive(self.alpha, "alpha")
        X, X_unlabeled = self._checked_counts(X, X_unlabeled)
        classes, y = check_labels(self, y, X.shape[0])
        weights = checks.weights(sample_weight, X.shape[0])
        checks.some_weight(weights)
        indicators = (y[:, None] == np.arange(len(classes))) * weights[:, None]
        rows = indicators.sum(axis=0)
        if not rows.all():
            raise ValueError(
                f"Every row of class {classes[rows.argmin()]} has sample_weight 0; leave these rows out of X."
            )
        return ClassCounts(classes, rows, sums(X, indicators), X_unlabeled)

    def _store(self, classes: np.ndarray, class_log_prior: np.ndarray, feature_log_prob: np.ndarray) -> None:
        """Set the fitted attributes."""
        self.classes_ = classes
        self.class_log_prior_, self.feature_log_prob_ = class_log_prior, feature_log_prob
        two = len(classes) == 2
        self.coef_ = np.diff(feature_log_prob, axis=0) if two else feature_log_prob
        self.intercept_ = np.diff(class_log_prior) if two else class_log_prior
        self.multi_class_ = "multinomial"


def sums(X: Any, weights: np.ndarray) -> np.ndarray:
    """Return Σ_i weights_ic x_iw in float64, whatever the type of X; (K, d)."""
    return np.asarray(X.T @ weights).T


def _smallest(X: Any) -> float:
    entries = X.data if sparse.issparse(X) else X
    return float(entries.min()) if entries.size else 0.0
