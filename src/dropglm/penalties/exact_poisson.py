"""E exp(η̃) as a product of moment generating functions.

log E exp(η̃) = b + Σ_j κ(x_j β_j) + ½ σ²‖β‖²,    κ(z) = log(δ + (1-δ) e^{z/(1-δ)}).
"""

import math

import numpy as np
from numba import literal_unroll

from dropglm.design import AnyDesign
from dropglm.design.storage import column, span, value
from dropglm.families import Family
from dropglm.maths.compile import inlined, kernel
from dropglm.maths.normal import polynomial
from dropglm.noise import Noise
from dropglm.penalties.base import Penalty, Slopes, check_exact, exact_blocks

# 1/16!, …, 1/2!: at |x| <= ½ the first omitted term is below 1e-19 of the sum.
_EXP_COEFFICIENTS = np.array([1.0 / math.factorial(k) for k in range(16, 1, -1)])


class ExactPoisson(Penalty):
    """R(β) = Σ_i E exp(η̃_i) - exp(η_i), for dropout and additive Gaussian noise."""

    def __init__(self, family: type[Family], noise: Noise) -> None:
        super().__init__(family, noise)
        check_exact(noise)

    def value_and_gradient(
        self, design: AnyDesign, beta: np.ndarray, intercept: np.ndarray, weights: np.ndarray
    ) -> tuple[float, Slopes]:
        """Return R(β) and its gradient."""
        b = beta[:, 0]
        blocks = exact_blocks(design, self.noise)
        v = sum(
            self.noise.of_block(number).absolute_variance(b[columns]) for number, columns, _ in design.blocks
        )
        r, r_v = np.empty(len(weights)), np.empty(len(weights))
        gradient = design.sum_over_rows(
            lambda first, last, out: _add_rows(blocks, b, intercept[0], v, weights, first, last, r, r_v, out),
            len(b),
        )
        for number, columns, _ in design.blocks:
            gradient[columns] += self.noise.of_block(number).shrinkage(b[columns], r_v)
        # r equals its derivative with respect to the intercept.
        return float(r.sum()), Slopes(gradient[:, None], r.sum(keepdims=True))


@kernel
def _add_rows(blocks, beta, b, v, weights, first, last, r, r_v, gradient):
    """Set r_i and ∂r_i/∂v, and add r's gradient in β, for rows first to last - 1."""
    for i in range(first, last):
        eta, increase = _cumulants(blocks, i, beta, b, v)
        noised, plain = weights[i] * np.exp(eta + increase), weights[i] * np.exp(eta)
        # e^{η+c} (1 - e^{-c}) rather than e^η (e^c - 1), which is 0·∞ where η is very negative.
        r[i] = -noised * np.expm1(-increase)
        r_v[i] = 0.5 * noised
        _add_gradient(blocks, i, beta, noised, plain, gradient)


@kernel
def _cumulants(blocks, i, beta, b, v):
    """Return η and log E exp(η̃) - η of row i."""
    eta, increase = b, 0.5 * v
    for block in literal_unroll(blocks):
        rows, offset, delta = block
        start, stop = span(rows, i)
        for k in range(start, stop):
            z = value(rows, i, k) * beta[offset + column(rows, k)]
            eta += z
            increase += _cumulant_increase(z, delta)
    return eta, increase


@kernel
def _add_gradient(blocks, i, beta, noised, plain, gradient):
    """Add r's gradient in β for the features of row i."""
    for block in literal_unroll(blocks):
        rows, offset, delta = block
        start, stop = span(rows, i)
        for k in range(start, stop):
            j, x = offset + column(rows, k), value(rows, i, k)
            # κ'(z) = e^u / (δ + (1-δ) e^u), u = z/(1-δ)
            slope = 1.0 / (1.0 - delta + delta * np.exp(-x * beta[j] / (1.0 - delta)))
            gradient[j] += x * (noised * slope - plain)


@inlined
def _exp_above_tangent(x):
    """e^x - 1 - x for |x| <= ½; the difference of exp or expm1 would lose digits to cancellation."""
    return x * x * polynomial(_EXP_COEFFICIENTS, x)


@inlined
def _cumulant_increase(z, delta):
    """κ(z) - z >= 0, accurate also where z is small."""
    u = z * delta / (1.0 - delta)
    if abs(z) < 0.5 and abs(u) < 0.5:
        # κ(z) - z = log(δ e^{-z} + (1-δ) e^u), whose first-order terms cancel: δz = (1-δ)u
        return np.log1p(delta * _exp_above_tangent(-z) + (1.0 - delta) * _exp_above_tangent(u))
    if delta == 0.0:
        return 0.0
    dropped, kept = math.log(delta) - z, math.log1p(-delta) + u
    return max(dropped, kept) + np.log1p(np.exp(-abs(dropped - kept)))
