"""The paper's forms of the penalties, and the expectations behind them, written out with plain NumPy.

    ½λ ‖β‖²,     ½σ² ‖β‖² tr V,     ½δ/(1-δ) βᵀ diag(XᵀVX) β,     V = diag(A''(η_i))

Nothing here is the library's, so that it can be put to the test.
"""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

ROWS = 60
DROPOUT = 0.5
ODDS = DROPOUT / (1.0 - DROPOUT)
NODES = 80  # of the quadrature for normal noise; at the larger size 60 give the same 10 digits
# All three have the constant ½ here, so that the linear family shows one number three times.
L2, NOISE_STD = ODDS, float(np.sqrt(ODDS / ROWS))

A: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "linear": lambda eta: 0.5 * eta**2,
    "logistic": lambda eta: np.logaddexp(0.0, eta),
    "poisson": np.exp,
}
V: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "linear": np.ones_like,
    "logistic": lambda eta: np.exp(eta) / (1.0 + np.exp(eta)) ** 2,
    "poisson": np.exp,
}
# Each entry in words, and as a function of X, β and A''(η), with the constant that the paper leaves out.
Form = Callable[[np.ndarray, np.ndarray, np.ndarray], Any]
RIDGE: tuple[str, Form] = "½λ ‖β‖²", lambda X, beta, v: 0.5 * L2 * (beta @ beta)
FORMS: dict[tuple[str, str], tuple[str, Form]] = {
    ("ridge", "linear"): RIDGE,
    ("ridge", "logistic"): RIDGE,
    ("ridge", "poisson"): RIDGE,
    ("additive noise", "linear"): (
        "½σ² n ‖β‖²",
        lambda X, beta, v: 0.5 * NOISE_STD**2 * len(X) * (beta @ beta),
    ),
    ("additive noise", "logistic"): (
        "½σ² ‖β‖² Σ p (1 - p)",
        lambda X, beta, v: 0.5 * NOISE_STD**2 * (beta @ beta) * v.sum(),
    ),
    ("additive noise", "poisson"): (
        "½σ² ‖β‖² tr V",
        lambda X, beta, v: 0.5 * NOISE_STD**2 * (beta @ beta) * np.trace(np.diag(v)),
    ),
    ("dropout", "linear"): ("½δ/(1-δ) ‖β‖²", lambda X, beta, v: 0.5 * ODDS * (beta @ beta)),
    ("dropout", "logistic"): (
        "½δ/(1-δ) Σ p (1 - p) x² β²",
        lambda X, beta, v: 0.5 * ODDS * np.sum(v[:, None] * X**2 * beta**2),
    ),
    ("dropout", "poisson"): (
        "½δ/(1-δ) βᵀ diag(XᵀVX) β",
        lambda X, beta, v: 0.5 * ODDS * beta @ np.diag(np.diag(X.T @ np.diag(v) @ X)) @ beta,
    ),
}


def over_masks(X: np.ndarray, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The predictors under every mask, (n, 2^d), and how likely each mask is."""
    masks = np.array(list(product((0.0, 1.0), repeat=len(beta))))
    chance = np.prod(np.where(masks > 0, 1.0 - DROPOUT, DROPOUT), axis=1)
    return (X * beta) @ masks.T / (1.0 - DROPOUT), chance


def over_nodes(X: np.ndarray, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The predictors at the nodes of a quadrature over normal noise, and the weight of each node."""
    z, weights = np.polynomial.hermite_e.hermegauss(NODES)
    return (X @ beta)[:, None] + NOISE_STD * np.linalg.norm(beta) * z, weights / weights.sum()


COUNTED = {"additive noise": over_nodes, "dropout": over_masks}
