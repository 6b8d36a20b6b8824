"""Penalties in closed form: the paper's second-order expansion, and the normal approximation.

**Quadratic.** For a family with one predictor per row, row i contributes ½ A''(η_i) s²_i. For the multinomial
family A'' is a matrix, and row i contributes ½ tr(A''(η_i) Σ_i), where Σ_i is the covariance of its noised
predictors.
With A'' = diag(p) - p pᵀ,

    tr(A'' Σ_i) = relative · Σ_j x_ij² Var_{k~p_i}[β_jk] + absolute · Σ_j Var_{k~p_i}[β_jk],

the variance of a feature's coefficients over the classes, under the model's own prediction. It does not
change when a constant is added to the coefficients of all classes.

**Gaussian.** The noised predictor is approximated as normal, η̃_i ~ N(η_i, s²_i). Exact for additive Gaussian
noise and accurate for dropout when many features are active. Together with the loss convex in β, like the
expectation that they approximate. Each has its formula for arrays, and at a single row for compiled loops.
"""

import math
from typing import Any

import numpy as np

from dropglm.base.threads import each
from dropglm.core.design import AnyDesign, Design
from dropglm.core.design.storage import column, span, value
from dropglm.core.maths.compile import inlined, kernel
from dropglm.core.maths.softplus import increase, increase_at
from dropglm.core.penalties.base import Penalty, PenaltyGradient, RowPenalty


def expansion(eta: Any, s2: Any, A2: Any, A3: Any) -> tuple[Any, Any, Any]:
    """Return ½ A'' s² and its derivatives with respect to η and s², of numbers or arrays."""
    return 0.5 * A2 * s2, 0.5 * A3 * s2, 0.5 * A2


quadratic = inlined(expansion)


class Quadratic(RowPenalty):
    """R(β) = ½ Σ_i A''(η_i) s²_i; for dropout ½ · δ/(1-δ) · βᵀ diag(XᵀV X) β with V = diag(A''(η_i)).

    For the linear family this is the expectation itself. For the logistic family it is not convex, and it
    vanishes on rows that are predicted with confidence, however large the noise.
    """

    vanishes = True

    def rows(self, eta: np.ndarray, s2: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return ½ A'' s² and its derivatives with respect to η and s²."""
        return expansion(eta, s2, self.family.variance(eta), self.family.third_cumulant(eta))


class GaussianLogistic(RowPenalty):
    """R(β) = Σ_i E softplus(N(η_i, s²_i)) - softplus(η_i), to 8.2e-9 per row."""

    def rows(self, eta: np.ndarray, s2: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return r(η, s²) and its derivatives from the mixture of eight normals."""
        return increase(eta, s2)


@inlined
def gaussian_logistic(eta, s2, A2, A3):
    """E softplus(N(η, s²)) - softplus(η)."""
    return increase_at(eta, s2)


class GaussianPoisson(RowPenalty):
    """R(β) = Σ_i exp(η_i) (exp(s²_i / 2) - 1)."""

    def rows(self, eta: np.ndarray, s2: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return r(η, s²), which equals its derivative with respect to η, twice, and ∂r/∂s²."""
        noised = self.family.mean(eta + 0.5 * s2)
        # e^{η+c} (1 - e^{-c}) rather than e^η (e^c - 1), which is 0·∞ where η is very negative.
        r = -noised * np.expm1(-0.5 * s2)
        return r, r, 0.5 * noised


@inlined
def gaussian_poisson(eta, s2, A2, A3):
    """e^η (e^{s²/2} - 1)."""
    noised = math.exp(eta + 0.5 * s2)
    r = -noised * math.expm1(-0.5 * s2)
    return r, r, 0.5 * noised


class MultinomialQuadratic(Penalty):
    """R(β) = ½ Σ_i tr(A''(η_i) Σ_i)."""

    vanishes = True

    def value(self, design: AnyDesign, beta: np.ndarray, intercept: np.ndarray, weights: np.ndarray) -> float:
        """Return R(β)."""
        return self._forward(design, beta, intercept, weights)[0]

    def value_and_gradient(
        self, design: AnyDesign, beta: np.ndarray, intercept: np.ndarray, weights: np.ndarray
    ) -> tuple[float, PenaltyGradient]:
        """Return R(β) and ∇R(β), which depends on β through p and through Σ_i."""
        value, p, r_eta = self._forward(design, beta, intercept, weights)
        # Σ_j Var_p[β_j] = Σ_k p_k ‖β_k‖² - ‖Σ_k p_k β_k‖² has the derivative 2 p_k (β_jk - Σ_l p_l β_jl)
        # with respect to β_jk.
        wp = weights[:, None] * p
        spread = np.diag(wp.sum(axis=0)) - p.T @ wp
        gradient = np.empty_like(beta)
        for number, columns, block in design.blocks:
            noise, part = self.noise.of_block(number), beta[columns]
            q = 0.5 * noise.relative * weights
            gradient[columns] = _gradient(block, part, p, r_eta, q)
            gradient[columns] += (noise.absolute * part @ spread).astype(beta.dtype)
        return value, PenaltyGradient(gradient, r_eta.sum(axis=0))

    def _forward(
        self, design: AnyDesign, beta: np.ndarray, intercept: np.ndarray, weights: np.ndarray
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """Return R(β), the predictions p and ∂R/∂η; the last two of shape (n, K)."""
        p = self.family.mean(design.dot(beta) + intercept)
        v, v_p = np.zeros(len(p)), np.zeros_like(p)
        for number, columns, block in design.blocks:
            noise, part = self.noise.of_block(number), beta[columns]
            block_v, block_v_p = _variances(block, part, p)
            # The same for the additive noise, as if every feature were 1.
            gram = np.einsum("jk,jl->kl", part, part, dtype=np.float64)
            norms, crossed = np.diag(gram), p @ gram
            v += noise.relative * block_v + noise.absolute * (p @ norms - (p * crossed).sum(axis=1))
            v_p += noise.relative * block_v_p + noise.absolute * (norms - 2.0 * crossed)
        # ∂p_k/∂η_l = p_k (1[k=l] - p_l)
        r_eta = 0.5 * weights[:, None] * p * (v_p - (p * v_p).sum(axis=1, keepdims=True))
        return 0.5 * float(np.sum(weights * v)), p, r_eta


def _variances(design: Design, beta: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return v_i = Σ_j x_ij² Var_{k~p_i}[β_jk] and ∂v_i/∂p_ik, of shapes (n,) and (n, K)."""
    v, v_p = np.zeros(len(p)), np.zeros_like(p)
    each(lambda bounds: _set_variances(design.rows, beta, p, *bounds, v, v_p), design.pieces, design.threads)
    return v, v_p


def _gradient(design: Design, beta: np.ndarray, p: np.ndarray, r: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return Σ_i x_ij r_ik + 2 q_i x_ij² p_ik (β_jk - Σ_l p_il β_jl); shape (d, K)."""
    return design.sum_over_rows(
        lambda first, last, out: _scatter(design.rows, beta, p, r, q, first, last, out), *beta.shape
    )


@kernel
def _set_variances(rows, beta, p, first, last, v, v_p):
    """v_i = Σ_j x_ij² Var_{k~p_i}[β_jk] and ∂v_i/∂p_ik = Σ_j x_ij² (β_jk² - 2 m_ij β_jk)."""
    K = beta.shape[1]
    for i in range(first, last):
        start, stop = span(rows, i)
        for k in range(start, stop):
            j, x = column(rows, k), value(rows, i, k)
            m = 0.0
            for c in range(K):
                m += p[i, c] * beta[j, c]
            for c in range(K):
                deviation = beta[j, c] - m
                v[i] += x * x * p[i, c] * deviation * deviation
                v_p[i, c] += x * x * beta[j, c] * (beta[j, c] - 2.0 * m)


@kernel
def _scatter(rows, beta, p, r, q, first, last, gradient):
    """Add x_ij r_ik + 2 q_i x_ij² p_ik (β_jk - m_ij), m_ij = Σ_k p_ik β_jk, over rows i to gradient_jk."""
    K = beta.shape[1]
    for i in range(first, last):
        start, stop = span(rows, i)
        for k in range(start, stop):
            j, x = column(rows, k), value(rows, i, k)
            m = 0.0
            for c in range(K):
                m += p[i, c] * beta[j, c]
            for c in range(K):
                gradient[j, c] += x * (r[i, c] + 2.0 * q[i] * x * p[i, c] * (beta[j, c] - m))
