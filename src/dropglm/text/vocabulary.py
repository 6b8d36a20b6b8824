"""The n-grams that are features, and how they are found in new texts."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from dropglm.text import kernels
from dropglm.text.counting import MAX_NGRAM, empty_slots
from dropglm.text.ngram_counts import NONE
from dropglm.text.tokens import Tokens, decode_strings, encode_strings
from dropglm.threads import each, even_ranges


class HashTables(NamedTuple):
    """The hash tables of a vocabulary."""

    token_slots: np.ndarray
    token_keys: np.ndarray
    pair_slots: list[np.ndarray]  # for n = 2, 3, …
    pair_keys: list[np.ndarray]


class Vocabulary:
    """The n-grams that are features, one per column.

    Parameters
    ----------
    letters, ends : ndarray
        The tokens, concatenated in UTF-8, and the offsets where each begins and the last one ends.
    spelling : ndarray of shape (n_features, largest n)
        The token numbers of each feature, padded with -1.
    document_counts : ndarray of shape (n_features,)
        Number of texts in the fit that contain each feature.

    Attributes
    ----------
    document_counts : ndarray of shape (n_features,)
        Number of texts in the fit that contain each feature.
    mean_values : ndarray of shape (n_features,), or empty
        Mean value of each feature in the texts of the fit that contain it, if a text classifier has recorded
        it; empty if all of them are 1.
    """

    def __init__(
        self, letters: np.ndarray, ends: np.ndarray, spelling: np.ndarray, document_counts: np.ndarray
    ) -> None:
        self.mean_values = np.empty(0, np.float32)
        self._letters = letters
        self._ends = ends
        self._spelling = spelling
        self.document_counts = document_counts

    @classmethod
    def _from_names(cls, names: Sequence[str], longest: int) -> Self:
        """Return a vocabulary of given n-grams of at most ``longest`` tokens, in this order.

        Names that cannot be such an n-gram, since they have more words, become a token that no text has.
        """
        spelled = [name.split(" ") for name in names]
        spelled = [
            words if len(words) <= longest else [name] for words, name in zip(spelled, names, strict=True)
        ]
        words = sorted({word for ngram in spelled for word in ngram})
        number = {word: k for k, word in enumerate(words)}
        spelling = np.full((len(names), max(map(len, spelled))), NONE, np.int32)
        for column, ngram in enumerate(spelled):
            spelling[column, : len(ngram)] = [number[word] for word in ngram]
        return cls(*encode_strings(words), spelling, np.zeros(len(names), np.int32))

    def _with_counts(self, document_counts: np.ndarray) -> Self:
        """Return the same features with other document counts."""
        return type(self)(self._letters, self._ends, self._spelling, document_counts.astype(np.int32))

    def __len__(self) -> int:
        return len(self._spelling)

    def names(self, columns: np.ndarray | None = None) -> list[str]:
        """Return the n-grams of these columns, or of all columns, with spaces between their tokens."""
        rows = self._spelling if columns is None else self._spelling[columns]
        if self._longest == 1:
            return [self._words[number] for number in rows[:, 0].tolist()]
        return [" ".join([self._words[number] for number in row if number >= 0]) for row in rows.tolist()]

    def _record_values(self, X: Any) -> None:
        """Record the mean value of each feature; X is the CSR matrix of the texts in the fit."""
        if (X.data != 1).any():
            totals = np.ones(X.shape[0]) @ X
            self.mean_values = (totals / np.maximum(self.document_counts, 1)).astype(np.float32)

    def __getstate__(self) -> dict[str, np.ndarray]:
        """Leave out the hash tables, which are rebuilt when needed."""
        names = ("_letters", "_ends", "_spelling", "document_counts", "mean_values")
        return {name: getattr(self, name) for name in names}

    def _to_state(self) -> dict[str, np.ndarray]:
        """Return the arrays for a model file."""
        return {
            "letters": self._letters,
            "ends": self._ends,
            "spelling": self._spelling,
            "texts": self.document_counts,
            "values": self.mean_values,
        }

    @classmethod
    def _from_state(cls, state: Mapping[str, Any]) -> Self:
        """Rebuild a vocabulary from a model file, after checking its arrays: the kernels trust them."""
        letters, ends, spelling, counts = (state[name] for name in ("letters", "ends", "spelling", "texts"))
        values = state.get("values", np.empty(0, np.float32))  # files of 0.2.0 have none
        words, longest = len(ends) - 1, spelling.shape[-1]
        if not (
            (str(letters.dtype), letters.ndim) == ("uint8", 1)
            and (str(ends.dtype), ends.ndim) == ("int64", 1)
            and (str(spelling.dtype), spelling.ndim) == ("int32", 2)
            and words >= 0
            and ends[0] == 0
            and ends[-1] == len(letters)
            and (ends[1:] >= ends[:-1]).all()  # a difference could overflow
            and (str(counts.dtype), counts.shape) == ("int32", (len(spelling),))
            and (str(values.dtype), values.ndim) == ("float32", 1)
            and len(values) in (0, len(spelling))
            and np.isfinite(values).all()
            and (counts >= 0).all()
            and spelling.size
            and longest <= MAX_NGRAM
            and max(words, spelling.size) * longest <= np.iinfo(np.int32).max
            and (spelling[:, 0] >= 0).all()
            and spelling.max() < words
            and spelling.min() >= NONE
            and not ((spelling[:, :-1] == NONE) & (spelling[:, 1:] != NONE)).any()
        ):
            raise ValueError("the arrays of the vocabulary are inconsistent")
        vocabulary = cls(letters, ends, spelling, counts)
        vocabulary.mean_values = values
        len(vocabulary._words)  # raises unless the letters are UTF-8
        return vocabulary

    @property
    def _longest(self) -> int:
        """The largest n."""
        return int(self._spelling.shape[1])

    @property
    def _lengths(self) -> np.ndarray:
        """The number of tokens of each feature."""
        return (self._spelling != NONE).sum(axis=1)

    @cached_property
    def _words(self) -> list[str]:
        return decode_strings(self._letters, self._ends)

    @cached_property
    def _word_set(self) -> frozenset[str]:
        return frozenset(self._words)

    @cached_property
    def _keys_and_columns(self) -> tuple[list[np.ndarray], np.ndarray]:
        """The keys of the pairs for n = 2, 3, …, and the column of each code (or -1)."""
        length = self._lengths
        nodes, keys = self._spelling[:, 0].astype(np.int64), []
        codes = nodes * self._longest
        for n in range(2, self._longest + 1):
            long = length >= n
            level, nodes[long] = np.unique(
                nodes[long] << 32 | self._spelling[long, n - 1], return_inverse=True
            )
            keys.append(level)
            codes[long] = nodes[long] * self._longest + n - 1
        most = max([len(self._ends) - 1, *map(len, keys)])
        column_of = np.full(most * self._longest, NONE, np.int32)
        column_of[codes] = np.arange(len(self), dtype=np.int32)
        return keys, column_of

    @property
    def _column_of(self) -> np.ndarray:
        """The column of each code, or -1 if it is not a feature; see ``row_kernels.pack``."""
        return self._keys_and_columns[1]

    @cached_property
    def _tables(self) -> HashTables:
        token_keys = np.empty(len(self._ends) - 1, np.int64)
        kernels.keys_of(self._letters, self._ends, token_keys)
        pair_keys = self._keys_and_columns[0]
        slots = [empty_slots(len(keys)) for keys in (token_keys, *pair_keys)]
        for table, keys in zip(slots, (token_keys, *pair_keys), strict=True):
            kernels.refill(table, keys, len(keys))
        return HashTables(slots[0], token_keys, slots[1:], pair_keys)

    def _find(self, tokens: Tokens, threads: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the number of the n-gram that begins at each token, and whether there is one.

        Both have shape (largest n, tokens); row n - 1 is for n-grams of n tokens.
        """
        numbers = np.full((self._longest, len(tokens.keys)), NONE, np.int32)
        tables = self._tables

        def find(piece: tuple[int, int]) -> None:
            table = tables.token_slots, tables.token_keys, self._letters, self._ends
            kernels.find_tokens(tokens, *piece, *table, numbers[0])
            for n in range(2, self._longest + 1):
                pairs = tables.pair_slots[n - 2], tables.pair_keys[n - 2]
                kernels.find_pairs(tokens, *piece, *pairs, numbers[n - 2], numbers[0], n, numbers[n - 1])

        each(find, even_ranges(len(tokens.first), piece=256), threads)
        return numbers, numbers >= 0
