"""Functions that are a few machine instructions in compiled code, beyond those that Numba offers.

Loops over text handle 64 bytes at a time, which LLVM turns into a few vector instructions. A mask has one bit
per byte, the lowest for the first byte. These functions read 64 bytes, so arrays need that many spare bytes
after the last one that counts.

Threads in compiled code need numbers that they share, and calls by address; see ``shared_loops`` for their
use. Loops over large tables prefetch memory that will be needed soon.

In uncompiled code they run as plain Python, except for ``publish`` and ``call``.
"""

import platform
from collections.abc import Callable
from functools import wraps
from threading import Lock
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import lower_builtin, type_callable

BLOCK = 64
# An instruction that lets the other thread of a core run while this one waits.
PAUSE = {"x86_64": "llvm.x86.sse2.pause", "AMD64": "llvm.x86.sse2.pause"}.get(platform.machine())
FAILED = 1 << 62

_BLOCK = ir.VectorType(ir.IntType(8), BLOCK)
_NUMBER = ir.IntType(64)
_POINTER = ir.IntType(8).as_pointer()
_python_lock = Lock()


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


def add_to(numbers: np.ndarray, place: int, amount: int) -> int:
    """Add to a number that threads share, and return what it was before, at one stroke."""
    with _python_lock:
        before = int(numbers[place])
        numbers[place] += amount
        return before


def look_at(numbers: np.ndarray, place: int) -> int:
    """Return a number that threads share, as it is now."""
    return int(numbers[place])


def publish(numbers: np.ndarray, place: int, loop: Any, arguments: Any) -> None:
    """Write the address of a function that calls loop(*arguments) at that place, and after it its argument.

    The argument is a copy of the arguments on the stack, valid until the function that publishes returns. If
    the loop raises an exception, such as a MemoryError, FAILED is added to the first number of its second
    argument.
    """
    raise NotImplementedError("Only compiled code can publish a loop.")


def call(function: int, argument: int) -> None:
    """Call a published function with its argument."""
    raise NotImplementedError("Only compiled code can call by address.")


def prefetch(table: np.ndarray, row: int) -> None:
    """Bring the beginning of a row into the cache, to write to it soon; a no-op in uncompiled code."""


def prefetch_for_later(table: np.ndarray, row: int) -> None:
    """Bring the beginning of a row into the second-level cache; a no-op in uncompiled code."""


def _address(context: Any, builder: Any, array: Any, index: Any, kind: Any = None) -> Any:
    """Return the address of a row of an array, given with its type, as a pointer to values of some kind."""
    from numba.np.arrayobj import make_array  # which takes 10 ms to import, and only the compiler needs

    array_type, value = array
    view = make_array(array_type)(context, builder, value)
    indices = [index, *[context.get_constant(types.intp, 0)] * (array_type.ndim - 1)]
    place = cgutils.get_item_pointer(context, builder, array_type, view, indices)
    return place if kind is None else builder.bitcast(place, kind.as_pointer())


def _loaded(context: Any, builder: Any, data: Any, p: Any, kind: Any = _BLOCK) -> Any:
    loaded = builder.load(_address(context, builder, data, p, kind))
    loaded.align = 1
    return loaded


def _splat(builder: Any, value: Any) -> Any:
    empty = ir.Constant(_BLOCK, ir.Undefined)
    first = builder.insert_element(empty, value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, empty, ir.Constant(ir.VectorType(ir.IntType(32), BLOCK), None))


def _constant(value: int) -> Any:
    return ir.Constant(_BLOCK, [value] * BLOCK)


def _compiled(function: Callable, result: Any, *wanted: Any) -> Callable[[Callable], Callable]:
    """Let compiled code use these instructions for a function.

    Arguments are converted to the types that are wanted. Where that is None, as for arrays, the instructions
    get the type of the argument and its value.

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
    block = _loaded(context, builder, data, p)
    above = builder.icmp_unsigned(">=", block, _splat(builder, low))
    below = builder.icmp_unsigned("<=", block, _splat(builder, high))
    return builder.bitcast(builder.and_(above, below), _NUMBER)


@_compiled(copy_lowered, types.void, None, types.intp, None, types.intp)
def _copy_lowered(context, builder, data, p, out, q):
    block = _loaded(context, builder, data, p)
    above = builder.icmp_unsigned(">=", block, _constant(65))
    below = builder.icmp_unsigned("<=", block, _constant(90))
    lowered = builder.select(builder.and_(above, below), builder.or_(block, _constant(32)), block)
    builder.store(lowered, _address(context, builder, out, q, _BLOCK)).align = 1
    return context.get_dummy_value()


@_compiled(copy_bytes, types.void, None, types.intp, None, types.intp)
def _copy_bytes(context, builder, data, p, out, q):
    block = _loaded(context, builder, data, p)
    builder.store(block, _address(context, builder, out, q, _BLOCK)).align = 1
    return context.get_dummy_value()


@_compiled(packed_bytes, types.uint64, None, types.intp)
def _packed_bytes(context, builder, data, p):
    loaded = _loaded(context, builder, data, p, _NUMBER)
    return builder.bswap(loaded)  # first byte highest; this package runs on little-endian machines only


@_compiled(count_bits, types.int64, types.uint64)
def _count_bits(context, builder, mask):
    return builder.ctpop(mask)


@_compiled(lowest_bit, types.int64, types.uint64)
def _lowest_bit(context, builder, mask):
    return builder.cttz(mask, ir.Constant(ir.IntType(1), 0))


@_compiled(add_to, types.int64, None, types.intp, types.int64)
def _add_to(context, builder, numbers, place, amount):
    return builder.atomic_rmw("add", _address(context, builder, numbers, place), amount, ordering="seq_cst")


@_compiled(look_at, types.int64, None, types.intp)
def _look_at(context, builder, numbers, place):
    if PAUSE is not None:
        no_arguments = ir.FunctionType(ir.VoidType(), [])
        builder.call(cgutils.get_or_insert_function(builder.module, no_arguments, PAUSE), [])
    return builder.load_atomic(_address(context, builder, numbers, place), "seq_cst", 8)


@_compiled(publish, types.void, None, types.intp, None, None)
def _publish(context, builder, numbers, place, loop, arguments):
    (loop_type, _), (tuple_type, given) = loop, arguments
    call_type = loop_type.get_call_type(context.typing_context, tuple(tuple_type.types), {})
    compiled = loop_type.dispatcher.get_compile_result(call_type)
    context.active_code_library.add_linking_library(compiled.library)
    memory = cgutils.alloca_once_value(builder, given)
    # void unpack_and_call(void *memory)
    function_type = ir.FunctionType(ir.VoidType(), [_POINTER])
    function = ir.Function(builder.module, function_type, f"call_{compiled.fndesc.mangled_name}")
    function.linkage = "internal"
    inside = ir.IRBuilder(function.append_basic_block("entry"))
    packed = inside.load(inside.bitcast(function.args[0], memory.type))
    unpacked = cgutils.unpack_tuple(inside, packed, len(tuple_type))
    status, _ = context.call_internal_no_propagate(inside, compiled.fndesc, compiled.signature, unpacked)
    with inside.if_then(status.is_error):
        tickets, zero = (tuple_type.types[1], unpacked[1]), context.get_constant(types.intp, 0)
        first = _address(context, inside, tickets, zero)
        inside.atomic_rmw("add", first, _NUMBER(FAILED), ordering="seq_cst")
    inside.ret_void()
    for offset, address in enumerate((function, memory)):
        index = builder.add(place, context.get_constant(types.intp, offset))
        builder.store(builder.ptrtoint(address, _NUMBER), _address(context, builder, numbers, index))
    return context.get_dummy_value()


@_compiled(call, types.void, types.int64, types.int64)
def _call(context, builder, function, argument):
    function_type = ir.FunctionType(ir.VoidType(), [_POINTER]).as_pointer()
    builder.call(builder.inttoptr(function, function_type), [builder.inttoptr(argument, _POINTER)])
    return context.get_dummy_value()


# The hints: whether to write, to how near a cache, and data or code.
for _function, _hints in ((prefetch, (1, 3, 1)), (prefetch_for_later, (0, 2, 1))):

    @_compiled(_function, types.void, None, types.intp)
    def _prefetch(context, builder, table, row, hints=_hints):
        number = ir.IntType(32)
        function_type = ir.FunctionType(ir.VoidType(), [_POINTER, number, number, number])
        function = cgutils.get_or_insert_function(builder.module, function_type, "llvm.prefetch.p0i8")
        place = _address(context, builder, table, row, ir.IntType(8))
        builder.call(function, [place, *(ir.Constant(number, hint) for hint in hints)])
        return context.get_dummy_value()
