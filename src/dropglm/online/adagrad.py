"""AdaGrad (Duchi, Hazan and Singer): A_t = diag(G_t)^½ with G_t = Σ_{i ≤ t} g_i g_iᵀ.

β_{t+1,j} = β_{t,j} - (ρ / c) g_j / √(ε + Σ_i g_ij²)
"""

from typing import NamedTuple

import numpy as np

from dropglm.online.rule import FUNCTIONS, Functions, logistic_slope


class AdaGrad(NamedTuple):
    """Large steps for features that have had small gradients so far, rare ones above all.

    Attributes
    ----------
    rate : float
        ρ.
    initial : float
        ε, the sum before the first row.
    """

    rate: float = 1.0
    initial: float = 1e-2


FUNCTIONS[AdaGrad] = Functions(
    slope=lambda rule, eta, y, w, v: w * logistic_slope(eta, y),
    gain=lambda rule, r, w, h: r * r,
    start=lambda rule, c2: rule.initial,
    metric=lambda rule, s, t: np.sqrt(s),
    scale=lambda rule, c: c,
    shared=lambda rule: False,
    late=lambda rule: False,
)
