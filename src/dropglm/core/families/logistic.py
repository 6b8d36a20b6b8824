"""The Bernoulli distribution with p = 1 / (1 + e^-η): A(η) = log(1 + e^η).

Every formula uses e = exp(-|η|) <= 1, so nothing overflows and both tails are accurate.
"""

import numpy as np

from dropglm.base.errors import InputError
from dropglm.core.families.base import Family, y_log_y


class Logistic(Family):
    """Logistic regression, y in {0, 1}.

    See Also
    --------
    Family : The interface.

    Examples
    --------
    >>> import numpy as np
    >>> from dropglm.core.families import Logistic
    >>> Logistic.mean(np.array([-800.0, 0.0, 800.0]))
    array([0. , 0.5, 1. ])
    """

    @staticmethod
    def log_partition(eta: np.ndarray) -> np.ndarray:
        """``A(η) = log(1 + e^η) = max(η, 0) + log(1 + e^-|η|)``."""
        return np.maximum(eta, 0.0) + np.log1p(np.exp(-np.abs(eta)))

    @staticmethod
    def mean(eta: np.ndarray) -> np.ndarray:
        """``A'(η) = p = e^min(η, 0) / (1 + e^-|η|)``."""
        return np.exp(np.minimum(eta, 0.0)) / (1.0 + np.exp(-np.abs(eta)))

    @staticmethod
    def variance(eta: np.ndarray) -> np.ndarray:
        """A''(η) = p (1 - p) = e / (1 + e)²."""
        e = np.exp(-np.abs(eta))
        return e / (1.0 + e) ** 2

    @staticmethod
    def third_cumulant(eta: np.ndarray) -> np.ndarray:
        """A'''(η) = p (1 - p) (1 - 2p) = -A''(η) tanh(η/2)."""
        return -Logistic.variance(eta) * np.tanh(0.5 * eta)

    @staticmethod
    def natural_parameter(mean: np.ndarray) -> np.ndarray:
        """η = log(p / (1 - p))."""
        if not ((mean > 0.0) & (mean < 1.0)).all():
            raise InputError(
                f"Probabilities must be strictly between 0 and 1, got {np.ravel(mean).tolist()}."
            )
        return np.log(mean) - np.log1p(-mean)

    @staticmethod
    def conjugate(y: np.ndarray) -> np.ndarray:
        """A*(y) = y log y + (1 - y) log(1 - y), which is 0 for y in {0, 1}."""
        return y_log_y(y) + y_log_y(1.0 - y)

    @staticmethod
    def sample(eta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return samples of y in {0, 1}, with P(y = 1) = p."""
        return (rng.random(np.shape(eta)) < Logistic.mean(eta)).astype(np.int64)
