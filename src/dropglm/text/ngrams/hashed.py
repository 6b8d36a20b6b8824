"""Features that are hashed n-grams, and the names of their columns."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from dropglm.base import checks
from dropglm.base.encoded_texts import EncodedTexts
from dropglm.base.errors import InputError
from dropglm.core.design.storage import BinaryRows
from dropglm.core.maths.compile import inlined, kernel, kernel_helper
from dropglm.core.maths.instructions import prefetch
from dropglm.text.ngrams.analysis import MAX_BITS, NgramSettings, text_chunks
from dropglm.text.ngrams.counting import mix
from dropglm.text.ngrams.tokens import TokenBuffers, compile_pattern

SPACE = np.uint8(32)
NAMED = np.uint8(128)  # the bit of a mark that says that the column has a name
STORED_BYTES = 33  # bytes of a name that are stored: 32, and one that says that there would be more
DISTANCE = 16  # n-grams between prefetching a mark and using it
TEXT_MARKS = 127  # the other bits number the texts modulo 127


@inlined
def extend_hash(h, key):
    """Return the hash of an n-gram, given that of its first n - 1 tokens (0 for n = 1) and its last key."""
    return mix(h ^ np.uint64(key))


@kernel
def hash_ngrams(tokens, shortest, longest, first_text, marks, indptr, columns, new, names, sizes):
    """Write the distinct columns of each text's n-grams; texts are numbered from ``first_text``.

    ``marks`` has one byte per column: the last text that contains the column, modulo 127, and a bit that
    says whether the column has a name. A million single bytes fit into the second-level cache; 8 bytes per
    column took three times as long. If ``new`` is not empty, a column is named after the first n-gram hashed
    to it: ``new`` gets the column, ``names`` the n-grams one after the other, and ``sizes`` their
    bytes. Returns the number of names.

    Whether the text already contains a column is not tested by a branch, since half of its predictions would
    fail: the column is always written, and overwritten by the next one if it was a repetition.
    """
    hashes = np.empty(tokens.counts.max() if len(tokens.counts) else 0, np.uint64)
    mask, naming = np.uint64(len(marks) - 1), len(new) > 0
    k, m, b = np.int64(0), np.int64(0), np.int64(0)
    for i in range(len(tokens.first)):
        first, count = tokens.first[i], tokens.counts[i]
        mark = next_mark(first_text + i, marks)
        for p in range(count):
            hashes[p] = np.uint64(0)
        for n in range(1, longest + 1):
            # A loop of its own, which is vectorised: together with prefetching, three quarters of the time.
            for p in range(count - n + 1):
                hashes[p] = extend_hash(hashes[p], tokens.keys[first + p + n - 1])
            for p in range(count - n + 1 if n >= shortest else 0):
                prefetch(marks, hashes[min(p + DISTANCE, count - n)] & mask)
                column = hashes[p] & mask
                columns[k] = column
                before = marks[column]
                k += np.uint8(before & ~NAMED) != mark
                if naming and before < NAMED:
                    new[m] = column
                    sizes[m] = write_ngram(tokens, first + p, n, names[b : b + STORED_BYTES])
                    m, b = m + 1, b + sizes[m]
                marks[column] = mark | (NAMED if naming else before & NAMED)
        indptr[i + 1] = k
    return m


@inlined
def next_mark(text, marks):
    """Return the mark of this text, after removing all marks if its number was used before."""
    mark = np.uint8(text % TEXT_MARKS + 1)
    if mark == 1:
        for j in range(len(marks)):
            marks[j] &= NAMED
    return mark


@kernel_helper
def write_ngram(tokens, p, n, out):
    """Write n tokens, starting at p and separated by spaces, as far as they fit; return the bytes written."""
    place = 0
    for q in range(p, p + n):
        if q > p and place < len(out):
            out[place] = SPACE
            place += 1
        start, stop = tokens.start[q], tokens.stop[q]
        for letter in range(start, min(stop, start + len(out) - place)):
            out[place] = tokens.letters[letter]
            place += 1
    return place


@kernel
def ngram_columns(tokens, n, size, columns):
    """Write the column of the n-gram that starts at each token of a single text."""
    for p in range(len(columns)):
        h = np.uint64(0)
        for q in range(p, p + n):
            h = extend_hash(h, tokens.keys[tokens.first[0] + q])
        columns[p] = np.int64(h & np.uint64(size - 1))


NAME_BYTES = STORED_BYTES - 1  # bytes of a column's name that are shown
NAMES_AT_A_TIME = 1 << 13  # names to sort by column at a time, which saves memory


class Buckets(NamedTuple):
    """Names of the columns to which n-grams are hashed.

    A column is named after the first n-gram that was hashed to it. Where several n-grams share a column, this
    is usually the most frequent one.

    Attributes
    ----------
    marks : ndarray of shape (n_columns,)
        Scratch memory of ``hash_ngrams``; also says which columns have a name.
    lengths : ndarray of shape (n_columns,)
        Number of bytes of each name; 0 for columns without a name. Empty if names are not recorded.
    starts : ndarray of shape (n_columns,)
        Where each name begins in ``parts``.
    parts : list of ndarray of uint8
        The names in UTF-8, in the order in which they were added.
    """

    marks: np.ndarray
    lengths: np.ndarray
    starts: np.ndarray
    parts: list[np.ndarray]

    @classmethod
    def new(cls, size: int, *, named: bool = True) -> "Buckets":
        """Return buckets without names; if not ``named``, names will not be recorded."""
        n = size if named else 0
        # 32 bits are enough for names of 2^26 columns.
        starts = np.zeros(n, np.uint32 if n <= 1 << 26 else np.int64)
        return cls(np.zeros(size, np.uint8), np.zeros(n, np.uint8), starts, [])

    def add(self, names: "NewNames") -> None:
        """Record the names of columns that have none.

        Threads that hash with marks of their own may each find a name for the same column; it gets the name
        of the first text, since names are added in the order of the texts.
        """
        is_new = self.lengths[names.columns] == 0
        names = names if is_new.all() else names.only(is_new)
        if len(names.columns):
            self.marks[names.columns] |= NAMED
            ends = np.cumsum(names.lengths, dtype=np.int64)
            self.starts[names.columns] = sum(map(len, self.parts)) + ends - names.lengths
            self.lengths[names.columns] = names.lengths
            self.parts.append(names.letters)

    def with_own_marks(self) -> "Buckets":
        """Return buckets with the same names and other scratch memory, for another thread."""
        marks = np.zeros(len(self.marks), np.uint8)
        marks[: len(self.lengths)][self.lengths > 0] = NAMED
        return Buckets(marks, self.lengths, self.starts, self.parts)

    def __len__(self) -> int:
        return len(self.marks)

    def names(self, columns: np.ndarray) -> list[str]:
        """Return the names of these columns; names of more than 32 bytes are truncated and end in "…"."""
        letters, found = self._joined(), []
        for start, length in zip(self.starts[columns].tolist(), self.lengths[columns].tolist(), strict=True):
            name = bytes(letters[start : start + min(length, NAME_BYTES)]).decode("utf-8", "ignore")
            found.append(name + ("…" if length > NAME_BYTES else ""))
        return found

    @property
    def letters(self) -> np.ndarray:
        """The names in the order of the columns, concatenated."""
        letters, place = self._joined(), 0
        out = np.empty(len(letters), np.uint8)
        for k in range(0, len(self.lengths), NAMES_AT_A_TIME):
            lengths = self.lengths[k : k + NAMES_AT_A_TIME].astype(np.int64)
            shifts = np.repeat(self.starts[k : k + NAMES_AT_A_TIME] - (np.cumsum(lengths) - lengths), lengths)
            out[place : place + len(shifts)] = letters[shifts + np.arange(len(shifts))]
            place += len(shifts)
        return out

    def _joined(self) -> np.ndarray:
        if len(self.parts) != 1:
            self.parts[:] = [np.concatenate([np.zeros(0, np.uint8), *self.parts])]
        return self.parts[0]

    def _to_state(self) -> dict[str, np.ndarray]:
        """Return the names for a model file."""
        return {"letters": self.letters, "lengths": self.lengths}

    @classmethod
    def _from_state(cls, state: dict[str, np.ndarray], size: int) -> "Buckets":
        """Rebuild the buckets, after checking that the arrays fit each other and the number of columns."""
        letters, lengths = state["letters"], state["lengths"]
        if not (
            len(lengths) == size
            and len(letters) == lengths.sum(dtype=np.int64)
            and lengths.max() <= STORED_BYTES
        ):
            raise InputError("the names of the columns do not match the number of columns")
        buckets = cls.new(size)
        columns = np.flatnonzero(lengths)
        buckets.marks[columns] = NAMED
        buckets.add(NewNames(columns, letters, lengths[columns]))
        return buckets


class NewNames(NamedTuple):
    """Columns that had no name before, and their names, concatenated."""

    columns: np.ndarray
    letters: np.ndarray
    lengths: np.ndarray

    @classmethod
    def empty(cls, size: int) -> "NewNames":
        """Return arrays for this many names."""
        letters = np.empty(size * STORED_BYTES, np.uint8)
        return cls(np.empty(size, np.uint32), letters, np.empty(size, np.uint8))

    def only(self, chosen: np.ndarray) -> "NewNames":
        """Return some of the names."""
        return NewNames(
            self.columns[chosen], self.letters[np.repeat(chosen, self.lengths)], self.lengths[chosen]
        )

    def first(self, n: int) -> "NewNames":
        """Return a copy of the first names."""
        columns, lengths = self.columns[:n].copy(), self.lengths[:n].copy()
        return NewNames(columns, self.letters[: lengths.sum(dtype=np.int64)].copy(), lengths)


class HashingBuffers:
    """Memory for the columns and names of some texts, which is used again for the next ones.

    New memory, which the system clears first, took a tenth of the time of hashing.
    """

    def __init__(self) -> None:
        self.tokens = TokenBuffers()
        self.columns = np.empty(0, np.uint32)
        self.names = NewNames.empty(0)

    def reserve(self, n_columns: int, n_names: int) -> None:
        """Make room for that many columns and names. Memory that is not written to costs nothing."""
        if n_columns > len(self.columns):
            self.columns = np.empty(n_columns * 5 // 4, np.uint32)
        if n_names > len(self.names.columns):
            self.names = NewNames.empty(n_names)


class NamedRows(NamedTuple):
    """The rows of consecutive texts, and the hashed columns that are named after their n-grams, if any."""

    rows: Any  # BinaryRows if n-grams are hashed
    names: NewNames | None = None

    @property
    def n_texts(self) -> int:
        """Number of rows."""
        return len(self.rows.indptr) - 1


@dataclass(eq=False, repr=False)
class HashedFeatures(NgramSettings):
    """Features that are hashed n-grams; ``NgramHasher`` without scikit-learn's interface."""

    bits: int = 20
    ngram_range: tuple[int, int] = (1, 2)
    ngrams_: Buckets = field(init=False)
    n_texts_: int = field(init=False)

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
        if len(getattr(self, "ngrams_", ())) != self._check()[2]:
            self._forget_names()
        for hashed in self._hash(X, self.ngrams_, self.n_texts_):
            self._add(hashed)
            yield hashed.rows

    def _add(self, hashed: NamedRows) -> None:
        """Record the new names of texts that were hashed with ``ngrams_``, in the order of the texts."""
        if hashed.names is not None:
            self.ngrams_.add(hashed.names)
            self.n_texts_ += hashed.n_texts

    def _restore_names(self, buckets: dict[str, np.ndarray], n_texts: int) -> None:
        """Take the names of the columns from a model file, after checking them and the settings."""
        compile_pattern(self.token_pattern)
        self.ngrams_, self.n_texts_ = Buckets._from_state(buckets, self._check()[2]), n_texts

    def _forget_names(self) -> None:
        self.ngrams_, self.n_texts_ = Buckets.new(self._check()[2]), 0

    def _hash(
        self, X: Iterable[str], buckets: Buckets, n_texts: int, room: HashingBuffers | None = None
    ) -> Iterator[NamedRows]:
        """Yield the rows of the texts, a few megabytes of text at a time; columns are not sorted."""
        room = room or HashingBuffers()
        shortest, longest, size = self._check()
        checks.threads(self.n_jobs)
        tokenizer = self._tokenizer()
        chunks: Iterable[Sequence[str]] = text_chunks(X, verbose=bool(self.verbose))
        if isinstance(X, EncodedTexts) and tokenizer.compiled is not None:
            chunks = [X]
        for chunk in chunks:
            indptr = np.zeros(len(chunk) + 1, np.int64)
            tokens = tokenizer.split(chunk, room.tokens)
            most = int(tokens.counts.sum()) * (longest - shortest + 1)
            # One more than needed: the kernel writes repeated columns as well, and then overwrites them.
            room.reserve(most + 1, min(most, size) if len(buckets.lengths) else 0)
            columns, new, n = room.columns, room.names, (shortest, longest)
            used = hash_ngrams(tokens, *n, n_texts, buckets.marks, indptr, columns, *new)
            n_texts += len(chunk)
            yield NamedRows(BinaryRows(indptr, columns[: indptr[-1]].copy()), new.first(used))

    def _describe(self, text: str) -> tuple[np.ndarray, np.ndarray, list[str], list[str]]:
        """Return the columns of a text, their values, the n-grams of the text in each, and unknown words."""
        shortest, longest, size = self._check()
        words, tokens = self.tokenize(text), self._tokenizer().split([text])
        ngrams: dict[int, list[str]] = {}
        unknown: list[str] = []
        for n in range(shortest, longest + 1):
            columns = np.empty(max(0, len(words) - n + 1), np.int64)
            ngram_columns(tokens, n, size, columns)
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
            raise InputError(f"bits must be between 1 and {MAX_BITS}, got {self.bits}.")
        return shortest, longest, 1 << int(self.bits)
