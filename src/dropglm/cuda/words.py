"""Numbers of two neighbouring problems as one word of 64 bits, which is loaded and stored at once.

Two loads of 32 bits take twice as many instructions, and Numba does not join them.
"""

from typing import Any

import numpy as np
from numba import float32, types, uint32, uint64

from dropglm.cuda.runtime import SIMULATED


def parts(word: Any) -> tuple[Any, Any]:
    """Return the numbers of both problems; if the word is a number of one problem, this and 0."""
    return _halves(word) if isinstance(word, np.uint64) else (word, word * 0)


def joined(first: Any, second: Any, word: Any) -> Any:
    """Return the numbers of both problems in one word of the same kind, or that of the first."""
    return _join(first, second) if isinstance(word, np.uint64) else first


def _halves(word: Any) -> tuple[Any, Any]:
    return uint32(word & uint64(0xFFFFFFFF)).view(np.float32), uint32(word >> uint64(32)).view(np.float32)


def _join(first: Any, second: Any) -> Any:
    low, high = float32(first).view(np.uint32), float32(second).view(np.uint32)
    return uint64(high) << uint64(32) | uint64(low)


if not SIMULATED:
    from numba.cuda.extending import overload, register_jitable

    halves, join = register_jitable(_halves), register_jitable(_join)

    @overload(parts)
    def _parts_of_type(word):
        if word == types.uint64:
            return lambda word: halves(word)
        zero = np.float32(0.0) if word == types.float32 else np.float64(0.0)
        return lambda word: (word, zero)

    @overload(joined)
    def _joined_of_type(first, second, word):
        if word == types.uint64:
            return lambda first, second, word: join(first, second)
        return lambda first, second, word: first
