"""Texts cut into tokens: places in one long array of bytes.

Lower case and HTML are Python's own work (0.4 s for the 132 MB of IMDB's reviews). A pattern whose tokens are
runs of characters of one class, or single characters of another, is cut by a loop over bytes; any other
one by Python's ``re``.
"""

import re
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from dropglm.text import kernels
from dropglm.threads import each, even_pieces

# Words with their apostrophes, and every other visible character by itself.
WORDS_AND_PUNCTUATION = r"[\w']+|[^\w\s]"
WORDS_OF_TWO_LETTERS = r"(?u)\b\w\w+\b"  # scikit-learn's default

# A "<" that stands before a letter or a slash, up to the next ">" if there is no other "<" before it.
HTML_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")


class Runs(NamedTuple):
    """Tokens are the runs of at least ``shortest`` characters of a class, and single ones of another."""

    run: str
    single: str | None
    shortest: int


RUNS = {
    WORDS_AND_PUNCTUATION: Runs(r"[\w']", r"[^\w\s']", 1),
    WORDS_OF_TWO_LETTERS: Runs(r"\w", None, 2),
    WORDS_OF_TWO_LETTERS.removeprefix("(?u)"): Runs(r"\w", None, 2),
}


class Tokens(NamedTuple):
    """The tokens of some texts; those of text i stand at ``first[i]`` … ``first[i] + counts[i] - 1``."""

    letters: np.ndarray  # UTF-8
    first: np.ndarray
    counts: np.ndarray
    start: np.ndarray  # of each token among the letters
    stop: np.ndarray
    keys: np.ndarray  # see kernels.token_key


class Tokenizer:
    """Cuts texts into tokens, in lower case and without HTML if so wanted.

    The tokens of one cut are overwritten by the next: to get new memory from the system for each took as
    long as the scan itself.
    """

    def __init__(self, token_pattern: str, *, lowercase: bool, strip_html: bool, threads: int) -> None:
        self.pattern = compiled(token_pattern)
        self.runs = RUNS.get(token_pattern)
        self.lowercase = lowercase
        self.strip_html = strip_html
        self.threads = threads
        self.room = np.empty((3, 0), np.int64)

    def cut(self, texts: Sequence[str]) -> Tokens:
        """The tokens of all texts."""
        cleaned = [self._cleaned(text) for text in texts]
        return self._found(cleaned) if self.runs is None else self._scanned(cleaned, self.runs)

    def words(self, text: str) -> list[str]:
        """The tokens of one text."""
        return [str(token) for token in self.pattern.findall(self._cleaned(text))]

    def _cleaned(self, text: str) -> str:
        if self.lowercase:
            text = text.lower()
        return HTML_TAG.sub(" ", text) if self.strip_html and "<" in text else text

    def _scanned(self, texts: list[str], runs: Runs) -> Tokens:
        letters, ends = joined(texts)
        if len(letters) > self.room.shape[1]:  # no token is shorter than a byte
            self.room = np.empty((3, len(letters) * 5 // 4), np.int64)
        start, stop, keys = self.room[:, : len(letters)]
        counts, table = np.empty(len(texts), np.int64), classes(runs)

        def scan(piece: tuple[int, int]) -> None:
            kernels.scan(letters, ends, table, runs.shortest, *piece, counts, start, stop, keys)

        each(scan, even_pieces(ends, piece=1 << 18), self.threads)
        return Tokens(letters, ends[:-1], counts, start, stop, keys)

    def _found(self, texts: list[str]) -> Tokens:
        found = [self.pattern.findall(text) for text in texts]
        letters, ends = joined([token for tokens in found for token in tokens])
        counts = np.fromiter(map(len, found), np.int64, len(found))
        keys = np.empty(len(ends) - 1, np.int64)
        kernels.keys_of(letters, ends, keys)
        return Tokens(letters, np.cumsum(counts) - counts, counts, ends[:-1], ends[1:], keys)


def compiled(pattern: Any) -> re.Pattern[str]:
    """The pattern, which may have one group, for the token."""
    try:
        found = re.compile(pattern)
    except (re.error, TypeError) as error:
        raise ValueError(f"token_pattern {pattern!r} is no regular expression: {error}.") from None
    if found.groups > 1:
        raise ValueError(f"token_pattern {pattern!r} has {found.groups} groups; one, or none, is the token.")
    return found


def joined(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """All texts one after the other in UTF-8, and where each begins; the last number is the whole length."""
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    ends = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=ends[1:])
    return np.frombuffer(b"".join(encoded), np.uint8), ends


@cache
def classes(runs: Runs) -> np.ndarray:
    """For every character: 1 if it is part of a run, 2 if it stands by itself, else 0; as ``re`` sees it."""
    everything = "".join(map(chr, range(sys.maxunicode + 1)))
    table = np.zeros(len(everything), np.uint8)
    for number, pattern in ((1, runs.run), (2, runs.single)):
        for match in re.finditer(f"(?:{pattern})+", everything) if pattern else ():
            table[match.start() : match.end()] = number
    return table
