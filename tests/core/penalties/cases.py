"""Every combination of family, noise and penalty in the registries, ready to be evaluated."""

import numpy as np

from dropglm.core.families import FAMILIES
from dropglm.core.noise import Dropout, Gaussian, Together
from dropglm.core.penalties import EXPECTATIONS
from dropglm.core.penalties.monte_carlo import MonteCarlo

NOISE_CASES = {
    "dropout": Dropout(0.4),
    "gaussian": Gaussian(0.5),
    "both": Together((Dropout(0.4), Gaussian(0.5))),
}


def _refused(penalty, family, noise):
    """Return whether the penalty does not support the noise; the exact ones support two kinds."""
    try:
        penalty(family, noise)
    except ValueError:
        return True
    return False


CASES = {
    f"{name} {family} {noise}": (penalty, FAMILIES[family], NOISE_CASES[noise])
    for name, expectation in EXPECTATIONS.items()
    for family in FAMILIES
    if (penalty := expectation.penalty_class(FAMILIES[family]))
    for noise in NOISE_CASES
    if not _refused(penalty, FAMILIES[family], NOISE_CASES[noise])
}


def build(name):
    """Return the penalty and the number of columns of its coefficients."""
    penalty, family, noise = CASES[name]
    settings = {"n_samples": 20, "seed": 3} if issubclass(penalty, MonteCarlo) else {}
    return penalty(family, noise, **settings), 3 if family.several else 1


def coefficients(rng, d, K):
    """β, b and a direction for each, all of order 1."""
    return rng.normal(scale=0.7, size=(4, d, K))[:2], rng.normal(scale=0.5, size=(2, K))


def evaluate(name, design, beta, intercept, weights=None):
    penalty, _ = build(name)
    weights = np.ones(design.shape[0]) if weights is None else weights
    return penalty.value_and_gradient(design, beta, intercept, weights)
