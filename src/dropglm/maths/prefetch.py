"""Memory that will be needed soon, asked for beforehand."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload
from numba.np.arrayobj import make_array


def prefetch(table: np.ndarray, row: int) -> None:
    """Bring the beginning of a table's row into the cache; where nothing is compiled, do nothing."""


def _typed(typing_context: Any, table: Any, row: Any) -> Any:
    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind, row_kind = signature.args
        array = make_array(kind)(context, builder, arguments[0])
        index = context.cast(builder, arguments[1], row_kind, types.intp)
        indices = [index, *[context.get_constant(types.intp, 0)] * (kind.ndim - 1)]
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        place = cgutils.get_item_pointer(context, builder, kind, array, indices)
        function = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [byte, number, number, number]),
            "llvm.prefetch.p0i8",
        )
        # To be written to (1), into all caches (3), data and not code (1).
        builder.call(function, [builder.bitcast(place, byte), *(ir.Constant(number, k) for k in (1, 3, 1))])
        return context.get_dummy_value()

    return types.void(table, row), write


_prefetch: Any = intrinsic(_typed)


@overload(prefetch, inline="always")
def _compiled(table, row):
    return lambda table, row: _prefetch(table, row)
