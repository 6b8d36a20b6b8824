"""Stochastic gradient descent: a_j = √t for every feature.

β_{t+1} = β_t - (ρ / c √t) g_t
"""

from typing import NamedTuple

import numpy as np

from dropglm.online.rule import FUNCTIONS, Functions, logistic_slope


class Sgd(NamedTuple):
    """The same step for frequent and for rare features.

    Attributes
    ----------
    rate : float
        ρ.
    """

    rate: float = 4.0


FUNCTIONS[Sgd] = Functions(
    slope=lambda rule, eta, y, w, v: w * logistic_slope(eta, y),
    gain=lambda rule, r, w, h: 0.0,
    start=lambda rule, c2: 1.0,
    metric=lambda rule, s, t: np.sqrt(t),
    scale=lambda rule, c: c,
    shared=lambda rule: True,
    late=lambda rule: False,
)
