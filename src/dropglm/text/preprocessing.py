"""What happens to a text before it is split: lower case, HTML tags, accents."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from unicodedata import combining, normalize

from dropglm.registry import lookup

# A "<" before a letter or a slash, up to the next ">", unless another "<" comes first
HTML_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")

_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")


@lru_cache(maxsize=1 << 14)
def _strip_part(part: str) -> str:
    return "".join(character for character in normalize("NFKD", part) if not combining(character))


def strip_unicode(text: str) -> str:
    """Return the text without accents; the same as scikit-learn's ``strip_accents_unicode``.

    ASCII characters neither have accents nor combine with their neighbours, so only the parts between them
    are converted: 0.06 s instead of 0.2 s for IMDB's training reviews.

    Examples
    --------
    >>> strip_unicode("Là-bas, déjà vu")
    'La-bas, deja vu'
    """
    return text if text.isascii() else _NOT_ASCII.sub(lambda match: _strip_part(match[0]), text)


def strip_ascii(text: str) -> str:
    """Return the text without accents and without characters that are not ASCII, as scikit-learn does.

    Examples
    --------
    >>> strip_ascii("déjà vu ☺")
    'deja vu '
    """
    return normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")


ACCENTS: dict[str, Callable[[str], str]] = {"ascii": strip_ascii, "unicode": strip_unicode}


@dataclass(frozen=True)
class Preprocessor:
    """Converts texts to lower case, replaces HTML tags by spaces and removes accents, in this order.

    Examples
    --------
    >>> Preprocessor(lowercase=True, strip_html=True, strip_accents=ACCENTS["unicode"])("Très<br />Bon")
    'tres bon'
    """

    lowercase: bool = True
    strip_html: bool = True
    strip_accents: Callable[[str], str] | None = None

    @property
    def is_built_in(self) -> bool:
        """Whether no function of the user is called."""
        return self.strip_accents is None or self.strip_accents in ACCENTS.values()

    def __call__(self, text: str) -> str:
        """Return the preprocessed text."""
        if self.lowercase:
            text = text.lower()
        if self.strip_html and "<" in text:
            text = HTML_TAG.sub(" ", text)
        return text if self.strip_accents is None else self.strip_accents(text)


def accent_function(strip_accents: Any) -> Callable[[str], str] | None:
    """Return the function that removes accents: one of the user, one of these names, or none."""
    if strip_accents is None or callable(strip_accents):
        return strip_accents
    return lookup(ACCENTS, strip_accents, "strip_accents")
