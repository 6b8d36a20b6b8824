"""What baselines for counts share: features that are not negative."""

from typing import Any

from scipy import sparse

from dropglm.estimators.logistic_model import LinearClassifier


class CountsClassifier(LinearClassifier):
    """A linear classifier whose features count something, or tell that it is there."""

    def _checked_counts(self, X: Any, X_unlabeled: Any = None) -> tuple[Any, Any]:
        """X and X_unlabeled, or None, over the same features and without a negative entry."""
        X, X_unlabeled, _ = self._checked_features(X, X_unlabeled, None)
        for part, name in ((X, "X"), (X_unlabeled, "X_unlabeled")):
            if part is not None and _smallest(part) < 0.0:
                raise ValueError(f"Negative values in data: {name} must hold counts or frequencies.")
        return X, X_unlabeled

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn may expect: no good score where the features are no counts."""
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.classifier_tags.poor_score = True
        return tags


def _smallest(X: Any) -> float:
    entries = X.data if sparse.issparse(X) else X
    return float(entries.min()) if entries.size else 0.0
