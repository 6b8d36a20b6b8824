"""Weights of n-grams: how the counts of a row become its values.

The value of n-gram j, of n tokens and with count c in the text, is

    x_j = tf(c) · idf_j^p · b^(n - 1),    idf_j = ln(N / N_j) + 1,

where N_j of the N texts in the fit contain it, and tf(c) is c, or 1 + ln c if it is sublinear. Smoothing adds
one to N and to N_j. The row is then divided by its l1 or l2 norm.
"""

import math
import warnings
from typing import Any, NamedTuple

import numpy as np

from dropglm import checks
from dropglm.errors import InputError, InputTypeError
from dropglm.maths.compile import kernel
from dropglm.model_files import LARGEST
from dropglm.registry import lookup
from dropglm.text.vocabulary import Vocabulary
from dropglm.threads import each, even_pieces

NORMS = {"l1": 1, "l2": 2}
PIECE = 1 << 16  # entries per task


class WeightedFeatures:
    """Features whose settings include those of the weights."""

    binary: bool
    use_idf: bool
    smooth_idf: bool
    sublinear_tf: bool
    norm: str | None
    idf_power: float
    ngram_weight: float
    dtype: Any
    ngrams_: Vocabulary
    n_texts_: int
    _tfidf: "Weighting"

    @property
    def idf_(self) -> np.ndarray:
        """The inverse document frequency of each n-gram; may be set, if ``use_idf``."""
        if not self.use_idf:
            raise AttributeError("idf_ exists only if use_idf is True.")
        checks.fitted(self, "_tfidf")
        return self._tfidf.idf_

    @idf_.setter
    def idf_(self, values: Any) -> None:
        if not self.use_idf:
            raise InputError("idf_ cannot be set if use_idf is False.")
        idf, d = checks.numbers(values, "idf_"), len(self._vocabulary())
        if idf.shape != (d,):
            raise InputError(f"idf_ has shape {idf.shape}, but the vocabulary has {d} n-grams.")
        self._set_weights(idf)

    def _vocabulary(self) -> Vocabulary:
        raise NotImplementedError

    def _set_vocabulary(self, vocabulary: Vocabulary, n_texts: int) -> None:
        """Store the features, and the weights that follow from them and the settings."""
        self.ngrams_, self.n_texts_ = vocabulary, n_texts
        counts, smooth = vocabulary.document_counts, bool(self.smooth_idf)
        idf = inverse_document_frequencies(counts, n_texts, smooth=smooth) if self.use_idf else None
        self._set_weights(idf)

    def _set_weights(self, idf: np.ndarray | None) -> None:
        """Store the weights that follow from the features, their idf and the settings."""
        dtype, factors = self._value_type(), np.empty(0)
        if idf is None or not self.use_idf:
            idf = np.empty(0)
        with np.errstate(over="ignore"):
            if self.use_idf or self.ngram_weight != 1.0:
                powers = self.ngram_weight ** np.arange(float(self.ngrams_._longest))
                factors = powers[self.ngrams_._lengths - 1]
            if self.use_idf:
                factors *= idf**self.idf_power
        if not factors.max(initial=0.0) <= LARGEST:
            raise InputError(
                f"idf_power={self.idf_power:g} and ngram_weight={self.ngram_weight:g} give n-grams weights "
                f"beyond {LARGEST:g}; use smaller values."
            )
        settings = bool(self.use_idf), bool(self.smooth_idf), bool(self.sublinear_tf), self.norm
        self._tfidf = Weighting(*settings, idf.astype(dtype), factors.astype(dtype))

    def _value_type(self) -> np.dtype:
        """Return the type of the matrix: integers cannot hold weighted values."""
        dtype = np.dtype(self.dtype)
        counts = not self.use_idf and not self.sublinear_tf and self.norm is None and self.ngram_weight == 1.0
        return dtype if dtype.kind == "f" or counts else np.dtype(np.float64)

    def _check_weights(self) -> None:
        for name in ("binary", "use_idf", "smooth_idf", "sublinear_tf"):
            checks.yes_or_no(getattr(self, name), name)
        if self.norm is not None:
            lookup(NORMS, self.norm, "norm")
        checks.not_negative(self.idf_power, "idf_power")
        checks.positive(self.ngram_weight, "ngram_weight")
        if np.dtype(self.dtype).char not in "bBhHiIlLqQfd":
            raise InputTypeError(f"dtype must be an integer type, float32 or float64, got {self.dtype!r}.")

    def _warn_of_integers(self) -> None:
        if self._value_type() != np.dtype(self.dtype):
            warnings.warn(
                "Weighted entries are returned as float64: a floating-point 'dtype' should be used.",
                stacklevel=4,
            )


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
