"""The ways in which this package compiles a function with Numba.

A ``kernel`` is a loop over rows: compiled on first use, kept on disk, run without Python's lock so that
threads help; its variants allow the compiler a little more. ``inlined`` marks a formula used inside
kernels: written out where it is called, since only a loop that the compiler sees whole gets vector
instructions.
"""

from collections.abc import Callable
from typing import Any

from numba import njit


def _kernel(**options: Any) -> Callable[[Callable], Any]:
    def compiled(function: Callable) -> Any:
        try:
            return njit(function, cache=True, nogil=True, error_model="numpy", **options)
        except RuntimeError:
            # Neither the package's folder nor the user's can be written to: compile in every process.
            return njit(function, nogil=True, error_model="numpy", **options)

    return compiled


# No fast-math: with it LLVM turns the sum over a sparse row into hardware gathers, which took
# 16.7 ms where the plain loop takes 10.4 ms (IMDB bigrams, AMD Zen 4). Infinities and NaN keep their meaning.
kernel = _kernel()

# A product may be rounded together with the sum that follows it: nothing that an infinity could notice.
# Not "reassoc": it would cancel the rounding trick of maths/normal.py, and did.
fused_kernel = _kernel(fastmath={"contract", "nsz"})

# Sums may be taken in another order as well: for sums over contiguous memory, where vector instructions pay.
summing_kernel = _kernel(fastmath={"contract", "nsz", "reassoc"})

inlined = njit(inline="always", error_model="numpy")
