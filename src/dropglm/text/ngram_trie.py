"""All n-grams of some texts and how often they occur, sorted, so that two such tries are merged in one pass.

The n-grams of n words are listed by their first n - 1 words, which are an n-gram themselves, and then by
their last word. Words are numbered in alphabetical order. Equal n-grams with equal counts have therefore
equal arrays, in whatever order they were merged.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from dropglm.errors import InputError
from dropglm.text import kernels, trie_kernels
from dropglm.text.candidates import NONE, Candidates
from dropglm.text.merging import CountedNgrams
from dropglm.text.short_numbers import from_bytes, to_bytes
from dropglm.text.sorting import copy_strings, sorted_rows, sorted_strings


class NgramLevel(NamedTuple):
    """The n-grams of n words.

    Attributes
    ----------
    starts : ndarray of int64
        Where those with the same first n - 1 words begin, and the last ones end.
    last : ndarray of int32
        The numbers of their last words.
    texts, times : ndarray of int64
        In how many texts each occurs, and how often.
    """

    starts: np.ndarray
    last: np.ndarray
    texts: np.ndarray
    times: np.ndarray

    @classmethod
    def with_room(cls, heads: int, size: int) -> Self:
        """Return memory for so many n-grams, whose first n - 1 words are so many."""
        texts, times = np.empty((2, size), np.int64)
        return cls(np.empty(heads + 1, np.int64), np.empty(size, np.int32), texts, times)

    def cut(self, size: int) -> Self:
        """Return the first n-grams."""
        # Copies, since views would keep the whole arrays in memory.
        return self._replace(**{name: getattr(self, name)[:size].copy() for name in self._fields[1:]})

    def heads_of(self, places: np.ndarray) -> np.ndarray:
        """Return where the first n - 1 words of n-grams are among the n-grams of n - 1 words."""
        return np.searchsorted(self.starts, places, side="right") - 1

    def find(self, heads: np.ndarray, words: np.ndarray) -> np.ndarray:
        """Return the places of n-grams, or -1, given those of their first n - 1 words, and their last words.

        A place or a word of -1 is not found either.
        """
        keys = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts)) << 32 | self.last
        wanted = heads << 32 | words  # negative if one of them is
        places = np.searchsorted(keys, wanted)
        found = np.append(keys, NONE)[places] == wanted
        return np.where(found & (wanted >= 0), places, NONE)

    def to_bytes(self) -> tuple[np.ndarray, ...]:
        """Return all numbers in few bytes: most counts are 1, and most differences are small."""
        lengths = np.diff(self.starts)
        first = self.starts[:-1][lengths > 0]
        steps = np.diff(self.last, prepend=NONE)
        steps[first] = self.last[first]
        return tuple(map(to_bytes, (lengths, steps, self.texts, self.times - self.texts)))

    @classmethod
    def from_bytes(cls, *written: np.ndarray) -> Self:
        """Return the level whose numbers ``to_bytes`` has written."""
        lengths, steps, texts, more = map(from_bytes, written)
        starts = np.append(0, np.cumsum(lengths))
        first, sums = starts[:-1][lengths > 0], np.cumsum(steps)
        last = sums - np.repeat(sums[first] - steps[first], lengths[lengths > 0])
        return cls(starts, last.astype(np.int32), texts, texts + more)


@dataclass(frozen=True, eq=False)
class NgramTrie:
    """N-grams of 1 to ``len(levels)`` words.

    Attributes
    ----------
    letters, ends : ndarray
        The words in alphabetical order, concatenated in UTF-8, and the offsets where each begins and the last
        one ends.
    levels : tuple of NgramLevel
        The n-grams of one word, of two, …
    """

    letters: np.ndarray
    ends: np.ndarray
    levels: tuple[NgramLevel, ...]

    @classmethod
    def of(cls, counted: CountedNgrams, longest: int, threads: int) -> Self:
        """Return all n-grams of at most ``longest`` words, sorted."""
        letters, begins, stops = counted.letters, counted.ends[:-1], counted.ends[1:]
        singles, longer = counted.words, counted.pairs
        words = np.flatnonzero(singles.texts > 0)
        words = words[sorted_strings(letters, begins[words], stops[words], threads)]
        number_of = heads = _positions(words, len(singles.keys))
        everything = np.array([0, len(words)]), np.arange(len(words), dtype=np.int32)
        levels = [NgramLevel(*everything, singles.texts[words], singles.times[words])]
        for n in range(2, longest + 1):
            pairs = np.flatnonzero((longer.levels == n) & (longer.texts > 0)).astype(np.int32)
            keys, size = longer.keys[pairs], len(levels[-1].last)
            ranks = np.empty((len(pairs), 2), np.int32)
            ranks[:, 0] = heads[(keys >> 32) - (kernels.PAIR if n > 2 else 0)]
            ranks[:, 1] = number_of[keys & 0xFFFFFFFF]
            del keys  # each of these arrays is large
            order = sorted_rows(ranks, max(size, len(words)))
            starts = np.append(0, np.cumsum(np.bincount(ranks[:, 0], minlength=size)))
            last, pairs = ranks[order, 1], pairs[order]
            del ranks, order
            levels.append(NgramLevel(starts, last, longer.texts[pairs], longer.times[pairs]))
            heads = _positions(pairs, len(longer.keys))
        return cls(*copy_strings(letters, begins[words], stops[words]), tuple(levels))

    def __add__(self, other: "NgramTrie") -> "NgramTrie":
        """Return the n-grams of both."""
        numbers, letters, ends = self._merged_words(other.letters, other.ends)
        root = np.zeros(1, np.int32)
        levels, heads = [], (root, root)
        for a, b in zip(self.levels, other.levels, strict=True):
            room = len(a.last) + len(b.last)
            if room > np.iinfo(np.int32).max:
                raise InputError(
                    "The counts have more n-grams than can be numbered; use a smaller ngram_range."
                )
            merged, places = NgramLevel.with_room(len(heads[0]), room), np.empty((2, room), np.int32)
            size = trie_kernels.merge_level(a, b, numbers, heads, merged, (places[0], places[1]))
            levels.append(merged.cut(size))
            heads = places[0, :size], places[1, :size]
        return NgramTrie(letters, ends, tuple(levels))

    def _merged_words(
        self, letters: np.ndarray, ends: np.ndarray
    ) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray, np.ndarray]:
        """Return the numbers of the words of both among all words, and all words; the others are sorted."""
        numbers = np.empty(len(self.ends) - 1, np.int32), np.empty(len(ends) - 1, np.int32)
        letters, shifted = np.concatenate([self.letters, letters]), ends + len(self.letters)
        size = trie_kernels.merge_words(letters, self.ends, shifted, *numbers)
        starts, stops = np.empty((2, size), np.int64)
        for own, number in ((shifted, numbers[1]), (self.ends, numbers[0])):
            starts[number], stops[number] = own[:-1], own[1:]
        return numbers, *copy_strings(letters, starts, stops)

    def candidates(
        self, shortest: int, document_range: Callable[[int], tuple[float, float]], n_texts: int
    ) -> Candidates:
        """Return n-grams of at least ``shortest`` words that occur in the right number of texts.

        Parameters
        ----------
        shortest : int
            The smallest n.
        document_range : callable
            Returns the smallest and the largest number of texts that contain an n-gram, given n.
        n_texts : int
            Number of texts.
        """
        longest, parts = len(self.levels), []
        for n in range(shortest, longest + 1):
            (low, high), level = document_range(n), self.levels[n - 1]
            kept = np.flatnonzero((level.texts >= max(low, 1)) & (level.texts <= high))
            parts.append((self._spelled(n, kept), level.texts[kept], level.times[kept]))
        spelling, texts, times = (np.concatenate(part) for part in zip(*parts, strict=True))
        return Candidates(self.letters, self.ends, spelling, texts, times, n_texts)

    def _spelled(self, n: int, places: np.ndarray) -> np.ndarray:
        """Return the numbers of the words of n-grams of n words."""
        spelling = np.full((len(places), len(self.levels)), NONE, np.int32)
        for k in range(n - 1, -1, -1):
            spelling[:, k] = self.levels[k].last[places]
            places = self.levels[k].heads_of(places)
        return spelling

    def texts_with(
        self, letters: np.ndarray, ends: np.ndarray, spelling: np.ndarray, shortest: int
    ) -> np.ndarray:
        """Return how many texts contain given n-grams; 0 if they have fewer words than ``shortest``.

        Parameters
        ----------
        letters, ends : ndarray
            The words of which they consist, sorted.
        spelling : ndarray of shape (n_ngrams, largest n)
            The numbers of their words, padded with -1.
        shortest : int
            The smallest n.
        """
        (own, others), _, merged = self._merged_words(letters, ends)
        number_of = np.full(len(merged) - 1, NONE, np.int64)
        number_of[own] = np.arange(len(own))
        number_of = number_of[others]
        texts, places = np.zeros((2, len(spelling)), np.int64)
        for k in range(spelling.shape[1]):
            longer = np.flatnonzero(spelling[:, k] != NONE)
            places[longer] = self.levels[k].find(places[longer], number_of[spelling[longer, k]])
            # NONE takes the last entry.
            texts[longer] = np.append(self.levels[k].texts, 0)[places[longer]] if k + 1 >= shortest else 0
        return texts


def _positions(numbers: np.ndarray, size: int) -> np.ndarray:
    """Return the position of each of 0, …, size - 1 among these numbers, or -1."""
    positions = np.full(size, NONE, np.int32)
    positions[numbers] = np.arange(len(numbers), dtype=np.int32)
    return positions
