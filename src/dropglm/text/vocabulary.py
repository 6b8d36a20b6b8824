"""The n-grams that are features, and where they occur in new texts."""

from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from dropglm.text import kernels
from dropglm.text.counting import LONGEST_NGRAM, empty_slots, strings
from dropglm.text.tokens import Tokens
from dropglm.threads import each, even_ranges

NONE = -1


class Tables(NamedTuple):
    """The hash tables of a vocabulary."""

    token_slots: np.ndarray
    token_keys: np.ndarray
    pair_slots: list[np.ndarray]  # for n = 2, 3, …
    pair_keys: list[np.ndarray]


class Vocabulary:
    """Features in alphabetical order, each spelt by the numbers of its tokens.

    Parameters
    ----------
    letters, ends : arrays
        The tokens one after the other in UTF-8, and where each begins and the last one ends.
    spelling : array of shape (features, longest n)
        The tokens of each feature, then -1.
    texts : array of shape (features,)
        The number of texts of the fit that have each.
    """

    def __init__(
        self, letters: np.ndarray, ends: np.ndarray, spelling: np.ndarray, texts: np.ndarray
    ) -> None:
        self.letters = letters
        self.ends = ends
        self.spelling = spelling
        self.texts = texts

    def __len__(self) -> int:
        return len(self.spelling)

    def __getstate__(self) -> dict[str, np.ndarray]:
        """What cannot be made again."""
        return {name: getattr(self, name) for name in ("letters", "ends", "spelling", "texts")}

    def check(self) -> Self:
        """Itself, if its arrays fit each other; kernels would read beyond those that do not."""
        words = len(self.ends) - 1
        if not (
            (str(self.letters.dtype), self.letters.ndim) == ("uint8", 1)
            and (str(self.ends.dtype), self.ends.ndim) == ("int64", 1)
            and (str(self.spelling.dtype), self.spelling.ndim) == ("int32", 2)
            and words >= 0
            and self.ends[0] == 0
            and self.ends[-1] == len(self.letters)
            and (self.ends[1:] >= self.ends[:-1]).all()  # a difference could overflow
            and (str(self.texts.dtype), self.texts.shape) == ("int32", (len(self.spelling),))
            and self.spelling.size
            and self.longest <= LONGEST_NGRAM
            and max(words, self.spelling.size) * self.longest <= np.iinfo(np.int32).max
            and (self.spelling[:, 0] >= 0).all()
            and self.spelling.max() < words
            and self.spelling.min() >= NONE
            and not ((self.spelling[:, :-1] == NONE) & (self.spelling[:, 1:] != NONE)).any()
        ):
            raise ValueError("the arrays of the vocabulary do not fit each other")
        len(self.words)  # which must be UTF-8
        return self

    @property
    def longest(self) -> int:
        """The largest n."""
        return int(self.spelling.shape[1])

    @cached_property
    def known(self) -> frozenset[str]:
        """The tokens, to look them up."""
        return frozenset(self.words)

    @cached_property
    def words(self) -> list[str]:
        """The tokens."""
        return strings(self.letters, self.ends)

    def names(self, columns: np.ndarray | None = None) -> list[str]:
        """The n-grams of these features, or of all, with spaces between their tokens."""
        rows = self.spelling if columns is None else self.spelling[columns]
        return spelt(self.words, rows)

    @cached_property
    def _nodes(self) -> tuple[list[np.ndarray], np.ndarray]:
        """The keys of the pairs for n = 2, 3, …, and the column of each code (or -1)."""
        length = (self.spelling != NONE).sum(axis=1)
        nodes, keys = self.spelling[:, 0].astype(np.int64), []
        codes = nodes * self.longest
        for n in range(2, self.longest + 1):
            long = length >= n
            level, nodes[long] = np.unique(
                nodes[long] << 32 | self.spelling[long, n - 1], return_inverse=True
            )
            keys.append(level)
            codes[long] = nodes[long] * self.longest + n - 1
        most = max([len(self.ends) - 1, *map(len, keys)])
        column_of = np.full(most * self.longest, NONE, np.int32)
        column_of[codes] = np.arange(len(self), dtype=np.int32)
        return keys, column_of

    @property
    def column_of(self) -> np.ndarray:
        """The column of each code, or -1 if it is no feature; see ``kernels.pack``."""
        return self._nodes[1]

    @cached_property
    def tables(self) -> Tables:
        """The hash tables, filled."""
        token_keys = np.empty(len(self.ends) - 1, np.int64)
        kernels.keys_of(self.letters, self.ends, token_keys)
        pair_keys = self._nodes[0]
        slots = [empty_slots(len(keys)) for keys in (token_keys, *pair_keys)]
        for table, keys in zip(slots, (token_keys, *pair_keys), strict=True):
            kernels.refill(table, keys, len(keys))
        return Tables(slots[0], token_keys, slots[1:], pair_keys)

    def find(self, tokens: Tokens, threads: int) -> tuple[np.ndarray, np.ndarray]:
        """The number of the n-gram that begins at each token, and whether there is one; (longest, tokens)."""
        numbers = np.full((self.longest, len(tokens.keys)), NONE, np.int32)
        tables = self.tables

        def find(piece: tuple[int, int]) -> None:
            table = tables.token_slots, tables.token_keys, self.letters, self.ends
            kernels.find_tokens(tokens, *piece, *table, numbers[0])
            for n in range(2, self.longest + 1):
                pairs = tables.pair_slots[n - 2], tables.pair_keys[n - 2]
                kernels.find_pairs(tokens, *piece, *pairs, numbers[n - 2], numbers[0], n, numbers[n - 1])

        each(find, even_ranges(len(tokens.first), piece=256), threads)
        return numbers, numbers >= 0


def spelt(words: list[str], spelling: np.ndarray) -> list[str]:
    """The words of each row, joined by spaces."""
    if spelling.shape[1] == 1:
        return [words[number] for number in spelling[:, 0].tolist()]
    return [" ".join([words[number] for number in row if number >= 0]) for row in spelling.tolist()]


def alphabetical(words: list[str], spelling: np.ndarray) -> np.ndarray:
    r"""The order of n-grams by name, character by character as Python sorts strings.

    No word has a space. Then names compare like the sequences of their words, if each word but the last is
    taken with the space after it: "a b" comes before "a!", but after "a\x01".
    """
    last_or_not = [*words, *(f"{word} " for word in words)]
    rank = np.empty(len(last_or_not), np.int32)
    rank[sorted(range(len(rank)), key=last_or_not.__getitem__)] = np.arange(len(rank), dtype=np.int32)
    followed = np.pad(spelling[:, 1:] != NONE, ((0, 0), (0, 1)))
    ranks = np.where(spelling == NONE, NONE, rank[spelling + len(words) * followed])
    return np.lexsort(ranks.T[::-1])
