"""Features that are hashed n-grams, and the names of their columns."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from dropglm import checks
from dropglm.design.storage import BinaryRows
from dropglm.encoded_texts import EncodedTexts
from dropglm.text import clean_kernels, hash_kernels
from dropglm.text.base import NgramSettings, text_chunks
from dropglm.text.cleaning import clean
from dropglm.text.prepared import Runs, character_classes, settings_of

MAX_BITS = 30
NAME_BYTES = 32  # bytes of a column's name that are shown
STORED_BYTES = NAME_BYTES + 1  # the last byte is used only by names that were truncated
PART = 1 << 16  # names to pack or unpack at a time, which saves memory


class Buckets(NamedTuple):
    """Names of the columns to which n-grams are hashed.

    A column is named after the first n-gram that was hashed to it. Where several n-grams share a column, this
    is usually the most frequent one.

    Attributes
    ----------
    marks : ndarray of shape (n_columns,)
        Scratch memory of ``hash_kernels.hash_ngrams``; also says which columns have a name, or will have one
        when it is added.
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

    def add(self, names: "NewNames") -> None:
        """Record the names of columns that had none."""
        self.letters[names.columns] = names.letters
        self.lengths[names.columns] = names.lengths

    def forget_what_was_not_added(self) -> None:
        """Let columns be named again whose new names were not added."""
        self.marks[:] = np.where(self.lengths > 0, hash_kernels.NAMED, 0)

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
        parts = [
            self.letters[k : k + PART][_used(self.lengths[k : k + PART])] for k in range(0, len(self), PART)
        ]
        return {"letters": np.concatenate(parts), "lengths": self.lengths}

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
        ends = np.cumsum(lengths, dtype=np.int64)
        for k in range(0, size, PART):
            part, start = lengths[k : k + PART], ends[k] - lengths[k]
            buckets.letters[k : k + PART][_used(part)] = letters[start : ends[k + len(part) - 1]]
        return buckets


def _used(lengths: np.ndarray) -> np.ndarray:
    """Return which of the stored bytes of each name belong to it."""
    used: np.ndarray = np.arange(STORED_BYTES) < lengths[:, None]
    return used


class NewNames(NamedTuple):
    """Columns that had no name before, and their names as in ``Buckets``."""

    columns: np.ndarray
    letters: np.ndarray
    lengths: np.ndarray

    @classmethod
    def empty(cls, size: int) -> "NewNames":
        """Return arrays for this many names."""
        return cls(
            np.empty(size, np.uint32), np.empty((size, STORED_BYTES), np.uint8), np.empty(size, np.uint8)
        )


class HashedTexts(NamedTuple):
    """The rows of consecutive texts, and the columns that are named after their n-grams."""

    rows: BinaryRows
    names: NewNames


class HashedFeatures(NgramSettings):
    """Features that are hashed n-grams; ``NgramHasher`` without scikit-learn's interface."""

    bits: int
    n_jobs: int | None
    verbose: int
    ngrams_: Buckets
    n_texts_: int

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
        buckets = Buckets.new(self._check()[2], named=False)
        return self._to_matrix(hashed.rows for hashed in self._hash(X, buckets, 0))

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
        for hashed in self._hash(X, self.ngrams_, self.n_texts_):
            self._add(hashed)
            yield hashed.rows

    def _add(self, hashed: HashedTexts) -> None:
        """Record the new names of texts that were hashed with ``ngrams_``, in the order of the texts."""
        self.ngrams_.add(hashed.names)
        self.n_texts_ += len(hashed.rows.indptr) - 1

    def _forget_names(self) -> None:
        self.ngrams_, self.n_texts_ = Buckets.new(self._check()[2]), 0

    def _hash(self, X: Iterable[str], buckets: Buckets, n_texts: int) -> Iterator[HashedTexts]:
        """Yield the rows of the texts, a few megabytes of text at a time; columns are not sorted."""
        shortest, longest, size = self._check()
        tokenizer = self._tokenizer(checks.threads(self.n_jobs))
        chunks: Iterable[Sequence[str]] = text_chunks(X, verbose=bool(self.verbose))
        if isinstance(X, EncodedTexts) and tokenizer.runs is not None:
            chunks = [X]
        for chunk in chunks:
            indptr = np.zeros(len(chunk) + 1, np.int64)
            if tokenizer.runs is None:
                hash_, tokens = hash_kernels.hash_ngrams, tokenizer.split(chunk)
                arguments, most = (tokens,), int(tokens.counts.sum())
            else:
                hash_, texts = hash_kernels.hash_texts, clean(EncodedTexts.of(chunk), tokenizer.preprocess)
                arguments, most = _scanned(texts, tokenizer.runs), len(texts.letters)
            most *= longest - shortest + 1
            # One more than needed: the kernel writes repeated columns as well, and then overwrites them. This
            # is far more than are used, but memory that is not written to costs nothing.
            columns = np.empty(most + 1, np.uint32)
            new = NewNames.empty(min(most, size) if len(buckets.letters) else 0)
            used = hash_(*arguments, shortest, longest, n_texts, buckets.marks, indptr, columns, *new)
            n_texts += len(chunk)
            rows = BinaryRows(indptr, columns[: indptr[-1]])
            yield HashedTexts(rows, NewNames(*(array[:used] for array in new)))

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


def _scanned(texts: EncodedTexts, runs: Runs) -> tuple[Any, ...]:
    """Return the arguments of ``hash_kernels.hash_texts`` that say how to find tokens in which texts."""
    wide = clean_kernels.any_wide(texts.letters, texts.begins, texts.ends)
    classes = character_classes(runs) if wide else character_classes(runs, 128)
    return texts.letters, texts.begins, texts.ends, classes, settings_of(runs, classes)
