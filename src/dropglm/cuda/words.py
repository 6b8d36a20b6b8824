"""Two numbers of 32 bits as one word of 64, which is loaded and stored at once.

They are those of two neighbouring problems, or a coefficient and its direction. Two loads of 32 bits take
twice as many instructions, and Numba does not join them.
"""

from typing import Any

import numpy as np
from numba import float32, types, uint32, uint64

from dropglm.cuda.runtime import SIMULATED, numba_cuda


def parts(word: Any) -> tuple[Any, Any]:
    """Return both numbers in a word; if the word is a single number, this and 0."""
    return _halves(word) if isinstance(word, np.uint64) else (word, word * 0)


def joined(first: Any, second: Any, word: Any) -> Any:
    """Return both numbers in one word; if ``word``, which it replaces, is a single number, the first."""
    return _join(first, second) if isinstance(word, np.uint64) else first


def _halves(word: Any) -> tuple[Any, Any]:
    return uint32(word & uint64(0xFFFFFFFF)).view(np.float32), uint32(word >> uint64(32)).view(np.float32)


def _join(first: Any, second: Any) -> Any:
    low, high = float32(first).view(np.uint32), float32(second).view(np.uint32)
    return uint64(high) << uint64(32) | uint64(low)


if not SIMULATED:
    numba_cuda()  # or the error says that a name cannot be imported
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
