"""The ways in which this package compiles a function with Numba.

A ``kernel`` is a loop over rows: compiled on first use, kept on disk, run without Python's lock so that
threads help; its variants allow the compiler a little more. ``inlined`` marks a formula used inside
kernels: written out where it is called, since only a loop that the compiler sees whole gets vector
instructions.
"""

from numba import njit

# No fast-math: with it LLVM turns the sum over a sparse row into hardware gathers, which took
# 16.7 ms where the plain loop takes 10.4 ms (IMDB bigrams, AMD Zen 4). Infinities and NaN keep their meaning.
kernel = njit(cache=True, nogil=True, error_model="numpy")

# A product may be rounded together with the sum that follows it: nothing that an infinity could notice.
# Not "reassoc": it would cancel the rounding trick of maths/normal.py, and did.
fused_kernel = njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "nsz"})

# Sums may be taken in another order as well: for sums over contiguous memory, where vector instructions pay.
summing_kernel = njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "nsz", "reassoc"})

inlined = njit(inline="always", error_model="numpy")
