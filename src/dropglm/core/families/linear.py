"""The normal distribution with unit variance: A(η) = ½ η²."""

import numpy as np

from dropglm.core.families.base import Family


class Linear(Family):
    """Linear regression, y ~ N(η, 1).

    See Also
    --------
    Family : The interface.

    Examples
    --------
    >>> import numpy as np
    >>> from dropglm.core.families import Linear
    >>> Linear.log_partition(np.array([2.0]))
    array([2.])
    """

    @staticmethod
    def log_partition(eta: np.ndarray) -> np.ndarray:
        """A(η) = ½ η²."""
        return 0.5 * eta * eta

    @staticmethod
    def mean(eta: np.ndarray) -> np.ndarray:
        """A'(η) = η."""
        return eta

    @staticmethod
    def variance(eta: np.ndarray) -> np.ndarray:
        """A''(η) = 1."""
        return np.ones_like(eta)

    @staticmethod
    def third_cumulant(eta: np.ndarray) -> np.ndarray:
        """A'''(η) = 0."""
        return np.zeros_like(eta)

    @staticmethod
    def natural_parameter(mean: np.ndarray) -> np.ndarray:
        """η = mean."""
        return mean

    @staticmethod
    def conjugate(y: np.ndarray) -> np.ndarray:
        """A*(y) = ½ y², which makes the loss ½ (y - η)²."""
        return 0.5 * y * y

    @staticmethod
    def sample(eta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return samples of y ~ N(η, 1)."""
        return rng.normal(eta)
