"""Unbiased noise on the features: its effect on the predictor's variance, and a sampler.

A noised row x̃ has mean x, and its predictor x̃·β has the variance

    s² = relative · Σ_j x_j² β_j² + absolute · ‖β‖²,

so two numbers describe a kind of noise up to its second moment. Penalties that need more are the exact ones,
which support certain kinds of noise, and Monte Carlo, which draws samples.

If the features come in several blocks, each with its own noise, s² is the sum over the blocks.

``Together`` combines independent kinds of noise, ``NoiseByBlock`` has one per block of the features. Users
give numbers, ``dropout`` and ``noise_std``; ``settings.noise_from`` makes a noise of them.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from dropglm.base import checks
from dropglm.base.blocks import Blocks
from dropglm.base.errors import InputError
from dropglm.core.design import AnyDesign, Matrix
from dropglm.core.maths import vectors

__all__ = ["NO_NOISE", "Dropout", "Gaussian", "Noise", "NoiseByBlock", "Together"]


class Noise(ABC):
    """Unbiased noise on the features: s² = relative · Σ_j x_j² β_j² + absolute · ‖β‖².

    A subclass has the properties ``relative`` and ``absolute``, and ``sample``. All other methods
    follow from these.

    See Also
    --------
    Dropout : Drops features.
    Gaussian : Adds Gaussian noise.

    Examples
    --------
    >>> from dropglm.core.noise import Dropout
    >>> Dropout(0.8).relative
    4.0
    """

    @property
    @abstractmethod
    def relative(self) -> float:
        """Coefficient of Σ_j x_j² β_j² in s²."""

    @property
    @abstractmethod
    def absolute(self) -> float:
        """Coefficient of ‖β‖² in s²."""

    @property
    def strength(self) -> float:
        """Sum of the two coefficients, to order noises of the same kind."""
        return self.relative + self.absolute

    @property
    def parts(self) -> tuple["Noise", ...]:
        """The independent noises that this one combines."""
        return (self,)

    def of_block(self, number: int) -> "Noise":
        """Return the noise of a block of the features; the same for every block unless a subclass differs."""
        return self

    def moments(self, design: AnyDesign, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return η_i = x_i·β and s²_i = Var[x̃_i·β]; shape (n,) each, float64."""
        eta, s2 = np.zeros((2, design.shape[0]))
        for number, columns, block in design.blocks:
            noise, part = self.of_block(number), beta[columns]
            block_eta, t = block.moments(part)
            eta += block_eta
            if noise.relative:
                s2 += noise.relative * t
            if noise.absolute:
                s2 += noise.absolute_variance(part)
        return eta, s2

    def variance(self, design: AnyDesign, beta: np.ndarray) -> np.ndarray:
        """Return s²_i = Var[x̃_i·β]; shape (n,)."""
        return self.moments(design, beta)[1]

    def ray(self, design: AnyDesign, beta: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Return u, c and q such that η + step·u and s² + 2·step·c + step²·q are the moments at β + step·d.

        As rows; shape (3, n), float64.
        """
        total = np.zeros((3, design.shape[0]))
        for number, columns, block in design.blocks:
            noise, part, towards = self.of_block(number), beta[columns], direction[columns]
            block.add_ray(part, towards, noise.relative, total)
            if noise.absolute:
                total[1] += noise.absolute * vectors.dot(part, towards, block.threads)
                total[2] += noise.absolute_variance(towards)
        return total

    def pull_back(
        self, design: AnyDesign, beta: np.ndarray, slopes: np.ndarray, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Return ∇_β of a function of all η_i and s²_i; shape (d,).

        ``slopes`` has its derivatives with respect to η and s² as columns; shape (n, 2). The result is
        written to ``out`` if it is given.
        """
        gradient = np.empty(design.shape[1], design.dtype) if out is None else out
        for number, columns, block in design.blocks:
            noise, part = self.of_block(number), beta[columns]
            block.backward(part, slopes, noise.relative, gradient[columns])
            if noise.absolute:
                gradient[columns] += noise.shrinkage(part, slopes[:, 1])
        return gradient

    def spread(self, design: AnyDesign, centre: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return Σ_i p_i (x_ij - m_j)² + q_i (relative · x_ij² + absolute) per feature; shape (d,).

        m is the centre; ``weights`` has p and q as columns.
        """
        spreads = []
        for number, columns, block in design.blocks:
            noise = self.of_block(number)
            spread = block.spread(centre[columns], weights, noise.relative)
            if noise.absolute:
                spread += (noise.absolute * weights[:, 1].sum()).astype(spread.dtype)
            spreads.append(spread)
        return spreads[0] if len(spreads) == 1 else np.concatenate(spreads)

    def absolute_variance(self, beta: np.ndarray) -> float:
        """Return absolute · ‖β‖², the part of s² that is the same for every row, for one block."""
        # In float64, and without BLAS and its threads.
        return self.absolute * vectors.dot(beta, beta) if self.absolute else 0.0

    def shrinkage(self, beta: np.ndarray, u: np.ndarray) -> np.ndarray | float:
        """Return 2 · absolute · Σu · β, the part of ∇_β Σ_i u_i s²_i that does not depend on the features.

        For one block, like ``absolute_variance``.
        """
        return 2.0 * self.absolute * float(u.sum()) * beta if self.absolute else 0.0

    @abstractmethod
    def sample(self, X: Matrix, rng: np.random.Generator) -> Matrix:
        """Return a noised copy of X.

        Parameters
        ----------
        X : ndarray or CSR array of shape (n, d)
            Rows.
        rng : Generator
            NumPy's random generator.

        Returns
        -------
        ndarray or CSR array of shape (n, d)
            The noised rows.
        """


@dataclass(frozen=True)
class Dropout(Noise):
    """Dropout: x̃_j = 0 with probability δ and x_j / (1 - δ) otherwise, independently for each feature.

    Var[x̃·β] = δ/(1-δ) · Σ_j x_j² β_j².

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
    absolute = 0.0  # zeros stay zero

    def __post_init__(self) -> None:
        checks.number(self.delta, "dropout")
        if not 0.0 <= self.delta < 1.0:
            raise InputError(f"dropout must be in [0, 1), got {self.delta}.")

    @property
    def relative(self) -> float:
        """δ / (1 - δ)."""
        return self.delta / (1.0 - self.delta)

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


@dataclass(frozen=True)
class Gaussian(Noise):
    """Additive Gaussian noise: x̃ = x + ξ with ξ ~ N(0, σ² I), on every feature, zero or not.

    Var[x̃·β] = σ² ‖β‖².

    Parameters
    ----------
    std : float
        Standard deviation, not negative.

    See Also
    --------
    Dropout : Noise that multiplies the features.

    Examples
    --------
    >>> from dropglm.core.noise import Gaussian
    >>> Gaussian(2.0).absolute
    4.0
    """

    std: float
    relative = 0.0  # the noise does not depend on the features

    def __post_init__(self) -> None:
        checks.not_negative(self.std, "noise_std")

    @property
    def absolute(self) -> float:
        """σ²."""
        return self.std * self.std

    def sample(self, X: Matrix, rng: np.random.Generator) -> np.ndarray:
        """Return a copy of X with noise added; dense, since no entry stays zero."""
        dense = X.toarray() if sparse.issparse(X) else X
        return dense + rng.normal(scale=self.std, size=dense.shape).astype(dense.dtype)


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
    >>> from dropglm.core.noise import Dropout, Gaussian
    >>> Together((Dropout(0.5), Gaussian(2.0))).absolute
    4.0
    """

    noises: tuple[Noise, ...]

    def __post_init__(self) -> None:
        if any(part.relative for part in self.noises[1:]):
            raise InputError("Noise that depends on the features must come first.")

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
    >>> from dropglm.core.design import BlockDesign, Design
    >>> from dropglm.core.noise import Dropout, Gaussian
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
