"""Turning texts into a sparse matrix of n-grams."""

from collections.abc import Iterable
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from dropglm import checks
from dropglm.text import kernels
from dropglm.text.base import NgramEstimator, text_chunks
from dropglm.text.counting import NgramCounter
from dropglm.text.ngram_rows import NgramRows
from dropglm.text.tokens import WORDS_AND_PUNCTUATION
from dropglm.text.vocabulary import Vocabulary, select_features


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
    lowercase : bool, default=True
        Convert texts to lower case first.
    token_pattern : str, default=r"[\\w']+|[^\\w\\s]"
        Regular expression that matches a token; if it has a group, the group is the token. The default
        matches words including apostrophes, and every other visible character on its own. The default and
        that of scikit-learn are fast; other patterns take the time of ``re.findall``.
    strip_html : bool, default=True
        Replace tags such as ``<br />`` by spaces.
    dtype : type, default=np.float32
        Type of the matrix entries.
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
    """

    def __init__(
        self,
        ngram_range: tuple[int, int] = (1, 1),
        min_df: float = 1,
        max_df: float = 1.0,
        max_features: int | None = None,
        *,
        binary: bool = True,
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
        vocabulary, column_of = self._fit(X, rows)
        return rows.to_matrix(column_of, len(vocabulary), binary=bool(self.binary), dtype=self.dtype)

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
        columns, d = vocabulary._column_of, len(vocabulary)
        return rows.to_matrix(columns, d, binary=bool(self.binary), dtype=self.dtype)

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

    def __sklearn_tags__(self) -> Any:
        """Declare to scikit-learn that the output has the type ``dtype``, whatever the input."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _describe(self, text: str) -> tuple[np.ndarray, list[str], list[str]]:
        """Return the columns of a text, their n-grams, and the words that occur in none of the features."""
        columns = self.transform([text]).indices
        known = self.ngrams_._word_set
        unknown = [token for token in dict.fromkeys(self.tokenize(text)) if token not in known]
        return columns, self.ngrams_.names(columns), unknown

    def _fit(self, X: Iterable[str], rows: NgramRows | None) -> tuple[Vocabulary, np.ndarray]:
        """Count n-grams and select features; return them and the column of each code of the counter."""
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
        self.ngrams_ = vocabulary
        self.n_texts_ = n
        return vocabulary, column_of

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
        checks.yes_or_no(self.binary, "binary")
        if np.dtype(self.dtype).char not in "bBhHiIlLqQfd":
            raise TypeError(f"dtype must be an integer type, float32 or float64, got {self.dtype!r}.")
        return shortest, longest

    def _vocabulary(self) -> Vocabulary:
        check_is_fitted(self, "ngrams_")
        return self.ngrams_


def _number_of_texts(count_or_share: float, n: int) -> float:
    return count_or_share if isinstance(count_or_share, Integral) else count_or_share * n
