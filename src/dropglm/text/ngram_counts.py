"""Counts of n-grams that can be added: those of several parts of the texts give those of all texts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dropglm.errors import InputError, InputTypeError
from dropglm.text.candidates import NONE
from dropglm.text.ngram_trie import NgramLevel, NgramTrie
from dropglm.text.short_numbers import from_bytes, to_bytes
from dropglm.text.tokens import decode_strings


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

        Parts of similar sizes are added first, as in a knock-out tournament, so that k parts take log₂ k
        passes over their n-grams. If ``parts`` is a generator, no more than about log₂ k sums are in memory.

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
        sums: list[NgramCounts] = []
        for number, part in enumerate(parts, 1):
            if not isinstance(part, NgramCounts):
                raise InputTypeError(f"Only what count returned can be added, got {part!r}.")
            sums.append(part)
            while number % 2 == 0:  # the last two are sums of equally many parts
                last = sums.pop()
                sums[-1] += last
                number //= 2
        if not sums:
            raise InputError("There are no counts to add; at least one is needed.")
        while len(sums) > 1:
            last = sums.pop()
            sums[-1] += last
        return sums[0]

    def __add__(self, other: Any) -> "NgramCounts":
        """Return the counts of both parts together."""
        if not isinstance(other, NgramCounts):
            return NotImplemented
        self.check_settings(other.settings)
        n_texts = self.n_texts + other.n_texts
        return NgramCounts(self.trie + other.trie, self.shortest, n_texts, self.settings)

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
        spelling = self.trie.candidates(self.shortest, lambda n: (0, np.inf), self.n_texts).spelling
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


def _restored(
    words: tuple[np.ndarray, np.ndarray], levels: Any, shortest: int, n_texts: int, settings: Any
) -> NgramCounts:
    """Return counts that were pickled."""
    letters, lengths = words
    ends = np.append(0, np.cumsum(from_bytes(lengths)))
    letters = np.require(letters, requirements="W")  # as in from_bytes
    trie = NgramTrie(letters, ends, tuple(NgramLevel.from_bytes(*level) for level in levels))
    return NgramCounts(trie, shortest, n_texts, settings)
