"""Every family with every penalty that supports it, in an objective with labelled and unlabelled rows."""

import numpy as np

from dropglm.core.design import Design
from dropglm.core.families import FAMILIES
from dropglm.core.noise import Dropout, Gaussian, Together
from dropglm.core.objective import Labels, Objective, WeightedRows, semi_supervised
from dropglm.core.penalties import EXPECTATIONS
from dropglm.core.penalties.monte_carlo import MonteCarlo
from tests.storages import real

CASES = [
    (name, family)
    for name, expectation in EXPECTATIONS.items()
    for family in FAMILIES
    if expectation.penalty_class(FAMILIES[family])
]
CASES += [("none", family) for family in FAMILIES]
NOISE = Together((Dropout(0.4), Gaussian(0.3)))


def penalty_of(expectation, family, noise=NOISE):
    if expectation == "none":
        return None
    penalty = EXPECTATIONS[expectation].penalty_class(FAMILIES[family])
    options = {"n_samples": 7, "seed": 3} if penalty is MonteCarlo else {}
    return penalty(FAMILIES[family], noise, **options)


def targets(family, n, rng):
    """y of shape (n, K)."""
    K = 3 if FAMILIES[family].several else 1
    y = FAMILIES[family].sample(rng.normal(scale=0.5, size=(n, K)), rng)
    return (y[:, None] == np.arange(K)).astype(float) if K > 1 else y.reshape(n, 1).astype(float)


def objective_of(
    expectation, family, rng, *, store=Design, discount=0.3, noise=NOISE, fit_intercept=True, threads=1
):
    X, X_unlabeled = 0.4 * real(rng, n=9), 0.4 * real(rng, n=5)
    y = targets(family, 9, rng)
    w = rng.uniform(0.5, 2.0, size=9)
    blocks = semi_supervised(
        WeightedRows(store(X), w, Labels(y, w)),
        WeightedRows(store(X_unlabeled), rng.uniform(0.5, 2.0, size=5)),
        discount,
    )
    for block in blocks:
        block.design.threads = threads
    l2 = rng.uniform(0.1, 1.0, size=(6, y.shape[1]))
    penalty = penalty_of(expectation, family, noise)
    return Objective.of_rows(
        blocks, FAMILIES[family], penalty, l2, fit_intercept=fit_intercept, threads=threads
    )


def somewhere(objective, rng, scale=0.3):
    return scale * rng.normal(size=objective.l2.size + objective.l2.shape[1])
