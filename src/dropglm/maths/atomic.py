"""What threads in compiled code need beyond Numba: numbers that they share, and calls by address.

Each function is a few instructions in compiled code; see ``shared_loops`` for their use.
"""

import platform
from threading import Lock
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload
from numba.np.arrayobj import make_array

# An instruction that lets the other thread of a core run while this one waits.
PAUSE = {"x86_64": "llvm.x86.sse2.pause", "AMD64": "llvm.x86.sse2.pause"}.get(platform.machine())

FAILED = 1 << 62

_BYTES = ir.IntType(8).as_pointer()
_python_lock = Lock()


def add_to(numbers: np.ndarray, place: int, amount: int) -> int:
    """Add to a number that threads share, and return what it was before, at one stroke."""
    with _python_lock:
        before = int(numbers[place])
        numbers[place] += amount
        return before


def look_at(numbers: np.ndarray, place: int) -> int:
    """Return a number that threads share, as it is now."""
    return int(numbers[place])


def _place(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    """Return the address of an entry of an array."""
    struct = make_array(array_type)(context, builder, array)
    return cgutils.get_item_pointer(context, builder, array_type, struct, [index])


def _typed_add(typing_context, numbers, place, amount):
    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        index = context.cast(builder, arguments[1], signature.args[1], types.intp)
        value = context.cast(builder, arguments[2], signature.args[2], types.int64)
        address = _place(context, builder, signature.args[0], arguments[0], index)
        return builder.atomic_rmw("add", address, value, ordering="seq_cst")

    return types.int64(numbers, place, amount), write


def _typed_look(typing_context, numbers, place):
    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if PAUSE is not None:
            no_arguments = ir.FunctionType(ir.VoidType(), [])
            builder.call(cgutils.get_or_insert_function(builder.module, no_arguments, PAUSE), [])
        index = context.cast(builder, arguments[1], signature.args[1], types.intp)
        address = _place(context, builder, signature.args[0], arguments[0], index)
        return builder.load_atomic(address, "seq_cst", 8)

    return types.int64(numbers, place), write


_add_to: Any = intrinsic(_typed_add)
_look_at: Any = intrinsic(_typed_look)


@overload(add_to, inline="always")
def _compiled_add(numbers, place, amount):
    return lambda numbers, place, amount: _add_to(numbers, place, amount)


@overload(look_at, inline="always")
def _compiled_look(numbers, place):
    return lambda numbers, place: _look_at(numbers, place)


def _typed_publish(typing_context, numbers, place, loop, arguments):
    """Write the address of a function that calls loop(*arguments) at that place, and after it its argument.

    Only for compiled code. The argument is a copy of the arguments on the stack, valid until the function
    that publishes returns. If the loop raises an exception, such as a MemoryError, FAILED is added to the
    first number of its second argument.
    """

    def write(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        numbers_type, place_type, loop_type, tuple_type = signature.args
        call_type = loop_type.get_call_type(context.typing_context, tuple(tuple_type.types), {})
        compiled = loop_type.dispatcher.get_compile_result(call_type)
        context.active_code_library.add_linking_library(compiled.library)
        memory = cgutils.alloca_once_value(builder, values[3])
        # void unpack_and_call(void *memory)
        function_type = ir.FunctionType(ir.VoidType(), [_BYTES])
        function = ir.Function(builder.module, function_type, f"call_{compiled.fndesc.mangled_name}")
        function.linkage = "internal"
        inside = ir.IRBuilder(function.append_basic_block("entry"))
        packed = inside.load(inside.bitcast(function.args[0], memory.type))
        unpacked = cgutils.unpack_tuple(inside, packed, len(tuple_type))
        status, _ = context.call_internal_no_propagate(inside, compiled.fndesc, compiled.signature, unpacked)
        with inside.if_then(status.is_error):
            first = _place(
                context, inside, tuple_type.types[1], unpacked[1], context.get_constant(types.intp, 0)
            )
            inside.atomic_rmw("add", first, ir.IntType(64)(FAILED), ordering="seq_cst")
        inside.ret_void()
        for offset, address in enumerate((function, memory)):
            index = context.cast(builder, values[1], place_type, types.intp)
            index = builder.add(index, context.get_constant(types.intp, offset))
            number = builder.ptrtoint(address, ir.IntType(64))
            builder.store(number, _place(context, builder, numbers_type, values[0], index))
        return context.get_dummy_value()

    return types.void(numbers, place, loop, arguments), write


def _typed_call(typing_context, function, argument):
    """Call a published function with its argument; only for compiled code."""

    def write(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        function_type = ir.FunctionType(ir.VoidType(), [_BYTES]).as_pointer()
        builder.call(builder.inttoptr(values[0], function_type), [builder.inttoptr(values[1], _BYTES)])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), write


publish: Any = intrinsic(_typed_publish)
call: Any = intrinsic(_typed_call)
