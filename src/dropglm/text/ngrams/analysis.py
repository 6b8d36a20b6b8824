"""How a text becomes tokens: the settings that scikit-learn's vectorizers share, and what they build.

Built-in settings use the compiled loops of ``tokens`` and ``counting``. Functions of the user return lists of
strings, which are then counted by the same loops. Words of a list of stop words are dropped after texts are
split. Texts are checked, and read in chunks of a few megabytes.
"""

import re
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass, fields
from functools import partial
from itertools import chain
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from dropglm.base import checks
from dropglm.base.encoded_texts import EncodedTexts
from dropglm.base.errors import InputError, InputTypeError, stacklevel
from dropglm.base.progress import Progress
from dropglm.base.registry import lookup
from dropglm.text.ngrams.counting import MAX_NGRAM, drop_tokens, token_table
from dropglm.text.ngrams.fields import FieldTokenizer, check_fields
from dropglm.text.ngrams.tokens import (
    RUNS,
    WORDS_AND_PUNCTUATION,
    Characters,
    Preprocessor,
    Runs,
    TokenBuffers,
    Tokens,
    accent_function,
    clean,
    compile_pattern,
    encode_strings,
    keys_of,
)

# Characters per thread that are read before they are counted.
CHUNK_CHARACTERS = 1 << 21
MAX_BITS = 30  # of hashed n-grams
TEXTS_AT_A_TIME = 256  # texts that are checked at a time
OBJECT_CHARACTERS = 1 << 10  # assumed of a document that is not a string


@dataclass(eq=False, repr=False, kw_only=True)
class NgramSettings:
    """Features with a setting ``ngram_range``, settings of tokens, and settings of how they are computed."""

    ngram_range = (1, 2)  # a field of the derived classes, which decide on its place and its default
    lowercase: bool = True
    token_pattern: str | None = WORDS_AND_PUNCTUATION
    strip_html: bool = True
    n_jobs: int | None = None
    verbose: int = 0

    def tokenize(self, text: str) -> list[str]:
        """Split one text into tokens.

        Parameters
        ----------
        text : str
            The text.

        Returns
        -------
        list of str
            All tokens of the text in order, whether or not they are in the vocabulary.
        """
        if not isinstance(text, str):
            raise InputTypeError(f"text must be a string, got {_short_repr(text)}.")
        return self._tokenizer().words(text)

    def _check_ngrams(self) -> tuple[int, int]:
        """Check the settings of tokens and n-grams; return the smallest and the largest n."""
        n = self.ngram_range
        if not (isinstance(n, (tuple, list)) and len(n) == 2 and all(isinstance(k, Integral) for k in n)):
            raise InputTypeError(f"ngram_range must be a pair of whole numbers such as (1, 2), got {n!r}.")
        if n[0] > n[1]:
            raise InputError(
                f"Invalid value for ngram_range={n} lower boundary larger than the upper boundary."
            )
        if n[0] < 1 or n[1] > MAX_NGRAM:
            raise InputError(f"ngram_range must be a pair (a, b) with 1 <= a <= b <= {MAX_NGRAM}, got {n!r}.")
        checks.yes_or_no(self.lowercase, "lowercase")
        checks.yes_or_no(self.strip_html, "strip_html")
        return int(n[0]), int(n[1])

    def _tokenizer(self) -> "Tokenizer":
        preprocess = Preprocessor(bool(self.lowercase), bool(self.strip_html))
        return Tokenizer(self.token_pattern, preprocess)


def check_texts(X: Iterable[str], name: str = "X") -> list[str]:
    """Return the texts as a list, after checking that all of them are strings.

    Examples
    --------
    >>> check_texts(["one", None])
    Traceback (most recent call last):
    dropglm.base.errors.InputTypeError: Text 1 of X (counted from 0) is None, not a string.
    """
    if type(X) is list and set(map(type, X)) == {str}:
        return X.copy()  # the same, five times as fast
    return list(_strings(X, name))


def text_chunks(
    X: Iterable[Any],
    *,
    verbose: bool = False,
    decode: Callable[[Any], Any] | None = None,
    objects: bool = False,
    threads: int = 1,
    strings: bool = False,
) -> Iterator[list[Any]]:
    """Check the texts and yield them in lists of about ``CHUNK_CHARACTERS`` characters per thread.

    Parameters
    ----------
    X : iterable of str
    verbose : bool
        Whether to show progress on standard error.
    decode : callable or None
        If given, it is applied to each text first.
    objects : bool
        Whether to accept other objects than strings.
    threads : int
        Number of threads that share a list.
    strings : bool
        Whether ``decode`` leaves strings as they are.
    """
    with Progress("texts", len(X) if isinstance(X, Sized) else None, shown=verbose) as progress:
        chunk: list[Any] = []
        size = 0
        for part, more in _parts(X, decode, objects, strings):
            chunk += part
            size += more
            if size >= threads * CHUNK_CHARACTERS:
                yield chunk
                progress.advance(len(chunk))
                chunk, size = [], 0
        if chunk:
            yield chunk
            progress.advance(len(chunk))


def _parts(
    X: Any, decode: Callable[[Any], Any] | None, objects: bool, strings: bool
) -> Iterator[tuple[Sequence[Any], int]]:
    """Yield the texts and their characters, many texts at a time if they are in a list of strings."""
    if isinstance(X, list) and (strings or decode is None):
        for first in range(0, len(X), TEXTS_AT_A_TIME):
            part = X[first : first + TEXTS_AT_A_TIME]
            # Five times as fast as a loop over the texts.
            if set(map(type, part)) == {str}:
                yield part, sum(map(len, part))
            else:
                for text in _strings(part, "X", decode, objects, first):
                    yield [text], _characters(text)
        return
    for text in _strings(X, "X", decode, objects):
        yield [text], _characters(text)


def _characters(text: Any) -> int:
    return len(text) if isinstance(text, str) else OBJECT_CHARACTERS


def _strings(
    X: Any, name: str, decode: Callable[[Any], Any] | None = None, objects: bool = False, first: int = 0
) -> Iterator[Any]:
    """Yield the texts; raise if X is not an iterable of strings."""
    if isinstance(X, (str, bytes)):
        raise InputError(
            f"Iterable over raw text documents expected, string object received as {name}; put a single text "
            "into a list."
        )
    if not isinstance(X, Iterable):
        raise InputTypeError(f"{name} must be a list or other iterable of strings, got {_short_repr(X)}.")
    if hasattr(X, "columns"):
        raise InputTypeError(f"{name} must be a single column of strings, got a whole data frame.")
    for number, text in enumerate(X, first):
        if decode is not None:
            text = decode(text)
        if not isinstance(text, str) and not objects:
            raise InputTypeError(
                f"Text {number} of {name} (counted from 0) is {_short_repr(text)}, not a string."
            )
        yield text


def _short_repr(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"


_SPACES = re.compile(r"\s\s+")


def word_ngrams(shortest: int, longest: int, words: Sequence[str]) -> list[str]:
    """Return the n-grams of these words, joined by spaces, the shortest first.

    Examples
    --------
    >>> word_ngrams(1, 2, ["so", "very", "dull"])
    ['so', 'very', 'dull', 'so very', 'very dull']
    """
    words = list(words)
    return [
        " ".join(words[k : k + n]) for n in range(shortest, longest + 1) for k in range(len(words) - n + 1)
    ]


def character_ngrams(shortest: int, longest: int, text: str) -> list[str]:
    """Return the n-grams of characters, the shortest first; several spaces count as one.

    Examples
    --------
    >>> character_ngrams(2, 3, "a  bc")
    ['a ', ' b', 'bc', 'a b', ' bc']
    """
    text = _SPACES.sub(" ", text)
    return [
        text[k : k + n]
        for n in range(shortest, min(longest, len(text)) + 1)
        for k in range(len(text) - n + 1)
    ]


def character_ngrams_within_words(shortest: int, longest: int, text: str) -> list[str]:
    """Return the n-grams of characters that do not cross words; a word has a space on each side.

    A word that is shorter than n, with its spaces, is an n-gram by itself.

    Examples
    --------
    >>> character_ngrams_within_words(4, 5, "so dull")
    [' so ', ' dul', 'dull', 'ull ', ' dull', 'dull ']
    """
    ngrams = []
    for word in text.split():
        padded = f" {word} "
        for n in range(shortest, longest + 1):
            ngrams += [padded[k : k + n] for k in range(max(1, len(padded) - n + 1))]
            if n >= len(padded):
                break
    return ngrams


ANALYZERS: dict[str, Callable[[int, int, Any], list[str]]] = {
    "word": word_ngrams,
    "char": character_ngrams,
    "char_wb": character_ngrams_within_words,
}


def drop_words(dropped: frozenset[str], words: Iterable[str]) -> list[str]:
    """Return the words without those to be dropped."""
    return [word for word in words if word not in dropped]


@dataclass(frozen=True)
class Chain:
    """Functions that are called one after the other; unlike a closure, it can be pickled."""

    steps: tuple[Callable[[Any], Any], ...]

    def __call__(self, text: Any) -> Any:
        """Return the result of the last function."""
        for step in self.steps:
            text = step(text)
        return text


UNCHANGED = Chain(())
# Those of scikit-learn, copied so that predictions need not import it
_ENGLISH = """
a about above across after afterwards again against all almost alone along already also although always am
among amongst amoungst amount an and another any anyhow anyone anything anyway anywhere are around as at
back be became because become becomes becoming been before beforehand behind being below beside besides
between beyond bill both bottom but by call can cannot cant co con could couldnt cry de describe detail do
done down due during each eg eight either eleven else elsewhere empty enough etc even ever every everyone
everything everywhere except few fifteen fifty fill find fire first five for former formerly forty found
four from front full further get give go had has hasnt have he hence her here hereafter hereby herein
hereupon hers herself him himself his how however hundred i ie if in inc indeed interest into is it its
itself keep last latter latterly least less ltd made many may me meanwhile might mill mine more moreover
most mostly move much must my myself name namely neither never nevertheless next nine no nobody none noone
nor not nothing now nowhere of off often on once one only onto or other others otherwise our ours ourselves
out over own part per perhaps please put rather re same see seem seemed seeming seems serious several she
should show side since sincere six sixty so some somehow someone something sometime sometimes somewhere
still such system take ten than that the their them themselves then thence there thereafter thereby
therefore therein thereupon these they thick thin third this those though three through throughout thru thus
to together too top toward towards twelve twenty two un under until up upon us very via was we well were
what whatever when whence whenever where whereafter whereas whereby wherein whereupon wherever whether which
while whither who whoever whole whom whose why will with within without would yet you your yours yourself
yourselves
"""
STOP_WORDS = {"english": frozenset(_ENGLISH.split())}


class SplitTexts(NamedTuple):
    """Texts that Python has split."""

    whole: Tokens

    @property
    def cost(self) -> np.ndarray:
        """Cumulative number of tokens."""
        return np.append(0, np.cumsum(self.whole.counts))

    def tokens(self, first: int, last: int, room: TokenBuffers) -> Tokens:
        """Return the tokens of texts first to last - 1."""
        return self.whole._replace(first=self.whole.first[first:last], counts=self.whole.counts[first:last])


class ScannedTexts(NamedTuple):
    """Texts that compiled code preprocesses and splits, on any thread."""

    texts: Sequence[str]
    preprocess: Preprocessor | None  # None: they are already preprocessed
    compiled: Runs | Characters
    stop_words: tuple[np.ndarray, ...]  # their hash table and letters for ``drop_tokens``, or nothing

    @property
    def cost(self) -> np.ndarray:
        """Cumulative number of tokens, as if all characters had one byte."""
        sizes = np.fromiter(map(len, self.texts), np.int64, len(self.texts))
        return np.append(0, np.cumsum(sizes) * self.compiled.tokens_per_byte)

    def tokens(self, first: int, last: int, room: TokenBuffers) -> Tokens:
        """Return the tokens of texts first to last - 1, which are stored in the room."""
        texts = EncodedTexts.of(self.texts[first:last])
        room.reserve(texts.size, 0)
        if self.preprocess is not None:
            texts = clean(texts, self.preprocess, room.letters)
        tokens = self.compiled.split(texts, room)
        if self.stop_words:
            drop_tokens(tokens, *self.stop_words)
        return tokens


PreparedTexts = SplitTexts | ScannedTexts


class Tokenizer:
    """Preprocesses texts, splits them and drops stop words.

    Parameters
    ----------
    split : str, compiled pattern or callable
        A pattern of tokens, or a function from a preprocessed text to its tokens.
    preprocess : callable
        What is applied to a text first.
    stop_words : frozenset of str
        Tokens to drop.
    compiled : Characters or None
        What finds the same tokens as the function, in compiled code; for patterns, it is known.
    """

    def __init__(
        self,
        split: Any,
        preprocess: Callable[[Any], Any] = UNCHANGED,
        stop_words: frozenset[str] = frozenset(),
        compiled: Characters | None = None,
    ) -> None:
        self.function = split if callable(split) else compile_pattern(split).findall
        self.compiled = compiled if callable(split) else RUNS.get(split)
        self.preprocess, self.stop_words = preprocess, stop_words
        self.stop_table: tuple[np.ndarray, ...] = ()
        if stop_words and self.compiled is not None:
            strings = encode_strings(sorted(stop_words))
            self.stop_table = *token_table(*strings), *strings

    def prepare(self, texts: Sequence[Any]) -> PreparedTexts:
        """Return texts that can be split on any thread; functions of the user are called on this one."""
        preprocess = self.preprocess
        if self.compiled is None:
            return SplitTexts(tokens_of_lists([self.words(text) for text in texts]))
        if isinstance(preprocess, Preprocessor) and preprocess.is_built_in:
            return ScannedTexts(texts, preprocess, self.compiled, self.stop_table)
        return ScannedTexts([preprocess(text) for text in texts], None, self.compiled, self.stop_table)

    def split(self, texts: Sequence[Any], room: TokenBuffers | None = None) -> Tokens:
        """Return the tokens of all texts."""
        return self.prepare(texts).tokens(0, len(texts), room or TokenBuffers())

    def words(self, text: Any) -> list[str]:
        """Return the tokens of one text as strings."""
        tokens = self.function(self.preprocess(text))
        return drop_words(self.stop_words, tokens) if self.stop_words else list(tokens)


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
    keys_of(letters, ends, keys)
    start, stop = ends[:-1][numbers], ends[1:][numbers]
    return Tokens(letters, np.cumsum(counts) - counts, counts, start, stop, keys[numbers])


def stop_word_set(stop_words: Any) -> frozenset[str] | None:
    """Return the stop words: those of a built-in list, those given, or None.

    Examples
    --------
    >>> stop_word_set("englsh")
    Traceback (most recent call last):
    dropglm.base.errors.InputError: stop_words 'englsh' is unknown; did you mean 'english'? Known: 'english'.
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
            stacklevel=stacklevel(),
        )


def _read_path(document: Any) -> bytes:
    with open(document, "rb") as file:
        return file.read()


INPUTS: dict[str, Callable[[Any], Any]] = {
    "content": lambda document: document,
    "file": lambda document: document.read(),
    "filename": _read_path,
}
# The n-grams of a document depend on the other settings; not on how it is read, nor on how they are computed.
NOT_ANALYSIS = ("input", "encoding", "decode_error", "n_jobs", "verbose")


@dataclass(eq=False, repr=False, kw_only=True)
class TextAnalysis(NgramSettings):
    """Features with scikit-learn's settings for the analysis of texts.

    As in scikit-learn, a subclass may override ``build_preprocessor``, ``build_tokenizer`` or
    ``build_analyzer``.
    """

    strip_accents: str | Callable[[str], str] | None = None
    stop_words: str | Iterable[str] | None = None
    analyzer: str | Callable[[Any], Iterable[str]] = "word"
    preprocessor: Callable[[Any], str] | None = None
    tokenizer: Callable[[str], Iterable[str]] | None = None
    input: str = "content"
    encoding: str = "utf-8"
    decode_error: str = "strict"
    fields: Sequence[str] | None = None

    def decode(self, doc: Any) -> Any:
        """Return a document as text: read the file, if ``input`` says so, and decode bytes.

        Parameters
        ----------
        doc : str, bytes, file object or path
            The document.

        Returns
        -------
        str
            Its text.
        """
        if self.input != "content":
            doc = lookup(INPUTS, self.input, "input")(doc)
        return doc.decode(self.encoding, self.decode_error) if isinstance(doc, bytes) else doc

    def build_preprocessor(self) -> Callable[[Any], str]:
        """Return the function that is applied to a text before it is split.

        Returns
        -------
        callable
            From a text to a text.
        """
        if self.preprocessor is not None:
            return self.preprocessor
        return Preprocessor(bool(self.lowercase), bool(self.strip_html), accent_function(self.strip_accents))

    def build_tokenizer(self) -> Callable[[str], Iterable[str]]:
        """Return the function that splits a preprocessed text.

        Returns
        -------
        callable
            From a text to a list of tokens.
        """
        return compile_pattern(self.token_pattern).findall if self.tokenizer is None else self.tokenizer

    def build_analyzer(self) -> Callable[[Any], list[str]]:
        """Return the function that lists the n-grams of a document, whether or not they are features.

        Returns
        -------
        callable
            From a document to a list of strings.
        """
        return Chain((self.decode, *self._steps()))

    def get_stop_words(self) -> frozenset[str] | None:
        """Return the stop words.

        Returns
        -------
        frozenset of str, or None
            The words that are left out; None if there are none.
        """
        return stop_word_set(self.stop_words)

    def _steps(self) -> Sequence[Callable[[Any], Any]]:
        """Return the functions that lead from a decoded document to the list of its n-grams."""
        if callable(self.analyzer):
            return (self.analyzer,)
        steps: list[Callable[[Any], Any]] = [self.build_preprocessor()]
        if self.analyzer == "word":
            steps.append(self.build_tokenizer())
            stop_words = self.get_stop_words()
            steps += [] if stop_words is None else [partial(drop_words, stop_words)]
        return *steps, partial(lookup(ANALYZERS, self.analyzer, "analyzer"), *self.ngram_range)

    def _overrides(self, name: str) -> bool:
        return getattr(type(self), name) is not getattr(TextAnalysis, name)

    def _splits_words(self) -> bool:
        """Return whether n-grams consist of tokens; otherwise each n-gram is a single string."""
        return (
            isinstance(self.analyzer, str)
            and self.analyzer == "word"
            and not self._overrides("build_analyzer")
        )

    def _tokenizer(self) -> Any:
        """Return what splits texts or, if there are fields, rows."""
        own = self._text_tokenizer()
        return own if self.fields is None else FieldTokenizer(own, self.fields)

    def _text_tokenizer(self) -> Tokenizer:
        if self._overrides("build_analyzer"):
            return Tokenizer(self.build_analyzer())
        if callable(self.analyzer):
            return Tokenizer(self.analyzer)
        if not self._splits_words():
            shortest, longest = map(int, self.ngram_range)
            compiled = Characters(shortest, longest, self.analyzer == "char_wb")
            return Tokenizer(self._steps()[-1], self.build_preprocessor(), compiled=compiled)
        own = self.tokenizer is not None or self._overrides("build_tokenizer")
        split = self.build_tokenizer() if own else self.token_pattern
        return Tokenizer(split, self.build_preprocessor(), self.get_stop_words() or frozenset())

    def _chunks(self, X: Any, threads: int) -> Iterator[list[Any]]:
        """Yield the decoded documents in lists; functions of the user may accept other objects than texts."""
        own = (
            self.preprocessor is not None or callable(self.analyzer) or self._overrides("build_preprocessor")
        )
        decode = None if self._overrides("build_analyzer") else self.decode
        objects, strings = own or decode is None, self.input == "content" and not self._overrides("decode")
        shown = bool(self.verbose)
        return text_chunks(X, decode=decode, objects=objects, strings=strings, verbose=shown, threads=threads)

    def _settings(self) -> dict[str, Any]:
        """Return the settings on which the n-grams of a text depend; functions by their names."""
        names = [one.name for one in fields(TextAnalysis) if one.name not in NOT_ANALYSIS]
        named = {name: _value_or_name(getattr(self, name)) for name in names}
        own = {"ngram_range": tuple(self.ngram_range), "stop_words": self.get_stop_words()}
        return named | own | {"fields": None if self.fields is None else tuple(self.fields)}

    def _check_analysis(self) -> tuple[int, int]:
        """Check the settings; return the smallest and largest number of tokens of the n-grams to count."""
        words = self._splits_words()
        shortest, longest = self._check_ngrams()
        lookup(INPUTS, self.input, "input")
        accent_function(self.strip_accents)
        if not callable(self.analyzer):
            lookup(ANALYZERS, self.analyzer, "analyzer")
        check_fields(self.fields)
        for name in ("preprocessor", "tokenizer"):
            value = getattr(self, name)
            if value is not None and not callable(value):
                raise InputTypeError(f"{name} must be a function or None, got {value!r}.")
        return (shortest, longest) if words else (1, 1)

    def _warn_of_settings(self) -> None:
        """Warn of settings that have no effect, and of stop words that never occur."""
        ignored: dict[str, str] = {}
        if self.tokenizer is not None:
            ignored["token_pattern"] = "'tokenizer' is not None"
        if callable(self.analyzer):
            ignored |= dict.fromkeys(("preprocessor", "ngram_range"), "'analyzer' is callable")
        if callable(self.analyzer) or self.analyzer != "word":
            ignored |= dict.fromkeys(("stop_words", "token_pattern", "tokenizer"), "'analyzer' != 'word'")
        defaults = {"token_pattern": tuple(RUNS), "ngram_range": ((1, 1),)}
        for name, reason in ignored.items():
            value = getattr(self, name)
            if value is not None and not (name in defaults and value in defaults[name]):
                warnings.warn(
                    f"The parameter {name!r} will not be used since {reason}.", stacklevel=stacklevel()
                )
        stop_words = self.get_stop_words()
        if stop_words and self._splits_words():
            tokenize = Chain((self.build_preprocessor(), self.build_tokenizer()))
            warn_of_inconsistent(stop_words, tokenize)


def _value_or_name(setting: Any) -> Any:
    """Return a setting, or the name of a function: many cannot be pickled, or are not equal to their copy."""
    # Without the module: "__main__" has another name in other processes.
    return getattr(setting, "__qualname__", type(setting).__qualname__) if callable(setting) else setting
