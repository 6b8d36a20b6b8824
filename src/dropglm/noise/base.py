"""The interface of noise on the features.

A noised row x̃ has mean x, and its predictor x̃·β has the variance

    s² = relative · Σ_j x_j² β_j² + absolute · ‖β‖²,

so two numbers describe a kind of noise up to its second moment. Penalties that need more are the exact ones,
which support certain kinds of noise, and Monte Carlo, which draws samples.
"""

from abc import ABC, abstractmethod

import numpy as np

from dropglm.design import Design, Matrix


class Noise(ABC):
    """Unbiased noise on the features."""

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

    def variance(self, design: Design, beta: np.ndarray) -> np.ndarray:
        """Return s²_i = Var[x̃_i·β]; shape (n,)."""
        _, t = design.moments(beta)
        return self.relative * t + self.absolute_variance(beta)

    def absolute_variance(self, beta: np.ndarray) -> float:
        """Return absolute · ‖β‖², the part of s² that is the same for every row."""
        if self.absolute == 0.0:
            return 0.0
        # In float64, and without BLAS and its threads.
        return self.absolute * float(np.sum(np.square(beta, dtype=np.float64)))

    def variance_vjp(self, design: Design, beta: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Return ∇_β Σ_i u_i s²_i; shape (d,)."""
        return self.pull_back(design, beta, np.stack([np.zeros_like(u), u], axis=1))

    def pull_back(self, design: Design, beta: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """Return ∇_β of a function of all η_i and s²_i; shape (d,).

        ``slopes`` has its derivatives with respect to η and s² as columns; shape (n, 2).
        """
        gradient = design.backward(beta, slopes * np.array([1.0, self.relative]))
        gradient += self.shrinkage(beta, slopes[:, 1])
        return gradient

    def shrinkage(self, beta: np.ndarray, u: np.ndarray) -> np.ndarray | float:
        """Return 2 · absolute · Σu · β, the part of ∇_β Σ_i u_i s²_i that does not depend on the features."""
        return 2.0 * self.absolute * float(u.sum()) * beta if self.absolute else 0.0

    @abstractmethod
    def sample(self, X: Matrix, rng: np.random.Generator) -> Matrix:
        """Return a noised copy of X."""
