"""Collecting the n-grams of texts, chunk by chunk, until the columns of the matrix are known."""

import sys
from typing import Any

import numpy as np
from scipy import sparse

from dropglm.text import row_kernels
from dropglm.text.tokens import Tokens
from dropglm.threads import each, even_pieces

PIECE = 1 << 16  # n-grams per task


class NgramRows:
    """The codes of the n-grams of each text; see ``row_kernels.pack``."""

    def __init__(self, shortest: int, threads: int) -> None:
        self.shortest = shortest
        self.threads = threads
        self.chunks: list[tuple[np.ndarray, np.ndarray]] = []  # codes, and where those of each text begin

    def add(self, tokens: Tokens, numbers: np.ndarray, wanted: np.ndarray) -> None:
        """Store the codes of those n-grams that are wanted."""
        start = np.zeros(len(tokens.first) + 1, np.int64)
        pieces = even_pieces(np.append(0, np.cumsum(tokens.counts)), PIECE)

        def measure(piece: tuple[int, int]) -> None:
            row_kernels.lengths(tokens, *piece, self.shortest, wanted, start[1:])

        def pack(piece: tuple[int, int]) -> None:
            row_kernels.pack(tokens, *piece, self.shortest, wanted, numbers, start, codes)

        each(measure, pieces, self.threads)
        np.cumsum(start, out=start)
        codes = np.empty(start[-1], np.int32)
        each(pack, pieces, self.threads)
        self.chunks.append((codes, start))

    def to_matrix(self, column_of: np.ndarray, n_features: int, *, binary: bool, dtype: Any) -> Any:
        """Build the CSR matrix; this overwrites and releases the stored codes."""
        counted = [self._codes_to_columns(*chunk, column_of, n_features) for chunk in self.chunks]
        lengths = np.concatenate([[0], *(length for length, _ in counted)])
        indptr = np.cumsum(lengths)
        index_type = np.int32 if max(indptr[-1], n_features) <= np.iinfo(np.int32).max else np.int64
        indices = np.empty(indptr[-1], index_type)
        data = np.ones(indptr[-1], dtype) if binary else np.empty(indptr[-1], dtype)
        first_rows = np.cumsum([0, *(len(length) for length, _ in counted)])

        def copy(k: int) -> None:
            (columns, start), (length, times) = self.chunks[k], counted[k]
            row_starts = indptr[first_rows[k] : first_rows[k + 1]]
            row_kernels.copy_rows(columns, start, length, row_starts, indices)
            if not binary:
                row_kernels.copy_rows(times, start, length, row_starts, data)
            self.chunks[k] = counted[k] = (np.empty(0), np.empty(0))  # release the memory

        each(copy, range(len(counted)), self.threads)
        return _csr_type()(
            (data, indices, indptr.astype(index_type)), shape=(int(first_rows[-1]), n_features)
        )

    def _codes_to_columns(
        self, codes: np.ndarray, start: np.ndarray, column_of: np.ndarray, n_features: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Replace codes by columns; return how many each text has, and the count of each."""
        length, times = np.empty(len(start) - 1, np.int64), np.empty(len(codes), np.int32)

        def convert(piece: tuple[int, int]) -> None:
            row_kernels.codes_to_columns(codes, start, *piece, column_of, n_features, length, times)

        each(convert, even_pieces(start, PIECE), self.threads)
        return length, times


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
