"""Splitting texts into tokens, which are stored as positions in one long array of bytes.

Python itself converts to lower case and removes HTML (0.4 s for the 132 MB of IMDB's reviews). If the tokens
of a pattern are runs of characters of one class, or single characters of another, a loop over bytes finds
them; for all other patterns, Python's ``re`` does.
"""

import re
import sys
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from dropglm.text import kernels
from dropglm.threads import each, even_pieces

# Words including apostrophes, and every other visible character on its own
WORDS_AND_PUNCTUATION = r"[\w']+|[^\w\s]"
WORDS_OF_TWO_LETTERS = r"(?u)\b\w\w+\b"  # scikit-learn's default

# A "<" before a letter or a slash, up to the next ">", unless another "<" comes first
HTML_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")


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
    """Splits texts into tokens, optionally after converting to lower case and removing HTML tags.

    Each call of ``split`` overwrites the arrays that the previous call returned: allocating new ones took as
    long as the scan itself.
    """

    def __init__(self, token_pattern: str, *, lowercase: bool, strip_html: bool, threads: int) -> None:
        self.pattern = compile_pattern(token_pattern)
        self.runs = RUNS.get(token_pattern)
        self.lowercase = lowercase
        self.strip_html = strip_html
        self.threads = threads
        self.buffer = np.empty((3, 0), np.int64)

    def split(self, texts: Sequence[str]) -> Tokens:
        """Return the tokens of all texts."""
        cleaned = [self._clean(text) for text in texts]
        return self._split_by_regex(cleaned) if self.runs is None else self._split_by_scan(cleaned, self.runs)

    def words(self, text: str) -> list[str]:
        """Return the tokens of one text as strings."""
        return [str(token) for token in self.pattern.findall(self._clean(text))]

    def _clean(self, text: str) -> str:
        if self.lowercase:
            text = text.lower()
        return HTML_TAG.sub(" ", text) if self.strip_html and "<" in text else text

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

    def _split_by_regex(self, texts: list[str]) -> Tokens:
        found = [self.pattern.findall(text) for text in texts]
        letters, ends = encode_strings([token for tokens in found for token in tokens])
        counts = np.fromiter(map(len, found), np.int64, len(found))
        keys = np.empty(len(ends) - 1, np.int64)
        kernels.keys_of(letters, ends, keys)
        return Tokens(letters, np.cumsum(counts) - counts, counts, ends[:-1], ends[1:], keys)


def compile_pattern(pattern: Any) -> re.Pattern[str]:
    """Compile the pattern; if it has a group, the group is the token."""
    try:
        compiled = re.compile(pattern)
    except (re.error, TypeError) as error:
        raise ValueError(f"token_pattern {pattern!r} is not a regular expression: {error}.") from None
    if compiled.groups > 1:
        raise ValueError(
            f"token_pattern {pattern!r} has {compiled.groups} groups; use at most one, which is the token."
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
def character_classes(runs: Runs) -> np.ndarray:
    """Return for every character 1 if it is part of a run, 2 if it is a token on its own, else 0."""
    everything = "".join(map(chr, range(sys.maxunicode + 1)))
    table = np.zeros(len(everything), np.uint8)
    for number, pattern in ((1, runs.run), (2, runs.single)):
        for match in re.finditer(f"(?:{pattern})+", everything) if pattern else ():
            table[match.start() : match.end()] = number
    return table
