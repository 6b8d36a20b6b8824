"""Rows that resemble short texts."""

import numpy as np


def texts(rng, n=60, d=12, K=2):
    """Return counts of d words, the last of which never occurs, and the classes of the rows."""
    y = np.arange(n) % K
    rate = rng.gamma(0.7, size=(K, d))
    rate[:, -1] = 0.0
    return rng.poisson(rate[y]).astype(float), np.array(["bad", "good", "odd"])[y]
