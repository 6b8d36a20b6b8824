"""The exponential function above its tangent at zero."""

import math

import numpy as np

from dropglm.maths.compile import inlined
from dropglm.maths.normal import polynomial

# 1/16! … 1/2!: at |x| <= ½ the term after these is below 1e-19 of the sum.
_COEFFICIENTS = np.array([1.0 / math.factorial(k) for k in range(16, 1, -1)])


@inlined
def exp_above_tangent(x):
    """e^x - 1 - x for |x| <= ½, to all digits; exp and expm1 would lose those that cancel."""
    return x * x * polynomial(_COEFFICIENTS, x)
