"""Which of the counted n-grams become features, and their order."""

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from dropglm import checks
from dropglm.errors import InputError
from dropglm.text.kernels import NONE
from dropglm.text.ngram_counts import Candidates
from dropglm.text.sorting import copy_strings, find_byte, rank, sorted_rows, sorted_strings, take
from dropglm.text.vocabulary import Vocabulary
from dropglm.threads import each, even_ranges

PIECE = 1 << 15  # n-grams per task
# Strings as places in an array of letters: the letters, where each string begins, and where it ends
Strings = tuple[np.ndarray, np.ndarray, np.ndarray]


class Selection(NamedTuple):
    """Which n-grams become features.

    Attributes
    ----------
    min_df : int, float or pair of these
        The smallest number of texts that contain a feature; a float is a share of the texts. Of a pair, the
        first is for single words and the second for longer n-grams.
    max_df : int or float
        The largest number of texts that contain a feature.
    max_features : int or None
        If given, keep only the most frequent n-grams.
    by_texts : bool
        Whether those occur in most texts, or most often.
    rank_type : type
        The type in which counts are compared. scikit-learn's choice among equal counts depends on the type,
        and so does ours.
    """

    min_df: float | tuple[float, float]
    max_df: float
    max_features: int | None
    by_texts: bool
    rank_type: Any

    def check(self) -> None:
        """Raise an error if a setting is invalid."""
        if isinstance(self.min_df, (tuple, list)) and len(self.min_df) != 2:
            raise InputError(
                f"min_df must be one value, or a pair for words and for longer n-grams, got {self.min_df!r}."
            )
        for name, value in (*(("min_df", one) for one in self._smallest()), ("max_df", self.max_df)):
            checks.not_negative(value, name)
            if not isinstance(value, Integral) and value > 1.0:
                raise InputError(f"{name} must be a whole number of texts or a share in [0, 1], got {value}.")
        if self.max_features is not None:
            checks.whole_number(self.max_features, "max_features", least=1)

    def document_range(self, n_texts: int, n: int = 1) -> tuple[float, float]:
        """Return the smallest and the largest number of texts that contain a feature of n words."""
        words, longer = self._smallest()
        low, high = (
            bound if isinstance(bound, Integral) else bound * n_texts
            for bound in (words if n == 1 else longer, self.max_df)
        )
        return low, high

    def _smallest(self) -> tuple[float, float]:
        """Return min_df of single words and of longer n-grams."""
        if isinstance(self.min_df, (tuple, list)):
            return self.min_df[0], self.min_df[1]
        return self.min_df, self.min_df

    def select(self, candidates: Candidates, threads: int = 1) -> tuple[Vocabulary, np.ndarray]:
        """Return the features in alphabetical order, and the position of each among the candidates."""
        n = candidates.n_texts
        if len(candidates.ends) == 1:
            raise InputError(f"The fit has an empty vocabulary: none of the {n} texts has a token to count.")
        if not len(candidates.texts):
            (low, high), (longer, _) = (self.document_range(n, k) for k in (1, 2))
            least = f"{low:g}" if low == longer else f"{low:g} (words) or {longer:g} (longer n-grams)"
            short, long = self._smallest()
            now = f"{short}" if short == long else f"{short}, {long} for longer n-grams"
            raise InputError(
                f"The fit has an empty vocabulary: no n-gram occurs in at least {least} and at most {high:g} "
                f"of the {n} texts; lower min_df (now {now}) or raise max_df (now {self.max_df}).",
                *("min_df", "max_df"),
            )
        words = candidates.letters, candidates.ends[:-1], candidates.ends[1:]
        words, spelling, order = _sort_alphabetically(words, candidates.spelling, threads)
        if self.max_features is not None and len(order) > self.max_features:
            ranks = (candidates.texts if self.by_texts else candidates.times)[order].astype(self.rank_type)
            largest = np.sort((-ranks).argsort()[: self.max_features])
            words, spelling, again = _sort_alphabetically(words, spelling[largest], threads)
            order = order[largest][again]
        return Vocabulary(*copy_strings(*words), spelling, candidates.texts[order].astype(np.int32)), order


def _sort_alphabetically(
    words: Strings, spelling: np.ndarray, threads: int
) -> tuple[Strings, np.ndarray, np.ndarray]:
    """Return the words in use, the features spelled with them, and the order of the features.

    The words are sorted, and so are the features.
    """
    letters, starts, stops = words
    pieces = even_ranges(len(spelling), PIECE)
    occurs = np.zeros(len(starts) + 1, np.bool_)  # the last entry is for NONE
    for first, last in pieces:
        occurs[spelling[first:last]] = True
    used = np.flatnonzero(occurs[:-1])
    number_of = np.full(len(starts) + 1, NONE, np.int32)
    number_of[used] = np.arange(len(used), dtype=np.int32)
    words = letters, starts[used], stops[used]
    if spelling.shape[1] > 1:
        _refuse_spaces(*words)
    ranks, limit = np.empty_like(spelling), 2 * len(used)
    rank_of = _ranks(*words)
    each(lambda piece: rank(spelling, number_of, rank_of, *piece, ranks), pieces, threads)
    order = sorted_rows(ranks, limit)
    renumbered = np.empty_like(spelling)
    each(lambda piece: take(spelling, number_of, order, *piece, renumbered), pieces, threads)
    return words, renumbered, order


def _refuse_spaces(letters: np.ndarray, starts: np.ndarray, stops: np.ndarray) -> None:
    """Raise if a word contains a space."""
    spaced = find_byte(letters, starts, stops, 32, 32)
    if spaced >= 0:
        word = letters[starts[spaced] : stops[spaced]].tobytes().decode("utf-8", "surrogatepass")
        raise InputError(
            f"token_pattern matches {word!r}, which contains a space and cannot be distinguished from an "
            "n-gram of its words; use a pattern whose tokens contain no spaces."
        )


def _ranks(letters: np.ndarray, starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
    r"""Return the rank of each word, and then that of each word with a space at its end.

    The words are sorted, and none of them contains a space. Names of n-grams then compare like the sequences
    of their words' ranks, provided that each word but the last is taken together with the space after it:
    "a b" comes before "a!", but after "a\x01".
    """
    n = len(starts)
    rank = np.concatenate([np.arange(0, 2 * n, 2), np.arange(1, 2 * n, 2)]).astype(np.int32)
    # A word comes right before the same word with a space, unless a longer word continues it with a control
    # character, which sorts before a space.
    if find_byte(letters, np.minimum(starts + 1, stops), stops, 0, 31) >= 0:
        rank[_sorted_with_spaces(letters, starts, stops)] = np.arange(2 * n, dtype=np.int32)
    return rank


def _sorted_with_spaces(letters: np.ndarray, starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """Return the order of all words and, after them, of all words with a space at their end."""
    letters, ends = copy_strings(letters, starts, stops)
    words = ends[1:] - ends[:-1]
    spaced = np.full(len(letters) + len(words), ord(" "), np.uint8)
    places = np.arange(len(letters)) + np.repeat(np.arange(len(words)), words)
    spaced[places] = letters
    first, last = ends[:-1] + np.arange(len(words)), ends[1:] + np.arange(len(words))
    return sorted_strings(spaced, np.tile(first, 2), np.concatenate([last, last + 1]))
