r"""The normal density φ and tail Φ(-u) for u >= 0, without a branch.

Φ(-u) = φ(u) m(u), where m is Mills' ratio. On y = (u - 4) / (u + 4), which maps [0, ∞) to [-1, 1),
m is smooth enough for a polynomial: the one that interpolates SciPy's ``erfcx`` at 21 Chebyshev points.
Computing φ and Φ takes 2 ns per number in a loop over an array, where SciPy's ``ndtr`` alone takes 14 ns.
"""

import math

import numpy as np

from dropglm.core.maths.compile import inlined

_SCALE = 4.0
# Highest power first, the order of Horner's rule:
#   chebyshev.cheb2poly(chebyshev.chebinterpolate(lambda y: √(π/2) erfcx(4 (1 + y) / (1 - y) / √2), 20))[::-1]
# As numbers, since scipy.special takes 0.06 s to import.
_MILLS = np.array(
    [
        -2.2294455453470605e-09,
        1.0795690093937039e-08,
        2.989392030345782e-08,
        -9.535389769029191e-08,
        -2.4535775604149e-07,
        4.736284202412071e-07,
        1.6667357496392456e-06,
        -2.0479844777157886e-06,
        -1.0792551181320611e-05,
        1.15951757956032e-05,
        7.181272132441881e-05,
        -0.00011418495827096303,
        -0.0004692018521373621,
        0.0016012681149830401,
        0.0012722695133757268,
        -0.021286526573466438,
        0.07736659065926668,
        -0.17974381473650658,
        0.31177255821107147,
        -0.42712374676601583,
        0.23665238291356008,
    ]
)
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
