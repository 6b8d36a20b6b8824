"""Weights of n-grams: how the counts of a row become its values.

The value of n-gram j, of n tokens and with count c in the text, is

    x_j = tf(c) · idf_j^p · b^(n - 1),    idf_j = ln(N / N_j) + 1,

where N_j of the N texts in the fit contain it, and tf(c) is c, or 1 + ln c if it is sublinear. Smoothing adds
one to N and to N_j. The row is then divided by its l1 or l2 norm.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from dropglm.maths.compile import kernel
from dropglm.threads import each, even_pieces

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
