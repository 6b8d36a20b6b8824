"""The paper's penalty: A expanded to second order around η."""

import numpy as np

from dropglm.penalties.base import RowPenalty


class Quadratic(RowPenalty):
    """R(β) = ½ Σ_i A''(η_i) s²_i; for dropout ½ · δ/(1-δ) · βᵀ diag(XᵀV X) β with V = diag(A''(η_i)).

    For the linear family this is the expectation itself. For the logistic one it is not convex and vanishes
    on rows that are predicted with confidence, however large the noise.
    """

    vanishes = True

    def rows(self, eta: np.ndarray, s2: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """½ A'' s², ½ A''' s² and ½ A''."""
        A2, A3 = self.family.variance(eta), self.family.third_cumulant(eta)
        return 0.5 * A2 * s2, 0.5 * A3 * s2, 0.5 * A2
