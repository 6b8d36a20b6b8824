r"""E softplus(η̃) from the characteristic function φ of η̃, without sampling.

    softplus(z) = z/2 + log 2 + ∫_0^∞ (1 - cos zt) / (t sinh πt) dt,      so

    E softplus(η̃) = η/2 + log 2 + ∫_0^∞ (1 - Re φ(t)) / (t sinh πt) dt,

    φ(t) = e^{itb} e^{-t²v/2} Π_j f_j(t),   f_j(t) = δ + (1-δ) e^{itu_j},  u_j = x_j β_j / (1-δ),

with v = σ²‖β‖². The trapezoid rule with step h has an error of e^{-(2π/h - reach)}, where reach bounds
|η̃|; the integrand's limit at 0 is E[η̃²]/2π, and the integral beyond t = LAST is below 3e-13. Each row
uses the step that its own reach requires. Features may come in several blocks, each with its own δ and σ.
"""

import math

import numpy as np
from numba import literal_unroll

from dropglm.design import AnyDesign
from dropglm.design.storage import column, span, value
from dropglm.families import Family
from dropglm.maths.compile import inlined, summing_kernel
from dropglm.noise import Noise
from dropglm.penalties.base import Penalty, Slopes, check_exact, exact_blocks

LAST = 8.6
DIGITS = 28.0  # -log of the step's largest error, 7e-13
MAX_NODES = 16384  # enough for a reach of 11,900
MAX_REACH = 2.0 * math.pi * MAX_NODES / LAST - DIGITS


class ExactLogistic(Penalty):
    """R(β) = Σ_i E softplus(η̃_i) - softplus(η_i) for dropout and Gaussian noise, to 1e-11 per row."""

    spares_one_sided = True

    def __init__(self, family: type[Family], noise: Noise) -> None:
        super().__init__(family, noise)
        check_exact(noise)

    def value(self, design: AnyDesign, beta: np.ndarray, intercept: np.ndarray, weights: np.ndarray) -> float:
        """Return R(β), at half the cost of value and gradient."""
        return self._evaluate(design, beta, intercept, weights, with_gradient=False)[0]

    def value_and_gradient(
        self, design: AnyDesign, beta: np.ndarray, intercept: np.ndarray, weights: np.ndarray
    ) -> tuple[float, Slopes]:
        """Return R(β) and its gradient."""
        return self._evaluate(design, beta, intercept, weights, with_gradient=True)

    def _evaluate(
        self,
        design: AnyDesign,
        beta: np.ndarray,
        intercept: np.ndarray,
        weights: np.ndarray,
        *,
        with_gradient: bool,
    ) -> tuple[float, Slopes]:
        b, coef = intercept[0], beta[:, 0]
        blocks = exact_blocks(design, self.noise)
        v = sum(
            self.noise.of_block(number).absolute_variance(coef[columns])
            for number, columns, _ in design.blocks
        )
        answers = np.empty((len(weights), 4))

        def add(first: int, last: int, out: np.ndarray) -> None:
            _add_rows(blocks, coef, b, v, weights, first, last, answers, out)

        gradient = design.sum_over_rows(add, len(coef) if with_gradient else 0)
        r, r_b, r_v, reach = answers.T
        if not (reach <= MAX_REACH).all():
            row = int(np.argmax(reach))
            raise ValueError(
                f"The exact expectation cannot be computed for row {row}: its linear predictor under noise "
                f"reaches {reach[row]:.6g}, above the limit of {MAX_REACH:.6g}; scale down the coefficients "
                "or the features, or use expectation='gaussian'."
            )
        if with_gradient:
            for number, columns, _ in design.blocks:
                gradient[columns] += self.noise.of_block(number).shrinkage(coef[columns], r_v)
        return float(r.sum()), Slopes(gradient[:, None], r_b.sum(keepdims=True))


@summing_kernel
def _add_rows(blocks, beta, b, v, weights, first, last, answers, gradient):
    """Set answers_i = (r, ∂r/∂b, ∂r/∂v, reach), and add ∂r/∂β to the gradient unless its size is 0."""
    room = np.empty((4, MAX_NODES))
    for i in range(first, last):
        eta, variance, reach = _moments(blocks, i, beta, b, v)
        answers[i, 3] = reach
        if not reach <= MAX_REACH:
            continue
        h = 2.0 * math.pi / (reach + DIGITS)
        count = int(LAST / h)
        powers, phi = (room[0, :count], room[1, :count]), (room[2, :count], room[3, :count])
        _characteristic(blocks, i, beta, b, h, powers, phi)

        # The trapezoid rule and its derivatives. φ is replaced by φ / sinh πt, which the gradient needs.
        total, slope_b, slope_v = 0.25 * (eta * eta + variance) / math.pi, 0.5 * eta / math.pi, 0.25 / math.pi
        re, im = phi
        for m in range(count):
            t = h * (m + 1)
            shrink = math.exp(-0.5 * t * t * v)
            over_sinh = 1.0 / math.sinh(math.pi * t)
            total += (1.0 - shrink * re[m]) * over_sinh / t
            re[m] *= shrink * over_sinh
            im[m] *= shrink * over_sinh
            slope_b += im[m]
            slope_v += 0.5 * t * re[m]
        e = math.exp(-abs(eta))
        p = (1.0 if eta >= 0.0 else e) / (1.0 + e)
        w = weights[i]
        # η/2 + log 2 - softplus(η) = log 2 - |η|/2 - log(1 + e^-|η|)
        answers[i, 0] = w * (h * total + math.log(2.0) - 0.5 * abs(eta) - math.log1p(e))
        answers[i, 1] = w * (h * slope_b + 0.5 - p)
        answers[i, 2] = w * h * slope_v
        if gradient.size:
            plain = 0.5 * h * eta / math.pi + 0.5 - p  # the part of ∂r/∂η without φ
            _add_gradient(blocks, i, beta, h, w, plain, powers, phi, gradient)


@summing_kernel
def _moments(blocks, i, beta, b, v):
    """Return η, Var[η̃] and a bound on |η̃| that is exceeded with a probability below 1e-13."""
    eta, variance, above, below = b, v, b, b
    for block in literal_unroll(blocks):
        rows, offset, delta = block
        squares = 0.0
        start, stop = span(rows, i)
        for k in range(start, stop):
            z = value(rows, i, k) * beta[offset + column(rows, k)]
            eta += z
            squares += z * z
            above += max(z, 0.0) / (1.0 - delta)
            below += min(z, 0.0) / (1.0 - delta)
        variance += delta / (1.0 - delta) * squares
    # Normal noise raises the step's error by E e^|N(0, v)| <= 2 e^{v/2}; beyond 7.5 √v it is negligible.
    normal = min(0.5 * v, 7.5 * math.sqrt(v))
    return eta, variance, max(abs(above), abs(below)) + normal


@summing_kernel
def _characteristic(blocks, i, beta, b, h, powers, phi):
    """Set φ(kh) e^{(kh)²v/2}, k = 1, 2, …, of row i, as real and imaginary parts."""
    _set_powers(h * b, phi)
    re, im = phi
    e_re, e_im = powers
    for block in literal_unroll(blocks):
        rows, offset, delta = block
        start, stop = span(rows, i)
        for k in range(start, stop):
            z = value(rows, i, k) * beta[offset + column(rows, k)]
            if z != 0.0:
                _set_powers(h * z / (1.0 - delta), powers)
                for m in range(re.size):
                    f_re, f_im = delta + (1.0 - delta) * e_re[m], (1.0 - delta) * e_im[m]
                    re[m], im[m] = re[m] * f_re - im[m] * f_im, re[m] * f_im + im[m] * f_re


@summing_kernel
def _add_gradient(blocks, i, beta, h, w, plain, powers, phi, gradient):
    """Add w ∂r/∂β_j for the features of row i, given φ / sinh πt.

    ∂φ/∂β_j = φ · i t x_j e^{itu_j} / f_j; the t cancels, and the result is -Re(iφe/f) = Im(φe/f).
    """
    re, im = phi
    e_re, e_im = powers
    for block in literal_unroll(blocks):
        rows, offset, delta = block
        start, stop = span(rows, i)
        for k in range(start, stop):
            j, x = offset + column(rows, k), value(rows, i, k)
            if x == 0.0:
                continue
            z = x * beta[j]
            _set_powers(h * z / (1.0 - delta), powers)
            total = 0.5 * delta / (1.0 - delta) * z / math.pi
            for m in range(re.size):
                f_re, f_im = delta + (1.0 - delta) * e_re[m], (1.0 - delta) * e_im[m]
                # e times the conjugate of f; where f vanishes, so does φ
                g_re, g_im = e_re[m] * f_re + e_im[m] * f_im, e_im[m] * f_re - e_re[m] * f_im
                total += (re[m] * g_im + im[m] * g_re) / (f_re * f_re + f_im * f_im + 1e-300)
            gradient[j] += w * x * (plain + h * total)


@inlined
def _set_powers(angle, powers):
    """Set e^{i·angle·k}, k = 1, 2, …, by doubling, so that each step is one loop of vector instructions."""
    re, im = powers
    re[0], im[0] = math.cos(angle), math.sin(angle)
    known = 1
    while known < re.size:
        a, b = re[known - 1], im[known - 1]
        for k in range(min(known, re.size - known)):
            re[known + k] = a * re[k] - b * im[k]
            im[known + k] = a * im[k] + b * re[k]
        known *= 2
