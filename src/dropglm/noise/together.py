"""Several independent noises at once, each on top of the one before."""

from dataclasses import dataclass

import numpy as np

from dropglm.design import Matrix
from dropglm.noise.base import Noise


@dataclass(frozen=True)
class Together(Noise):
    """The noises ``noises``, of which all but the first must not depend on the features.

    Independent noises add their variances. Dropout on top of additive noise would drop the added noise too;
    so what multiplies the features comes first and what is added to them after it.

    Examples
    --------
    >>> from dropglm.noise import Dropout, Gaussian
    >>> Together((Dropout(0.5), Gaussian(2.0))).absolute
    4.0
    """

    noises: tuple[Noise, ...]

    def __post_init__(self) -> None:
        if any(part.relative for part in self.noises[1:]):
            raise ValueError("Noise that depends on the features must come first.")

    @property
    def parts(self) -> tuple[Noise, ...]:
        """The noises, in order."""
        return self.noises

    @property
    def relative(self) -> float:
        """Sum over the parts."""
        return sum(part.relative for part in self.noises)

    @property
    def absolute(self) -> float:
        """Sum over the parts."""
        return sum(part.absolute for part in self.noises)

    def sample(self, X: Matrix, rng: np.random.Generator) -> Matrix:
        """A copy of X that went through every part in turn."""
        for part in self.noises:
            X = part.sample(X, rng)
        return X
