"""N-grams as features by the numbers that they hash to, without a vocabulary: memory does not grow."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from dropglm import checks
from dropglm.design.storage import BinaryRows
from dropglm.text import hash_kernels
from dropglm.text.base import NgramEstimator, text_chunks
from dropglm.text.tokens import WORDS_AND_PUNCTUATION

MOST_BITS = 30
SHOWN = 32  # bytes of a name
ROOM = SHOWN + 1  # one more tells that it was cut


class Buckets(NamedTuple):
    """The names of the columns.

    Attributes
    ----------
    marks : array of shape (columns,)
        Whether it has one; see ``hash_kernels.hash_ngrams``.
    letters, lengths : arrays
        The first n-gram that came to it, in UTF-8: of several that share a column mostly the most frequent.
    """

    marks: np.ndarray
    letters: np.ndarray  # (columns, ROOM), or none to keep no names
    lengths: np.ndarray

    @classmethod
    def new(cls, size: int, *, room: int = ROOM) -> "Buckets":
        """No text was seen yet."""
        named = size if room else 0
        return cls(np.zeros(size, np.uint8), np.zeros((named, room), np.uint8), np.zeros(named, np.uint8))

    def __len__(self) -> int:
        return len(self.marks)

    def names(self, columns: np.ndarray) -> list[str]:
        """The n-gram that each of these columns stands for."""
        return [
            bytes(self.letters[j, : min(self.lengths[j], SHOWN)]).decode("utf-8", "ignore")
            + ("…" if self.lengths[j] > SHOWN else "")
            for j in columns
        ]

    def _to_state(self) -> dict[str, np.ndarray]:
        """The names one after the other, for a file."""
        used = np.arange(ROOM) < self.lengths[:, None]
        return {"letters": self.letters[used], "lengths": self.lengths}

    @classmethod
    def _from_state(cls, state: dict[str, np.ndarray], size: int) -> "Buckets":
        """The same again, if the arrays fit each other and that many columns."""
        letters, lengths = state["letters"], state["lengths"]
        if not (
            (str(lengths.dtype), lengths.shape) == ("uint8", (size,))
            and (str(letters.dtype), letters.shape) == ("uint8", (int(lengths.sum(dtype=np.int64)),))
            and lengths.max() <= ROOM
        ):
            raise ValueError("the names of the columns do not fit them")
        buckets = cls.new(size)
        buckets.lengths[:] = lengths
        buckets.marks[lengths > 0] = hash_kernels.NAMED
        buckets.letters[np.arange(ROOM) < lengths[:, None]] = letters
        return buckets


class NgramHasher(NgramEstimator):
    """Which n-grams each text has, as a sparse matrix whose columns are hashes: nothing has to be learnt.

    Different n-grams can share a column. That costs little as long as there are more columns than frequent
    n-grams, and buys memory that does not grow with the stream.

    Parameters
    ----------
    bits : int
        There are 2^bits columns.
    ngram_range, lowercase, token_pattern, strip_html, n_jobs, verbose
        As for ``NgramVectorizer``.

    Attributes
    ----------
    ngrams_ : Buckets
        The names of the columns, as far as ``note`` has seen texts.
    n_texts_ : int
        How many those were.

    Examples
    --------
    >>> from dropglm import NgramHasher
    >>> hasher = NgramHasher(bits=10)
    >>> X = hasher.transform(["It's dull!", "Dull<br />film"])
    >>> X.shape, X.nnz
    ((2, 1024), 8)
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

    def fit(self, texts: Any = None, y: Any = None) -> Self:
        """Check the settings; there is nothing to learn."""
        self._check()
        return self

    def fit_transform(self, texts: Iterable[str], y: Any = None) -> Any:
        """The matrix of the texts; see ``transform``."""
        return self.transform(texts)

    def transform(self, texts: Iterable[str]) -> Any:
        """The matrix of the texts; CSR of shape (n, 2^bits), float32."""
        return self.stacked(self.rows(texts))

    def stacked(self, parts: Iterable[BinaryRows], dtype: Any = np.float32) -> Any:
        """The matrix of such rows; CSR of shape (n, 2^bits)."""
        parts = list(parts)
        lengths = [np.zeros(1, np.int64), *(np.diff(part.indptr) for part in parts)]
        indptr = np.cumsum(np.concatenate(lengths))
        indices = np.concatenate([np.zeros(0, np.int32), *(part.indices.view(np.int32) for part in parts)])
        shape = len(indptr) - 1, self._check()[2]
        X = sparse.csr_matrix((np.ones(len(indices), dtype), indices, indptr), shape)
        X.sort_indices()
        return X

    def note(self, texts: Iterable[str]) -> Iterator[BinaryRows]:
        """The rows of the texts, whose n-grams become the names of their columns."""
        if not hasattr(self, "ngrams_"):
            self.ngrams_, self.n_texts_ = Buckets.new(self._check()[2]), 0
        yield from self.rows(texts, self.ngrams_)

    def rows(self, texts: Iterable[str], buckets: Buckets | None = None) -> Iterator[BinaryRows]:
        """The rows of the texts, some megabytes of them at a time; columns are in no order."""
        shortest, longest, size = self._check()
        tokenizer = self._tokenizer(checks.threads(self.n_jobs))
        known = Buckets.new(size, room=0) if buckets is None else buckets
        n_texts = 0 if buckets is None else self.n_texts_
        for chunk in text_chunks(texts, verbose=bool(self.verbose)):
            tokens = tokenizer.split(chunk)
            indptr = np.zeros(len(chunk) + 1, np.int64)
            # One more than there can be: a column seen before is written all the same, and overwritten.
            columns = np.empty(int(tokens.counts.sum()) * (longest - shortest + 1) + 1, np.uint32)
            if buckets is not None:
                self.n_texts_ = n_texts + len(chunk)  # before the loop: no mark may be used twice
            hash_kernels.hash_ngrams(tokens, shortest, longest, n_texts, *known, indptr, columns)
            n_texts += len(chunk)
            yield BinaryRows(indptr, columns[: indptr[-1]])

    def _describe(self, text: str) -> tuple[np.ndarray, list[str], list[str]]:
        """The columns of a text, the n-grams of it that each stands for, and its words never seen before."""
        shortest, longest, size = self._check()
        words, tokens = self.tokenize(text), self._tokenizer(1).split([text])
        named: dict[int, list[str]] = {}
        unknown: list[str] = []
        for n in range(shortest, longest + 1):
            columns = np.empty(max(0, len(words) - n + 1), np.int64)
            hash_kernels.columns_of(tokens, n, size, columns)
            for p, column in enumerate(columns.tolist()):
                name = " ".join(words[p : p + n])
                names = named.setdefault(column, [])
                names.extend([name] * (name not in names))
                if n == 1 and not self.ngrams_.lengths[column]:
                    unknown.append(name)
        return np.array(list(named), np.int64), [" | ".join(n) for n in named.values()], unknown

    def _check(self) -> tuple[int, int, int]:
        """The smallest and the largest n, and the number of columns, if all settings are in order."""
        shortest, longest = self._check_ngrams()
        checks.whole_number(self.bits, "bits")
        if not 1 <= self.bits <= MOST_BITS:
            raise ValueError(f"bits must be from 1 to {MOST_BITS}, got {self.bits}.")
        return shortest, longest, 1 << int(self.bits)
