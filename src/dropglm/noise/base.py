"""What every noise offers.

A noised row x̃ has mean x. Its predictor x̃·β has the variance

    s² = relative · Σ_j x_j² β_j² + absolute · ‖β‖²,

so a kind of noise is told by two numbers, as far as the second moment goes. A penalty that looks further
(exact, monte_carlo) knows the kinds it can do or draws samples.
"""

from abc import ABC, abstractmethod

import numpy as np

from dropglm.design import Design, Matrix


class Noise(ABC):
    """Noise on the features."""

    @property
    @abstractmethod
    def relative(self) -> float:
        """Coefficient of Σ_j x_j² β_j² in s²."""

    @property
    @abstractmethod
    def absolute(self) -> float:
        """Coefficient of ‖β‖² in s²."""

    @property
    def parts(self) -> tuple["Noise", ...]:
        """The independent noises that this one consists of."""
        return (self,)

    def variance(self, design: Design, beta: np.ndarray) -> np.ndarray:
        """s²_i = Var[x̃_i·β]; (n,)."""
        _, t = design.moments(beta)
        return self.relative * t + self.absolute_variance(beta)

    def absolute_variance(self, beta: np.ndarray) -> float:
        """The part of s² that is the same for every row: absolute · ‖β‖²."""
        if self.absolute == 0.0:
            return 0.0
        # In float64, and with no help from BLAS and its threads.
        return self.absolute * float(np.sum(np.square(beta, dtype=np.float64)))

    def variance_vjp(self, design: Design, beta: np.ndarray, u: np.ndarray) -> np.ndarray:
        """∇_β Σ_i u_i s²_i; (d,)."""
        return self.pull_back(design, beta, np.stack([np.zeros_like(u), u], axis=1))

    def pull_back(self, design: Design, beta: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """∇_β of a function of all η_i and s²_i, given its slopes in them side by side, (n, 2); (d,)."""
        gradient = design.backward(beta, slopes * np.array([1.0, self.relative]))
        gradient += self.shrinkage(beta, slopes[:, 1])
        return gradient

    def shrinkage(self, beta: np.ndarray, u: np.ndarray) -> np.ndarray | float:
        """The part of ∇_β Σ_i u_i s²_i that the features have no part in: 2 · absolute · Σu · β."""
        return 2.0 * self.absolute * float(u.sum()) * beta if self.absolute else 0.0

    @abstractmethod
    def sample(self, X: Matrix, rng: np.random.Generator) -> Matrix:
        """A noised copy of X."""
