"""The feature matrix: how it is stored, and the operations that the rest of the package uses."""

from typing import TYPE_CHECKING

from dropglm.base.imports import lazy_names

if TYPE_CHECKING:
    from dropglm.core.design.design import AnyDesign, BlockDesign, Design
    from dropglm.core.design.prepare import frequency_order
    from dropglm.core.design.storage import Matrix

__all__ = ["AnyDesign", "BlockDesign", "Design", "Matrix", "frequency_order"]

# Imported when first asked for: predictions and online learning need only how rows are stored.
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "design": ("AnyDesign", "BlockDesign", "Design"),
        "prepare": ("frequency_order",),
        "storage": ("Matrix",),
    },
)
