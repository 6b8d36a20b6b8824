"""Base class of the estimators that take texts."""

from typing import Any

from sklearn.base import BaseEstimator


class TextEstimator(BaseEstimator):
    """An estimator whose input is a sequence of strings."""

    def __sklearn_tags__(self) -> Any:
        """Declare to scikit-learn that X holds strings and is one-dimensional."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags
