"""The feature matrix: how it is stored, and the few verbs by which the rest of the package sees it."""

from dropglm.design.design import Design
from dropglm.design.order import frequency_order
from dropglm.design.storage import Matrix

__all__ = ["Design", "Matrix", "frequency_order"]
