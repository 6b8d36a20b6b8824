"""A noise for each block of the features, independent of those of the other blocks."""

from dataclasses import dataclass

import numpy as np

from dropglm.blocks import Blocks
from dropglm.noise.base import Noise


@dataclass(frozen=True)
class NoiseByBlock(Noise):
    """One noise per block; the predictor's variance is the sum over the blocks.

    Parameters
    ----------
    noises : tuple of Noise
        One per block.

    See Also
    --------
    dropglm.PerBlock : One value of a setting per block.

    Examples
    --------
    >>> from dropglm.design import BlockDesign, Design
    >>> from dropglm.noise import Dropout, Gaussian
    >>> noise = NoiseByBlock((Dropout(0.5), Gaussian(2.0)))
    >>> design = BlockDesign([Design(np.array([[1.0, 2.0]])), Design(np.array([[7.0]]))])
    >>> noise.variance(design, np.array([1.0, 1.0, 3.0]))  # 1² + 2² + 2² · 3²
    array([41.])
    """

    noises: tuple[Noise, ...]

    def of_block(self, number: int) -> Noise:
        """Return the noise of a block."""
        return self.noises[number]

    @property
    def parts(self) -> tuple[Noise, ...]:
        """The noises of all blocks."""
        return tuple(part for noise in self.noises for part in noise.parts)

    @property
    def relative(self) -> float:
        """The largest of the blocks."""
        return max(noise.relative for noise in self.noises)

    @property
    def absolute(self) -> float:
        """The largest of the blocks."""
        return max(noise.absolute for noise in self.noises)

    @property
    def strength(self) -> float:
        """Sum over the blocks, to order noises of the same kind."""
        return sum(noise.strength for noise in self.noises)

    def sample(self, X: Blocks, rng: np.random.Generator) -> Blocks:
        """Return a noised copy of the blocks."""
        noised = [noise.sample(block, rng) for noise, block in zip(self.noises, X.blocks, strict=True)]
        return Blocks(*noised)
