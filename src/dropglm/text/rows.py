"""The n-grams of texts, kept as they come by, and made a matrix when their columns are known."""

import numpy as np
from scipy import sparse
from sklearn import get_config

from dropglm.text import kernels
from dropglm.text.tokens import Tokens
from dropglm.threads import each, even_pieces

PIECE = 1 << 16  # n-grams to a task


class Rows:
    """Codes of n-grams, chunk by chunk."""

    def __init__(self, shortest: int, threads: int) -> None:
        self.shortest = shortest
        self.threads = threads
        self.chunks: list[tuple[np.ndarray, np.ndarray]] = []  # codes, and where each text's begin

    def add(self, tokens: Tokens, numbers: np.ndarray, wanted: np.ndarray) -> None:
        """Keep the n-grams that are wanted."""
        place = np.zeros(len(tokens.first) + 1, np.int64)
        pieces = even_pieces(np.append(0, np.cumsum(tokens.counts)), PIECE)

        def measure(piece: tuple[int, int]) -> None:
            kernels.lengths(tokens, *piece, self.shortest, wanted, place[1:])

        def pack(piece: tuple[int, int]) -> None:
            kernels.pack(tokens, *piece, self.shortest, wanted, numbers, place, codes)

        each(measure, pieces, self.threads)
        np.cumsum(place, out=place)
        codes = np.empty(place[-1], np.int32)
        each(pack, pieces, self.threads)
        self.chunks.append((codes, place))

    def matrix(self, column_of: np.ndarray, d: int, *, binary: bool, dtype: type) -> sparse.csr_matrix:
        """The matrix; the kept codes are used up."""
        settled = [self._settled(*chunk, column_of) for chunk in self.chunks]
        lengths = np.concatenate([[0], *(length for length, _ in settled)])
        indptr = np.cumsum(lengths)
        small = np.int32 if max(indptr[-1], d) <= np.iinfo(np.int32).max else np.int64
        indices = np.empty(indptr[-1], small)
        data = np.ones(indptr[-1], dtype) if binary else np.empty(indptr[-1], dtype)
        row = 0
        while self.chunks:
            (columns, place), (length, times) = self.chunks.pop(0), settled.pop(0)
            begin = indptr[row : row + len(length)]
            kernels.close_ranks(columns, place, length, begin, indices)
            if not binary:
                kernels.close_ranks(times, place, length, begin, data)
            row += len(length)
        made = sparse.csr_array if get_config().get("sparse_interface") == "sparray" else sparse.csr_matrix
        return made((data, indices, indptr.astype(small)), shape=(row, d))

    def _settled(
        self, codes: np.ndarray, place: np.ndarray, column_of: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Turn the codes into columns; how many each text has, and how often each occurs."""
        length, times = np.empty(len(place) - 1, np.int64), np.empty(len(codes), np.int32)

        def settle(piece: tuple[int, int]) -> None:
            kernels.settle(codes, place, *piece, column_of, length, times)

        each(settle, even_pieces(place, PIECE), self.threads)
        return length, times


def row_range(X: sparse.csr_matrix, first: int, last: int) -> sparse.csr_matrix:
    """Rows first to last - 1, which share their memory with X."""
    start, stop = X.indptr[first], X.indptr[last]
    parts = X.data[start:stop], X.indices[start:stop], X.indptr[first : last + 1] - start
    return type(X)(parts, shape=(last - first, X.shape[1]))
