"""Several independent noises, applied one after the other."""

from dataclasses import dataclass

import numpy as np

from dropglm.design import Matrix
from dropglm.noise.base import Noise


@dataclass(frozen=True)
class Together(Noise):
    """Independent noises; all but the first must not depend on the features.

    The variances of independent noises add up. Dropout after additive noise would also drop the added noise,
    so noise that multiplies the features comes first and additive noise after it.

    Parameters
    ----------
    noises : tuple of Noise
        The noises, in the order in which they apply.

    See Also
    --------
    NoiseByBlock : Another noise for each block of features.

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
        """Return a copy of X with every noise applied in turn."""
        for part in self.noises:
            X = part.sample(X, rng)
        return X


NO_NOISE = Together(())
