"""Operations on 64 bytes at a time, for loops over text: LLVM turns each into a few vector instructions.

A mask has one bit per byte, the lowest for the first byte. All functions read 64 bytes, so arrays need that
many spare bytes after the last one that counts. In uncompiled code they run as plain Python.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import lower_builtin, type_callable
from numba.np.arrayobj import make_array

BLOCK = 64
_BYTES = ir.VectorType(ir.IntType(8), BLOCK)
_BITS = ir.IntType(64)


def bytes_between(data: np.ndarray, p: int, low: int, high: int) -> Any:
    """Return the mask of the bytes from p on that are at least ``low`` and at most ``high``."""
    found = (data[p : p + BLOCK] >= low) & (data[p : p + BLOCK] <= high)
    return np.uint64(sum(1 << int(k) for k in np.flatnonzero(found)))


def copy_lowered(data: np.ndarray, p: int, out: np.ndarray, q: int) -> None:
    """Copy the bytes from p on to ``out[q]`` on, with A to Z in lower case."""
    block = data[p : p + BLOCK]
    out[q : q + BLOCK] = block + 32 * ((block >= 65) & (block <= 90)).astype(np.uint8)


def copy_bytes(data: np.ndarray, p: int, out: np.ndarray, q: int) -> None:
    """Copy the bytes from p on to ``out[q]`` on."""
    out[q : q + BLOCK] = data[p : p + BLOCK]


def packed_bytes(data: np.ndarray, p: int) -> Any:
    """Return the eight bytes from p on as one number, the first byte in the highest bits."""
    return np.uint64(int.from_bytes(bytes(data[p : p + 8]), "big"))


def count_bits(mask: Any) -> int:
    """Return the number of bits that are set."""
    return int(mask).bit_count()


def lowest_bit(mask: Any) -> int:
    """Return the number of the lowest bit that is set; 64 if none is."""
    mask = int(mask)
    return (mask & -mask).bit_length() - 1 if mask else BLOCK


def _bytes_at(context: Any, builder: Any, array: Any, index: Any, kind: Any = _BYTES) -> Any:
    """Return the pointer to the bytes from the index on, given an array with its type."""
    array_type, value = array
    view = make_array(array_type)(context, builder, value)
    place = cgutils.get_item_pointer(context, builder, array_type, view, [index])
    return builder.bitcast(place, kind.as_pointer())


def _load(builder: Any, pointer: Any) -> Any:
    loaded = builder.load(pointer)
    loaded.align = 1
    return loaded


def _splat(builder: Any, value: Any) -> Any:
    empty = ir.Constant(_BYTES, ir.Undefined)
    first = builder.insert_element(empty, value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, empty, ir.Constant(ir.VectorType(ir.IntType(32), BLOCK), None))


def _constant(value: int) -> Any:
    return ir.Constant(_BYTES, [value] * BLOCK)


def _compiled(function: Callable, result: Any, *wanted: Any) -> Callable[[Callable], Callable]:
    """Let compiled code use these instructions for a function; None stands for the type of an array.

    ``numba.extending.overload`` would compile a function of its own, which takes 0.02 to 0.05 s.
    """

    def register(write: Callable) -> Callable:
        @type_callable(function)
        def _type(typing_context: Any) -> Any:
            return wraps(function)(lambda *kinds: result)  # with the names of its arguments

        @lower_builtin(function, types.VarArg(types.Any))
        def _lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            values = [
                (kind, given) if want is None else context.cast(builder, given, kind, want)
                for given, kind, want in zip(arguments, signature.args, wanted, strict=True)
            ]
            return write(context, builder, *values)

        return write

    return register


@_compiled(bytes_between, types.uint64, None, types.intp, types.uint8, types.uint8)
def _bytes_between(context, builder, data, p, low, high):
    block = _load(builder, _bytes_at(context, builder, data, p))
    above = builder.icmp_unsigned(">=", block, _splat(builder, low))
    below = builder.icmp_unsigned("<=", block, _splat(builder, high))
    return builder.bitcast(builder.and_(above, below), _BITS)


@_compiled(copy_lowered, types.void, None, types.intp, None, types.intp)
def _copy_lowered(context, builder, data, p, out, q):
    block = _load(builder, _bytes_at(context, builder, data, p))
    above = builder.icmp_unsigned(">=", block, _constant(65))
    below = builder.icmp_unsigned("<=", block, _constant(90))
    lowered = builder.select(builder.and_(above, below), builder.or_(block, _constant(32)), block)
    builder.store(lowered, _bytes_at(context, builder, out, q)).align = 1
    return context.get_dummy_value()


@_compiled(copy_bytes, types.void, None, types.intp, None, types.intp)
def _copy_bytes(context, builder, data, p, out, q):
    block = _load(builder, _bytes_at(context, builder, data, p))
    builder.store(block, _bytes_at(context, builder, out, q)).align = 1
    return context.get_dummy_value()


@_compiled(packed_bytes, types.uint64, None, types.intp)
def _packed_bytes(context, builder, data, p):
    loaded = _load(builder, _bytes_at(context, builder, data, p, _BITS))
    return builder.bswap(loaded)  # first byte highest; this package runs on little-endian machines only


@_compiled(count_bits, types.int64, types.uint64)
def _count_bits(context, builder, mask):
    return builder.ctpop(mask)


@_compiled(lowest_bit, types.int64, types.uint64)
def _lowest_bit(context, builder, mask):
    return builder.cttz(mask, ir.Constant(ir.IntType(1), 0))
