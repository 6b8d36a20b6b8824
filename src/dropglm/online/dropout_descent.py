"""Dropout descent: A_t = diag(H_t) with H_t = Σ_{i ≤ t} ∇²ℓ_i, the dropout penalty in place of the ridge.

    β_{t+1,j} = β_{t,j} - ρ g_j / (ε c² + Σ_i h_ij),   h_ij = A''(η_i) x_ij²

Each h_ij is taken at the η_i at which row i was seen. Like G_t of AdaGrad, H_t / t approaches the Fisher
information on well-specified data. A feature starts with the share ε of a row's squared size c², so that
a first row, all of whose features are new, moves η by about 1 / ε times its slope, however long it is.

AdaGrad's root makes its steps bolder; ``power`` = ½ does so here: √(ε + Σ_i h_ij) in place of the sum, and as
there the gradient is divided by c.
"""

from typing import NamedTuple

import numpy as np

from dropglm.online.rule import FUNCTIONS, Functions, logistic_slope


class DropoutDescent(NamedTuple):
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

    rate: float = 0.75
    initial: float = 0.1
    power: float = 1.0


FUNCTIONS[DropoutDescent] = Functions(
    slope=lambda rule, eta, y, w, v: w * logistic_slope(eta, y),
    gain=lambda rule, r, w, h: h,
    start=lambda rule, c2: rule.initial * c2 if rule.power == 1.0 else rule.initial,
    metric=lambda rule, s, t: s if rule.power == 1.0 else np.sqrt(s),
    scale=lambda rule, c: 1.0 if rule.power == 1.0 else c,
    shared=lambda rule: False,
    late=lambda rule: False,
)
