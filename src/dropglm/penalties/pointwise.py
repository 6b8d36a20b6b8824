"""Row penalties r(η, s²) at a single row, for compiled loops on the CPU and on GPUs.

Each function takes η, s² and the family's A'' and A''' at η, and returns r and its derivatives with respect
to η and s². ``RowPenalty.rows`` has the same formulas for arrays; tests compare the two.
"""

import math
from typing import Any

from dropglm.maths.compile import inlined
from dropglm.maths.smoothed_softplus import increase_at
from dropglm.penalties.gaussian import GaussianLogistic, GaussianPoisson
from dropglm.penalties.quadratic import Quadratic


@inlined
def quadratic(eta, s2, A2, A3):
    """½ A'' s²."""
    return 0.5 * A2 * s2, 0.5 * A3 * s2, 0.5 * A2


@inlined
def gaussian_logistic(eta, s2, A2, A3):
    """E softplus(N(η, s²)) - softplus(η)."""
    return increase_at(eta, s2)


@inlined
def gaussian_poisson(eta, s2, A2, A3):
    """e^η (e^{s²/2} - 1)."""
    noised = math.exp(eta + 0.5 * s2)
    r = -noised * math.expm1(-0.5 * s2)
    return r, r, 0.5 * noised


# By class of the penalty; others have no compiled form.
POINTWISE: dict[type, Any] = {
    Quadratic: quadratic,
    GaussianLogistic: gaussian_logistic,
    GaussianPoisson: gaussian_poisson,
}
