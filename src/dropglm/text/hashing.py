"""Hashed n-gram features, which need no vocabulary: memory does not grow with the number of texts."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn.base import TransformerMixin

from dropglm import checks
from dropglm.design.storage import BinaryRows
from dropglm.text import hash_kernels
from dropglm.text.base import NgramEstimator, text_chunks
from dropglm.text.tokens import WORDS_AND_PUNCTUATION

MAX_BITS = 30
NAME_BYTES = 32  # bytes of a column's name that are shown
STORED_BYTES = NAME_BYTES + 1  # the last byte is used only by names that were truncated


class Buckets(NamedTuple):
    """Names of the columns to which n-grams are hashed.

    A column is named after the first n-gram that was hashed to it. Where several n-grams share a column, this
    is usually the most frequent one.

    Attributes
    ----------
    marks : ndarray of shape (n_columns,)
        Scratch memory of ``hash_kernels.hash_ngrams``; also says which columns have a name.
    letters : ndarray of shape (n_columns, STORED_BYTES)
        The names in UTF-8; empty if names are not recorded.
    lengths : ndarray of shape (n_columns,)
        Number of bytes of each name; 0 for columns without a name.
    """

    marks: np.ndarray
    letters: np.ndarray
    lengths: np.ndarray

    @classmethod
    def new(cls, size: int, *, named: bool = True) -> "Buckets":
        """Return buckets without names; if not ``named``, names will not be recorded."""
        n, stored = (size, STORED_BYTES) if named else (0, 0)
        return cls(np.zeros(size, np.uint8), np.zeros((n, stored), np.uint8), np.zeros(n, np.uint8))

    def __len__(self) -> int:
        return len(self.marks)

    def names(self, columns: np.ndarray) -> list[str]:
        """Return the names of these columns; names of more than 32 bytes are truncated and end in "…"."""
        return [
            bytes(self.letters[j, : min(self.lengths[j], NAME_BYTES)]).decode("utf-8", "ignore")
            + ("…" if self.lengths[j] > NAME_BYTES else "")
            for j in columns
        ]

    def _to_state(self) -> dict[str, np.ndarray]:
        """Return the names for a model file, concatenated."""
        used = np.arange(STORED_BYTES) < self.lengths[:, None]
        return {"letters": self.letters[used], "lengths": self.lengths}

    @classmethod
    def _from_state(cls, state: dict[str, np.ndarray], size: int) -> "Buckets":
        """Rebuild the buckets, after checking that the arrays fit each other and the number of columns."""
        letters, lengths = state["letters"], state["lengths"]
        if not (
            (str(lengths.dtype), lengths.shape) == ("uint8", (size,))
            and (str(letters.dtype), letters.shape) == ("uint8", (int(lengths.sum(dtype=np.int64)),))
            and lengths.max() <= STORED_BYTES
        ):
            raise ValueError("the names of the columns do not match the number of columns")
        buckets = cls.new(size)
        buckets.lengths[:] = lengths
        buckets.marks[lengths > 0] = hash_kernels.NAMED
        buckets.letters[np.arange(STORED_BYTES) < lengths[:, None]] = letters
        return buckets


# Like HashingVectorizer, it has no set_output: a data frame cannot hold a sparse matrix.
class NgramHasher(TransformerMixin, NgramEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    r"""Convert texts to a sparse matrix of hashed n-grams.

    An entry is 1 if the text contains an n-gram that is hashed to the column. There is nothing to fit, and
    memory does not grow with the number of texts. Different n-grams can share a column, which costs little
    accuracy as long as there are more columns than frequent n-grams.

    Parameters
    ----------
    bits : int, default=20
        The matrix has 2**bits columns; at most 30.
    ngram_range : tuple (int, int), default=(1, 2)
        The smallest and the largest n.
    lowercase : bool, default=True
        Convert texts to lower case first.
    token_pattern : str, default=r"[\\w']+|[^\\w\\s]"
        Regular expression that matches a token, as in ``NgramVectorizer``.
    strip_html : bool, default=True
        Replace tags such as ``<br />`` by spaces.
    n_jobs : int or None, default=None
        Number of threads; None means 1, -1 all cores. The result does not depend on it.
    verbose : int, default=0
        If not 0, show progress on standard error.

    Attributes
    ----------
    ngrams_ : Buckets
        Names of the columns, if ``partial_fit`` has recorded them; the hasher of a fitted
        ``OnlineTextClassifier`` also has them.
    n_texts_ : int
        Number of texts from which the names were taken.

    See Also
    --------
    NgramVectorizer : N-grams with a vocabulary.
    OnlineTextClassifier : A classifier that uses this hasher.

    Examples
    --------
    >>> from dropglm import NgramHasher
    >>> X = NgramHasher(bits=10).fit_transform(["It's dull!", "Dull<br />film"])
    >>> X.shape, X.nnz
    ((2, 1024), 8)

    Names are optional, and taken from the texts that the hasher is shown:

    >>> hasher = NgramHasher(bits=10).partial_fit(["a dull film"])
    >>> columns = hasher.transform(["a dull story"]).indices
    >>> sorted(hasher.get_feature_names_out()[columns])
    ['a', 'a dull', 'dull', 'ngramhasher639', 'ngramhasher758']
    """

    def __init__(
        self,
        bits: int = 20,
        ngram_range: tuple[int, int] = (1, 2),
        *,
        lowercase: bool = True,
        token_pattern: str = WORDS_AND_PUNCTUATION,
        strip_html: bool = True,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.bits = bits
        self.ngram_range = ngram_range
        self.lowercase = lowercase
        self.token_pattern = token_pattern
        self.strip_html = strip_html
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Check the settings and forget names of columns; there is nothing to learn.

        Parameters
        ----------
        X : ignored
        y : ignored

        Returns
        -------
        self
        """
        self._check()
        for name in ("ngrams_", "n_texts_"):
            if hasattr(self, name):
                delattr(self, name)
        return self

    def partial_fit(self, X: Iterable[str], y: Any = None) -> Self:
        """Name columns after the n-grams of these texts; the matrix does not depend on it.

        A column keeps the first n-gram that is hashed to it, of which the first 32 bytes are recorded. The
        names take 35 bytes per column.

        Parameters
        ----------
        X : iterable of str
            Texts.
        y : ignored

        Returns
        -------
        self
        """
        if len(getattr(self, "ngrams_", ())) != self._check()[2]:
            self._forget_names()
        for _ in self._hash_and_name(X):
            pass
        return self

    def fit_transform(self, X: Iterable[str], y: Any = None) -> Any:
        """Return the matrix of the texts, as ``transform`` does.

        Parameters
        ----------
        X : iterable of str
            Texts.
        y : ignored

        Returns
        -------
        CSR matrix of shape (n, 2**bits)
        """
        return self.fit().transform(X)

    def transform(self, X: Iterable[str]) -> Any:
        """Return the matrix of the texts.

        Parameters
        ----------
        X : iterable of str
            Texts: a list, a column of a data frame, a generator, or any other iterable of strings.

        Returns
        -------
        CSR matrix of shape (n, 2**bits)
            Of type float32.
        """
        return self._to_matrix(self._hash(X, Buckets.new(self._check()[2], named=False), 0))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return a name for each column.

        It is the first n-gram that was hashed to the column in ``partial_fit``; further n-grams may share the
        column. Column j has the name "ngramhasher{j}" if there was none.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        ndarray of str objects, of shape (2**bits,)
        """
        size = self._check()[2]
        names = np.array([f"ngramhasher{j}" for j in range(size)], dtype=object)
        if len(getattr(self, "ngrams_", ())) == size:
            used = np.flatnonzero(self.ngrams_.lengths)
            names[used] = self.ngrams_.names(used)
        return names

    def __sklearn_tags__(self) -> Any:
        """Declare to scikit-learn that there is nothing to fit, and that the output is float32."""
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _to_matrix(self, parts: Iterable[BinaryRows], dtype: Any = np.float32) -> Any:
        """Return consecutive parts of the rows as one CSR matrix."""
        parts = list(parts)
        lengths = [np.zeros(1, np.int64), *(np.diff(part.indptr) for part in parts)]
        indptr = np.cumsum(np.concatenate(lengths))
        indices = np.concatenate([np.zeros(0, np.int32), *(part.indices.view(np.int32) for part in parts)])
        shape = len(indptr) - 1, self._check()[2]
        matrix = sparse.csr_matrix((np.ones(len(indices), dtype), indices, indptr), shape)
        matrix.sort_indices()
        return matrix

    def _hash_and_name(self, X: Iterable[str]) -> Iterator[BinaryRows]:
        """Yield the rows of the texts, and name the columns after their n-grams in ``ngrams_``."""
        if not hasattr(self, "ngrams_"):
            self._forget_names()
        yield from self._hash(X, self.ngrams_, self.n_texts_)

    def _forget_names(self) -> None:
        self.ngrams_, self.n_texts_ = Buckets.new(self._check()[2]), 0

    def _hash(self, X: Iterable[str], buckets: Buckets, n_texts: int) -> Iterator[BinaryRows]:
        """Yield the rows of the texts, a few megabytes of text at a time; columns are not sorted."""
        shortest, longest, _ = self._check()
        tokenizer = self._tokenizer(checks.threads(self.n_jobs))
        for chunk in text_chunks(X, verbose=bool(self.verbose)):
            tokens = tokenizer.split(chunk)
            indptr = np.zeros(len(chunk) + 1, np.int64)
            # One more than needed: the kernel writes repeated columns as well, and then overwrites them.
            columns = np.empty(int(tokens.counts.sum()) * (longest - shortest + 1) + 1, np.uint32)
            if len(buckets.letters):
                self.n_texts_ = n_texts + len(chunk)  # before the kernel runs, so that no mark is used twice
            hash_kernels.hash_ngrams(tokens, shortest, longest, n_texts, *buckets, indptr, columns)
            n_texts += len(chunk)
            yield BinaryRows(indptr, columns[: indptr[-1]])

    def _describe(self, text: str) -> tuple[np.ndarray, np.ndarray, list[str], list[str]]:
        """Return the columns of a text, their values, the n-grams of the text in each, and unknown words."""
        shortest, longest, size = self._check()
        words, tokens = self.tokenize(text), self._tokenizer(1).split([text])
        ngrams: dict[int, list[str]] = {}
        unknown: list[str] = []
        for n in range(shortest, longest + 1):
            columns = np.empty(max(0, len(words) - n + 1), np.int64)
            hash_kernels.ngram_columns(tokens, n, size, columns)
            for p, column in enumerate(columns.tolist()):
                ngram = " ".join(words[p : p + n])
                sharing = ngrams.setdefault(column, [])
                if ngram not in sharing:
                    sharing.append(ngram)
                if n == 1 and not self.ngrams_.lengths[column]:
                    unknown.append(ngram)
        names = [" | ".join(sharing) for sharing in ngrams.values()]
        return np.array(list(ngrams), np.int64), np.ones(len(ngrams)), names, unknown

    def _check(self) -> tuple[int, int, int]:
        """Check all settings; return the smallest n, the largest n and the number of columns."""
        shortest, longest = self._check_ngrams()
        checks.whole_number(self.bits, "bits")
        if not 1 <= self.bits <= MAX_BITS:
            raise ValueError(f"bits must be between 1 and {MAX_BITS}, got {self.bits}.")
        return shortest, longest, 1 << int(self.bits)
