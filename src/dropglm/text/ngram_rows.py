"""Collecting the n-grams of texts, chunk by chunk, until the columns of the matrix are known."""

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from dropglm.text import row_kernels
from dropglm.threads import each


class Piece(NamedTuple):
    """The codes of some texts, where those of each text begin, and the source of their numbers."""

    codes: np.ndarray
    start: np.ndarray
    source: int


# For each source of numbers, the columns of its words and those of its pairs, or -1
Columns = Sequence[tuple[np.ndarray, np.ndarray]]


class NgramRows:
    """The codes of the n-grams of each text, piece by piece; see ``kernels``."""

    def __init__(self) -> None:
        self.pieces: dict[int, Piece] = {}  # by the number of the first text

    def add(self, first_text: int, codes: np.ndarray, start: np.ndarray, source: int) -> None:
        """Store the codes of texts first_text, first_text + 1, …, in the numbers of this source."""
        self.pieces[first_text] = Piece(codes.copy(), start, source)

    def to_matrix(self, columns: Columns, n_features: int, *, binary: bool, dtype: Any, threads: int) -> Any:
        """Build the CSR matrix, given the columns of words and pairs for each source.

        This overwrites and releases the stored codes.
        """
        pieces = [piece for _, piece in sorted(self.pieces.items())]
        self.pieces = {}
        digits = max(1, -(-(n_features - 1).bit_length() // row_kernels.DIGIT))

        def convert(piece: Piece) -> tuple[np.ndarray, np.ndarray]:
            length, times = np.empty(len(piece.start) - 1, np.int64), np.empty(len(piece.codes), np.int32)
            places = np.empty(row_kernels.RADIX, np.int64)
            row_kernels.codes_to_columns(*piece[:2], *columns[piece.source], digits, places, length, times)
            return length, times

        counted = each(convert, pieces, threads)
        indptr = np.cumsum(np.concatenate([[0], *(length for length, _ in counted)]))
        index_type = np.int32 if max(indptr[-1], n_features) <= np.iinfo(np.int32).max else np.int64
        indices, data = np.empty(indptr[-1], index_type), np.empty(indptr[-1], dtype)
        first_rows = np.cumsum([0, *(len(length) for length, _ in counted)])

        def copy(k: int) -> None:
            piece, (length, times) = pieces[k], counted[k]
            row_starts = indptr[first_rows[k] : first_rows[k + 1]]
            row_kernels.copy_rows(piece.codes, times, piece.start, length, row_starts, binary, indices, data)
            pieces[k] = counted[k] = None  # type: ignore[call-overload]  # release the memory

        each(copy, range(len(counted)), threads)
        return _csr_type()(
            (data, indices, indptr.astype(index_type)), shape=(int(first_rows[-1]), n_features)
        )


def _csr_type() -> Any:
    """Return the type of matrices that scikit-learn's settings ask for, without importing it."""
    sklearn = sys.modules.get("sklearn")
    interface = None if sklearn is None else sklearn.get_config().get("sparse_interface")
    return sparse.csr_array if interface == "sparray" else sparse.csr_matrix


def row_range(X: sparse.csr_matrix, first: int, last: int) -> sparse.csr_matrix:
    """Return rows first to last - 1, which share their memory with X."""
    start, stop = X.indptr[first], X.indptr[last]
    parts = X.data[start:stop], X.indices[start:stop], X.indptr[first : last + 1] - start
    return type(X)(parts, shape=(last - first, X.shape[1]))
