"""Exponential families: A and its derivatives at the natural parameter η, and samples of y.

p(y | η) = h(y) exp(y η - A(η)), so A' is the mean of y, A'' its variance and A''' its third cumulant. The
methods of a family are pure functions of arrays; a family depends on neither the features nor the noise.

Three of the families also have a compiled form at a single η (``POINTWISE_FAMILIES``), the same formulas for
loops on the CPU and on GPUs; tests compare the two. ``maths.softplus`` has log(1 + e^η) once more, by a
polynomial in place of ``log1p``: for loops that the compiler is to vectorise, where it takes a fifth of the
time.

``FAMILIES`` turns a name into a family.
"""

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from dropglm.base.errors import InputError
from dropglm.core.maths.compile import inlined

__all__ = ["FAMILIES", "Family", "Linear", "Logistic", "Multinomial", "Poisson"]


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


class Linear(Family):
    """Linear regression, y ~ N(η, 1): A(η) = ½ η².

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


class Logistic(Family):
    """Logistic regression, y in {0, 1} with p = 1 / (1 + e^-η): A(η) = log(1 + e^η).

    Every formula uses e = exp(-abs(η)) <= 1, so nothing overflows and both tails are accurate.

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


class Poisson(Family):
    """Poisson regression, y = 0, 1, 2 and so on with mean e^η: A(η) = e^η, and so are all its derivatives.

    Beyond η = 709.78 the mean exceeds float64, and the functions return infinity without a warning; callers
    decide what to do about it.

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


class Multinomial(Family):
    """Multinomial logistic regression, y in {0, …, K - 1} with p_k ∝ e^{η_k}: A(η) = log Σ_k e^{η_k}.

    Over the last axis. The derivatives are tensors: A' = p has K entries, A'' = diag(p) - p pᵀ has K², the
    third K³. Adding a constant to all η_k changes only A; every formula subtracts the largest first.

    See Also
    --------
    Family : The interface.

    Examples
    --------
    >>> import numpy as np
    >>> from dropglm.core.families import Multinomial
    >>> Multinomial.mean(np.zeros((1, 4)))
    array([[0.25, 0.25, 0.25, 0.25]])
    """

    several = True

    @staticmethod
    def log_partition(eta: np.ndarray) -> np.ndarray:
        """A(η) = max η + log(1 + Σ e^{η_k - max η} over the other classes); shape (…)."""
        top = eta.argmax(axis=-1)[..., None]
        largest = np.take_along_axis(eta, top, axis=-1)
        e = np.exp(eta - largest)
        np.put_along_axis(e, top, 0.0, axis=-1)
        return largest[..., 0] + np.log1p(e.sum(axis=-1))

    @staticmethod
    def mean(eta: np.ndarray) -> np.ndarray:
        """A'(η) = p; shape (…, K)."""
        e = np.exp(eta - eta.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)

    @staticmethod
    def variance(eta: np.ndarray) -> np.ndarray:
        """A''(η) = diag(p) - p pᵀ; shape (…, K, K)."""
        p = Multinomial.mean(eta)
        off_diagonal = -p[..., :, None] * p[..., None, :]
        K = np.arange(p.shape[-1])
        # p_k (1 - p_k) as p_k Σ_{l≠k} p_l is accurate also when p_k is close to 1.
        off_diagonal[..., K, K] = 0.0
        off_diagonal[..., K, K] = -off_diagonal.sum(axis=-1)
        return off_diagonal

    @classmethod
    def own_variance(cls, eta: np.ndarray) -> np.ndarray:
        """p_k (1 - p_k); shape (…, K)."""
        p = cls.mean(eta)
        return p * (1.0 - p)

    @staticmethod
    def third_cumulant(eta: np.ndarray) -> np.ndarray:
        """A'''(η)_klm = E[(y_k - p_k)(y_l - p_l)(y_m - p_m)], y the indicator; shape (…, K, K, K)."""
        p = Multinomial.mean(eta)
        residual = np.eye(p.shape[-1]) - p[..., None, :]  # of y = c, for each class c
        return np.einsum("...c,...ck,...cl,...cm->...klm", p, residual, residual, residual)

    @staticmethod
    def natural_parameter(mean: np.ndarray) -> np.ndarray:
        """η = log p, less the mean over the classes; shape (…, K)."""
        eta = np.log(mean)
        return eta - eta.mean(axis=-1, keepdims=True)

    @staticmethod
    def conjugate(y: np.ndarray) -> np.ndarray:
        """A*(y) = Σ_k y_k log y_k, which is 0 for an indicator; shape (…)."""
        return y_log_y(y).sum(axis=-1)

    @staticmethod
    def sample(eta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return samples of the class, by the Gumbel trick; shape (…)."""
        return np.argmax(eta + rng.gumbel(size=np.shape(eta)), axis=-1)


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


FAMILIES: dict[str, type[Family]] = {
    "linear": Linear,
    "logistic": Logistic,
    "poisson": Poisson,
    "multinomial": Multinomial,
}


@inlined
def logistic(eta):
    """A = log(1 + e^η) and its derivatives; e = exp(-|η|) cannot overflow."""
    e = math.exp(-abs(eta))
    positive = eta > 0.0
    p = (1.0 if positive else e) / (1.0 + e)
    A2 = e / ((1.0 + e) * (1.0 + e))
    return math.log1p(e) + (eta if positive else 0.0), p, A2, -A2 * math.tanh(0.5 * eta)


@inlined
def linear(eta):
    """A = ½ η² and its derivatives."""
    return 0.5 * eta * eta, eta, 1.0, 0.0


@inlined
def poisson(eta):
    """A = e^η, which is its own derivative."""
    A = math.exp(eta)
    return A, A, A, A


# A, A', A'' and A''' together at a single η. Where a loop ignores some of the four, the compiler leaves them
# out. Other families have no compiled form.
POINTWISE_FAMILIES: dict[type, Any] = {Logistic: logistic, Linear: linear, Poisson: poisson}
