"""The feature matrix: how it is stored, and the operations that the rest of the package uses."""

from dropglm.design.block_design import BlockDesign
from dropglm.design.design import Design
from dropglm.design.prepare import frequency_order
from dropglm.design.storage import Matrix

# A feature matrix of one block or of several.
AnyDesign = Design | BlockDesign

__all__ = ["AnyDesign", "BlockDesign", "Design", "Matrix", "frequency_order"]
