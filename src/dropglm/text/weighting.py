"""Weights of n-grams: how the counts of a row become its values.

The value of n-gram j, of n tokens and with count c in the text, is

    x_j = tf(c) · idf_j^p · b^(n - 1),    idf_j = ln(N / N_j) + 1,

where N_j of the N texts in the fit contain it, and tf(c) is c, or 1 + ln c if it is sublinear. Smoothing adds
one to N and to N_j. The row is then divided by its l1 or l2 norm.
"""

from typing import Any, NamedTuple

import numpy as np

from dropglm.maths.compile import kernel
from dropglm.threads import each, even_pieces

NORMS = {"l1": 1, "l2": 2}
NO_NORM = 0
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
    """The weights of a fitted vectorizer.

    Attributes
    ----------
    factors : ndarray of shape (n_features,), or empty
        idf_j^p · b^(n - 1) for each column, in the type of the matrix; empty if all of them are 1.
    sublinear : bool
        Whether tf(c) = 1 + ln c.
    norm : int
        1 or 2 for rows of l1 or l2 norm 1, 0 for rows as they are.
    """

    factors: np.ndarray
    sublinear: bool
    norm: int

    def apply(self, X: Any, threads: int) -> None:
        """Replace the counts of a CSR matrix by their weighted values, in place."""
        if not (len(self.factors) or self.sublinear or self.norm):
            return

        def weigh(piece: tuple[int, int]) -> None:
            weigh_rows(X.data, X.indices, X.indptr, *piece, *self)

        each(weigh, even_pieces(X.indptr, PIECE), threads)


@kernel
def weigh_rows(data, indices, indptr, first, last, factors, sublinear, norm):
    """Weigh and normalise rows first to last - 1; rows of zeros stay as they are."""
    weighted = len(factors) > 0
    for i in range(first, last):
        size = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            value = float(data[k])
            if sublinear:
                value = 1.0 + np.log(value)
            if weighted:
                value *= factors[indices[k]]
            data[k] = value
            size += value * value if norm == 2 else abs(value)
        if norm == 2:
            size = np.sqrt(size)
        if norm != 0 and size > 0.0:
            for k in range(indptr[i], indptr[i + 1]):
                data[k] /= size
