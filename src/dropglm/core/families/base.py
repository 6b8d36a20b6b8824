"""The interface of a family: A and its derivatives at the natural parameter η, and samples of y.

p(y | η) = h(y) exp(y η - A(η)), so A' is the mean of y, A'' its variance and A''' its third cumulant. The
methods are pure functions of arrays; a family depends on neither the features nor the noise.
"""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np


class Family(ABC):
    """An exponential family; elementwise, or over the last axis of η for a family with K classes.

    See Also
    --------
    dropglm.linear.GeneralizedLinearRegressor : Fits a family of your own.

    Examples
    --------
    >>> from dropglm.core.families import FAMILIES
    >>> sorted(FAMILIES)
    ['linear', 'logistic', 'multinomial', 'poisson']
    """

    several: ClassVar[bool] = False  # whether η has K entries per row

    @classmethod
    def name(cls) -> str:
        """Return the family's name, for messages."""
        return cls.__name__.lower()

    @staticmethod
    @abstractmethod
    def log_partition(eta: np.ndarray) -> np.ndarray:
        """Return A(η).

        Parameters
        ----------
        eta : ndarray of shape (…) or (…, K)
            Natural parameters η.

        Returns
        -------
        ndarray of shape (…)
            The log-partition function.
        """

    @staticmethod
    @abstractmethod
    def mean(eta: np.ndarray) -> np.ndarray:
        """Return A'(η), the mean of y.

        Parameters
        ----------
        eta : ndarray of shape (…) or (…, K)
            Natural parameters η.

        Returns
        -------
        ndarray, shape of eta
            Means.
        """

    @staticmethod
    @abstractmethod
    def variance(eta: np.ndarray) -> np.ndarray:
        """Return A''(η), the variance of y.

        Parameters
        ----------
        eta : ndarray of shape (…) or (…, K)
            Natural parameters η.

        Returns
        -------
        ndarray, shape of eta, or (…, K, K)
            Variances.
        """

    @staticmethod
    @abstractmethod
    def third_cumulant(eta: np.ndarray) -> np.ndarray:
        """Return A'''(η), the third cumulant of y.

        Parameters
        ----------
        eta : ndarray of shape (…) or (…, K)
            Natural parameters η.

        Returns
        -------
        ndarray, shape of eta
            Third cumulants.
        """

    @classmethod
    def own_variance(cls, eta: np.ndarray) -> np.ndarray:
        """Return the diagonal of A''(η) where it is a matrix, else A''(η).

        Parameters
        ----------
        eta : ndarray of shape (…) or (…, K)
            Natural parameters η.

        Returns
        -------
        ndarray, shape of eta
            Variances.
        """
        return cls.variance(eta)

    @staticmethod
    @abstractmethod
    def natural_parameter(mean: np.ndarray) -> np.ndarray:
        """Return η with A'(η) = mean.

        Parameters
        ----------
        mean : ndarray
            Means, inside the range of A'.

        Returns
        -------
        ndarray, shape of mean
            Natural parameters.
        """

    @staticmethod
    @abstractmethod
    def conjugate(y: np.ndarray) -> np.ndarray:
        """Return A*(y) = sup_η yη - A(η), which makes the loss A(η) - yη + A*(y) of a perfect fit 0.

        Parameters
        ----------
        y : ndarray
            Targets.

        Returns
        -------
        ndarray of shape (…)
            The conjugate.
        """

    @staticmethod
    @abstractmethod
    def sample(eta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return samples of y given η.

        Parameters
        ----------
        eta : ndarray of shape (…) or (…, K)
            Natural parameters η.
        rng : Generator
            NumPy's random generator.

        Returns
        -------
        ndarray
            One y per row.
        """


def y_log_y(y: np.ndarray) -> np.ndarray:
    """Return y log y, which is 0 at 0 and NaN for negative y.

    Examples
    --------
    >>> y_log_y(np.array([0.0, 1.0, np.e]))
    array([0.        , 0.        , 2.71828183])
    """
    # As scipy.special.xlogy(y, y), without importing SciPy's functions
    with np.errstate(invalid="ignore"):
        return y * np.log(np.where(np.equal(y, 0.0), 1.0, y))
