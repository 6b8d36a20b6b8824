"""Counts of n-grams that can be added: those of two parts of the texts give those of all texts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dropglm.text.tokens import decode_strings, encode_strings

NONE = -1  # pads the spelling of shorter n-grams


@dataclass(frozen=True, eq=False)
class NgramCounts:
    """All n-grams of some texts, in how many texts each occurs, and how often.

    ``NgramVectorizer.count`` returns counts, ``a + b`` adds them, and ``NgramVectorizer.fit_counts`` selects
    the features among them, as ``fit`` does for all texts at once.

    Attributes
    ----------
    letters, ends : ndarray
        The tokens, concatenated in UTF-8, and the offsets where each begins and the last one ends.
    words : list of str
        The tokens.
    spelling : ndarray of shape (n_ngrams, largest n)
        The positions in ``words`` of the tokens of each n-gram, padded with -1.
    texts : ndarray of shape (n_ngrams,)
        Number of texts that contain each n-gram.
    times : ndarray of shape (n_ngrams,)
        Number of occurrences of each n-gram.
    n_texts : int
        Number of texts.
    settings : mapping
        The settings with which the texts were analysed.

    Examples
    --------
    >>> from dropglm import NgramVectorizer
    >>> vectorizer = NgramVectorizer(min_df=2)
    >>> first, second = vectorizer.count(["so dull"]), vectorizer.count(["a dull film"])
    >>> vectorizer.fit_counts(first + second).vocabulary_
    {'dull': 0}
    """

    letters: np.ndarray
    ends: np.ndarray
    spelling: np.ndarray
    texts: np.ndarray
    times: np.ndarray
    n_texts: int
    settings: Mapping[str, Any]

    @property
    def words(self) -> list[str]:
        """The tokens."""
        return decode_strings(self.letters, self.ends)

    def __add__(self, other: Any) -> "NgramCounts":
        """Return the counts of both parts together."""
        if not isinstance(other, NgramCounts):
            return NotImplemented
        self.check_settings(other.settings)
        number = {word: k for k, word in enumerate(dict.fromkeys([*self.words, *other.words]))}
        spelling = np.concatenate([_respelled(part, number) for part in (self, other)])
        first, ngram = _distinct_rows(spelling)
        texts, times = (
            np.bincount(ngram, np.concatenate(pair), len(first)).astype(np.int64)
            for pair in ((self.texts, other.texts), (self.times, other.times))
        )
        n_texts, words = self.n_texts + other.n_texts, encode_strings(list(number))
        return NgramCounts(*words, spelling[first], texts, times, n_texts, self.settings)

    def __radd__(self, other: Any) -> "NgramCounts":
        """Return these counts if ``other`` is 0, with which ``sum`` starts."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __repr__(self) -> str:
        return f"NgramCounts({len(self.texts)} n-grams of {self.n_texts} texts)"

    def check_settings(self, settings: Mapping[str, Any]) -> None:
        """Raise an error if the n-grams of texts are not the same under these settings."""
        names = [name for name, value in self.settings.items() if value != settings[name]]
        if names:
            raise ValueError(
                f"The counts were made with other settings of {', '.join(names)}; use the same settings for "
                "all counts and for the fit."
            )

    def within(self, document_range: Callable[[int], tuple[float, float]]) -> "NgramCounts":
        """Return the counts of n-grams in the right number of texts, whose range is given for each n."""
        lengths = (self.spelling != NONE).sum(axis=1)
        ranges = np.array([document_range(n) for n in range(1, self.spelling.shape[1] + 1)])
        low, high = ranges[lengths - 1].T
        kept = (self.texts >= np.maximum(low, 1)) & (self.texts <= high)
        arrays = self.spelling[kept], self.texts[kept], self.times[kept]
        return NgramCounts(self.letters, self.ends, *arrays, self.n_texts, self.settings)


def _respelled(counts: NgramCounts, number: dict[str, int]) -> np.ndarray:
    """Return the spelling with new positions of the words."""
    renumbered = np.array([*(number[word] for word in counts.words), NONE], np.int32)
    return renumbered[counts.spelling]  # NONE takes the last entry


def _distinct_rows(spelling: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first of each group of equal rows, and the group of each row."""
    groups = np.zeros(len(spelling), np.int64)
    first = groups
    for column in spelling.T:
        _, first, groups = np.unique(groups << 32 | column + 1, return_index=True, return_inverse=True)
    return first, groups
