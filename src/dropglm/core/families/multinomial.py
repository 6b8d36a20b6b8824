"""One of K classes with p_k ∝ e^{η_k}: A(η) = log Σ_k e^{η_k}, over the last axis.

The derivatives are tensors: A' = p has K entries, A'' = diag(p) - p pᵀ has K², A''' has K³.
Adding a constant to all η_k changes only A; every formula subtracts the largest first.
"""

import numpy as np

from dropglm.core.families.base import Family, y_log_y


class Multinomial(Family):
    """Multinomial logistic regression, y in {0, …, K - 1}.

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
