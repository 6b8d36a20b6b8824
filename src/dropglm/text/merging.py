"""Merging the n-grams that several threads have counted."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Self

import numpy as np

from dropglm.text import kernels, merge_kernels
from dropglm.text.candidates import NONE, Candidates
from dropglm.text.counting import NgramCounter, Table, empty_slots, refuse_too_many
from dropglm.text.sorting import copy_strings
from dropglm.threads import each, even_ranges

PIECE = 1 << 17  # n-grams per task


class Distinct(NamedTuple):
    """Distinct tokens, or distinct pairs, by their numbers. Some numbers are not used; their counts are 0."""

    keys: np.ndarray
    texts: np.ndarray
    times: np.ndarray
    levels: np.ndarray  # how many tokens each of them has

    @classmethod
    def of(cls, table: Table, levels: np.ndarray) -> Self:
        """Return what a single table has."""
        nodes = table.nodes[: len(table)]
        columns = kernels.KEY, kernels.TEXTS, kernels.TIMES
        keys, texts, times = (np.ascontiguousarray(nodes[:, column]) for column in columns)
        return cls(keys, texts, times, levels)


class CountedNgrams(NamedTuple):
    """The n-grams that one or several counters have counted.

    Attributes
    ----------
    letters, ends : ndarray
        The tokens, concatenated in UTF-8, and the offsets where each begins and the last one ends.
    words, pairs : Distinct
    numbers : list of pairs of ndarray, or None
        The numbers of the words and pairs of each counter; None if they are those of the only counter.
    n_texts : int
    """

    letters: np.ndarray
    ends: np.ndarray
    words: Distinct
    pairs: Distinct
    numbers: list[tuple[np.ndarray, np.ndarray]] | None
    n_texts: int

    @classmethod
    def of(cls, counters: Sequence[NgramCounter], n_texts: int, threads: int) -> Self:
        """Merge the counters."""
        ones = [np.ones(len(counter.words), np.int8) for counter in counters]
        levels = [_levels(counter) for counter in counters]
        if len(counters) == 1:
            counter = counters[0]
            ends = counter.ends[: len(counter.words) + 1]
            words = Distinct.of(counter.words, ones[0])
            pairs = Distinct.of(counter.pairs, levels[0])
            return cls(counter.letters[: ends[-1]], ends, words, pairs, None, n_texts)
        refuse_too_many(sum(len(counter.pairs) for counter in counters), n_texts)
        letters, ends = _concatenated(counters)
        singles = _Merge([counter.words for counter in counters], ones, threads)
        singles.merge(1, letters, ends)
        longer = _Merge([counter.pairs for counter in counters], levels, threads)
        for n in range(2, counters[0].longest + 1):
            longer.merge(n, letters, ends, singles.by_table())
        starts, stops = ends[:-1][singles.firsts], ends[1:][singles.firsts]
        strings = copy_strings(letters, starts, np.where(singles.merged.texts > 0, stops, starts))
        each(NgramCounter.release, counters, threads)
        numbers = list(zip(singles.by_table(), longer.by_table(), strict=True))
        return cls(*strings, singles.merged, longer.merged, numbers, n_texts)

    def candidates(
        self,
        shortest: int,
        longest: int,
        document_range: Callable[[int], tuple[float, float]],
        threads: int,
    ) -> tuple[Candidates, np.ndarray]:
        """Return the n-grams of at least ``shortest`` tokens, and their codes; see ``kernels``.

        Parameters
        ----------
        shortest, longest : int
            The smallest and the largest n.
        document_range : callable
            Returns the smallest and the largest number of texts that contain an n-gram, given n.
        threads : int
            Number of threads.
        """
        pieces = [
            (n, *piece)
            for n in range(shortest, longest + 1)
            for piece in even_ranges(len((self.words if n == 1 else self.pairs).keys), PIECE)
        ]

        def within(piece: tuple[int, int, int]) -> tuple[np.ndarray, ...]:
            n, first, last = piece
            (low, high), distinct = document_range(n), self.words if n == 1 else self.pairs
            texts = distinct.texts[first:last]
            kept = (distinct.levels[first:last] == n) & (texts >= max(low, 1)) & (texts <= high)
            numbers = np.flatnonzero(kept) + first
            codes = numbers if n == 1 else -1 - numbers
            return self._spelled(n, longest, numbers), distinct.texts[numbers], distinct.times[numbers], codes

        parts = list(zip(*each(within, pieces, threads), strict=True))
        spelling, texts, times, codes = (np.concatenate(part) for part in parts)
        return Candidates(self.letters, self.ends, spelling, texts, times, self.n_texts), codes

    def columns_of(self, codes: np.ndarray, threads: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the columns of the words and pairs of each counter, given the code of each column."""
        words = len(self.words.keys)
        columns = np.full(words + len(self.pairs.keys), NONE, np.int32)
        # Codes of pairs are negative, so that they count from the end.
        columns[codes] = np.arange(len(codes), dtype=np.int32)
        of_words, of_pairs = columns[:words], columns[words:][::-1].copy()
        if self.numbers is None:
            return [(of_words, of_pairs)]
        return each(lambda own: (of_words[own[0]], of_pairs[own[1]]), self.numbers, threads)

    def _spelled(self, n: int, longest: int, numbers: np.ndarray) -> np.ndarray:
        """Return the numbers of the tokens of each of these n-grams."""
        spelling = np.full((len(numbers), longest), NONE, np.int32)
        for level in range(n, 1, -1):
            keys = self.pairs.keys[numbers]
            spelling[:, level - 1] = keys & 0xFFFFFFFF
            numbers = (keys >> 32) - (kernels.PAIR if level > 2 else 0)
        spelling[:, 0] = numbers
        return spelling


class _Merge:
    """The entries of several tables, and the distinct ones among them."""

    def __init__(self, tables: Sequence[Table], levels: Sequence[np.ndarray], threads: int) -> None:
        self.tables, self.levels, self.threads = tables, levels, threads
        self.shards = min(len(tables), merge_kernels.MAX_SHARDS)
        self.cuts = np.cumsum([0, *map(len, tables)])
        total = int(self.cuts[-1])
        self.keys, self.times = np.empty((2, total), np.int64)
        self.texts, self.numbers, self.firsts, self.grouped = np.empty((4, total), np.int32)
        keys, texts, times = np.empty((3, total), np.int64)
        self.merged = Distinct(keys, texts, times, np.empty(total, np.int8))
        self.used = 0

    def by_table(self) -> list[np.ndarray]:
        """Return the number of each entry, table by table."""
        return [self.numbers[first:last] for first, last in zip(self.cuts, self.cuts[1:], strict=False)]

    def merge(
        self, n: int, letters: np.ndarray, ends: np.ndarray, tokens: Sequence[np.ndarray] | None = None
    ) -> None:
        """Number the entries of n tokens, given those of fewer."""
        sizes = np.empty((len(self.tables), self.shards), np.int64)
        numbers = self.by_table()

        def gather(t: int) -> None:
            first, last = int(self.cuts[t]), int(self.cuts[t + 1])
            entries = self.keys[first:last], self.texts[first:last], self.times[first:last]
            of_tokens = numbers[t] if tokens is None else tokens[t]
            merge_kernels.gather_entries(
                self.tables[t].nodes,
                self.levels[t],
                n,
                of_tokens,
                numbers[t],
                first,
                *entries,
                sizes[t],
                self.grouped[first:last],
            )

        each(gather, range(len(self.tables)), self.threads)
        bases = self.used + np.append(0, np.cumsum(sizes.sum(axis=0)))
        ends_of = self.cuts[:-1, None] + np.cumsum(sizes, axis=1)
        begins = ends_of - sizes

        def merge(s: int) -> None:
            base, limit = int(bases[s]), int(bases[s + 1])
            merge_kernels.merge_shard(
                self.grouped,
                np.ascontiguousarray(begins[:, s]),
                np.ascontiguousarray(ends_of[:, s]),
                (self.keys, self.texts, self.times),
                letters,
                ends,
                empty_slots(limit - base),
                base,
                limit,
                self.numbers,
                (self.merged.keys, self.merged.texts, self.merged.times, self.firsts),
            )
            self.merged.levels[base:limit] = n

        each(merge, range(self.shards), self.threads)
        self.used = int(bases[-1])


def _levels(counter: NgramCounter) -> np.ndarray:
    """Return the number of tokens of each pair."""
    levels = np.full(len(counter.pairs), 2, np.int8)
    if counter.longest > 2:
        merge_kernels.levels_of(counter.pairs.nodes, len(levels), levels)
    return levels


def _concatenated(counters: Sequence[NgramCounter]) -> tuple[np.ndarray, np.ndarray]:
    """Return the tokens of all counters."""
    parts = [counter.ends[: len(counter.words) + 1] for counter in counters]
    before = np.cumsum([0, *(ends[-1] for ends in parts)])
    letters = np.concatenate(
        [counter.letters[: ends[-1]] for counter, ends in zip(counters, parts, strict=True)]
    )
    shifted = [ends[:-1] + shift for ends, shift in zip(parts, before, strict=False)]
    return letters, np.concatenate([*shifted, before[-1:]])
