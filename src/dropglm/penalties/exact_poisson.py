"""E exp(η̃) as a product of moment generating functions.

log E exp(η̃) = b + Σ_j κ(x_j β_j) + ½ σ²‖β‖²,    κ(z) = log(δ + (1-δ) e^{z/(1-δ)}).
"""

import math

import numpy as np

from dropglm.design import Design
from dropglm.design.storage import column, span, value
from dropglm.maths.compile import kernel
from dropglm.penalties.base import Penalty, Slopes
from dropglm.penalties.exact import dropout_rate


class ExactPoisson(Penalty):
    """R(β) = Σ_i E exp(η̃_i) - exp(η_i), for dropout and additive Gaussian noise."""

    def value_and_gradient(
        self, design: Design, beta: np.ndarray, intercept: np.ndarray, weights: np.ndarray
    ) -> tuple[float, Slopes]:
        """R(β) with its slopes."""
        b = beta[:, 0]
        delta, v = dropout_rate(self.noise), self.noise.absolute_variance(b)
        r, r_v = np.empty(len(weights)), np.empty(len(weights))
        gradient = design.sum_over_rows(
            lambda first, last, out: _add_rows(
                design.rows, b, intercept[0], delta, v, weights, first, last, r, r_v, out
            ),
            len(b),
        )
        gradient += self.noise.shrinkage(b, r_v)
        # r is its own slope in the intercept.
        return float(r.sum()), Slopes(gradient[:, None], r.sum(keepdims=True))


@kernel
def _add_rows(rows, beta, b, delta, v, weights, first, last, r, r_v, gradient):
    """Set r_i and ∂r_i/∂v, and add r's gradient in β, for rows first to last - 1."""
    log_drop = math.log(delta) if delta > 0.0 else -math.inf
    log_keep = math.log1p(-delta)
    for i in range(first, last):
        eta, increase = b, 0.5 * v
        start, stop = span(rows, i)
        for k in range(start, stop):
            z = float(value(rows, i, k)) * beta[column(rows, k)]
            # κ(z) = log(e^{log δ} + e^{log(1-δ) + z/(1-δ)}), the larger exponential taken out
            kept = log_keep + z / (1.0 - delta)
            kappa = max(log_drop, kept) + math.log1p(math.exp(-abs(log_drop - kept)))
            eta += z
            increase += kappa - z
        noised, plain = weights[i] * math.exp(eta + increase), weights[i] * math.exp(eta)
        r[i] = plain * math.expm1(increase)
        r_v[i] = 0.5 * noised
        for k in range(start, stop):
            j, x = column(rows, k), float(value(rows, i, k))
            # κ'(z) = e^u / (δ + (1-δ) e^u), u = z/(1-δ)
            slope = 1.0 / (1.0 - delta + delta * math.exp(-x * beta[j] / (1.0 - delta)))
            gradient[j] += x * (noised * slope - plain)
