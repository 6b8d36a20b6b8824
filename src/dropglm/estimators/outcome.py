"""The results of a candidate of a search."""

from typing import Any, NamedTuple, Self

import numpy as np

from dropglm.estimators.blend import Blend
from dropglm.estimators.paths import Fit


class Outcome(NamedTuple):
    """The results of a candidate: its fits, how they are blended, and the scores by fold.

    A candidate that has dropped out has fits to the first folds only; its scores of the others are NaN.
    """

    fits: tuple[Fit, ...]
    blend: Blend
    eta: Any  # blended predictors of the held-out rows of these folds, wherever they are
    scores: np.ndarray
    row_scores: Any = None  # of the same rows, if the score is a mean over rows

    def without_coefficients(self) -> Self:
        """Return the outcome without the coefficients of its fits, which need memory."""
        return self._replace(fits=tuple(fit._replace(by_problem=()) for fit in self.fits))
