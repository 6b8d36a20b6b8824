"""What all models of n-grams have in common: settings of tokens, and the checks of their texts."""

from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from numbers import Integral
from typing import Any

from dropglm.base import checks
from dropglm.base.errors import InputError, InputTypeError
from dropglm.base.progress import Progress
from dropglm.text.ngrams.counting import MAX_NGRAM
from dropglm.text.ngrams.tokens import Preprocessor, Tokenizer

# Characters per thread that are read before they are counted.
CHUNK_CHARACTERS = 1 << 21
MAX_BITS = 30  # of hashed n-grams
PART = 256  # texts that are checked at a time
OBJECT_CHARACTERS = 1 << 10  # assumed of a document that is not a string


class NgramSettings:
    """Features with settings ``ngram_range``, ``lowercase``, ``token_pattern`` and ``strip_html``."""

    ngram_range: tuple[int, int]
    lowercase: bool
    token_pattern: Any
    strip_html: bool

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

    def _tokenizer(self) -> Any:
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
        for first in range(0, len(X), PART):
            part = X[first : first + PART]
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
