"""Reference values found in other ways: by enumeration, integration or differences."""

from itertools import pairwise, product

import numpy as np
from scipy.integrate import quad


def softplus(z):
    return np.logaddexp(0.0, z)


def enumerated(A, X, beta, *, intercept=0.0, dropout=0.0, noise_std=0.0):
    """Σ_i E[A(η̃_i)] - A(η_i) row by row: all 2^m masks of the m non-zero features, then the normal noise."""
    tau = noise_std * np.linalg.norm(beta)
    rows = []
    for x in np.asarray(X, dtype=np.float64):
        z = (x * beta)[x != 0]
        masks = np.array(list(product((0, 1), repeat=len(z))), dtype=bool).reshape(-1, len(z))
        chance = np.where(masks, 1.0 - dropout, dropout).prod(axis=1)
        eta = intercept + masks @ z / (1.0 - dropout)
        rows.append(chance @ smoothed(A, eta, tau) - A(intercept + z.sum()))
    return np.array(rows)


def smoothed(A, eta, tau):
    """E A(N(η, τ²)), by the trapezoid rule, which is exact to rounding for functions this smooth."""
    if tau == 0.0:
        return A(eta)
    z = np.linspace(-12.0, 12.0, 4001)
    density = np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi) * (z[1] - z[0])
    return A(eta[:, None] + tau * z) @ density


def integrated(A, eta, s2):
    """E A(N(η, s²)), by adaptive integration between the points where the integrand changes quickly."""
    s = np.sqrt(s2)
    if s == 0.0:
        return float(A(eta))
    cuts = [-eta / s + k / s for k in (-30, -8, -2, 0, 2, 8, 30)] + [-9, -4, -1, 1, 4, 9]
    edges = sorted({-38.0, 38.0, *(float(c) for c in cuts if -38 < c < 38)})

    def integrand(z):
        return A(eta + s * z) * np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)

    pieces = (quad(integrand, a, b, epsabs=1e-13, epsrel=1e-12, limit=200) for a, b in pairwise(edges))
    return sum(piece[0] for piece in pieces)


def central_difference(f, step):
    """f'(0), to fourth order."""
    return (8.0 * (f(step) - f(-step)) - (f(2 * step) - f(-2 * step))) / (12.0 * step)
