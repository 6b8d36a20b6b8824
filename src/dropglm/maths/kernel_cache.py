"""Compiled functions on disk, and how they are loaded."""

from contextlib import suppress
from typing import Any

from numba.core.caching import FunctionCache
from numba.core.dispatcher import Dispatcher
from numba.core.runtime.nrt import rtsys


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
