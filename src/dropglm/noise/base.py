"""The interface of noise on the features.

A noised row x̃ has mean x, and its predictor x̃·β has the variance

    s² = relative · Σ_j x_j² β_j² + absolute · ‖β‖²,

so two numbers describe a kind of noise up to its second moment. Penalties that need more are the exact ones,
which support certain kinds of noise, and Monte Carlo, which draws samples.

If the features come in several blocks, each with its own noise, s² is the sum over the blocks.
"""

from abc import ABC, abstractmethod

import numpy as np

from dropglm.design import AnyDesign, Matrix
from dropglm.maths import vectors


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
    >>> from dropglm.noise import Dropout
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

    def variance_vjp(self, design: AnyDesign, beta: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Return ∇_β Σ_i u_i s²_i; shape (d,)."""
        return self.pull_back(design, beta, np.stack([np.zeros_like(u), u], axis=1))

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
        return _joined(spreads)

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


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
