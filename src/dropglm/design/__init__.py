"""The feature matrix: how it is stored, and the operations that the rest of the package uses."""

from dropglm.design.design import Design
from dropglm.design.prepare import frequency_order
from dropglm.design.storage import Matrix

__all__ = ["Design", "Matrix", "frequency_order"]
