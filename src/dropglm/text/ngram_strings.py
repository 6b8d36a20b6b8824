"""N-grams as lists of strings: for analyzers that the compiled loops do not cover, and to inspect a text."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

_SPACES = re.compile(r"\s\s+")


@dataclass(frozen=True)
class WordNgrams:
    """N-grams of words, joined by spaces, the shortest first.

    Examples
    --------
    >>> WordNgrams(1, 2)(["so", "very", "dull"])
    ['so', 'very', 'dull', 'so very', 'very dull']
    """

    shortest: int
    longest: int

    def __call__(self, words: Sequence[str]) -> list[str]:
        """Return the n-grams of these words."""
        words = list(words)
        return [
            " ".join(words[k : k + n])
            for n in range(self.shortest, self.longest + 1)
            for k in range(len(words) - n + 1)
        ]


@dataclass(frozen=True)
class CharacterNgrams:
    """N-grams of characters, the shortest first; several white-space characters count as one space.

    Examples
    --------
    >>> CharacterNgrams(2, 3)("a  bc")
    ['a ', ' b', 'bc', 'a b', ' bc']
    """

    shortest: int
    longest: int

    def __call__(self, text: str) -> list[str]:
        """Return the n-grams of this text."""
        text = _SPACES.sub(" ", text)
        return [
            text[k : k + n]
            for n in range(self.shortest, min(self.longest, len(text)) + 1)
            for k in range(len(text) - n + 1)
        ]


@dataclass(frozen=True)
class CharacterNgramsWithinWords:
    """N-grams of characters that do not cross words; a word has a space on each side.

    A word that is shorter than n, with its spaces, is an n-gram by itself.

    Examples
    --------
    >>> CharacterNgramsWithinWords(4, 5)("so dull")
    [' so ', ' dul', 'dull', 'ull ', ' dull', 'dull ']
    """

    shortest: int
    longest: int

    def __call__(self, text: str) -> list[str]:
        """Return the n-grams of this text."""
        ngrams = []
        for word in text.split():
            padded = f" {word} "
            for n in range(self.shortest, self.longest + 1):
                ngrams += [padded[k : k + n] for k in range(max(1, len(padded) - n + 1))]
                if n >= len(padded):
                    break
        return ngrams


ANALYZERS: dict[str, Callable[[int, int], Callable[[Any], list[str]]]] = {
    "word": WordNgrams,
    "char": CharacterNgrams,
    "char_wb": CharacterNgramsWithinWords,
}


@dataclass(frozen=True)
class Chain:
    """Functions that are called one after the other; unlike a closure, it can be pickled."""

    steps: tuple[Callable[[Any], Any], ...]

    def __call__(self, text: Any) -> Any:
        """Return the result of the last function."""
        for step in self.steps:
            text = step(text)
        return text


@dataclass(frozen=True)
class Without:
    """Drops some words from a list."""

    dropped: frozenset[str]

    def __call__(self, words: Iterable[str]) -> list[str]:
        """Return the other words."""
        return [word for word in words if word not in self.dropped]
