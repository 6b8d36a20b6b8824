"""AROW (Crammer, Kulesza and Dredze), with a diagonal covariance Σ = diag(1 / a_j).

    β_{t+1} = argmin_β ½ (β - β_t)ᵀ Σ⁻¹ (β - β_t) + (w / 2r) max(0, 1 - ỹ η)²,   ỹ = 2y - 1
    β_{t+1} = β_t + Σ x ỹ w (1 - ỹ η_t) / (r + w xᵀΣx),   1/Σ_jj ← 1/Σ_jj + w x_j² / r,   if ỹ η_t < 1

It looks at how often a feature was seen, not at how sure the model was.
"""

from typing import NamedTuple

from dropglm.online.rule import FUNCTIONS, Functions


class Arow(NamedTuple):
    """Adaptive regularisation of weights, on the squared hinge.

    Attributes
    ----------
    rate : float
        1: the step is the minimum of the problem itself.
    r : float
        How little a row counts against what is known already.
    initial : float
        1/Σ_jj before the first row.
    """

    rate: float = 1.0
    r: float = 1.0
    initial: float = 1.0


def _slope(rule, eta, y, w, v):
    sign = 2.0 * y - 1.0
    loss = 1.0 - sign * eta
    return -sign * w * loss / (rule.r + w * v) if loss > 0.0 else 0.0


FUNCTIONS[Arow] = Functions(
    slope=_slope,
    gain=lambda rule, r, w, h: w / rule.r if r != 0.0 else 0.0,
    start=lambda rule, c2: rule.initial,
    metric=lambda rule, s, t: s,
    scale=lambda rule, c: 1.0,
    shared=lambda rule: False,
    late=lambda rule: True,
)
