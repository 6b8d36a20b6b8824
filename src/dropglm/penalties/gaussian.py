"""The predictor's noise taken as normal, η̃_i ~ N(η_i, s²_i), and integrated out in closed form.

True for additive Gaussian noise, close for dropout when many features are active. Convex in β together
with the loss, like the expectation it stands for.
"""

import numpy as np

from dropglm.maths import smoothed_softplus
from dropglm.penalties.base import RowPenalty


class GaussianLogistic(RowPenalty):
    """R(β) = Σ_i E softplus(N(η_i, s²_i)) - softplus(η_i), to 8.2e-9 a row."""

    def rows(self, eta: np.ndarray, s2: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """r(η, s²) from the mixture of eight normals."""
        return smoothed_softplus.increase(eta, s2)


class GaussianPoisson(RowPenalty):
    """R(β) = Σ_i exp(η_i) (exp(s²_i / 2) - 1)."""

    def rows(self, eta: np.ndarray, s2: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """r(η, s²), which is its own slope in η."""
        noised = self.family.mean(eta + 0.5 * s2)
        # e^{η+c} (1 - e^{-c}) rather than e^η (e^c - 1), which is 0·∞ where η is very negative.
        r = -noised * np.expm1(-0.5 * s2)
        return r, r, 0.5 * noised
