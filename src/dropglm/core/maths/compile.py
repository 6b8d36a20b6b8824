"""The ways in which this package compiles functions with Numba.

A ``kernel`` is a loop over rows: loaded from disk on first use, or compiled and written there, and run
without the GIL so that threads help. Its variants give the compiler a little more freedom. ``inlined`` marks
a formula that is used inside kernels: it is expanded where it is called, since the compiler vectorises only
loops that it sees completely. A ``kernel_helper`` is a function of its own, which takes less time to compile.
LLVM expands it as well if it is small, so that it is rarely slower.
"""

import gc
from collections.abc import Callable
from typing import Any

from numba import njit
from numba.core.compiler import Compiler
from numba.core.dispatcher import Dispatcher
from numba.extending import register_jitable

from dropglm.base.progress import about_to_compile
from dropglm.core.maths.kernel_files import KernelFiles, is_ours, reason_to_compile


class KernelCompiler(Compiler):
    """Numba's compiler, without garbage collections.

    Compiling allocates millions of objects, which the collector goes through again and again: without it, the
    functions of a first fit take 12 % less time to compile.

    Examples
    --------
    >>> from numba import njit
    >>> njit(lambda x: x + 1, pipeline_class=KernelCompiler)(1)
    2
    """

    def compile_extra(self, func: Callable) -> Any:
        """Compile a function."""
        about_to_compile(reason_to_compile())
        if not gc.isenabled():
            return super().compile_extra(func)
        gc.disable()
        try:
            return super().compile_extra(func)
        finally:
            gc.enable()


# Without the entry point for callers in C, which nobody uses, a kernel takes a tenth less time to compile.
COMMON: dict[str, Any] = {
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
    "pipeline_class": KernelCompiler,
}


def on_disk(function: Any) -> Any:
    """Let a compiled function of this package keep its compiled forms on disk, and return it."""
    if isinstance(function, Dispatcher) and is_ours(function.py_func.__module__):
        of = function.py_func
        function._cache = KernelFiles(f"{of.__module__}.{of.__qualname__}", of.__module__)  # type: ignore[attr-defined]
    return function


def _kernel(**options: Any) -> Callable[[Callable], Any]:
    return lambda function: on_disk(njit(function, nogil=True, **COMMON, **options))


# No fast-math: with it LLVM turns the sum over a sparse row into hardware gathers, which took 16.7 ms where
# the plain loop takes 10.4 ms (IMDB bigrams, AMD Zen 4). Infinities and NaN keep their meaning.
kernel = _kernel()

# A product may be fused with the sum that follows it, which does not affect infinities. Not "reassoc": it
# optimises away the rounding trick of maths/softplus.py.
fused_kernel = _kernel(fastmath={"contract", "nsz"})

# Sums may also be reordered: for sums over contiguous memory, where vector instructions pay.
summing_kernel = _kernel(fastmath={"contract", "nsz", "reassoc"})

inlined = njit(inline="always", **COMMON)

# Without an entry point for Python either: only kernels call a helper.
kernel_helper = njit(**COMMON | {"no_cpython_wrapper": True})

# A rule that Python, kernels and the kernels of a GPU use.
also_compiled: Any = register_jitable
