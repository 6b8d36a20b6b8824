"""The ways in which this package compiles functions with Numba.

A ``kernel`` is a loop over rows: compiled on first use, cached on disk, and run without the GIL so that
threads help. Its variants give the compiler a little more freedom. ``inlined`` marks a formula that is used
inside kernels: it is expanded where it is called, since the compiler vectorises only loops that it sees
completely. A ``kernel_helper`` is a function of its own, which takes less time to compile. LLVM expands
it as well if it is small, so that it is rarely slower.
"""

import gc
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache
from numba.core.compiler import Compiler
from numba.core.dispatcher import Dispatcher
from numba.core.runtime.nrt import rtsys
from numba.extending import register_jitable

from dropglm.base.progress import about_to_compile


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
        about_to_compile()
        if not gc.isenabled():
            return super().compile_extra(func)
        gc.disable()
        try:
            return super().compile_extra(func)
        finally:
            gc.enable()


class KernelCache(FunctionCache):
    """Numba's cache, except that loading a function does not prepare the compiler.

    Numba declares all functions and types that it can compile before it loads the first one. This takes 0.15
    s, which a process that finds everything on disk need not spend; the compiler itself does the same before
    it compiles.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the function for these types, or None if it is not on disk."""
        rtsys.initialize(target_context)  # functions that allocate memory call it
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)


def on_disk(function: Any) -> Any:
    """Let a function keep its compiled forms on disk, and return it.

    It is compiled in every process if neither the package's folder nor the user's cache is writable, and not
    at all if compilation is switched off.
    """
    if isinstance(function, Dispatcher):
        with suppress(RuntimeError):
            function._cache = KernelCache(function.py_func)  # type: ignore[attr-defined]
    return function


# Without the entry point for callers in C, which nobody uses, a kernel takes a tenth less time to compile.
COMMON: dict[str, Any] = {
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
    "pipeline_class": KernelCompiler,
}


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
