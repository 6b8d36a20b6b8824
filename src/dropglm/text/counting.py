"""Numbering and counting all n-grams of the texts, before the features are selected among them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dropglm.text import kernels
from dropglm.text.ngram_counts import NONE, NgramCounts
from dropglm.text.tokens import Tokens, decode_strings
from dropglm.threads import each

MIN_SLOTS = 1 << 10
MAX_NGRAM = 50
# Every thread reads all tokens and needs room for all of them: more threads take memory and save no time.
MAX_SHARDS = 8


class Shard:
    """One part of a hash table: numbers keys 0, 1, … in the order of first appearance and counts them."""

    def __init__(self) -> None:
        self.size = np.zeros(1, np.int64)
        self.slots = np.full(MIN_SLOTS, kernels.FREE, np.int32)
        self.nodes = np.empty((0, 4), np.int64)

    def __len__(self) -> int:
        return int(self.size[0])

    def reserve(self, more: int) -> None:
        """Make room for that many new keys, so that the kernels never have to grow an array."""
        need = len(self) + more
        self.nodes = _with_room(self.nodes, need)
        if 2 * need > len(self.slots):
            self.slots = empty_slots(need)
            kernels.refill(self.slots, self.nodes[:, kernels.KEY], len(self))


class TokenShard(Shard):
    """A shard whose keys are tokens; it also stores their letters."""

    def __init__(self) -> None:
        super().__init__()
        self.letters = np.empty(0, np.uint8)
        self.ends = np.zeros(1, np.int64)

    def reserve(self, more: int, letters: int = 0) -> None:
        """Make room for that many new tokens with that many letters in total."""
        super().reserve(more)
        self.letters = _with_room(self.letters, int(self.ends[len(self)]) + letters)
        self.ends = _with_room(self.ends, len(self) + more + 1)

    def strings(self) -> list[str]:
        """Return the tokens."""
        return decode_strings(self.letters, self.ends[: len(self) + 1])


class NgramCounter:
    """Counts, for n = 1 to ``longest``, the occurrences of each n-gram and the texts that contain it.

    An n-gram's number combines its shard s and its number k within the shard: k · n_shards + s.
    """

    def __init__(self, longest: int, threads: int) -> None:
        self.n_shards = min(threads, MAX_SHARDS)
        self.tokens = [TokenShard() for _ in range(self.n_shards)]
        self.pairs = [[Shard() for _ in range(self.n_shards)] for _ in range(longest - 1)]
        self.n_texts = 0

    def add(self, tokens: Tokens) -> tuple[np.ndarray, np.ndarray]:
        """Count the n-grams of more texts.

        Returns
        -------
        ndarray of shape (longest, tokens)
            The number of the n-gram that begins at each token; row n - 1 is for n-grams of n tokens.
        ndarray of shape (longest, tokens)
            Whether that is the first occurrence of the n-gram in its text.
        """
        shape = len(self.pairs) + 1, len(tokens.keys)
        numbers, new = np.empty(shape, np.int32), np.empty(shape, np.bool_)
        occurrences = int(tokens.counts.sum())

        def add_tokens(s: int) -> None:
            shard = self.tokens[s]
            shard.reserve(occurrences, letters=len(tokens.letters))
            table = shard.slots, shard.nodes, shard.size, shard.letters, shard.ends
            kernels.add_tokens(tokens, self.n_texts, s, self.n_shards, *table, numbers[0], new[0])

        def add_pairs(level: tuple[int, int]) -> None:
            n, s = level
            shard = self.pairs[n - 2][s]
            shard.reserve(occurrences)
            table = shard.slots, shard.nodes, shard.size
            heads, out = numbers[n - 2], (numbers[n - 1], new[n - 1])
            kernels.add_pairs(tokens, self.n_texts, s, self.n_shards, *table, heads, numbers[0], n, *out)

        each(add_tokens, range(self.n_shards), self.n_shards)
        for n in range(2, len(self.pairs) + 2):
            each(add_pairs, [(n, s) for s in range(self.n_shards)], self.n_shards)
        self.n_texts += len(tokens.first)
        self._refuse_too_many()
        return numbers, new

    @property
    def n_numbers(self) -> int:
        """Upper limit of the numbers, for every n: all numbers are below it."""
        return self.n_shards * max(
            len(shard) for n in range(1, len(self.pairs) + 2) for shard in self._shards(n)
        )

    def _refuse_too_many(self) -> None:
        """Raise if the codes, one per n and number, no longer fit into 31 bits."""
        if (self.n_numbers + self.n_shards) * (len(self.pairs) + 1) > np.iinfo(np.int32).max:
            raise ValueError(
                f"The first {self.n_texts} texts contain more distinct n-grams than can be numbered; use a "
                "smaller ngram_range."
            )

    def counts(self, n: int, column: int) -> np.ndarray:
        """Return one column of the nodes of all n-grams, in the order of their numbers; 0 if unused."""
        return self._interleave([shard.nodes[: len(shard), column] for shard in self._shards(n)])

    def spelling(self, n: int, numbers: np.ndarray) -> np.ndarray:
        """Return the numbers of the n tokens of each of these n-grams; shape (count, n)."""
        columns = []
        for level in range(n, 1, -1):
            keys = self._interleave([shard.nodes[: len(shard), kernels.KEY] for shard in self._shards(level)])
            columns.append(keys[numbers] & 0xFFFFFFFF)
            numbers = keys[numbers] >> 32
        return np.stack([numbers, *columns[::-1]], axis=1)

    def words(self) -> list[str]:
        """Return the tokens in the order of their numbers, with "" for unused numbers."""
        words = [""] * (self.n_shards * max(map(len, self.tokens)))
        for s, shard in enumerate(self.tokens):
            words[s : s + len(shard) * self.n_shards : self.n_shards] = shard.strings()
        return words

    def to_counts(
        self, shortest: int, document_range: Callable[[int], tuple[float, float]], settings: Mapping[str, Any]
    ) -> tuple[NgramCounts, np.ndarray]:
        """Return the n-grams of at least ``shortest`` tokens, and their codes (see ``row_kernels.pack``).

        Parameters
        ----------
        shortest : int
            The smallest n.
        document_range : callable
            Returns the smallest and the largest number of texts that contain an n-gram, given n.
        settings : mapping
            The settings with which the texts were analysed.
        """
        longest = len(self.pairs) + 1
        spellings, codes, texts, times = [], [], [], []
        for n in range(shortest, longest + 1):
            in_texts, (low, high) = self.counts(n, kernels.TEXTS), document_range(n)
            numbers = np.flatnonzero((in_texts >= max(low, 1)) & (in_texts <= high))
            spelling = np.full((len(numbers), longest), NONE, np.int64)
            spelling[:, :n] = self.spelling(n, numbers)
            spellings.append(spelling)
            codes.append(numbers * longest + n - 1)
            texts.append(in_texts[numbers])
            times.append(self.counts(n, kernels.TIMES)[numbers])
        arrays = np.concatenate(spellings), np.concatenate(texts), np.concatenate(times)
        return NgramCounts(self.words(), *arrays, self.n_texts, settings), np.concatenate(codes)

    def _shards(self, n: int) -> Sequence[Shard]:
        return self.tokens if n == 1 else self.pairs[n - 2]

    def _interleave(self, parts: list[np.ndarray]) -> np.ndarray:
        """Merge one array per shard into the order of the numbers."""
        whole = np.zeros((max(map(len, parts)), self.n_shards), parts[0].dtype)
        for s, part in enumerate(parts):
            whole[: len(part), s] = part
        return whole.ravel()


def empty_slots(keys: int) -> np.ndarray:
    """Return the slots of a table for that many keys: a power of two, at least twice as many as keys."""
    return np.full(max(MIN_SLOTS, 1 << (2 * keys - 1).bit_length()), kernels.FREE, np.int32)


def _with_room(array: np.ndarray, need: int) -> np.ndarray:
    """Return the array, or a copy with room for ``need`` rows, at least half as long again."""
    if need <= len(array):
        return array
    longer = np.empty((max(need, len(array) * 3 // 2), *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer
