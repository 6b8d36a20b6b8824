"""The paper's simulation of rare but useful features (its section 4.1).

Rows belong to 25 groups. Each of the first five has ten useful features of its own, all of one random sign
and with exponential sizes; they are 0 in other rows, so that a useful feature is active in 4 % of them. A
thousand nuisance features are standard normal everywhere. Useful features have E[x²] = 1 over all rows too.

    P(y = 1) = 1 / (1 + exp(-0.057 · sum of the useful features))
"""

import numpy as np

from dropglm.families import Logistic

GROUPS, ACTIVE_GROUPS, USEFUL, NUISANCE = 25, 5, 10, 1000
# E[x²] = 2 · scale² where active, and that is in 1 of 25 rows.
SCALE = np.sqrt(GROUPS / 2.0)
SIGNAL = 0.057


def simulated(groups: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Features (n, 1050) and labels (n,) of rows that belong to these groups.

    Examples
    --------
    >>> X, y = simulated(np.arange(75) % 25, np.random.default_rng(0))
    >>> X.shape, int((X[:, :50] != 0).any(axis=1).sum())
    ((75, 1050), 15)
    """
    n, useful = len(groups), ACTIVE_GROUPS * USEFUL
    sign = rng.choice([-1.0, 1.0], size=(n, 1))
    size = sign * rng.exponential(SCALE, size=(n, useful))
    mine = groups[:, None] == np.arange(useful) // USEFUL
    X = np.hstack([np.where(mine, size, 0.0), rng.normal(size=(n, NUISANCE))])
    return X, Logistic.sample(SIGNAL * X[:, :useful].sum(axis=1), rng)
