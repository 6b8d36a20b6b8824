"""Progressive scores: how good the predictions were that were made for each row before learning from it."""

from typing import NamedTuple

import numpy as np

from dropglm.core.families import Logistic


class ProgressiveScores(NamedTuple):
    """Running totals over all rows so far.

    Attributes
    ----------
    weight : float
        Total weight of the rows.
    correct : float
        Total weight of the rows that were predicted correctly.
    loss : float
        Weighted sum of the log losses, over the rows and the one-versus-rest problems.

    See Also
    --------
    dropglm.OnlineLogisticRegression : Reports the scores of its stream.

    Examples
    --------
    >>> import numpy as np
    >>> from dropglm.core.online import ProgressiveScores
    >>> label = np.ones((1, 1))
    >>> ProgressiveScores().add(np.zeros((1, 1)), label, np.array([True]), np.ones(1)).loss
    0.6931
    """

    weight: float = 0.0
    correct: float = 0.0
    loss: float = 0.0

    def add(
        self, eta: np.ndarray, y: np.ndarray, correct: np.ndarray, weights: np.ndarray
    ) -> "ProgressiveScores":
        """Return the totals after further rows, given their predictors and labels, both of shape (n, K)."""
        with np.errstate(over="ignore"):
            loss = (Logistic.log_partition(eta) - y * eta).sum(axis=1)
            # Added one by one: sums of chunks would be rounded differently for every size of the chunks.
            terms = np.stack([weights, weights * correct, weights * loss])
            totals = np.cumsum(np.hstack([np.array(self)[:, None], terms]), axis=1)[:, -1]
        return ProgressiveScores(*totals.tolist())

    @property
    def accuracy(self) -> float:
        """Share of correct predictions; NaN before the first row."""
        return self.correct / self.weight if self.weight else float("nan")

    @property
    def log_loss(self) -> float:
        """Mean log loss; NaN before the first row."""
        return self.loss / self.weight if self.weight else float("nan")
