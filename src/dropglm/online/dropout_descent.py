"""Dropout descent: A_t = diag(H_t) with H_t = Σ_{i ≤ t} ∇²ℓ_i, the dropout penalty in place of the ridge.

    β_{t+1,j} = β_{t,j} - (ρ / c_t) g_j / (ε + Σ_i h_ij),   h_ij = A''(η_i) x_ij²

Each h_ij is taken at the η_i at which row i was seen. Like G_t of AdaGrad, H_t / t approaches the Fisher
information on well-specified data. AdaGrad's root makes its steps bolder; ``power`` = ½ does so here.
"""

from typing import NamedTuple

import numpy as np

from dropglm.online.rule import FUNCTIONS, Functions, logistic_slope


class Dropout(NamedTuple):
    """Steps by the curvature that each feature has seen.

    Attributes
    ----------
    rate : float
        ρ.
    initial : float
        ε, the curvature before the first row: a ridge around the start.
    power : float
        1, or ½ for comparison with AdaGrad.
    """

    rate: float = 1.0
    initial: float = 1.0
    power: float = 1.0


def _metric(rule, s, t):
    total = rule.initial + s
    return total if rule.power == 1.0 else np.sqrt(total)


FUNCTIONS[Dropout] = Functions(
    slope=lambda rule, eta, y, v: logistic_slope(eta, y),
    gain=lambda rule, r, h: h,
    metric=_metric,
    shared=lambda rule: False,
    late=lambda rule: False,
)
