"""The families at a single η, for compiled loops: A, A', A'' and A''' together.

The same functions are compiled for the CPU and for GPUs. Where a loop ignores some of the four, the compiler
leaves them out. The methods of the families are the same formulas for arrays of NumPy, which need no
compiler; tests compare the two.
"""

import math
from typing import Any

from dropglm.core.families.linear import Linear
from dropglm.core.families.logistic import Logistic
from dropglm.core.families.poisson import Poisson
from dropglm.core.maths.compile import inlined


@inlined
def logistic(eta):
    """A = log(1 + e^η) and its derivatives; e = exp(-|η|) cannot overflow."""
    e = math.exp(-abs(eta))
    positive = eta > 0.0
    p = (1.0 if positive else e) / (1.0 + e)
    A2 = e / ((1.0 + e) * (1.0 + e))
    return math.log1p(e) + (eta if positive else 0.0), p, A2, -A2 * math.tanh(0.5 * eta)


@inlined
def linear(eta):
    """A = ½ η² and its derivatives."""
    return 0.5 * eta * eta, eta, 1.0, 0.0


@inlined
def poisson(eta):
    """A = e^η, which is its own derivative."""
    A = math.exp(eta)
    return A, A, A, A


# By family; others have no compiled form.
POINTWISE: dict[type, Any] = {Logistic: logistic, Linear: linear, Poisson: poisson}
