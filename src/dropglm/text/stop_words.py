"""Words that are dropped from the texts before n-grams are formed."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from dropglm.errors import InputTypeError
from dropglm.registry import lookup
from dropglm.text import kernels
from dropglm.text.counting import empty_slots
from dropglm.text.english import ENGLISH_STOP_WORDS
from dropglm.text.prepared import Prepared, Room, Tokens
from dropglm.text.tokens import encode_strings

STOP_WORDS: dict[str, frozenset[str]] = {"english": ENGLISH_STOP_WORDS}


class TokenSource(Protocol):
    """Something that splits texts into tokens."""

    def prepare(self, texts: Sequence[Any]) -> Prepared:
        """Return texts that can be split on any thread."""

    def words(self, text: Any) -> list[str]:
        """Return the tokens of one text as strings."""


class StopWords:
    """A hash table of stop words."""

    def __init__(self, words: frozenset[str]) -> None:
        self.letters, self.ends = encode_strings(sorted(words))
        self.keys, self.slots = np.empty((len(words), 1), np.int64), empty_slots(len(words))
        kernels.index_tokens(self.letters, self.ends, self.slots, self.keys)

    def drop_from(self, tokens: Tokens) -> None:
        """Drop the stop words, in place."""
        kernels.drop_tokens(tokens, self.slots, self.keys, self.letters, self.ends)


class PreparedWithStopWords(NamedTuple):
    """Texts from which stop words are dropped after they are split."""

    texts: Prepared
    stop_words: StopWords

    @property
    def cost(self) -> np.ndarray:
        """Cumulative number of bytes, or an upper limit."""
        return self.texts.cost

    def tokens(self, first: int, last: int, room: Room, place: int = 0) -> Tokens:
        """Return the tokens of texts first to last - 1 that are not stop words."""
        tokens = self.texts.tokens(first, last, room, place)
        self.stop_words.drop_from(tokens)
        return tokens


class WithoutStopWords:
    """Splits texts with another tokenizer and drops the stop words."""

    def __init__(self, tokenizer: TokenSource, stop_words: frozenset[str]) -> None:
        self.tokenizer = tokenizer
        self.stop_words = stop_words
        self.table = StopWords(stop_words)

    def prepare(self, texts: Sequence[Any]) -> Prepared:
        """Return texts that can be split on any thread."""
        return PreparedWithStopWords(self.tokenizer.prepare(texts), self.table)

    def words(self, text: Any) -> list[str]:
        """Return the tokens of one text that are not stop words."""
        return [word for word in self.tokenizer.words(text) if word not in self.stop_words]


def stop_word_set(stop_words: Any) -> frozenset[str] | None:
    """Return the stop words: those of a built-in list, those given, or None.

    Examples
    --------
    >>> stop_word_set("englsh")
    Traceback (most recent call last):
    dropglm.errors.InputError: stop_words 'englsh' is unknown; did you mean 'english'? Known: 'english'.
    """
    if stop_words is None:
        return None
    if isinstance(stop_words, str):
        return lookup(STOP_WORDS, stop_words, "stop_words")
    words = frozenset(stop_words) if isinstance(stop_words, Iterable) else frozenset([stop_words])
    for word in words:
        if not isinstance(word, str):
            raise InputTypeError(f"stop_words must be 'english' or a list of strings, got {word!r}.")
    return words


def warn_of_inconsistent(stop_words: frozenset[str], tokenize: Callable[[str], list[str]]) -> None:
    """Warn if a stop word is split or changed like a text, so that it would never be dropped."""
    try:
        tokens = {token for word in stop_words for token in tokenize(word)}
    except Exception:
        return  # a preprocessor or tokenizer of the user that expects other objects than words
    if not tokens <= stop_words:
        warnings.warn(
            "Your stop_words may be inconsistent with your preprocessing. Tokenizing the stop words "
            f"generated tokens {sorted(tokens - stop_words)} not in stop_words.",
            stacklevel=5,
        )
