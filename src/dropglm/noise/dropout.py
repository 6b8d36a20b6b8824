"""Dropout: x̃_j = 0 with probability δ and x_j / (1 - δ) otherwise, independently for each feature.

Var[x̃·β] = δ/(1-δ) · Σ_j x_j² β_j².
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from dropglm import checks
from dropglm.design import Matrix
from dropglm.noise.base import Noise


@dataclass(frozen=True)
class Dropout(Noise):
    """Dropout with probability ``delta`` in [0, 1).

    Parameters
    ----------
    delta : float in [0, 1)
        Probability that a feature is dropped.

    See Also
    --------
    Gaussian : Additive noise.

    Examples
    --------
    >>> Dropout(0.5).sample(np.ones((2, 4)), np.random.default_rng(0))
    array([[2., 0., 0., 0.],
           [2., 2., 2., 2.]])
    """

    delta: float

    def __post_init__(self) -> None:
        checks.number(self.delta, "dropout")
        if not 0.0 <= self.delta < 1.0:
            raise ValueError(f"dropout must be in [0, 1), got {self.delta}.")

    @property
    def relative(self) -> float:
        """δ / (1 - δ)."""
        return self.delta / (1.0 - self.delta)

    @property
    def absolute(self) -> float:
        """0: zeros stay zero."""
        return 0.0

    def sample(self, X: Matrix, rng: np.random.Generator) -> Matrix:
        """Return a copy of X with entries dropped; sparse if X is sparse."""
        if not sparse.issparse(X):
            return X * self._factors(X.shape, X.dtype, rng)
        copy = X.copy()
        copy.data *= self._factors(copy.data.shape, copy.dtype, rng)
        copy.eliminate_zeros()
        return copy

    def _factors(self, shape: tuple[int, ...], dtype: np.dtype, rng: np.random.Generator) -> np.ndarray:
        kept = rng.random(shape) >= self.delta
        return np.multiply(kept, 1.0 / (1.0 - self.delta), dtype=dtype)
