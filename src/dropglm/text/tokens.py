"""Splitting texts into tokens, which are stored as positions in one long array of bytes.

If the tokens of a pattern are runs of characters of one class, or single characters of another, a loop over
bytes finds them. For all other patterns, Python's ``re`` does, or a function of the user.
"""

import re
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import chain, pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np

from dropglm.encoded_texts import SPARE, EncodedTexts
from dropglm.errors import InputError, InputTypeError
from dropglm.text import token_kernels
from dropglm.text.preprocessing import Preprocessor, characters, clean

# Words including apostrophes, and every other visible character on its own
WORDS_AND_PUNCTUATION = r"[\w']+|[^\w\s]"
WORDS_OF_TWO_LETTERS = r"(?u)\b\w\w+\b"  # scikit-learn's default

PIECE = 1 << 18  # bytes per task
ASCII, TWO_BYTES, ALL = 1 << 7, 1 << 16, sys.maxunicode + 1  # how many code points a table has


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


class TokenRoom:
    """Memory for texts and tokens, which is used again and again: new memory takes as long as the scan."""

    def __init__(self) -> None:
        self.letters = np.empty(0, np.uint8)
        self.words = np.empty((3, 0), np.int64)

    def reserve(self, size: int) -> None:
        """Make room for texts of so many bytes; there are at most as many tokens."""
        if size > self.words.shape[1]:
            self.letters = np.empty(size * 5 // 4 + SPARE, np.uint8)
            self.words = np.empty((3, size * 5 // 4), np.int64)


class Prepared(Protocol):
    """Texts for which Python has done its part, so that compiled code can split them on any thread."""

    @property
    def cost(self) -> np.ndarray:
        """Cumulative length; n + 1 numbers for n texts."""

    def tokens(self, first: int, last: int, room: TokenRoom) -> Tokens:
        """Return the tokens of texts first to last - 1; they may be stored in the room."""


class SplitTexts(NamedTuple):
    """Texts that Python has split."""

    whole: Tokens

    @property
    def cost(self) -> np.ndarray:
        """Cumulative number of tokens."""
        return np.append(0, np.cumsum(self.whole.counts))

    def tokens(self, first: int, last: int, room: TokenRoom) -> Tokens:
        """Return the tokens of texts first to last - 1."""
        return self.whole._replace(first=self.whole.first[first:last], counts=self.whole.counts[first:last])


class ScannedTexts(NamedTuple):
    """Texts that compiled code preprocesses and splits."""

    texts: Sequence[str]
    preprocess: Preprocessor
    runs: Runs

    @property
    def cost(self) -> np.ndarray:
        """Cumulative number of characters."""
        return np.append(0, np.cumsum(np.fromiter(map(len, self.texts), np.int64, len(self.texts))))

    def tokens(self, first: int, last: int, room: TokenRoom) -> Tokens:
        """Return the tokens of texts first to last - 1."""
        texts = EncodedTexts.of(self.texts[first:last])
        room.reserve(texts.size)
        texts = clean(texts, self.preprocess, room.letters)
        room.reserve(texts.size)  # accents and lower case can take more bytes
        firsts, counts = np.empty((2, last - first), np.int64)
        found = firsts, counts, tuple(room.words)
        token_kernels.split_texts(texts.letters, texts.begins, texts.ends, *scanner(texts, self.runs), *found)
        return Tokens(texts.letters, firsts, counts, *room.words)


def scanner(texts: EncodedTexts, runs: Runs) -> tuple[np.ndarray, tuple[bool, bool, int]]:
    """Return ``classes`` and ``runs`` of ``token_kernels.text_tokens`` for these texts."""
    # The table of all characters takes 0.1 s, that of the first 65,536 a fortieth of it.
    largest = texts.largest_byte
    classes = character_classes(runs, ASCII if largest < 0x80 else TWO_BYTES if largest < 0xF0 else ALL)
    return classes, (bool(classes[ord("'")] == 1), runs.single is not None, runs.shortest)


@cache
def character_classes(runs: Runs, size: int = ALL) -> np.ndarray:
    """Return for the first characters 1 if it is part of a run, 2 if it is a token on its own, else 0."""
    everything = characters(size)
    table = np.zeros(len(everything), np.uint8)
    for number, pattern in ((1, runs.run), (2, runs.single)):
        for match in re.finditer(f"(?:{pattern})+", everything) if pattern else ():
            table[match.start() : match.end()] = number
    return table


class Tokenizer:
    """Preprocesses texts and splits them into the matches of a pattern.

    ``prepare`` is for the thread of the caller, since functions of the user may be called.
    """

    def __init__(self, token_pattern: Any, preprocess: Callable[[Any], str]) -> None:
        self.pattern = compile_pattern(token_pattern)
        self.runs = RUNS.get(token_pattern)
        self.preprocess = preprocess

    def prepare(self, texts: Sequence[Any]) -> Prepared:
        """Return texts that can be split on any thread."""
        preprocess = self.preprocess
        if self.runs is not None and isinstance(preprocess, Preprocessor) and preprocess.is_built_in:
            return ScannedTexts(texts, preprocess, self.runs)
        cleaned = [preprocess(text) for text in texts]
        if self.runs is not None:
            return ScannedTexts(cleaned, Preprocessor(lowercase=False, strip_html=False), self.runs)
        return SplitTexts(tokens_of_lists([self.pattern.findall(text) for text in cleaned]))

    def split(self, texts: Sequence[Any], room: TokenRoom | None = None) -> Tokens:
        """Return the tokens of all texts."""
        return self.prepare(texts).tokens(0, len(texts), room or TokenRoom())

    def words(self, text: Any) -> list[str]:
        """Return the tokens of one text as strings."""
        return [str(token) for token in self.pattern.findall(self.preprocess(text))]


class FunctionTokenizer:
    """Splits texts by calling a Python function, which returns the tokens of one text as strings."""

    def __init__(self, function: Callable[[Any], Iterable[str]]) -> None:
        self.function = function

    def prepare(self, texts: Sequence[Any]) -> Prepared:
        """Return texts that are split already."""
        return SplitTexts(tokens_of_lists([list(self.function(text)) for text in texts]))

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
            raise InputTypeError(f"tokenizer and analyzer must return lists of strings, got {token!r}.")
    letters, ends = encode_strings(list(number))
    keys = np.empty(len(number), np.int64)
    token_kernels.keys_of(letters, ends, keys)
    start, stop = ends[:-1][numbers], ends[1:][numbers]
    return Tokens(letters, np.cumsum(counts) - counts, counts, start, stop, keys[numbers])


def compile_pattern(pattern: Any) -> re.Pattern[str]:
    """Compile the pattern; if it has a group, the group is the token."""
    try:
        compiled = re.compile(pattern)
    except (re.error, TypeError) as error:
        raise InputError(f"token_pattern {pattern!r} is not a regular expression: {error}.") from None
    if compiled.groups > 1:
        raise InputError(
            f"More than 1 capturing group in token pattern {pattern!r}; use at most one, which is the token."
        )
    return compiled


# A class of characters or one character, not a group, anchor or reference; then how often it may occur
_CLASS = r"(?:\[\^?(?:\\.|[^\[\]\\])+\]|\\[wWdDsS]|\\[^\w\s]|[^\\\[\](){}*+?|^$])"
_REPETITION = r"(?:[+*?]|\{\d{1,2}(?:,\d{0,2})?\})?"
_ALTERNATIVE = f"{_CLASS}{{1,8}}{_REPETITION}"
LINEAR = re.compile(rf"(?:\(\?[aimsu]+\))?{_ALTERNATIVE}(?:\|{_ALTERNATIVE}){{0,15}}")
LONGEST_PATTERN = 500


def is_linear(pattern: str) -> bool:
    r"""Return whether finding a pattern takes a time proportional to the length of any text.

    That is known of alternatives which are a few classes of characters, only the last of them repeated: each
    either fails within a few characters or ends where the repetition does, so nothing is read again. It is
    also known of the patterns that our own loops find.

    Examples
    --------
    >>> is_linear(r"#?\w+|[^\w\s]"), is_linear(r"#\w+|[^\w\s]"), is_linear(r"(?:\w|\s)+!")
    (False, True, False)
    """
    if pattern in RUNS:
        return True
    if len(pattern) > LONGEST_PATTERN or not LINEAR.fullmatch(pattern):
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # of patterns that may mean something else in a later Python
            re.compile(pattern)
    except (re.error, Warning, OverflowError):
        return False
    return True


def encode_strings(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Concatenate the strings in UTF-8; return the bytes and the offsets of all beginnings and of the end."""
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    ends = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=ends[1:])
    return np.frombuffer(bytearray().join(encoded), np.uint8), ends


def decode_strings(letters: np.ndarray, ends: np.ndarray) -> list[str]:
    """Return the strings that ``encode_strings`` concatenated."""
    whole, cuts = letters.tobytes(), ends.tolist()
    return [whole[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(cuts)]
