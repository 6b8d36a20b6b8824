"""From the n-grams of each text to the rows of a sparse matrix.

Codes are collected chunk by chunk, until the columns of the matrix are known. The value of n-gram j, of n
tokens and with count c in the text, is then

    x_j = tf(c) · idf_j^p · b^(n - 1),    idf_j = ln(N / N_j) + 1,

where N_j of the N texts in the fit contain it, and tf(c) is c, or 1 + ln c if it is sublinear. Smoothing adds
one to N and to N_j. The row is then divided by its l1 or l2 norm.
"""

import math
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from dropglm.base.threads import each, even_pieces
from dropglm.core.maths.compile import kernel, kernel_helper


class Piece(NamedTuple):
    """The codes of some texts, where those of each text begin, and the source of their numbers."""

    codes: np.ndarray
    start: np.ndarray
    source: int


# For each source of numbers, the columns of its words and those of its pairs, or -1
Columns = Sequence[tuple[np.ndarray, np.ndarray]]


class NgramRows:
    """The codes of the n-grams of each text, piece by piece; see ``counting``."""

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
        digits = max(1, -(-(n_features - 1).bit_length() // DIGIT))

        def convert(piece: Piece) -> tuple[np.ndarray, np.ndarray]:
            length, times = np.empty(len(piece.start) - 1, np.int64), np.empty(len(piece.codes), np.int32)
            places = np.empty(RADIX, np.int64)
            codes_to_columns(*piece[:2], *columns[piece.source], digits, places, length, times)
            return length, times

        counted = each(convert, pieces, threads)
        indptr = np.cumsum(np.concatenate([[0], *(length for length, _ in counted)]))
        index_type = np.int32 if max(indptr[-1], n_features) <= np.iinfo(np.int32).max else np.int64
        indices, data = np.empty(indptr[-1], index_type), np.empty(indptr[-1], dtype)
        first_rows = np.cumsum([0, *(len(length) for length, _ in counted)])

        def copy(k: int) -> None:
            piece, (length, times) = pieces[k], counted[k]
            row_starts = indptr[first_rows[k] : first_rows[k + 1]]
            copy_rows(piece.codes, times, piece.start, length, row_starts, binary, indices, data)
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


DIGIT = 8  # bits
RADIX = 1 << DIGIT
FEW = 24  # entries up to which insertion is faster


@kernel_helper
def sort(values, scratch, first, last, places, digits):
    """Sort non-negative integers with this many digits in base 256; the scratch is overwritten.

    A row has a few hundred columns, in no order: a general sort mispredicts half of its branches, and takes
    a few seconds to compile.
    """
    if last - first <= FEW:
        for k in range(first + 1, last):
            value, place = values[k], k
            while place > first and values[place - 1] > value:
                values[place] = values[place - 1]
                place -= 1
            values[place] = value
        return
    source, target = values, scratch
    for shift in range(0, DIGIT * digits, DIGIT):
        for j in range(RADIX):
            places[j] = 0
        for k in range(first, last):
            places[(source[k] >> shift) & (RADIX - 1)] += 1
        total = first
        for j in range(RADIX):
            count = places[j]
            places[j] = total
            total += count
        for k in range(first, last):
            j = (source[k] >> shift) & (RADIX - 1)
            target[places[j]] = source[k]
            places[j] += 1
        source, target = target, source
    if digits % 2:
        for k in range(first, last):
            values[k] = scratch[k]


@kernel
def codes_to_columns(codes, start_of, word_columns, pair_columns, digits, places, length, times):
    """Replace the codes of each text by its distinct columns in ascending order, and count each of them.

    Columns have so many digits in base 256; ``places`` has 256 numbers, and is overwritten.
    """
    for i in range(len(length)):
        start = stop = start_of[i]
        for k in range(start_of[i], start_of[i + 1]):
            code = codes[k]
            column = word_columns[code] if code >= 0 else pair_columns[-1 - code]
            codes[stop] = column
            stop += column >= 0
        sort(codes, times, start, stop, places, digits)
        kept = start
        for k in range(start, stop):
            if kept > start and codes[kept - 1] == codes[k]:
                times[kept - 1] += 1
            else:
                codes[kept], times[kept] = codes[k], 1
                kept += 1
        length[i] = kept - start


@kernel
def copy_rows(columns, times, start_of, length, row_start, binary, indices, data):
    """Copy the first ``length[i]`` columns of each text i, and their counts, to where its row begins."""
    for i in range(len(length)):
        for k in range(length[i]):
            indices[row_start[i] + k] = columns[start_of[i] + k]
            data[row_start[i] + k] = 1 if binary else times[start_of[i] + k]


NORMS = {"l1": 1, "l2": 2}
PIECE = 1 << 16  # entries per task


def inverse_document_frequencies(document_counts: np.ndarray, n_texts: int, *, smooth: bool) -> np.ndarray:
    """Return ln(N / N_j) + 1 for each n-gram; if ``smooth``, as if one more text contained all of them.

    Examples
    --------
    >>> inverse_document_frequencies(np.array([1, 4]), 4, smooth=False).round(3)
    array([2.386, 1.   ])
    """
    return np.log((n_texts + smooth) / (document_counts + float(smooth))) + 1.0


class Weighting(NamedTuple):
    """The weights of a fitted vectorizer: its settings in the fit, and what follows from them.

    Attributes
    ----------
    use_idf, smooth_idf, sublinear_tf : bool
    norm : str or None
    idf_ : ndarray of shape (n_features,), or empty
        The inverse document frequencies, if they are used, in the type of the matrix.
    factors : ndarray of shape (n_features,), or empty
        idf_j^p · b^(n - 1) for each column, in the type of the matrix; empty if all of them are 1.
    """

    use_idf: bool
    smooth_idf: bool
    sublinear_tf: bool
    norm: str | None
    idf_: np.ndarray
    factors: np.ndarray

    def apply(self, X: Any, threads: int, counts: np.ndarray | None = None) -> None:
        """Write the weighted values of counts, by default those of X itself, into a CSR matrix."""
        norm = 0 if self.norm is None else NORMS[self.norm]
        if counts is None:
            if not (len(self.factors) or self.sublinear_tf or norm):
                return
            counts = X.data

        def weigh(piece: tuple[int, int]) -> None:
            weigh_rows(counts, X.data, X.indices, X.indptr, *piece, self.factors, self.sublinear_tf, norm)

        each(weigh, even_pieces(X.indptr, PIECE), threads)


@kernel
def weigh_rows(counts, data, indices, indptr, first, last, factors, sublinear, norm):
    """Multiply rows first to last - 1 by the weights, then divide each by its l1 or l2 norm; 0 means no norm.

    Rows of zeros stay as they are.
    """
    weighted = len(factors) > 0
    for i in range(first, last):
        size = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            value = float(counts[k])
            if sublinear and value != 1.0:
                value = 1.0 + math.log(value)
            if weighted:
                value *= factors[indices[k]]
            data[k] = value
            size += value * value if norm == 2 else abs(value)
        if norm == 2:
            size = math.sqrt(size)
        if norm != 0 and size > 0.0:
            for k in range(indptr[i], indptr[i + 1]):
                data[k] /= size
