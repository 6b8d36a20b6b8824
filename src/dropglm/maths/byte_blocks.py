"""Operations on 64 bytes at a time, for loops over text: LLVM turns each into a few vector instructions.

A mask has one bit per byte, the lowest for the first byte. All functions read 64 bytes, so arrays need that
many spare bytes after the last one that counts. In uncompiled code they run as plain Python.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload
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


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, index: Any, kind: Any) -> Any:
    view = make_array(array_type)(context, builder, array)
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


def _arguments(context: Any, builder: Any, signature: Any, arguments: Any, wanted: Any) -> list[Any]:
    return [
        given if want is None else context.cast(builder, given, kind, want)
        for given, kind, want in zip(arguments, signature.args, wanted, strict=True)
    ]


def _between_typed(typing_context, data, p, low, high):
    def write(context, builder, signature, arguments):
        wanted = (None, types.intp, types.uint8, types.uint8)
        array, index, least, most = _arguments(context, builder, signature, arguments, wanted)
        block = _load(builder, _pointer(context, builder, signature.args[0], array, index, _BYTES))
        above = builder.icmp_unsigned(">=", block, _splat(builder, least))
        below = builder.icmp_unsigned("<=", block, _splat(builder, most))
        return builder.bitcast(builder.and_(above, below), _BITS)

    return types.uint64(data, p, low, high), write


def _copier(change: Callable[[Any, Any], Any]) -> Any:
    def copier(typing_context, data, p, out, q):
        def write(context, builder, signature, arguments):
            wanted = (None, types.intp, None, types.intp)
            source, p_, target, q_ = _arguments(context, builder, signature, arguments, wanted)
            block = _load(builder, _pointer(context, builder, signature.args[0], source, p_, _BYTES))
            place = _pointer(context, builder, signature.args[2], target, q_, _BYTES)
            builder.store(change(builder, block), place).align = 1
            return context.get_dummy_value()

        return types.void(data, p, out, q), write

    return intrinsic(copier)


def _lowered(builder: Any, block: Any) -> Any:
    above = builder.icmp_unsigned(">=", block, _constant(65))
    below = builder.icmp_unsigned("<=", block, _constant(90))
    return builder.select(builder.and_(above, below), builder.or_(block, _constant(32)), block)


_copy_lowered = _copier(_lowered)
_copy_bytes = _copier(lambda builder, block: block)


def _packed_typed(typing_context, data, p):
    def write(context, builder, signature, arguments):
        array, index = _arguments(context, builder, signature, arguments, (None, types.intp))
        loaded = _load(builder, _pointer(context, builder, signature.args[0], array, index, _BITS))
        return builder.bswap(loaded)  # first byte highest; this package runs on little-endian machines only

    return types.uint64(data, p), write


def _count_typed(typing_context, mask):
    def write(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), write


def _lowest_typed(typing_context, mask):
    def write(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), write


_bytes_between: Any = intrinsic(_between_typed)
_packed_bytes: Any = intrinsic(_packed_typed)
_count_bits: Any = intrinsic(_count_typed)
_lowest_bit: Any = intrinsic(_lowest_typed)


@overload(bytes_between)
def _(data, p, low, high):
    return lambda data, p, low, high: _bytes_between(data, p, low, high)


@overload(copy_lowered)
def _(data, p, out, q):
    return lambda data, p, out, q: _copy_lowered(data, p, out, q)


@overload(copy_bytes)
def _(data, p, out, q):
    return lambda data, p, out, q: _copy_bytes(data, p, out, q)


@overload(packed_bytes)
def _(data, p):
    return lambda data, p: _packed_bytes(data, p)


@overload(count_bits)
def _(mask):
    return lambda mask: np.int64(_count_bits(np.uint64(mask)))


@overload(lowest_bit)
def _(mask):
    return lambda mask: np.int64(_lowest_bit(np.uint64(mask)))
