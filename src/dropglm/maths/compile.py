"""The ways in which this package compiles functions with Numba.

A ``kernel`` is a loop over rows: compiled on first use, cached on disk, and run without the GIL so that
threads help. Its variants give the compiler a little more freedom. ``inlined`` marks a formula that is used
inside kernels: it is expanded where it is called, since the compiler vectorises only loops that it sees
completely. A ``part`` of a kernel is a function of its own, which takes less time to compile. LLVM expands
it as well if it is small, so that it is rarely slower.
"""

from collections.abc import Callable
from typing import Any

from numba import njit
from numba.extending import register_jitable

from dropglm.maths.kernel_cache import on_disk
from dropglm.maths.pipeline import KernelCompiler

# Without the entry point for callers in C, which nobody uses, a kernel takes a tenth less time to compile.
COMMON: dict[str, Any] = {
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
    "pipeline_class": KernelCompiler,
}


def _kernel(**options: Any) -> Callable[[Callable], Any]:
    def compiled(function: Callable) -> Any:
        return on_disk(njit(function, nogil=True, **COMMON, **options))

    return compiled


# No fast-math: with it LLVM turns the sum over a sparse row into hardware gathers, which took 16.7 ms where
# the plain loop takes 10.4 ms (IMDB bigrams, AMD Zen 4). Infinities and NaN keep their meaning.
kernel = _kernel()

# A product may be fused with the sum that follows it, which does not affect infinities. Not "reassoc": it
# optimises away the rounding trick of maths/normal.py.
fused_kernel = _kernel(fastmath={"contract", "nsz"})

# Sums may also be reordered: for sums over contiguous memory, where vector instructions pay.
summing_kernel = _kernel(fastmath={"contract", "nsz", "reassoc"})

inlined = njit(inline="always", **COMMON)

# Without an entry point for Python either: only kernels call a part.
part = njit(**COMMON | {"no_cpython_wrapper": True})

# A rule that Python, kernels and the kernels of a GPU use.
also_compiled: Any = register_jitable
