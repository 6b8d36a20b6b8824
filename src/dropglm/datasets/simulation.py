"""The paper's simulation of rare but useful features (its section 4.1).

Rows belong to 25 groups. Each of the first five has ten useful features of its own, all of one random sign
and with exponential sizes; they are 0 in other rows, so that a useful feature is active in 4 % of them. A
thousand nuisance features are standard normal everywhere. Useful features have E[x²] = 1 over all rows too.

    P(y = 1) = 1 / (1 + exp(-0.057 · sum of the useful features))
"""

from typing import Any

import numpy as np

from dropglm import checks
from dropglm.datasets.entry import Entry
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


def parts(*, n_rows: int = 75, random_state: Any = 0) -> dict[str, Any]:
    """The fields of ``Dataset``: as many rows of each group as there can be."""
    checks.whole_number(n_rows, "n_rows")
    if n_rows < 1:
        raise ValueError(f"n_rows must be 1 or more, got {n_rows}.")
    groups = np.arange(n_rows) % GROUPS
    X, y = simulated(groups, np.random.default_rng(checks.seed(random_state)))
    return {"X": X, "y": y.astype(np.int64), "groups": groups}


SIMULATION = Entry(
    summary="the paper's simulation: 50 rare useful features, 1,000 of noise",
    rows=None,
    classes=("0", "1"),
    terms="Computed here.",
    citation="Wager, Wang, Liang: Dropout Training as Adaptive Regularization, NIPS 2013.",
    note="Options: n_rows, random_state. Rows take turns through the 25 groups.",
    parts=parts,
)
