"""Texts in chunks of a few megabytes, checked."""

from collections.abc import Iterable, Iterator, Sized
from typing import Any

from dropglm.progress import Progress

# Characters to a chunk. Memory beside vocabulary and matrix is some 40 bytes a character of it; with half and
# with twice as much the bigrams of IMDB took the same time.
CHUNK = 1 << 21


def chunks(texts: Iterable[str], *, shown: bool = False) -> Iterator[list[str]]:
    """Lists of texts, each of about ``CHUNK`` characters; with a progress bar if it is to be shown.

    Examples
    --------
    >>> list(chunks(["one", None]))
    Traceback (most recent call last):
    TypeError: Text 1 (counted from 0) is None, not a string.
    """
    _refuse_no_texts(texts, "texts")
    total = len(texts) if isinstance(texts, Sized) else 0
    with Progress("texts", total, shown=shown and total > 0) as progress:
        chunk: list[str] = []
        size = 0
        for number, text in enumerate(texts):
            if not isinstance(text, str):
                raise TypeError(f"Text {number} (counted from 0) is {_shown(text)}, not a string.")
            chunk.append(text)
            size += len(text)
            if size >= CHUNK:
                yield chunk
                progress.advance(len(chunk))
                chunk, size = [], 0
        if chunk:
            yield chunk
            progress.advance(len(chunk))


def listed(texts: Iterable[str], name: str = "texts") -> list[str]:
    """The texts in a list, all of them strings."""
    _refuse_no_texts(texts, name)
    strings = list(texts)
    for number, text in enumerate(strings):
        if not isinstance(text, str):
            raise TypeError(f"Text {number} of {name} (counted from 0) is {_shown(text)}, not a string.")
    return strings


def _refuse_no_texts(texts: Any, name: str) -> None:
    if isinstance(texts, (str, bytes)) or not isinstance(texts, Iterable):
        raise TypeError(f"{name} must be a list or another iterable of strings, got {_shown(texts)}.")
    if hasattr(texts, "columns"):
        raise TypeError(f"{name} must be one column of strings, got a whole data frame.")


def _shown(given: Any) -> str:
    shown = repr(given)
    return shown if len(shown) <= 40 else f"{shown[:40]}…"
