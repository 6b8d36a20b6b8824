"""Prefetching of memory that will be needed soon."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload
from numba.np.arrayobj import make_array


def prefetch(table: np.ndarray, row: int) -> None:
    """Bring the beginning of a row into the cache, to write to it soon; a no-op in uncompiled code."""


def prefetch_for_later(table: np.ndarray, row: int) -> None:
    """Bring the beginning of a row into the second-level cache; a no-op in uncompiled code."""


def _typed(*hints: int) -> Any:
    """Return a prefetch with these hints: for writing, to how near a cache, and data or code."""

    def typed(typing_context: Any, table: Any, row: Any) -> Any:
        def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            table_type, row_type = signature.args
            array = make_array(table_type)(context, builder, arguments[0])
            index = context.cast(builder, arguments[1], row_type, types.intp)
            indices = [index, *[context.get_constant(types.intp, 0)] * (table_type.ndim - 1)]
            byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
            place = cgutils.get_item_pointer(context, builder, table_type, array, indices)
            function = cgutils.get_or_insert_function(
                builder.module,
                ir.FunctionType(ir.VoidType(), [byte, number, number, number]),
                "llvm.prefetch.p0i8",
            )
            builder.call(function, [builder.bitcast(place, byte), *(ir.Constant(number, k) for k in hints)])
            return context.get_dummy_value()

        return types.void(table, row), write

    return intrinsic(typed)


_prefetch: Any = _typed(1, 3, 1)
_prefetch_for_later: Any = _typed(0, 2, 1)


@overload(prefetch, inline="always")
def _soon(table, row):
    return lambda table, row: _prefetch(table, row)


@overload(prefetch_for_later, inline="always")
def _later(table, row):
    return lambda table, row: _prefetch_for_later(table, row)
