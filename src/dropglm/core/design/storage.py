"""Three ways to store rows of features, and the primitives that let one loop serve them all.

A kernel iterates over row i as ::

    start, stop = span(rows, i)
    for k in range(start, stop):
        j, x = column(rows, k), value(rows, i, k)

Numba chooses the bodies of the three primitives by the type of ``rows`` at compile time, so the loop is as
fast as one written for that storage. With ``NUMBA_DISABLE_JIT=1`` the same bodies run in Python. The
columns of a matrix are stored as the rows of its transpose.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload
from scipy import sparse

# An ndarray or a SciPy sparse array of shape (n, d); SciPy does not provide types for the latter.
Matrix = Any


class DenseRows(NamedTuple):
    """Every entry, row after row."""

    values: np.ndarray  # (n, d), C order


class CsrRows(NamedTuple):
    """The non-zero entries and their columns; row i has the entries from indptr[i] up to indptr[i + 1]."""

    indptr: np.ndarray  # (n + 1,), int64
    # Unsigned: Numba checks signed indices for wrap-around, which made the loops 15 % slower.
    indices: np.ndarray  # uint32 or uint16
    values: np.ndarray


class BinaryRows(NamedTuple):
    """Like CsrRows, but every value is 1, so values are not stored."""

    indptr: np.ndarray
    indices: np.ndarray


StoredRows = DenseRows | CsrRows | BinaryRows

SPAN: dict[type, Callable] = {
    DenseRows: lambda rows, i: (0, rows.values.shape[1]),
    CsrRows: lambda rows, i: (rows.indptr[i], rows.indptr[i + 1]),
    BinaryRows: lambda rows, i: (rows.indptr[i], rows.indptr[i + 1]),
}
COLUMN: dict[type, Callable] = {
    DenseRows: lambda rows, k: k,
    CsrRows: lambda rows, k: rows.indices[k],
    BinaryRows: lambda rows, k: rows.indices[k],
}
VALUE: dict[type, Callable] = {
    DenseRows: lambda rows, i, k: np.float64(rows.values[i, k]),
    CsrRows: lambda rows, i, k: np.float64(rows.values[k]),
    BinaryRows: lambda rows, i, k: 1.0,
}


def span(rows: StoredRows, i: int) -> Any:
    """Return the first entry of row i, and the last one plus 1."""
    return SPAN[type(rows)](rows, i)


def column(rows: StoredRows, k: int) -> Any:
    """Return the column of entry k."""
    return COLUMN[type(rows)](rows, k)


def value(rows: StoredRows, i: int, k: int) -> Any:
    """Return the value of entry k of row i, as float64."""
    return VALUE[type(rows)](rows, i, k)


def _storage_class(numba_type: Any) -> type:
    # Numba's type of a named tuple keeps the class.
    return getattr(numba_type, "instance_class", type(None))


@overload(span, inline="always")
def _span(rows, i):
    return SPAN.get(_storage_class(rows))


@overload(column, inline="always")
def _column(rows, k):
    return COLUMN.get(_storage_class(rows))


@overload(value, inline="always")
def _value(rows, i, k):
    return VALUE.get(_storage_class(rows))


def store(X: Matrix, *, ones: bool | None) -> StoredRows:
    """Return X in the smallest of the three forms, sharing X's arrays where their types allow.

    ``ones`` says whether all entries of a sparse X are ones; see ``prepare.canonical``.
    """
    if not sparse.issparse(X):
        return DenseRows(read_only(X))
    indptr = read_only(X.indptr.astype(np.int64, copy=False))
    indices = read_only(_unsigned(X.indices))
    if ones:
        return BinaryRows(indptr, indices)
    return CsrRows(indptr, indices, read_only(X.data))


def entries_before(rows: StoredRows) -> np.ndarray:
    """Return the number of stored entries before each row, and in total."""
    if isinstance(rows, DenseRows):
        n, d = rows.values.shape
        return np.arange(n + 1) * d
    return rows.indptr


def _unsigned(indices: np.ndarray) -> np.ndarray:
    # 32 bits suffice for the columns of any coefficient vector that fits in memory.
    return indices.view(np.uint32) if indices.itemsize == 4 else indices.astype(np.uint32)


def read_only(array: np.ndarray) -> np.ndarray:
    """Return a read-only view, contiguous and aligned; of a copy if the array is not."""
    # Also gives Numba a single type for writeable and read-only arrays.
    view = np.require(np.asarray(array), requirements=["C", "A"]).view()
    view.flags.writeable = False
    return view
