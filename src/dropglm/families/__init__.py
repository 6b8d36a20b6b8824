"""Exponential families, defined by their log-partition function A.

``FAMILIES`` turns a name into a family.
"""

from dropglm.families.base import Family
from dropglm.families.linear import Linear
from dropglm.families.logistic import Logistic
from dropglm.families.multinomial import Multinomial
from dropglm.families.poisson import Poisson

FAMILIES: dict[str, type[Family]] = {
    "linear": Linear,
    "logistic": Logistic,
    "poisson": Poisson,
    "multinomial": Multinomial,
}

__all__ = ["FAMILIES", "Family", "Linear", "Logistic", "Multinomial", "Poisson"]
