"""What classifiers share: labels become classes, classes one problem or several, predictors predictions."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from dropglm import checks
from dropglm.estimators.base import LinearModel
from dropglm.estimators.features import Features
from dropglm.estimators.problem import Problem
from dropglm.families import Logistic, Multinomial
from dropglm.penalties import PENALTIES
from dropglm.registry import lookup

# Whether several classes are fitted in one model; "auto" asks the penalty.
MULTI_CLASS = {"auto": None, "multinomial": True, "ovr": False}


class Checked(NamedTuple):
    """What a fit was given, after the checks."""

    X: Any
    classes: np.ndarray
    y: np.ndarray  # numbers of the classes
    sample_weights: np.ndarray
    weights: np.ndarray  # those, times the weights of the classes
    X_unlabeled: Any
    unlabeled_weights: np.ndarray | None


class LinearClassifier(ClassifierMixin, LinearModel):
    """Labels of any type, and the classes that ``coef_``, ``intercept_`` and ``classes_`` predict."""

    def _checked_labels(self, y: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
        """The classes, and the number of each row's."""
        y = self._checked_target(y, n)
        if checks.missing(y) is not None:
            raise ValueError(
                "Input y contains NaN, None or infinity; give rows without labels as X_unlabeled."
            )
        check_classification_targets(y)
        classes, numbers = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"y has one class only, {classes[0]}; a classifier needs at least 2 classes in the data."
            )
        return classes, numbers

    def decision_function(self, X: Any) -> np.ndarray:
        """The predictors Xβ + b; (n,) for two classes, where it speaks for the second, else (n, K)."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        """The class that is most likely; (n,)."""
        scores = self._scores(X)
        return self.classes_[self._best(scores)]

    @staticmethod
    def _best(scores: np.ndarray) -> np.ndarray:
        """The number of the class with the largest predictor; (n,)."""
        return (scores[:, 0] > 0).astype(np.intp) if scores.shape[1] == 1 else scores.argmax(axis=1)


class LogisticModel(LinearClassifier):
    """Checks of a logistic model's input, and its probabilities."""

    def _checked(
        self, X: Any, y: Any, sample_weight: Any, X_unlabeled: Any, unlabeled_weight: Any
    ) -> Checked:
        """The input, checked."""
        lookup(MULTI_CLASS, self.multi_class, "multi_class")
        lookup(PENALTIES, self.expectation, "expectation")
        X, X_unlabeled, unlabeled_weights = self._checked_features(X, X_unlabeled, unlabeled_weight)
        n = X.shape[0]
        classes, y = self._checked_labels(y, n)
        sample_weights = checks.weights(sample_weight, n)
        checks.some_weight(sample_weights)
        weights = sample_weights * self._class_weights(classes, y, sample_weights)[y]
        by_class = np.bincount(y, weights)
        if not by_class.all():
            raise ValueError(
                f"No row of class {classes[by_class.argmin()]} has a weight above 0; leave its rows out."
            )
        return Checked(X, classes, y, sample_weights, weights, X_unlabeled, unlabeled_weights)

    def _class_weights(self, classes: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The factor of each class."""
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            by_class = np.bincount(y, weights)
            return weights.sum() / (len(by_class) * np.where(by_class > 0, by_class, np.inf))
        factors = compute_class_weight(self.class_weight, classes=classes, y=classes[y])
        if not (np.isfinite(factors).all() and (factors >= 0).all()):
            raise ValueError(f"class_weight must be finite and not negative, got {self.class_weight}.")
        return factors

    def _problems(self, data: Checked, features: Features, *, noisy: bool) -> list[Problem]:
        """One problem for two classes or a multinomial model, else one for each class against the rest."""
        K = len(data.classes)
        indicators = (data.y[:, None] == np.arange(K)).astype(np.float64)
        joint = MULTI_CLASS[self.multi_class]
        if joint is None:
            # Without noise there is no penalty that could be missing.
            joint = not noisy or "multinomial" in PENALTIES[self.expectation]
        if K == 2:
            targets = [indicators[:, [1]]]
        else:
            targets = [indicators] if joint else [indicators[:, [k]] for k in range(K)]
        self.multi_class_ = "multinomial" if targets[0].shape[1] > 1 else "ovr"
        family = Multinomial if self.multi_class_ == "multinomial" else Logistic
        rest = data.weights, data.unlabeled_weights, bool(self.fit_intercept), True
        return [Problem(features, family, y, *rest) for y in targets]

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class; (n, K).

        Of several classes one against the rest each has a probability of its own, scaled to sum to 1.
        """
        scores = self._scores(X)
        if scores.shape[1] == 1:
            return np.hstack([Logistic.mean(-scores), Logistic.mean(scores)])
        if self.multi_class_ == "multinomial":
            return Multinomial.mean(scores)
        # p_k / Σ p, which also stands predictors so low that every p_k is 0
        return Multinomial.mean(-Logistic.log_partition(-scores))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """The logarithm of ``predict_proba``; (n, K)."""
        scores = self._scores(X)
        if scores.shape[1] == 1:
            return -np.hstack([Logistic.log_partition(scores), Logistic.log_partition(-scores)])
        if self.multi_class_ == "multinomial":
            return scores - Multinomial.log_partition(scores)[:, None]
        log_p = -Logistic.log_partition(-scores)
        return log_p - Multinomial.log_partition(log_p)[:, None]
