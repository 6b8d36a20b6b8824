"""Splitting texts into tokens, which are stored as positions in one long array of bytes.

If the tokens of a pattern are runs of characters of one class, or single characters of another, a loop over
bytes finds them. For all other patterns, Python's ``re`` does, or a function of the user. Before that, Python
itself preprocesses the texts (0.4 s for the 132 MB of IMDB's reviews).
"""

import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np

from dropglm.text import kernels
from dropglm.threads import each, even_pieces

# Words including apostrophes, and every other visible character on its own
WORDS_AND_PUNCTUATION = r"[\w']+|[^\w\s]"
WORDS_OF_TWO_LETTERS = r"(?u)\b\w\w+\b"  # scikit-learn's default


class Runs(NamedTuple):
    """A pattern for runs of at least ``shortest`` characters of one class, or single ones of another."""

    run: str
    single: str | None
    shortest: int


RUNS = {
    WORDS_AND_PUNCTUATION: Runs(r"[\w']", r"[^\w\s']", 1),
    WORDS_OF_TWO_LETTERS: Runs(r"\w", None, 2),
    WORDS_OF_TWO_LETTERS.removeprefix("(?u)"): Runs(r"\w", None, 2),
}


class Tokens(NamedTuple):
    """The tokens of several texts; those of text i are ``first[i]`` … ``first[i] + counts[i] - 1``."""

    letters: np.ndarray  # UTF-8
    first: np.ndarray
    counts: np.ndarray
    start: np.ndarray  # of each token in letters
    stop: np.ndarray
    keys: np.ndarray  # see kernels.token_key


class Tokenizer:
    """Preprocesses texts and splits them into the matches of a pattern.

    Each call of ``split`` overwrites the arrays that the previous call returned: allocating new ones took as
    long as the scan itself.
    """

    def __init__(self, token_pattern: Any, preprocess: Callable[[Any], str], threads: int) -> None:
        self.pattern = compile_pattern(token_pattern)
        self.runs = RUNS.get(token_pattern)
        self.preprocess = preprocess
        self.threads = threads
        self.buffer = np.empty((3, 0), np.int64)

    def split(self, texts: Sequence[Any]) -> Tokens:
        """Return the tokens of all texts."""
        cleaned = [self.preprocess(text) for text in texts]
        if self.runs is not None:
            return self._split_by_scan(cleaned, self.runs)
        return tokens_of_lists([self.pattern.findall(text) for text in cleaned])

    def words(self, text: Any) -> list[str]:
        """Return the tokens of one text as strings."""
        return [str(token) for token in self.pattern.findall(self.preprocess(text))]

    def _split_by_scan(self, texts: list[str], runs: Runs) -> Tokens:
        letters, ends = encode_strings(texts)
        if len(letters) > self.buffer.shape[1]:  # there are at most as many tokens as bytes
            self.buffer = np.empty((3, len(letters) * 5 // 4), np.int64)
        start, stop, keys = self.buffer[:, : len(letters)]
        counts, table = np.empty(len(texts), np.int64), character_classes(runs)

        def scan(piece: tuple[int, int]) -> None:
            kernels.scan(letters, ends, table, runs.shortest, *piece, counts, start, stop, keys)

        each(scan, even_pieces(ends, piece=1 << 18), self.threads)
        return Tokens(letters, ends[:-1], counts, start, stop, keys)


class FunctionTokenizer:
    """Splits texts by calling a Python function, which returns the tokens of one text as strings."""

    def __init__(self, function: Callable[[Any], Iterable[str]]) -> None:
        self.function = function

    def split(self, texts: Sequence[Any]) -> Tokens:
        """Return the tokens of all texts."""
        return tokens_of_lists([list(self.function(text)) for text in texts])

    def words(self, text: Any) -> list[str]:
        """Return the tokens of one text."""
        return list(self.function(text))


def tokens_of_lists(found: Sequence[list[str]]) -> Tokens:
    """Return the tokens of texts, given as one list of strings per text."""
    counts = np.fromiter(map(len, found), np.int64, len(found))
    number: defaultdict[str, int] = defaultdict()
    number.default_factory = number.__len__
    # Tokens repeat: to number them takes less time than to encode each of them.
    numbers = np.fromiter(map(number.__getitem__, chain.from_iterable(found)), np.int64, counts.sum())
    for token in number:
        if not isinstance(token, str):
            raise TypeError(f"tokenizer and analyzer must return lists of strings, got {token!r}.")
    letters, ends = encode_strings(list(number))
    keys = np.empty(len(number), np.int64)
    kernels.keys_of(letters, ends, keys)
    start, stop = ends[:-1][numbers], ends[1:][numbers]
    return Tokens(letters, np.cumsum(counts) - counts, counts, start, stop, keys[numbers])


def compile_pattern(pattern: Any) -> re.Pattern[str]:
    """Compile the pattern; if it has a group, the group is the token."""
    try:
        compiled = re.compile(pattern)
    except (re.error, TypeError) as error:
        raise ValueError(f"token_pattern {pattern!r} is not a regular expression: {error}.") from None
    if compiled.groups > 1:
        raise ValueError(
            f"More than 1 capturing group in token pattern {pattern!r}; use at most one, which is the token."
        )
    return compiled


def encode_strings(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Concatenate the strings in UTF-8; return the bytes and the offsets of all beginnings and of the end."""
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    ends = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=ends[1:])
    return np.frombuffer(b"".join(encoded), np.uint8), ends


def decode_strings(letters: np.ndarray, ends: np.ndarray) -> list[str]:
    """Return the strings that ``encode_strings`` concatenated."""
    whole, cuts = letters.tobytes(), ends.tolist()
    return [whole[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(cuts)]


@cache
def character_classes(runs: Runs, size: int = sys.maxunicode + 1) -> np.ndarray:
    """Return for each character 1 if it is part of a run, 2 if it is a token on its own, else 0."""
    # Decoded at once: to join the characters took 0.12 s, most of the time of a prediction.
    everything = np.arange(size, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    table = np.zeros(len(everything), np.uint8)
    for number, pattern in ((1, runs.run), (2, runs.single)):
        for match in re.finditer(f"(?:{pattern})+", everything) if pattern else ():
            table[match.start() : match.end()] = number
    return table
