"""Splitting texts into tokens, which are stored as positions in one long array of bytes.

If the tokens of a pattern are runs of characters of one class, or single characters of another, a loop over
bytes finds them. For all other patterns, Python's ``re`` does, or a function of the user.
"""

import re
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np

from dropglm.encoded_texts import EncodedTexts
from dropglm.errors import InputError, InputTypeError
from dropglm.text import scanning
from dropglm.text.prepared import Prepared, Room, Runs, SplitTexts, StoredTexts, TextsInBytes, Tokens
from dropglm.text.string_memory import readable
from dropglm.threads import each, even_pieces

# Words including apostrophes, and every other visible character on its own
WORDS_AND_PUNCTUATION = r"[\w']+|[^\w\s]"
WORDS_OF_TWO_LETTERS = r"(?u)\b\w\w+\b"  # scikit-learn's default

PIECE = 1 << 18  # bytes per task

RUNS = {
    WORDS_AND_PUNCTUATION: Runs(r"[\w']", r"[^\w\s']", 1),
    WORDS_OF_TWO_LETTERS: Runs(r"\w", None, 2),
    WORDS_OF_TWO_LETTERS.removeprefix("(?u)"): Runs(r"\w", None, 2),
}


class Tokenizer:
    """Preprocesses texts and splits them into the matches of a pattern.

    ``prepare`` is for the thread of the caller, since functions of the user may be called.
    """

    def __init__(self, token_pattern: Any, preprocess: Callable[[Any], str], threads: int) -> None:
        self.pattern = compile_pattern(token_pattern)
        self.runs = RUNS.get(token_pattern)
        self.preprocess = preprocess
        self.threads = threads
        self.room = Room()

    def prepare(self, texts: Sequence[Any]) -> Prepared:
        """Return texts that can be split on any thread."""
        if self.runs is not None and readable():
            return StoredTexts.of(texts, self.preprocess, self.runs)
        cleaned = [self.preprocess(text) for text in texts]
        if self.runs is not None:
            return TextsInBytes(EncodedTexts.of(cleaned), self.runs)
        return SplitTexts(tokens_of_lists([self.pattern.findall(text) for text in cleaned]))

    def split(self, texts: Sequence[Any]) -> Tokens:
        """Return the tokens of all texts; the next call overwrites them."""
        prepared = self.prepare(texts)
        if isinstance(prepared, SplitTexts):
            return prepared.whole
        cost = prepared.cost
        self.room.reserve(int(cost[-1]))

        def tokens(piece: tuple[int, int]) -> Tokens:
            return prepared.tokens(*piece, self.room, int(cost[piece[0]]))

        parts = each(tokens, even_pieces(cost, PIECE), self.threads)
        first, counts = (np.concatenate([part[k] for part in parts]) for k in (1, 2))
        return parts[0]._replace(first=first, counts=counts)

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
    scanning.keys_of(letters, ends, keys)
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
