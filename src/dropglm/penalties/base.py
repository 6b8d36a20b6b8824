"""What every penalty offers, and the chain rule that most of them share."""

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np

from dropglm.design import Design
from dropglm.families import Family
from dropglm.noise import Noise


class Slopes(NamedTuple):
    """The gradient of a penalty."""

    beta: np.ndarray  # (d, K), in the design's dtype
    intercept: np.ndarray  # (K,)


class Penalty(ABC):
    """R(β) = Σ_i w_i (E[A(η̃_i)] - A(η_i)) with η̃_i = x̃_i·β + b: a sum over rows, the intercept not noised.

    Coefficients have shape (d, K), intercepts (K,); K is 1 except for the multinomial family.
    """

    # What it leaves a classifier without ridge free to do: to grow certain of all rows, where it vanishes; to
    # grow certain of a feature that occurs in one class only, because noise as it is drawn never turns it
    # around.
    vanishes: ClassVar[bool] = False
    spares_one_sided: ClassVar[bool] = False

    def __init__(self, family: type[Family], noise: Noise) -> None:
        self.family = family
        self.noise = noise

    def value(self, design: Design, beta: np.ndarray, intercept: np.ndarray, weights: np.ndarray) -> float:
        """R(β) alone, for the price of the gradient unless a penalty knows better."""
        return self.value_and_gradient(design, beta, intercept, weights)[0]

    @abstractmethod
    def value_and_gradient(
        self, design: Design, beta: np.ndarray, intercept: np.ndarray, weights: np.ndarray
    ) -> tuple[float, Slopes]:
        """R(β) with its slopes in β and in the intercept."""


class RowPenalty(Penalty):
    """A penalty Σ_i w_i r(η_i, s²_i): the noise enters by the variance of the predictor alone."""

    @abstractmethod
    def rows(self, eta: np.ndarray, s2: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """r(η, s²) with its slopes in η and in s², each of shape (n,)."""

    def value(self, design: Design, beta: np.ndarray, intercept: np.ndarray, weights: np.ndarray) -> float:
        """R(β), in one pass over the rows."""
        return self._forward(design, beta, intercept, weights)[0]

    def value_and_gradient(
        self, design: Design, beta: np.ndarray, intercept: np.ndarray, weights: np.ndarray
    ) -> tuple[float, Slopes]:
        """R(β) and ∇R(β) = Xᵀ r_η + (∂s²/∂β)ᵀ r_s², whatever the noise and the storage."""
        value, slopes = self._forward(design, beta, intercept, weights)
        gradient = self.noise.pull_back(design, beta[:, 0], slopes)
        return value, Slopes(gradient[:, None], slopes[:, 0].sum(keepdims=True))

    def _forward(
        self, design: Design, beta: np.ndarray, intercept: np.ndarray, weights: np.ndarray
    ) -> tuple[float, np.ndarray]:
        """R(β), and for each row w ∂r/∂η and w ∂r/∂s² side by side; (n, 2)."""
        added = self.noise.absolute_variance(beta)

        def pointwise(rows: slice, eta: np.ndarray, t: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
            r, r_eta, r_s2 = self.rows(eta + intercept[0], self.noise.relative * t + added)
            w = weights[rows]
            return float(np.sum(w * r)), w * r_eta, w * r_s2

        return design.forward(beta[:, 0], pointwise)
