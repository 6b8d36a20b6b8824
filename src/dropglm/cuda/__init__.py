"""Fits on an NVIDIA GPU: many problems move through one pass over the rows together.

Numba compiles the kernels; CuPy holds the arrays. With ``NUMBA_ENABLE_CUDASIM=1`` Numba simulates a GPU, and
NumPy takes the place of CuPy: the same kernels run on any computer, slowly. This package is imported only
when a fit is to use a GPU.
"""
