"""Texts as rows of n-grams."""

from collections.abc import Iterable
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dropglm import checks
from dropglm.text import kernels
from dropglm.text.chunks import chunks
from dropglm.text.counting import Counting
from dropglm.text.ngrams import NgramReader
from dropglm.text.rows import Rows
from dropglm.text.selection import select
from dropglm.text.tokens import WORDS_AND_PUNCTUATION
from dropglm.text.vocabulary import Vocabulary


class NgramVectorizer(NgramReader):
    r"""Which n-grams each text has, as a sparse matrix: CountVectorizer's matrix, several times as fast.

    Features are in alphabetical order. Texts are read in chunks, so that a generator over more texts than fit
    into memory will do: what stays is the vocabulary and, if asked for, the matrix.

    Parameters
    ----------
    ngram_range : pair of int
        The smallest and the largest n.
    min_df, max_df : int or float
        The fewest and the most texts that may have a feature: a whole number of texts, or a share of them if
        it is a float.
    max_features : int, optional
        Keep that many features, the most frequent ones.
    binary : bool
        1 for an n-gram that is there; if False, how often it is.
    lowercase : bool
        Turn texts to lower case first.
    token_pattern : str
        A regular expression of Python for what is a token. The default takes words with their apostrophes,
        and every other visible character by itself. It and scikit-learn's default are fast, others take
        the time of ``re.findall``. A group stands for the token.
    strip_html : bool
        Take tags such as ``<br />`` for spaces.
    dtype : type
        Of the matrix's entries.
    n_jobs : int, optional
        Threads; None is 1, -1 all cores. The result does not depend on it.
    verbose : int
        Show a progress bar unless 0.

    Attributes
    ----------
    vocabulary_ : dict
        The column of each n-gram.
    ngrams_ : Vocabulary
        The same in arrays.
    n_texts_ : int
        How many texts were seen in the fit.

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

    def fit(self, texts: Iterable[str], y: Any = None) -> Self:
        """Learn the n-grams of the texts.

        Parameters
        ----------
        texts : iterable of str
            A list, a column of a data frame, or anything else that yields strings.
        y : ignored

        Returns
        -------
        self
        """
        self._fit(texts, None)
        return self

    def fit_transform(self, texts: Iterable[str], y: Any = None) -> Any:
        """Learn the n-grams of the texts, and return their matrix; see ``fit``."""
        rows = Rows(self._check()[0], checks.threads(self.n_jobs))
        column_of = self._fit(texts, rows)
        return rows.matrix(column_of, len(self.ngrams_), binary=bool(self.binary), dtype=self.dtype)

    def transform(self, texts: Iterable[str]) -> Any:
        """The matrix of the texts, with n-grams that the fit did not see left out; CSR of shape (n, d)."""
        vocabulary = self._vocabulary()
        threads = checks.threads(self.n_jobs)
        tokenizer = self._tokenizer(threads)
        rows = Rows(1, threads)
        for chunk in chunks(texts, shown=bool(self.verbose)):
            tokens = tokenizer.cut(chunk)
            rows.add(tokens, *vocabulary.find(tokens, threads))
        return rows.matrix(vocabulary.column_of, len(vocabulary), binary=bool(self.binary), dtype=self.dtype)

    def described(self, text: str) -> tuple[np.ndarray, list[str], list[str]]:
        """The columns of a text, their n-grams, and its words that are in none of the features."""
        columns = self.transform([text]).indices
        unknown = [token for token in dict.fromkeys(self.tokens(text)) if token not in self.ngrams_.known]
        return columns, self.ngrams_.names(columns), unknown

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The n-gram of each column."""
        return np.array(self._vocabulary().names(), dtype=object)

    @property
    def vocabulary_(self) -> dict[str, int]:
        """The column of each n-gram."""
        return {name: column for column, name in enumerate(self._vocabulary().names())}

    def _fit(self, texts: Iterable[str], rows: Rows | None) -> np.ndarray:
        """Count and choose; the column of each code of the counting."""
        shortest, longest = self._check()
        threads = checks.threads(self.n_jobs)
        tokenizer, counting = self._tokenizer(threads), Counting(longest, threads)
        for chunk in chunks(texts, shown=bool(self.verbose)):
            tokens = tokenizer.cut(chunk)
            numbers, new = counting.add(tokens)
            if rows is not None:
                rows.add(tokens, numbers, new if self.binary else np.ones_like(new))
        n = counting.n_texts
        if not any(map(len, counting.tokens)):
            raise ValueError(f"The vocabulary is empty: none of the {n} texts has a token.")
        low, high = _number_of_texts(self.min_df, n), _number_of_texts(self.max_df, n)
        # The sums of a matrix's columns, as scikit-learn has them
        dtype = np.dtype(self.dtype)
        weights = kernels.TEXTS if self.binary else kernels.TIMES, dtype if dtype.kind == "f" else np.int64
        vocabulary, column_of = select(counting, (shortest, longest), (low, high), self.max_features, weights)
        if not len(vocabulary):
            raise ValueError(
                f"The vocabulary is empty: none of the n-grams is in at least {low:g} and at most {high:g} "
                f"of the {n} texts (min_df = {self.min_df}, max_df = {self.max_df})."
            )
        self.ngrams_ = vocabulary
        self.n_texts_ = n
        return column_of

    def _check(self) -> tuple[int, int]:
        """The smallest and the largest n, if all settings are in order."""
        shortest, longest = self._check_ngrams()
        for name in ("min_df", "max_df"):
            given = getattr(self, name)
            checks.not_negative(given, name)
            if not isinstance(given, Integral) and given > 1.0:
                raise ValueError(f"{name} is a share of the texts if it is no whole number, got {given}.")
        if self.max_features is not None:
            checks.whole_number(self.max_features, "max_features")
            if self.max_features < 1:
                raise ValueError(f"max_features must be above 0, got {self.max_features}.")
        checks.yes_or_no(self.binary, "binary")
        if np.dtype(self.dtype).char not in "bBhHiIlLqQfd":
            raise TypeError(f"dtype must be an integer type, float32 or float64, got {self.dtype!r}.")
        return shortest, longest

    def _vocabulary(self) -> Vocabulary:
        check_is_fitted(self, "ngrams_")
        return self.ngrams_


def _number_of_texts(given: float, n: int) -> float:
    return given if isinstance(given, Integral) else given * n
