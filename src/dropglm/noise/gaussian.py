"""Additive Gaussian noise: x̃ = x + ξ with ξ ~ N(0, σ² I), on every feature, zero or not.

Var[x̃·β] = σ² ‖β‖².
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from dropglm import checks
from dropglm.design import Matrix
from dropglm.noise.base import Noise


@dataclass(frozen=True)
class Gaussian(Noise):
    """Gaussian noise of standard deviation ``std`` on every feature.

    Parameters
    ----------
    std : float
        Standard deviation, not negative.

    See Also
    --------
    Dropout : Noise that multiplies the features.

    Examples
    --------
    >>> from dropglm.noise import Gaussian
    >>> Gaussian(2.0).absolute
    4.0
    """

    std: float

    def __post_init__(self) -> None:
        checks.not_negative(self.std, "noise_std")

    @property
    def relative(self) -> float:
        """0: the noise does not depend on the features."""
        return 0.0

    @property
    def absolute(self) -> float:
        """σ²."""
        return self.std * self.std

    def sample(self, X: Matrix, rng: np.random.Generator) -> np.ndarray:
        """Return a copy of X with noise added; dense, since no entry stays zero."""
        dense = X.toarray() if sparse.issparse(X) else X
        return dense + rng.normal(scale=self.std, size=dense.shape).astype(dense.dtype)
