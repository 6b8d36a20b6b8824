r"""Penalties without approximation, for dropout and additive Gaussian noise of variance v = σ²‖β‖².

For the logistic family, E softplus(η̃) comes from the characteristic function φ of η̃, without sampling:

    softplus(z) = z/2 + log 2 + ∫_0^∞ (1 - cos zt) / (t sinh πt) dt,      so

    E softplus(η̃) = η/2 + log 2 + ∫_0^∞ (1 - Re φ(t)) / (t sinh πt) dt,

    φ(t) = e^{itb} e^{-t²v/2} Π_j f_j(t),   f_j(t) = δ + (1-δ) e^{itu_j},  u_j = x_j β_j / (1-δ).

The trapezoid rule with step h has an error of e^{-(2π/h - reach)}, where reach bounds |η̃|; the integrand's
limit at 0 is E[η̃²]/2π, and the integral beyond t = LAST is below 3e-13. Each row uses the step that its own
reach requires.

For the Poisson family, E exp(η̃) is a product of moment generating functions:

    log E exp(η̃) = b + Σ_j κ(x_j β_j) + v/2,    κ(z) = log(δ + (1-δ) e^{z/(1-δ)}).

Features may come in several blocks, each with its own δ and σ.
"""

import math
from typing import Any, ClassVar

import numpy as np
from numba import literal_unroll

from dropglm.base.errors import InputError
from dropglm.core.design import AnyDesign
from dropglm.core.design.storage import column, span, value
from dropglm.core.families import Family, logistic
from dropglm.core.maths.compile import inlined, kernel, summing_kernel
from dropglm.core.maths.softplus import polynomial
from dropglm.core.noise import Dropout, Gaussian, Noise
from dropglm.core.penalties.base import Penalty, PenaltyGradient

LAST = 8.6
DIGITS = 28.0  # -log of the step's largest error, 7e-13
MAX_NODES = 16384  # enough for a reach of 11,900
MAX_REACH = 2.0 * math.pi * MAX_NODES / LAST - DIGITS

# 1/16!, …, 1/2!: at |x| <= ½ the first omitted term is below 1e-19 of the sum.
_EXP_COEFFICIENTS = np.array([1.0 / math.factorial(k) for k in range(16, 1, -1)])


class ExactPenalty(Penalty):
    """R(β) = Σ_i E A(η̃_i) - A(η_i) for dropout and additive Gaussian noise, by the rows of a kernel."""

    add_rows: ClassVar[Any]

    def __init__(self, family: type[Family], noise: Noise) -> None:
        super().__init__(family, noise)
        for part in noise.parts:
            if not isinstance(part, (Dropout, Gaussian)):
                raise InputError(
                    f"There is no exact penalty for {type(part).__name__} noise; use "
                    "expectation='monte_carlo'.",
                    "expectation",
                )

    def value(self, design: AnyDesign, beta: np.ndarray, intercept: np.ndarray, weights: np.ndarray) -> float:
        """Return R(β), at about half the cost of value and gradient."""
        return self.value_and_gradient(design, beta, intercept, weights, with_gradient=False)[0]

    def value_and_gradient(
        self,
        design: AnyDesign,
        beta: np.ndarray,
        intercept: np.ndarray,
        weights: np.ndarray,
        *,
        with_gradient: bool = True,
    ) -> tuple[float, PenaltyGradient]:
        """Return R(β) and its gradient, which is empty unless it is asked for."""
        b, coef = intercept[0], beta[:, 0]
        noises = [(self.noise.of_block(number), columns) for number, columns, _ in design.blocks]
        blocks = tuple(
            (block.rows, columns.start, _dropout_rate(noise))
            for (noise, columns), (_, _, block) in zip(noises, design.blocks, strict=True)
        )
        v = sum(noise.absolute_variance(coef[columns]) for noise, columns in noises)
        answers = np.empty((len(weights), 4))

        def add(first: int, last: int, out: np.ndarray) -> None:
            self.add_rows(blocks, coef, b, v, weights, first, last, answers, out)

        gradient = design.sum_over_rows(add, len(coef) if with_gradient else 0)
        r, r_b, r_v, reach = answers.T
        if not (reach <= MAX_REACH).all():
            row = int(np.argmax(reach))
            raise InputError(
                f"The exact expectation cannot be computed for row {row}: its linear predictor under noise "
                f"reaches {reach[row]:.6g}, above the limit of {MAX_REACH:.6g}; scale down the coefficients "
                "or the features, or use expectation='gaussian'.",
                "expectation",
            )
        if with_gradient:
            for noise, columns in noises:
                gradient[columns] += noise.shrinkage(coef[columns], r_v)
        return float(r.sum()), PenaltyGradient(gradient[:, None], r_b.sum(keepdims=True))


def _dropout_rate(noise: Noise) -> float:
    """Return δ."""
    return float(sum(part.delta for part in noise.parts if isinstance(part, Dropout)))


@summing_kernel
def _add_logistic_rows(blocks, beta, b, v, weights, first, last, answers, gradient):
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
        w, p = weights[i], logistic(eta)[1]
        # η/2 + log 2 - softplus(η) = log 2 - |η|/2 - log(1 + e^-|η|)
        answers[i, 0] = w * (h * total + math.log(2.0) - 0.5 * abs(eta) - math.log1p(math.exp(-abs(eta))))
        answers[i, 1] = w * (h * slope_b + 0.5 - p)
        answers[i, 2] = w * h * slope_v
        if gradient.size:
            plain = 0.5 * h * eta / math.pi + 0.5 - p  # the part of ∂r/∂η without φ
            _add_logistic_gradient(blocks, i, beta, h, w, plain, powers, phi, gradient)


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
def _add_logistic_gradient(blocks, i, beta, h, w, plain, powers, phi, gradient):
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


class ExactLogistic(ExactPenalty):
    """R(β) = Σ_i E softplus(η̃_i) - softplus(η_i), to 1e-11 per row."""

    spares_one_sided = True
    add_rows = staticmethod(_add_logistic_rows)


@kernel
def _add_poisson_rows(blocks, beta, b, v, weights, first, last, answers, gradient):
    """As ``_add_logistic_rows``; r equals its derivative with respect to b, and the reach has no limit."""
    for i in range(first, last):
        eta, increase = _cumulants(blocks, i, beta, b, v)
        noised, plain = weights[i] * np.exp(eta + increase), weights[i] * np.exp(eta)
        # e^{η+c} (1 - e^{-c}) rather than e^η (e^c - 1), which is 0·∞ where η is very negative.
        answers[i, 0] = answers[i, 1] = -noised * np.expm1(-increase)
        answers[i, 2], answers[i, 3] = 0.5 * noised, 0.0
        if gradient.size:
            _add_poisson_gradient(blocks, i, beta, noised, plain, gradient)


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
def _add_poisson_gradient(blocks, i, beta, noised, plain, gradient):
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


class ExactPoisson(ExactPenalty):
    """R(β) = Σ_i E exp(η̃_i) - exp(η_i)."""

    add_rows = staticmethod(_add_poisson_rows)
