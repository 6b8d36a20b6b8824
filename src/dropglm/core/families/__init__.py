"""Exponential families, defined by their log-partition function A.

``FAMILIES`` turns a name into a family.
"""

from dropglm.core.families.base import Family
from dropglm.core.families.linear import Linear
from dropglm.core.families.logistic import Logistic
from dropglm.core.families.multinomial import Multinomial
from dropglm.core.families.poisson import Poisson

FAMILIES: dict[str, type[Family]] = {
    "linear": Linear,
    "logistic": Logistic,
    "poisson": Poisson,
    "multinomial": Multinomial,
}

__all__ = ["FAMILIES", "Family", "Linear", "Logistic", "Multinomial", "Poisson"]
