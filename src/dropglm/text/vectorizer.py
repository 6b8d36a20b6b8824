"""Turning texts into a sparse matrix of n-grams."""

from collections.abc import Iterable
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from dropglm import checks
from dropglm.registry import lookup
from dropglm.text import kernels
from dropglm.text.base import NgramEstimator, text_chunks
from dropglm.text.counting import NgramCounter
from dropglm.text.ngram_rows import NgramRows
from dropglm.text.tokens import WORDS_AND_PUNCTUATION
from dropglm.text.vocabulary import Vocabulary, select_features
from dropglm.text.weighting import NO_NORM, NORMS, Weighting, inverse_document_frequencies


# Like CountVectorizer, it has no set_output: a data frame cannot hold a sparse matrix.
class NgramVectorizer(TransformerMixin, NgramEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    r"""Convert texts to a sparse matrix of n-grams.

    For the same settings the matrix is that of scikit-learn's ``CountVectorizer``, computed several times as
    fast. Features are in alphabetical order. Texts are read in chunks, so ``fit`` accepts a generator over
    more texts than fit into memory: only the vocabulary is kept, and the matrix for ``fit_transform``.

    Parameters
    ----------
    ngram_range : tuple (int, int), default=(1, 1)
        The smallest and the largest n.
    min_df : int or float, default=1
        Keep n-grams that occur in at least this many texts; a float is a share of the texts.
    max_df : int or float, default=1.0
        Keep n-grams that occur in at most this many texts; a float is a share of the texts.
    max_features : int or None, default=None
        If given, keep only this many n-grams, the most frequent ones.
    binary : bool, default=True
        If True, the matrix has 1 for every n-gram that occurs in a text; if False, it has counts.
    use_idf : bool, default=False
        Multiply by the inverse document frequency ln(N / N_j) + 1, where N_j of the N texts in ``fit``
        contain the n-gram.
    smooth_idf : bool, default=True
        Add one to N and to N_j, as if one more text contained every n-gram once.
    sublinear_tf : bool, default=False
        Replace a count c by 1 + ln c.
    norm : {"l1", "l2"} or None, default=None
        If given, divide each row by this norm.
    idf_power : float, default=1.0
        Power to which the inverse document frequency is raised.
    ngram_weight : float, default=1.0
        Multiply n-grams of n tokens by ``ngram_weight`` to the power n - 1, before the rows are normalised.
    lowercase : bool, default=True
        Convert texts to lower case first.
    token_pattern : str, default=r"[\\w']+|[^\\w\\s]"
        Regular expression that matches a token; if it has a group, the group is the token. The default
        matches words including apostrophes, and every other visible character on its own. The default and
        that of scikit-learn are fast; other patterns take the time of ``re.findall``.
    strip_html : bool, default=True
        Replace tags such as ``<br />`` by spaces.
    dtype : type, default=np.float32
        Type of the matrix entries; weighted entries are float64 if this is an integer type.
    n_jobs : int or None, default=None
        Number of threads; None means 1, -1 all cores. The result does not depend on it.
    verbose : int, default=0
        If not 0, show progress on standard error.

    Attributes
    ----------
    vocabulary_ : dict
        Maps each n-gram to its column.
    ngrams_ : Vocabulary
        The n-grams in compact form: ``len(ngrams_)``, ``ngrams_.names(columns)`` and
        ``ngrams_.document_counts``.
    n_texts_ : int
        Number of texts seen in ``fit``.
    idf_ : ndarray of shape (n_features,)
        Inverse document frequencies, before ``idf_power``; only if ``use_idf``.

    See Also
    --------
    NgramHasher : The same without a vocabulary, by hashing.
    TextClassifier : A classifier that uses this vectorizer.

    Examples
    --------
    >>> from dropglm import NgramVectorizer
    >>> vectorizer = NgramVectorizer(ngram_range=(1, 2))
    >>> X = vectorizer.fit_transform(["It's dull!", "Dull<br />film", ""])
    >>> print(*vectorizer.get_feature_names_out(), sep=", ")
    !, dull, dull !, dull film, film, it's, it's dull
    >>> X.toarray()
    array([[1., 1., 1., 0., 0., 1., 1.],
           [0., 1., 0., 1., 1., 0., 0.],
           [0., 0., 0., 0., 0., 0., 0.]], dtype=float32)

    Rows of length 1, weighted by the inverse document frequency:

    >>> vectorizer = NgramVectorizer(use_idf=True, norm="l2")
    >>> vectorizer.fit_transform(["so dull", "so so", "a dull film"]).toarray().round(2)
    array([[0.  , 0.71, 0.  , 0.71],
           [0.  , 0.  , 0.  , 1.  ],
           [0.62, 0.47, 0.62, 0.  ]], dtype=float32)
    """

    def __init__(
        self,
        ngram_range: tuple[int, int] = (1, 1),
        min_df: float = 1,
        max_df: float = 1.0,
        max_features: int | None = None,
        *,
        binary: bool = True,
        use_idf: bool = False,
        smooth_idf: bool = True,
        sublinear_tf: bool = False,
        norm: str | None = None,
        idf_power: float = 1.0,
        ngram_weight: float = 1.0,
        lowercase: bool = True,
        token_pattern: str = WORDS_AND_PUNCTUATION,
        strip_html: bool = True,
        dtype: Any = np.float32,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.ngram_range = ngram_range
        self.min_df = min_df
        self.max_df = max_df
        self.max_features = max_features
        self.binary = binary
        self.use_idf = use_idf
        self.smooth_idf = smooth_idf
        self.sublinear_tf = sublinear_tf
        self.norm = norm
        self.idf_power = idf_power
        self.ngram_weight = ngram_weight
        self.lowercase = lowercase
        self.token_pattern = token_pattern
        self.strip_html = strip_html
        self.dtype = dtype
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Iterable[str], y: Any = None) -> Self:
        """Learn the vocabulary.

        Parameters
        ----------
        X : iterable of str
            Texts: a list, a column of a data frame, a generator, or any other iterable of strings.
        y : ignored

        Returns
        -------
        self
        """
        self._fit(X, None)
        return self

    def fit_transform(self, X: Iterable[str], y: Any = None) -> Any:
        """Learn the vocabulary and return the matrix; faster than ``fit`` followed by ``transform``.

        Parameters
        ----------
        X : iterable of str
            Texts.
        y : ignored

        Returns
        -------
        CSR matrix of shape (n, n_features)
        """
        rows = NgramRows(self._check()[0], checks.threads(self.n_jobs))
        column_of = self._fit(X, rows)
        return self._to_matrix(rows, column_of)

    def transform(self, X: Iterable[str]) -> Any:
        """Return the matrix of the texts; n-grams that are not in the vocabulary are ignored.

        Parameters
        ----------
        X : iterable of str
            Texts.

        Returns
        -------
        CSR matrix of shape (n, n_features)
        """
        vocabulary = self._vocabulary()
        threads = checks.threads(self.n_jobs)
        tokenizer = self._tokenizer(threads)
        rows = NgramRows(1, threads)
        for chunk in text_chunks(X, verbose=bool(self.verbose)):
            tokens = tokenizer.split(chunk)
            rows.add(tokens, *vocabulary._find(tokens, threads))
        return self._to_matrix(rows, vocabulary._column_of)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the n-gram of each column.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        ndarray of str objects, of shape (n_features,)
        """
        return np.array(self._vocabulary().names(), dtype=object)

    @property
    def vocabulary_(self) -> dict[str, int]:
        """The column of each n-gram."""
        return {name: column for column, name in enumerate(self._vocabulary().names())}

    @property
    def idf_(self) -> np.ndarray:
        """The inverse document frequency of each n-gram."""
        if not self.use_idf:
            raise AttributeError("idf_ exists only if use_idf is True.")
        counts = self._vocabulary().document_counts
        idf = inverse_document_frequencies(counts, self.n_texts_, smooth=bool(self.smooth_idf))
        return idf.astype(self._value_type())

    def __sklearn_tags__(self) -> Any:
        """Declare to scikit-learn that the output has the type ``dtype``, whatever the input."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _describe(self, text: str) -> tuple[np.ndarray, np.ndarray, list[str], list[str]]:
        """Return the columns of a text, their values and n-grams, and the words that are in no feature."""
        row = self.transform([text])
        known = self.ngrams_._word_set
        unknown = [token for token in dict.fromkeys(self.tokenize(text)) if token not in known]
        return row.indices, row.data, self.ngrams_.names(row.indices), unknown

    def _fit(self, X: Iterable[str], rows: NgramRows | None) -> np.ndarray:
        """Count n-grams and select features; return the column of each code of the counter."""
        shortest, longest = self._check()
        threads = checks.threads(self.n_jobs)
        tokenizer, counter = self._tokenizer(threads), NgramCounter(longest, threads)
        for chunk in text_chunks(X, verbose=bool(self.verbose)):
            tokens = tokenizer.split(chunk)
            numbers, new = counter.add(tokens)
            if rows is not None:
                rows.add(tokens, numbers, new if self.binary else np.ones_like(new))
        n = counter.n_texts
        if not any(map(len, counter.tokens)):
            raise ValueError(f"The vocabulary is empty: none of the {n} texts has a token.")
        low, high = _number_of_texts(self.min_df, n), _number_of_texts(self.max_df, n)
        # max_features ranks by the column sums of the matrix, as scikit-learn does.
        dtype = np.dtype(self.dtype)
        ranking = kernels.TEXTS if self.binary else kernels.TIMES, dtype if dtype.kind == "f" else np.int64
        vocabulary, column_of = select_features(
            counter, (shortest, longest), (low, high), self.max_features, ranking
        )
        if not len(vocabulary):
            raise ValueError(
                f"The vocabulary is empty: no n-gram occurs in at least {low:g} and at most {high:g} "
                f"of the {n} texts (min_df={self.min_df}, max_df={self.max_df})."
            )
        self._set_vocabulary(vocabulary, n)
        return column_of

    def _set_vocabulary(self, vocabulary: Vocabulary, n_texts: int) -> None:
        """Store the features, and the weights that follow from them and the settings."""
        self.ngrams_ = vocabulary
        self.n_texts_ = n_texts
        factors = np.empty(0)
        if self.use_idf or self.ngram_weight != 1.0:
            factors = self.ngram_weight ** (vocabulary._lengths - 1.0)
        if self.use_idf:
            factors *= self.idf_**self.idf_power
        norm = NO_NORM if self.norm is None else lookup(NORMS, self.norm, "norm")
        self._weights = Weighting(factors.astype(self._value_type()), bool(self.sublinear_tf), norm)

    def _to_matrix(self, rows: NgramRows, column_of: np.ndarray) -> Any:
        """Return the matrix of weighted values."""
        d, dtype = len(self.ngrams_), self._weights.factors.dtype
        X = rows.to_matrix(column_of, d, binary=bool(self.binary), dtype=dtype)
        self._weights.apply(X, rows.threads)
        return X

    def _value_type(self) -> np.dtype:
        """Return the type of the matrix: integers cannot hold weighted values."""
        dtype = np.dtype(self.dtype)
        counts = not self.use_idf and not self.sublinear_tf and self.norm is None and self.ngram_weight == 1.0
        return dtype if dtype.kind == "f" or counts else np.dtype(np.float64)

    def _check(self) -> tuple[int, int]:
        """Check all settings; return the smallest and the largest n."""
        shortest, longest = self._check_ngrams()
        for name in ("min_df", "max_df"):
            value = getattr(self, name)
            checks.not_negative(value, name)
            if not isinstance(value, Integral) and value > 1.0:
                raise ValueError(f"{name} must be a whole number of texts or a share in [0, 1], got {value}.")
        if self.max_features is not None:
            checks.whole_number(self.max_features, "max_features")
            if self.max_features < 1:
                raise ValueError(f"max_features must be at least 1, got {self.max_features}.")
        for name in ("binary", "use_idf", "smooth_idf", "sublinear_tf"):
            checks.yes_or_no(getattr(self, name), name)
        if self.norm is not None:
            lookup(NORMS, self.norm, "norm")
        checks.not_negative(self.idf_power, "idf_power")
        checks.positive(self.ngram_weight, "ngram_weight")
        if np.dtype(self.dtype).char not in "bBhHiIlLqQfd":
            raise TypeError(f"dtype must be an integer type, float32 or float64, got {self.dtype!r}.")
        return shortest, longest

    def _vocabulary(self) -> Vocabulary:
        check_is_fitted(self, "ngrams_")
        return self.ngrams_


def _number_of_texts(count_or_share: float, n: int) -> float:
    return count_or_share if isinstance(count_or_share, Integral) else count_or_share * n
