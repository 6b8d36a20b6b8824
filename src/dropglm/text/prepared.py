"""Texts for which Python has done its part, so that compiled code can split them on any thread."""

import re
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from dropglm.encoded_texts import SPARE, EncodedTexts
from dropglm.text import scanning
from dropglm.text.preprocessing import Preprocessor
from dropglm.text.string_memory import (
    addresses_of,
    bytes_per_character,
    characters,
    is_irregular,
    lower_case,
)

ASCII, TWO_BYTES, ALL = 1 << 7, 1 << 16, sys.maxunicode + 1  # how many code points a table has


class Runs(NamedTuple):
    """A pattern for runs of at least ``shortest`` characters of one class, or single ones of another."""

    run: str
    single: str | None
    shortest: int


class Tokens(NamedTuple):
    """The tokens of several texts; those of text i are ``first[i]`` … ``first[i] + counts[i] - 1``."""

    letters: np.ndarray  # UTF-8
    first: np.ndarray
    counts: np.ndarray
    start: np.ndarray  # of each token in letters
    stop: np.ndarray
    keys: np.ndarray  # see kernels.token_key


class Room:
    """Memory for tokens, which is used again and again: new memory takes as long as the scan itself."""

    def __init__(self) -> None:
        self.letters = np.empty(0, np.uint8)
        self.words = np.empty((3, 0), np.int64)

    def reserve(self, size: int) -> None:
        """Make room for texts of so many bytes; there are at most as many tokens."""
        if size > self.words.shape[1]:
            self.letters = np.empty(size * 5 // 4 + SPARE, np.uint8)
            self.words = np.empty((3, size * 5 // 4), np.int64)

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where tokens begin and end, and their keys."""
        return self.words[0], self.words[1], self.words[2]


class Prepared(Protocol):
    """Texts that can be split on any thread."""

    @property
    def cost(self) -> np.ndarray:
        """Cumulative number of bytes, or an upper limit; n + 1 numbers for n texts."""

    def tokens(self, first: int, last: int, room: Room, place: int = 0) -> Tokens:
        """Return the tokens of texts first to last - 1; they may be stored in the room, from a place on."""


class SplitTexts(NamedTuple):
    """Texts that Python has split."""

    whole: Tokens

    @property
    def cost(self) -> np.ndarray:
        """Cumulative number of tokens."""
        return np.append(0, np.cumsum(self.whole.counts))

    def tokens(self, first: int, last: int, room: Room, place: int = 0) -> Tokens:
        """Return the tokens of texts first to last - 1."""
        return self.whole._replace(first=self.whole.first[first:last], counts=self.whole.counts[first:last])


class TextsInBytes(NamedTuple):
    """Preprocessed texts in UTF-8."""

    texts: EncodedTexts
    runs: Runs

    @property
    def cost(self) -> np.ndarray:
        """Cumulative number of bytes."""
        return np.append(0, np.cumsum(self.texts.ends - self.texts.begins))

    def tokens(self, first: int, last: int, room: Room, place: int = 0) -> Tokens:
        """Return the tokens of texts first to last - 1."""
        begins, ends = self.texts.begins[first:last], self.texts.ends[first:last]
        room.reserve(place + int((ends - begins).sum()))
        firsts, counts = np.empty((2, last - first), np.int64)
        classes, words = character_classes(self.runs), room.arrays
        runs = settings_of(self.runs, classes)
        scanning.split_bytes(self.texts.letters, begins, ends, classes, runs, place, firsts, counts, words)
        return Tokens(self.texts.letters, firsts, counts, *words)


class StoredTexts(NamedTuple):
    """Texts that are read where Python stores them; those that are ``raw`` are then also preprocessed."""

    texts: list[str]  # the strings at the addresses, which exist as long as this list
    addresses: np.ndarray
    raw: np.ndarray
    cost: np.ndarray
    lower: np.ndarray  # see string_memory.lower_case; empty if the case stays as it is
    strip_html: bool
    runs: Runs
    size: int  # of the table of character classes that they need

    @classmethod
    def of(cls, texts: Sequence[Any], preprocess: Callable[[Any], str], runs: Runs) -> Self:
        """Preprocess those texts for which this needs Python, and find out where all of them are stored."""
        ours = preprocess if isinstance(preprocess, Preprocessor) and preprocess.is_built_in else None
        strings: list[str] = list(texts) if ours else [preprocess(text) for text in texts]
        n = len(strings)
        raw, other = np.full(n, ours is not None), ~np.fromiter(map(str.isascii, strings), np.bool_, n)
        addresses, widths = addresses_of(strings), np.ones(n, np.int64)
        widths[other] = bytes_per_character(addresses[other])
        if ours:
            for i in np.flatnonzero(other if ours.strip_accents else widths > 1).tolist():
                if ours.strip_accents or (ours.lowercase and is_irregular(strings[i])):
                    strings[i], raw[i] = ours(strings[i]), False
            done = np.flatnonzero(~raw)
            addresses[done] = addresses_of([strings[i] for i in done])
            widths[done], other[done] = bytes_per_character(addresses[done]), True
        size = ASCII if not other.any() else ALL if (widths == 4).any() else TWO_BYTES
        lower = np.zeros(1, np.int32) if size == ASCII else lower_case()
        # In UTF-8 a character takes at most 2, 3 and 4 bytes if Python stores it in 1, 2 and 4 bytes, and
        # three if it is then written in lower case.
        room = np.fromiter(map(len, strings), np.int64, n)
        room[other] *= np.maximum(widths[other], 3)
        return cls(
            strings,
            addresses,
            raw,
            np.append(0, np.cumsum(room)),
            lower if ours and ours.lowercase else lower[:0],
            bool(ours and ours.strip_html),
            runs,
            size,
        )

    def tokens(self, first: int, last: int, room: Room, place: int = 0) -> Tokens:
        """Return the tokens of texts first to last - 1."""
        room.reserve(place + int(self.cost[last] - self.cost[first]))
        firsts, counts = np.empty((2, last - first), np.int64)
        classes, words = character_classes(self.runs, self.size), room.arrays
        scanning.split_strings(
            self.addresses[first:last],
            self.raw[first:last],
            self.lower,
            self.strip_html,
            classes,
            settings_of(self.runs, classes),
            place,
            room.letters,
            firsts,
            counts,
            words,
        )
        return Tokens(room.letters, firsts, counts, *words)


def settings_of(runs: Runs, classes: np.ndarray) -> tuple[bool, bool, int]:
    """Return the settings of ``scan_kernels.text_tokens``: apostrophes, single characters, shortest run."""
    return bool(classes[ord("'")] == 1), runs.single is not None, runs.shortest


@cache
def character_classes(runs: Runs, size: int = ALL) -> np.ndarray:
    """Return for the first characters 1 if it is part of a run, 2 if it is a token on its own, else 0."""
    everything = characters(size)
    table = np.zeros(len(everything), np.uint8)
    for number, pattern in ((1, runs.run), (2, runs.single)):
        for match in re.finditer(f"(?:{pattern})+", everything) if pattern else ():
            table[match.start() : match.end()] = number
    return table
