"""Synthetic rows from a known logistic model whose Fisher information can be computed.

Half of the features are normal, x_j = s_j z_j, with very different scales. The others are words: a row has at
most one of them, word k with probability p_k, and its feature then has the value v_k. With m_k = b + v_k β_k
(m_0 = b without a word) and σ² = Σ s_j² β_j² over the normal features, η given word k is N(m_k, σ²), so that

    E A''(η) x_k²  =  p_k v_k² E A''(m_k + σ z)
    E A''(η) x_j²  =  Σ_k p_k E A''(m_k + σ z) (c_j² z² + s_j² - c_j²),     c_j = s_j² β_j / σ

are integrals over one standard normal z, which Gauss-Hermite quadrature computes to rounding error.
"""

import numpy as np

from dropglm.families import Logistic

NODES = 100
INTERCEPT = -0.5
SCALE = np.geomspace(0.1, 2.0, 10)  # s
BETA_NORMAL = np.where(np.arange(10) % 2, -0.4, 0.4) / np.sqrt(SCALE)
FREQUENCY = np.geomspace(0.005, 0.2, 10)  # p
VALUE = np.tile([0.5, 1.0, 2.0, 1.0, 0.5], 2)  # v
BETA_WORD = np.tile([1.5, -1.0, 0.75, -0.5, -1.0], 2)


def well_specified_rows(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw features (n, 20), the normal ones first, and labels (n,).

    Examples
    --------
    >>> X, y = well_specified_rows(1000, 0)
    >>> X.shape, int((X[:, 10:] != 0).sum(axis=1).max())
    ((1000, 20), 1)
    """
    rng = np.random.default_rng(seed)
    X = np.zeros((n, len(SCALE) + len(FREQUENCY)))
    X[:, : len(SCALE)] = SCALE * rng.normal(size=(n, len(SCALE)))
    no_word = 1.0 - FREQUENCY.sum()
    word = rng.choice(len(FREQUENCY) + 1, size=n, p=[*FREQUENCY, no_word])
    has_word = np.flatnonzero(word < len(FREQUENCY))
    X[has_word, len(SCALE) + word[has_word]] = VALUE[word[has_word]]
    eta = INTERCEPT + X @ np.concatenate([BETA_NORMAL, BETA_WORD])
    return X, Logistic.sample(eta, rng).astype(np.int64)


def fisher_diagonal() -> np.ndarray:
    """Return the diagonal of E A''(η) x xᵀ, shape (20,)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    weights = weights / weights.sum()
    sigma = np.sqrt(np.sum((SCALE * BETA_NORMAL) ** 2))
    m = INTERCEPT + np.append(VALUE * BETA_WORD, 0.0)
    p = np.append(FREQUENCY, 1.0 - FREQUENCY.sum())
    curvature = Logistic.variance(m[:, None] + sigma * nodes) * weights
    words = FREQUENCY * VALUE**2 * curvature[:-1].sum(axis=1)
    mean_curvature, mean_of_squares = p @ curvature.sum(axis=1), p @ (curvature @ nodes**2)
    c2 = (SCALE**2 * BETA_NORMAL / sigma) ** 2
    return np.concatenate([c2 * mean_of_squares + (SCALE**2 - c2) * mean_curvature, words])
