r"""E softplus(η̃) from the characteristic function φ of η̃, without sampling.

    softplus(z) = z/2 + log 2 + ∫_0^∞ (1 - cos zt) / (t sinh πt) dt,      so

    E softplus(η̃) = η/2 + log 2 + ∫_0^∞ (1 - Re φ(t)) / (t sinh πt) dt,

    φ(t) = e^{itb} e^{-t²v/2} Π_j f_j(t),   f_j(t) = δ + (1-δ) e^{itu_j},  u_j = x_j β_j / (1-δ),

with v = σ²‖β‖². The trapezoid rule with step h is off by e^{-(2π/h - reach)}, where reach bounds |η̃|; the
integrand's limit at 0 is E[η̃²]/2π, and beyond t = LAST what remains is below 3e-13. Each row takes the
step that its own reach needs.
"""

import math

import numpy as np

from dropglm.design import Design
from dropglm.design.storage import column, span, value
from dropglm.maths.compile import inlined, summing_kernel
from dropglm.penalties.base import Penalty, Slopes
from dropglm.penalties.exact import dropout_rate

LAST = 8.6
DIGITS = 28.0  # -log of the error wanted of the step: 7e-13
MAX_NODES = 16384  # enough for a reach of 11,900
MAX_REACH = 2.0 * math.pi * MAX_NODES / LAST - DIGITS


class ExactLogistic(Penalty):
    """R(β) = Σ_i E softplus(η̃_i) - softplus(η_i), for dropout and additive Gaussian noise, to 1e-11 a row."""

    def value(self, design: Design, beta: np.ndarray, intercept: np.ndarray, weights: np.ndarray) -> float:
        """R(β)."""
        return self._evaluate(design, beta, intercept, weights, 0)[0]

    def value_and_gradient(
        self, design: Design, beta: np.ndarray, intercept: np.ndarray, weights: np.ndarray
    ) -> tuple[float, Slopes]:
        """R(β) with its slopes."""
        return self._evaluate(design, beta, intercept, weights, len(beta))

    def _evaluate(
        self,
        design: Design,
        beta: np.ndarray,
        intercept: np.ndarray,
        weights: np.ndarray,
        size: int,
    ) -> tuple[float, Slopes]:
        """The gradient's size is d, or 0 where none is wanted."""
        b = beta[:, 0]
        delta, v = dropout_rate(self.noise), self.noise.absolute_variance(b)
        r, r_b, r_v, reach = np.empty((4, len(weights)))
        gradient = design.sum_over_rows(
            lambda first, last, out: _add_rows(
                design.rows,
                b,
                intercept[0],
                delta,
                v,
                weights,
                first,
                last,
                r,
                r_b,
                r_v,
                reach,
                out,
            ),
            size,
        )
        if not (reach <= MAX_REACH).all():
            row = int(np.argmax(reach))
            raise ValueError(
                f"The exact penalty cannot reach row {row}: its noised predictor spreads to "
                f"{reach[row]:.4g}, beyond {MAX_REACH:.4g}; scale the coefficients or the features down, "
                "or use kind 'gaussian'."
            )
        if size:
            gradient += self.noise.shrinkage(b, float(r_v.sum()))
        return float(r.sum()), Slopes(gradient[:, None], r_b.sum(keepdims=True))


@inlined
def _powers(angle, count, re, im):
    """Set re + i·im to e^{i·angle·k} for k = 1 … count: doubling, so that each step is one vector loop."""
    re[0], im[0] = math.cos(angle), math.sin(angle)
    known = 1
    while known < count:
        a, b = re[known - 1], im[known - 1]
        for k in range(min(known, count - known)):
            re[known + k] = a * re[k] - b * im[k]
            im[known + k] = a * im[k] + b * re[k]
        known *= 2


@summing_kernel
def _add_rows(rows, beta, b, delta, v, weights, first, last, r, r_b, r_v, reach, gradient):
    """Set r_i, its slopes in b and v, and reach_i; add r's gradient in β; for rows first to last - 1."""
    keep = 1.0 - delta
    re, im, phi_re, phi_im = np.empty((4, MAX_NODES))
    for i in range(first, last):
        start, stop = span(rows, i)
        eta, squares, above, below = b, 0.0, b, b
        for k in range(start, stop):
            z = float(value(rows, i, k)) * beta[column(rows, k)]
            eta += z
            squares += z * z
            above += max(z, 0.0) / keep
            below += min(z, 0.0) / keep
        # Normal noise of standard deviation τ adds min(τ²/2, 7.5 τ): past 7.5 τ it has probability 3e-14.
        reach[i] = max(abs(above), abs(below)) + min(0.5 * v, 7.5 * math.sqrt(v))
        if not reach[i] <= MAX_REACH:
            continue
        h = 2.0 * math.pi / (reach[i] + DIGITS)
        count = int(LAST / h)

        _powers(h * b, count, phi_re, phi_im)
        for k in range(start, stop):
            z = float(value(rows, i, k)) * beta[column(rows, k)]
            if z != 0.0:
                _powers(h * z / keep, count, re, im)
                for m in range(count):
                    f_re, f_im = delta + keep * re[m], keep * im[m]
                    a = phi_re[m]
                    phi_re[m] = a * f_re - phi_im[m] * f_im
                    phi_im[m] = a * f_im + phi_im[m] * f_re

        w = weights[i]
        total = 0.5 * (eta * eta + delta / keep * squares + v) / (2.0 * math.pi)
        slope_b, slope_v = eta / (2.0 * math.pi), 0.25 / math.pi
        for m in range(count):
            t = h * (m + 1)
            shrink = math.exp(-0.5 * t * t * v)
            over_sinh = 1.0 / math.sinh(math.pi * t)
            total += (1.0 - shrink * phi_re[m]) * over_sinh / t
            phi_re[m] *= shrink * over_sinh
            phi_im[m] *= shrink * over_sinh
            slope_b += phi_im[m]
            slope_v += 0.5 * t * phi_re[m]
        e = math.exp(-abs(eta))
        p = (1.0 if eta >= 0.0 else e) / (1.0 + e)
        # log 2 - softplus(η) + η/2 = log 2 - |η|/2 - log(1 + e^-|η|)
        r[i] = w * (h * total + math.log(2.0) - 0.5 * abs(eta) - math.log1p(e))
        r_b[i] = w * (h * slope_b + 0.5 - p)
        r_v[i] = w * h * slope_v
        if gradient.size == 0:
            continue

        at_zero = h * eta / (2.0 * math.pi) + 0.5 - p
        flat = at_zero + h * np.sum(phi_im[:count])
        for k in range(start, stop):
            j, x = column(rows, k), float(value(rows, i, k))
            z = x * beta[j]
            if z == 0.0:
                gradient[j] += w * x * flat
                continue
            # ∂φ/∂β_j = φ · i t x e^{itu} / f_j; the t cancels, and what is wanted is -Re(iφe/f) = Im(φe/f).
            _powers(h * z / keep, count, re, im)
            total = 0.0
            for m in range(count):
                f_re, f_im = delta + keep * re[m], keep * im[m]
                g_re, g_im = re[m] * f_re + im[m] * f_im, im[m] * f_re - re[m] * f_im
                size = f_re * f_re + f_im * f_im + 1e-300  # f may vanish, and then φ does
                total += (phi_re[m] * g_im + phi_im[m] * g_re) / size
            gradient[j] += w * x * (at_zero + h * (total + delta / keep * z / (2.0 * math.pi)))
