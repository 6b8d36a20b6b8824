"""All n-grams of some texts and how often they occur, sorted, so that two such counts are merged in one pass.

The n-grams of n words are listed by their first n - 1 words, which are an n-gram themselves, and then by
their last word. Words are numbered in alphabetical order. Equal n-grams with equal counts have therefore
equal arrays, in whatever order they were merged. The counts of the threads of a fit are merged in this way,
and those of parts of the texts.

Strings are sorted by their UTF-8 bytes, which is the order in which Python sorts them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np

from dropglm.base.errors import InputError, InputTypeError
from dropglm.base.threads import each
from dropglm.core.maths.compile import kernel, kernel_helper
from dropglm.text.ngrams.counting import KEY, NONE, PAIR, TEXTS, TIMES, NgramCounter
from dropglm.text.ngrams.fields import within_one_field
from dropglm.text.ngrams.tokens import decode_strings

Counts = TypeVar("Counts")

NGRAMS_PER_PIECE = 1 << 17  # n-grams per task
LONGEST = 9  # bytes of a number below 2^63


class FrequentNgrams(NamedTuple):
    """N-grams that occur in the right number of texts.

    Attributes
    ----------
    letters, ends : ndarray
        The tokens, concatenated in UTF-8, and the offsets where each begins and the last one ends.
    spelling : ndarray of shape (n_ngrams, largest n)
        The numbers of the tokens of each n-gram, padded with -1.
    texts, times : ndarray of shape (n_ngrams,)
        In how many texts each n-gram occurs, and how often.
    numbers : ndarray of shape (n_ngrams,)
        Their numbers among all n-grams of the trie, of which shorter ones come first.
    n_texts : int
        Number of texts.
    """

    letters: np.ndarray
    ends: np.ndarray
    spelling: np.ndarray
    texts: np.ndarray
    times: np.ndarray
    numbers: np.ndarray
    n_texts: int

    def within_fields(self) -> Self:
        """Return those whose tokens are all of the same field."""
        kept = within_one_field(self.letters, self.ends[:-1], self.spelling)
        own = {name: getattr(self, name)[kept] for name in ("spelling", "texts", "times", "numbers")}
        return self._replace(**own)


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

    def merge(
        self, other: "NgramLevel", words: "Places", heads: "Places", size: int, threads: int
    ) -> tuple["NgramLevel", "Places"]:
        """Return the n-grams of both, and where those of each are among them.

        Parameters
        ----------
        other : NgramLevel
            N-grams of as many words.
        words : pair of ndarray
            The new numbers of the words of each.
        heads : pair of ndarray
            Where the n-grams of n - 1 words of each are among those of both.
        size : int
            How many these are.
        threads : int
            Number of threads.
        """
        room = len(self.last) + len(other.last)
        texts, times = np.empty((2, room), np.int64)
        merged = NgramLevel(np.empty(size + 1, np.int64), np.empty(room, np.int32), texts, times)
        places = np.empty(len(self.last), np.int32), np.empty(len(other.last), np.int32)
        # Each piece has the n-grams of some heads, and writes to the memory that it needs at most.
        cuts = np.searchsorted(self.starts, np.arange(NGRAMS_PER_PIECE, len(self.last), NGRAMS_PER_PIECE))
        limits = np.concatenate([[0], heads[0][np.minimum(cuts, len(heads[0]) - 1)], [size]])
        own, others = (np.searchsorted(numbers, limits) for numbers in heads)
        rooms = self.starts[own] + other.starts[others]

        def merge(k: int) -> int:
            piece = limits[k], limits[k + 1], own[k], others[k], rooms[k]
            return merge_level(self, other, words, heads, *piece, merged, places)

        ends = np.array(each(merge, range(len(limits) - 1), threads))
        before = np.append(0, np.cumsum(ends - rooms[:-1]))

        def move(k: int) -> list[np.ndarray]:
            shift = before[k] - rooms[k]
            merged.starts[limits[k] : limits[k + 1]] += shift
            for level, place, cut in zip((self, other), places, (own, others), strict=True):
                place[level.starts[cut[k]] : level.starts[cut[k + 1]]] += np.int32(shift)
            return [array[rooms[k] : ends[k]] for array in merged[1:]]

        parts = zip(*each(move, range(len(ends)), threads), strict=True)
        merged.starts[-1] = before[-1]
        return NgramLevel(merged.starts, *map(np.concatenate, parts)), places

    def heads(self) -> np.ndarray:
        """Return where the first n - 1 words of each n-gram are among the n-grams of n - 1 words."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def find(self, heads: np.ndarray, words: np.ndarray) -> np.ndarray:
        """Return the places of n-grams, or -1, given those of their first n - 1 words, and their last words.

        A place or a word of -1 is not found either.
        """
        keys = self.heads() << 32 | self.last
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


# For each of two counts, the places of its words or n-grams among those of both
Places = tuple[np.ndarray, np.ndarray]


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
    def of(cls, counter: NgramCounter, fewest: float = 0) -> tuple[Self, Places]:
        """Return what a counter has counted, and the numbers of its words and pairs among all n-grams.

        N-grams of several words that are in fewer texts than ``fewest`` are left out; their number is -1. The
        first words of an n-gram are in as many texts as the n-gram, or more.
        """
        n_words, pairs = len(counter.words), counter.pairs.nodes[: len(counter.pairs)]
        begins, stops = counter.ends[:n_words], counter.ends[1 : n_words + 1]
        words = sorted_strings(counter.letters, begins, stops)
        number_of, pair_number = np.empty(n_words, np.int32), np.full(len(pairs), NONE, np.int32)
        number_of[words] = np.arange(n_words, dtype=np.int32)
        lengths = np.full(len(pairs), 2, np.int8)
        if counter.longest > 2:
            lengths_of(pairs, lengths)
        lengths[pairs[:, TEXTS] < fewest] = 0
        everything = np.array([0, n_words]), np.arange(n_words, dtype=np.int32)
        levels = [NgramLevel(*everything, *(counter.words.nodes[words, k] for k in (TEXTS, TIMES)))]
        heads, shift, before = number_of, 0, n_words
        for n in range(2, counter.longest + 1):
            own, size = np.flatnonzero(lengths == n).astype(np.int32), len(levels[-1].last)
            keys, ranks = pairs[own, KEY], np.empty((len(own), 2), np.int32)
            ranks[:, 0] = heads[(keys >> 32) - (PAIR if n > 2 else 0)] - shift
            ranks[:, 1] = number_of[keys & 0xFFFFFFFF]
            del keys  # each of these arrays is large
            order = sorted_rows(ranks, max(size, n_words))
            starts = np.append(0, np.cumsum(np.bincount(ranks[:, 0], minlength=size)))
            last, own = ranks[order, 1], own[order]
            del ranks, order
            levels.append(NgramLevel(starts, last, pairs[own, TEXTS], pairs[own, TIMES]))
            pair_number[own] = np.arange(before, before + len(own), dtype=np.int32)
            heads, shift, before = pair_number, before, before + len(own)
        strings = copy_strings(counter.letters, begins[words], stops[words])
        return cls(*strings, tuple(levels)), (number_of, pair_number)

    def __len__(self) -> int:
        return sum(len(level.last) for level in self.levels)

    def merge(self, other: "NgramTrie", threads: int = 1) -> tuple["NgramTrie", Places]:
        """Return the n-grams of both, and the numbers of those of each among all of them."""
        if len(self) + len(other) > np.iinfo(np.int32).max:
            raise InputError("The counts have more n-grams than can be numbered; use a smaller ngram_range.")
        words, letters, ends = self._merged_words(other.letters, other.ends)
        levels: list[NgramLevel] = []
        places, size = (np.zeros(1, np.int32), np.zeros(1, np.int32)), 1
        numbers, before = [], 0
        for a, b in zip(self.levels, other.levels, strict=True):
            level, places = a.merge(b, words, places, size, threads)
            numbers.append([place + np.int32(before) for place in places])
            size, before = len(level.last), before + len(level.last)
            levels.append(level)
        own, others = map(np.concatenate, zip(*numbers, strict=True))
        return NgramTrie(letters, ends, tuple(levels)), (own, others)

    def _merged_words(self, letters: np.ndarray, ends: np.ndarray) -> tuple[Places, np.ndarray, np.ndarray]:
        """Return the numbers of the words of both among all words, and all words; the others are sorted."""
        numbers = np.empty(len(self.ends) - 1, np.int32), np.empty(len(ends) - 1, np.int32)
        letters, shifted = np.concatenate([self.letters, letters]), ends + len(self.letters)
        size = merge_words(letters, self.ends, shifted, *numbers)
        starts, stops = np.empty((2, size), np.int64)
        for own, number in ((shifted, numbers[1]), (self.ends, numbers[0])):
            starts[number], stops[number] = own[:-1], own[1:]
        return numbers, *copy_strings(letters, starts, stops)

    def frequent_ngrams(
        self, shortest: int, document_range: Callable[[int], tuple[float, float]], n_texts: int
    ) -> FrequentNgrams:
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
        before = np.cumsum([0, *(len(level.last) for level in self.levels)])
        parts = []
        for n in range(shortest, len(self.levels) + 1):
            (low, high), level = document_range(n), self.levels[n - 1]
            kept = np.flatnonzero((level.texts >= max(low, 1)) & (level.texts <= high))
            parts.append((self._spelled(n, kept), level.texts[kept], level.times[kept], kept + before[n - 1]))
        spelling, texts, times, numbers = (np.concatenate(part) for part in zip(*parts, strict=True))
        return FrequentNgrams(self.letters, self.ends, spelling, texts, times, numbers, n_texts)

    def _spelled(self, n: int, places: np.ndarray) -> np.ndarray:
        """Return the numbers of the words of n-grams of n words."""
        spelling = np.full((len(places), len(self.levels)), NONE, np.int32)
        for k in range(n - 1, -1, -1):
            spelling[:, k] = self.levels[k].last[places]
            places = self.levels[k].heads()[places]
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


class CountedNgrams(NamedTuple):
    """The n-grams that one or several counters have counted, each for a thread of its own.

    Attributes
    ----------
    trie : NgramTrie
    numbers : list of pairs of ndarray
        For each counter, the numbers of its words and pairs among all n-grams of the trie.
    n_texts : int
    """

    trie: NgramTrie
    numbers: list[Places]
    n_texts: int

    @classmethod
    def of(
        cls, counters: Sequence[NgramCounter], n_texts: int, threads: int, fewest: float = 0
    ) -> "CountedNgrams":
        """Merge the counters, whose memory is released.

        N-grams of several words that are in fewer texts than ``fewest`` may be left out.
        """
        # What is rare for one of several counters may be frequent for all of them together.
        rare = fewest if len(counters) == 1 else 0

        def count(counter: NgramCounter) -> "CountedNgrams":
            trie, numbers = NgramTrie.of(counter, rare)
            counter.release()
            return cls(trie, [numbers], n_texts)

        return total_of(each(count, counters, threads), partial(cls._merge, threads=threads))

    def _merge(self, other: "CountedNgrams", threads: int) -> "CountedNgrams":
        trie, places = self.trie.merge(other.trie, threads)
        numbers = [
            (place[words], place[pairs])
            for place, counted in zip(places, (self, other), strict=True)
            for words, pairs in counted.numbers
        ]
        return self._replace(trie=trie, numbers=numbers)

    def columns_of(self, numbers: np.ndarray, threads: int) -> list[Places]:
        """Return the columns of the words and pairs of each counter, given the number of each column."""
        columns = np.full(len(self.trie) + 1, NONE, np.int32)  # the last for those that were left out
        columns[numbers] = np.arange(len(numbers), dtype=np.int32)
        return each(lambda own: (columns[own[0]], columns[own[1]]), self.numbers, threads)


def total_of(parts: Iterable[Counts], add: Callable[[Counts, Counts], Counts]) -> Counts:
    """Add parts of similar sizes first, as in a knock-out tournament.

    So k parts take log₂ k passes over their n-grams, and if they come from a generator, no more than about
    log₂ k sums are in memory.

    Examples
    --------
    >>> total_of(iter("abcde"), lambda a, b: f"({a}{b})")
    '(((ab)(cd))e)'
    """
    sums: list[Counts] = []
    for number, counts in enumerate(parts, 1):
        sums.append(counts)
        while number % 2 == 0:  # the last two are sums of equally many parts
            last = sums.pop()
            sums[-1] = add(sums[-1], last)
            number //= 2
        del counts
    if not sums:
        raise InputError("There are no counts to add; at least one is needed.")
    while len(sums) > 1:
        last = sums.pop()
        sums[-1] = add(sums[-1], last)
    return sums[0]


@dataclass(frozen=True, eq=False)
class NgramCounts:
    """All n-grams of some texts, in how many texts each occurs, and how often.

    ``NgramVectorizer.count`` returns counts, and ``NgramVectorizer.fit_counts`` selects the features among
    those of all parts, as ``fit`` does for all texts at once. Counts do not depend on ``min_df``, ``max_df``
    or ``max_features``: an n-gram that is rare in one part may be frequent in all of them together, so that
    nothing is left out before the end. ``a + b`` adds two counts and ``NgramCounts.sum`` many; the result has
    the same arrays in whatever order they are added. Pickled counts take about four bytes per n-gram.

    Attributes
    ----------
    trie : NgramTrie
        The n-grams and their counts in compact form.
    shortest : int
        The smallest n.
    n_texts : int
        Number of texts.
    texts : ndarray of shape (n_ngrams,)
        Number of texts that contain each n-gram.
    times : ndarray of shape (n_ngrams,)
        Number of occurrences of each n-gram.
    settings : mapping
        The settings with which the texts were analysed; functions by their names.

    See Also
    --------
    NgramVectorizer : Counts texts, and selects features.

    Examples
    --------
    >>> from dropglm import NgramVectorizer
    >>> vectorizer = NgramVectorizer(min_df=2)
    >>> first, second = vectorizer.count(["so dull", "so"]), vectorizer.count(["a dull film"])
    >>> first
    NgramCounts(2 n-grams of 2 texts)
    >>> both = first + second
    >>> dict(zip(both.names(), both.texts.tolist()))
    {'a': 1, 'dull': 2, 'film': 1, 'so': 2}
    >>> vectorizer.fit_counts([first, second]).vocabulary_
    {'dull': 0, 'so': 1}
    """

    trie: NgramTrie
    shortest: int
    n_texts: int
    settings: Mapping[str, Any]

    @classmethod
    def sum(cls, parts: Iterable["NgramCounts"]) -> "NgramCounts":
        """Return the counts of several parts together.

        If ``parts`` is a generator of k parts, no more than about log₂ k sums are in memory.

        Parameters
        ----------
        parts : iterable of NgramCounts
            At least one.

        Returns
        -------
        NgramCounts

        Examples
        --------
        >>> from dropglm.text import NgramCounts, NgramVectorizer
        >>> vectorizer = NgramVectorizer()
        >>> NgramCounts.sum(vectorizer.count([text]) for text in ["so dull", "so", "", "dull"])
        NgramCounts(2 n-grams of 4 texts)
        """
        return total_of(map(_checked, parts), NgramCounts.__add__)

    def __add__(self, other: Any) -> "NgramCounts":
        """Return the counts of both parts together."""
        if not isinstance(other, NgramCounts):
            return NotImplemented
        self.check_settings(other.settings)
        n_texts = self.n_texts + other.n_texts
        return NgramCounts(self.trie.merge(other.trie)[0], self.shortest, n_texts, self.settings)

    def __radd__(self, other: Any) -> "NgramCounts":
        """Return these counts if ``other`` is 0, with which Python's ``sum`` starts."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __len__(self) -> int:
        return sum(len(level.last) for level in self._levels)

    def __repr__(self) -> str:
        return f"NgramCounts({len(self)} n-grams of {self.n_texts} texts)"

    def __reduce__(self) -> Any:
        """Pickle all numbers in few bytes."""
        levels = [level.to_bytes() for level in self.trie.levels]
        words = self.trie.letters, to_bytes(np.diff(self.trie.ends))
        return _restored, (words, levels, self.shortest, self.n_texts, self.settings)

    @property
    def texts(self) -> np.ndarray:
        """Number of texts that contain each n-gram."""
        return np.concatenate([level.texts for level in self._levels])

    @property
    def times(self) -> np.ndarray:
        """Number of occurrences of each n-gram."""
        return np.concatenate([level.times for level in self._levels])

    def names(self) -> list[str]:
        """Return the n-grams, with spaces between their tokens: single words first, then longer ones.

        Returns
        -------
        list of str
            In the order of ``texts`` and ``times``.
        """
        words = decode_strings(self.trie.letters, self.trie.ends)
        spelling = self.trie.frequent_ngrams(self.shortest, lambda n: (0, np.inf), self.n_texts).spelling
        return [" ".join([words[number] for number in row if number != NONE]) for row in spelling.tolist()]

    def check_settings(self, settings: Mapping[str, Any]) -> None:
        """Raise an error if the n-grams of texts are not the same under these settings.

        Parameters
        ----------
        settings : mapping
            Those of other counts, or of a vectorizer.
        """
        names = [name for name, value in self.settings.items() if value != settings[name]]
        if names:
            raise InputError(
                f"The counts were made with other settings of {', '.join(names)}; use the same settings for "
                "all counts and for the fit."
            )

    @property
    def _levels(self) -> tuple[NgramLevel, ...]:
        """The n-grams that were asked for; shorter ones are only parts of these."""
        return self.trie.levels[self.shortest - 1 :]


def _checked(part: Any) -> NgramCounts:
    """Return a part of the counts; raise an error if it is anything else."""
    if not isinstance(part, NgramCounts):
        raise InputTypeError(f"Only what count returned can be added, got {part!r}.")
    return part


def _restored(
    words: tuple[np.ndarray, np.ndarray], levels: Any, shortest: int, n_texts: int, settings: Any
) -> NgramCounts:
    """Return counts that were pickled."""
    letters, lengths = words
    ends = np.append(0, np.cumsum(from_bytes(lengths)))
    letters = np.require(letters, requirements="W")  # as in from_bytes
    trie = NgramTrie(letters, ends, tuple(NgramLevel.from_bytes(*level) for level in levels))
    return NgramCounts(trie, shortest, n_texts, settings)


def to_bytes(numbers: np.ndarray) -> np.ndarray:
    """Return numbers that are not negative in as few bytes as each needs.

    Each byte has seven bits, and one that says if more follow.

    Examples
    --------
    >>> to_bytes(np.array([1, 127, 128]))
    array([  1, 127, 128,   1], dtype=uint8)
    """
    numbers = numbers.astype(np.int64, copy=False)
    written = np.empty(int(_lengths(numbers).sum()), np.uint8)
    write_numbers(numbers, written)
    return written


def from_bytes(written: np.ndarray) -> np.ndarray:
    """Return the numbers that ``to_bytes`` has written.

    Examples
    --------
    >>> from_bytes(np.array([1, 127, 128, 1], np.uint8))
    array([  1, 127, 128])
    """
    # The kernel would be compiled once more for buffers that another process has sent, which are read-only.
    written = np.require(written, requirements="W")
    numbers = np.empty(int((written < 0x80).sum()), np.int64)
    read_numbers(written, numbers)
    return numbers


def _lengths(numbers: np.ndarray) -> np.ndarray:
    lengths = np.ones(len(numbers), np.int8)
    largest = int(numbers.max(initial=0))
    for more in range(1, LONGEST):
        if largest >> 7 * more:
            lengths += numbers >= 1 << 7 * more
    return lengths


@kernel
def write_numbers(numbers, written):
    """Write the bytes of each number, the lowest seven bits first."""
    p = 0
    for i in range(len(numbers)):
        rest = numbers[i]
        while rest >= 0x80:
            written[p] = 0x80 | rest & 0x7F
            rest >>= 7
            p += 1
        written[p] = rest
        p += 1


@kernel
def read_numbers(written, numbers):
    """Read the numbers back."""
    p = 0
    for i in range(len(numbers)):
        number, shift = 0, 0
        while written[p] >= 0x80:
            number |= (written[p] & 0x7F) << shift
            shift += 7
            p += 1
        numbers[i] = number | written[p] << shift
        p += 1


@kernel
def lengths_of(nodes, lengths):
    """Write the number of words of each pair; the head of a pair has a smaller number than the pair."""
    for node in range(len(nodes)):
        head = nodes[node, KEY] >> 32
        lengths[node] = 2 if head < PAIR else lengths[head - PAIR] + 1


@kernel
def merge_words(letters, ends, other_ends, numbers, other_numbers):
    """Write the number of each word of two sorted lists in the sorted list of both; return its length.

    ``letters`` are those of both; word i extends from ``ends[i]`` to ``ends[i + 1]``.
    """
    a, b, size = 0, 0, 0
    while a < len(numbers) or b < len(other_numbers):
        if b == len(other_numbers):
            first, second = True, False
        elif a == len(numbers):
            first, second = False, True
        else:
            own, other = (ends[a], ends[a + 1]), (other_ends[b], other_ends[b + 1])
            first = not is_less(letters, other[0], other[1], own[0], own[1])
            second = not is_less(letters, own[0], own[1], other[0], other[1])
        if first:
            numbers[a] = size
            a += 1
        if second:
            other_numbers[b] = size
            b += 1
        size += 1
    return size


@kernel
def merge_level(a, b, words, heads, first, last, p, q, size, merged, places):
    """Merge n-grams of n words whose first n - 1 words are ``first`` to ``last - 1``; return where they end.

    Parameters
    ----------
    a, b, merged : NgramLevel
        What to merge, and memory for the result, which is written from ``size`` on.
    words, heads, places : pair of ndarray
        The new places of the words, of the n-grams of n - 1 words, and of those of n words of a and of b. The
        first n - 1 words are ``heads[0][p]`` and ``heads[1][q]`` or later.
    """
    for head in range(first, last):
        merged.starts[head] = size
        i, i_end, j, j_end = 0, 0, 0, 0
        if p < len(heads[0]) and heads[0][p] == head:
            i, i_end, p = a.starts[p], a.starts[p + 1], p + 1
        if q < len(heads[1]) and heads[1][q] == head:
            j, j_end, q = b.starts[q], b.starts[q + 1], q + 1
        while i < i_end or j < j_end:
            own = words[0][a.last[i]] if i < i_end else words[1][b.last[j]]
            other = words[1][b.last[j]] if j < j_end else own
            word = min(own, other)
            merged.last[size], merged.texts[size], merged.times[size] = word, 0, 0
            if i < i_end and own == word:
                merged.texts[size] += a.texts[i]
                merged.times[size] += a.times[i]
                places[0][i] = size
                i += 1
            if j < j_end and other == word:
                merged.texts[size] += b.texts[j]
                merged.times[size] += b.times[j]
                places[1][j] = size
                j += 1
            size += 1
    return size


PREFIX = 8  # bytes that fit into one number


def sorted_strings(letters: np.ndarray, starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """Return the order of distinct strings, given where each of them begins and ends.

    Examples
    --------
    >>> letters = np.array(list(b"understood-understand-a"), np.uint8)
    >>> sorted_strings(letters, np.array([0, 11, 22]), np.array([10, 21, 23]))
    array([2, 1, 0])
    """
    n = len(starts)
    bits = np.uint64(max(n - 1, 0).bit_length())
    packed = np.empty(n, np.uint64)
    pack(letters, starts, stops, bits, packed)
    packed.sort()  # ten times as fast as argsort
    order = (packed & ((np.uint64(1) << bits) - np.uint64(1))).astype(np.int64)
    sort_ties(letters, starts, stops, packed >> bits, order, np.empty_like(order))
    return order


def copy_strings(letters: np.ndarray, starts: np.ndarray, stops: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the strings one after another, and where each begins and the last one ends."""
    ends = np.append(0, np.cumsum(stops - starts))
    copied = np.empty(ends[-1], np.uint8)
    write_strings(letters, starts, ends, copied)
    return copied, ends


@kernel
def write_strings(letters, starts, ends, copied):
    """Copy each string to its place."""
    for i in range(len(starts)):
        for k in range(ends[i + 1] - ends[i]):
            copied[ends[i] + k] = letters[starts[i] + k]


@kernel
def pack(letters, starts, stops, bits, packed):
    """Write the number of each string in the lowest bits, and above them as much of the string as fits."""
    for i in range(len(packed)):
        prefix = np.uint64(0)
        for k in range(starts[i], starts[i] + PREFIX):
            prefix = prefix << np.uint64(8) | (np.uint64(letters[k]) if k < stops[i] else np.uint64(0))
        packed[i] = prefix >> bits << bits | np.uint64(i)


@kernel_helper
def is_less(letters, a, a_stop, b, b_stop):
    """Return whether the string from a on comes before the one from b on."""
    while a < a_stop and b < b_stop and letters[a] == letters[b]:
        a, b = a + 1, b + 1
    if b == b_stop:
        return False
    return a == a_stop or letters[a] < letters[b]


@kernel
def sort_ties(letters, starts, stops, prefixes, order, scratch):
    """Sort strings with the same first bytes, which ``order`` has next to each other, by merging."""
    first = 0
    while first < len(order):
        last = first + 1
        while last < len(order) and prefixes[last] == prefixes[first]:
            last += 1
        width = 1
        while width < last - first:
            for left in range(first, last, 2 * width):
                middle, right = min(left + width, last), min(left + 2 * width, last)
                a, b = left, middle
                for k in range(left, right):
                    take = a < middle
                    if take and b < right:
                        i, j = order[b], order[a]
                        take = not is_less(letters, starts[i], stops[i], starts[j], stops[j])
                    if take:
                        scratch[k] = order[a]
                        a += 1
                    else:
                        scratch[k] = order[b]
                        b += 1
            for k in range(first, last):
                order[k] = scratch[k]
            width *= 2
        first = last


def find_byte(letters: np.ndarray, starts: np.ndarray, stops: np.ndarray, low: int, high: int) -> int:
    """Return the number of the first string with a byte in this range, or -1.

    Examples
    --------
    >>> letters = np.array(list(b"understood-understand-a"), np.uint8)
    >>> find_byte(letters, np.array([0, 11, 22]), np.array([10, 21, 23]), ord("a"), ord("b"))
    1
    """
    found = (letters >= low) & (letters <= high)
    if not found.any():
        return -1
    before = np.append(0, np.cumsum(found))
    contain = before[stops] > before[starts]
    return int(contain.argmax()) if contain.any() else -1


def sorted_rows(ranks: np.ndarray, limit: int) -> np.ndarray:
    """Return the order of the rows of integers from -1 to limit - 1, by their first entry, then the second, …

    Examples
    --------
    >>> sorted_rows(np.array([[1, 0], [0, 2], [1, -1]], np.int32), 3)
    array([1, 2, 0])
    """
    order = np.arange(len(ranks))
    for column in range(ranks.shape[1] - 1, -1, -1):
        following = np.empty_like(order)
        sort_by(ranks, column, np.zeros(limit + 2, np.int64), order, following)
        order = following
    return order


@kernel
def sort_by(ranks, column, places, order, following):
    """Sort rows that are in this order by one of their entries; rows with equal entries stay in order."""
    for i in range(len(ranks)):
        places[ranks[i, column] + 2] += 1
    for number in range(2, len(places)):
        places[number] += places[number - 1]
    for k in range(len(order)):
        i = order[k]
        place = ranks[i, column] + 1
        following[places[place]] = i
        places[place] += 1
