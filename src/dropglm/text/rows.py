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
        starts = np.cumsum([0, *(len(length) for length, _ in settled)])

        def close_ranks(k: int) -> None:
            (columns, place), (length, times) = self.chunks[k], settled[k]
            begin = indptr[starts[k] : starts[k + 1]]
            kernels.close_ranks(columns, place, length, begin, indices)
            if not binary:
                kernels.close_ranks(times, place, length, begin, data)
            self.chunks[k] = settled[k] = (np.empty(0), np.empty(0))  # its memory is free for the next

        each(close_ranks, range(len(settled)), self.threads)
        made = sparse.csr_array if get_config().get("sparse_interface") == "sparray" else sparse.csr_matrix
        return made((data, indices, indptr.astype(small)), shape=(int(starts[-1]), d))

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
