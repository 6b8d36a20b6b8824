r"""softplus(x) = log(1 + e^x) and its two derivatives, without a branch.

With e = exp(-|x|) and s = e / (2 + e), log(1 + e) = 2 artanh s. On y = 18 s² - 1, which maps [0, 1/3] to
[-1, 1], 2 artanh(s) / s is a polynomial of degree 9 to rounding: the one that interpolates it at Chebyshev
points. A loop over an array takes 3 ns per number, and 14 ns with ``math.exp`` and ``math.log``.
"""

import numpy as np

from dropglm.core.maths.compile import inlined
from dropglm.core.maths.normal import exp_of_nonpositive, polynomial

# Highest power first, the order of Horner's rule:
#   chebyshev.cheb2poly(chebyshev.chebinterpolate(lambda y: 2 artanh(s) / s, 9))[::-1], s = √((1 + y) / 18)
_ARTANH = np.array(
    [
        9.094947017729282e-13,
        1.7257661966141315e-11,
        3.259799541410757e-10,
        6.397041119043935e-09,
        1.2860729699110123e-07,
        2.6742883953545514e-06,
        5.8519288142709284e-05,
        0.0013952765488740137,
        0.03966212261758875,
        2.038322813588352,
    ]
)


@inlined
def softplus(x):
    """log(1 + e^x), p = 1 / (1 + e^-x) and p (1 - p), to 2e-15 of themselves but at least 1e-304."""
    e = exp_of_nonpositive(-abs(x))
    share = 1.0 / (1.0 + e)
    s = e / (2.0 + e)
    value = (0.0 if x < 0.0 else x) + s * polynomial(_ARTANH, 18.0 * s * s - 1.0)
    return value, (e if x < 0.0 else 1.0) * share, e * share * share
