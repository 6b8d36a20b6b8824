"""The entropy of a row's classes, as a penalty on certainty's lack: Σ_i w_i H(p(η_i)).

    two classes:  H(η) = A(η) - η A'(η),          H'(η) = -η A''(η)
    K classes:    H(η) = -Σ_k p_k log p_k,        ∂H/∂η_k = -p_k (log p_k + H)

Penalties in form, though of no noise: they need no label either.
"""

import numpy as np

from dropglm.design import Design
from dropglm.families import Logistic, Multinomial
from dropglm.noise import Together
from dropglm.penalties import Penalty, RowPenalty
from dropglm.penalties.base import Slopes

NO_NOISE = Together(())


class Entropy(RowPenalty):
    """H of two classes."""

    def __init__(self) -> None:
        super().__init__(Logistic, NO_NOISE)

    def rows(self, eta: np.ndarray, s2: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """H with its slopes in η and in s², which it does not know."""
        # A and η A' would cancel: with e = exp(-|η|), H = log(1 + e) + |η| e / (1 + e).
        e = np.exp(-np.abs(eta))
        H = np.log1p(e) + np.abs(eta) * e / (1.0 + e)
        return H, -eta * Logistic.variance(eta), np.zeros_like(eta)


class MultinomialEntropy(Penalty):
    """H of K classes."""

    def __init__(self) -> None:
        super().__init__(Multinomial, NO_NOISE)

    def value_and_gradient(
        self, design: Design, beta: np.ndarray, intercept: np.ndarray, weights: np.ndarray
    ) -> tuple[float, Slopes]:
        """Σ_i w_i H_i with its slopes in β and in the intercept."""
        eta = design.dot(beta) + intercept
        p, log_p = Multinomial.mean(eta), eta - Multinomial.log_partition(eta)[:, None]
        H = -(p * log_p).sum(axis=1)
        slopes = -weights[:, None] * p * (log_p + H[:, None])
        return float(weights @ H), Slopes(design.transposed_dot(slopes), slopes.sum(axis=0))
