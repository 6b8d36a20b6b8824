"""Fits on an NVIDIA GPU: many problems move through one pass over the rows together.

Numba compiles the kernels; CuPy holds the arrays. With ``NUMBA_ENABLE_CUDASIM=1`` Numba simulates a GPU, and
NumPy takes the place of CuPy: the same kernels run on any computer, slowly. The modules are imported only
when a fit is to use a GPU.
"""

from dropglm.base.imports import lazy_names

__all__ = ["design", "lbfgs", "objective", "row_loops", "runtime"]

__getattr__, __dir__ = lazy_names(__name__, dict.fromkeys(__all__, ()))
