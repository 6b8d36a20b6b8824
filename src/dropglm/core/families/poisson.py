"""The Poisson distribution with mean e^η: A(η) = e^η, and so are all its derivatives.

Beyond η = 709.78 the mean exceeds float64, and the functions return infinity without a warning; callers
decide what to do about it.
"""

import numpy as np

from dropglm.core.families.base import Family, y_log_y


class Poisson(Family):
    """Poisson regression, y = 0, 1, 2 and so on.

    See Also
    --------
    Family : The interface.

    Examples
    --------
    >>> import numpy as np
    >>> from dropglm.core.families import Poisson
    >>> Poisson.variance(np.array([0.0]))
    array([1.])
    """

    @staticmethod
    def log_partition(eta: np.ndarray) -> np.ndarray:
        """A(η) = e^η."""
        with np.errstate(over="ignore"):
            return np.exp(eta)

    # e^η is its own derivative.
    mean = variance = third_cumulant = log_partition

    @staticmethod
    def natural_parameter(mean: np.ndarray) -> np.ndarray:
        """η = log mean."""
        return np.log(mean)

    @staticmethod
    def conjugate(y: np.ndarray) -> np.ndarray:
        """A*(y) = y log y - y."""
        return y_log_y(y) - y

    @staticmethod
    def sample(eta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return samples of y ~ Poisson(e^η)."""
        return rng.poisson(Poisson.mean(eta))
