"""Texts as UTF-8 in one array of bytes, which compiled code reads without making strings of them."""

from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np


class EncodedTexts(Sequence[str]):
    """A sequence of texts, which become strings only when they are asked for.

    Parameters
    ----------
    letters : ndarray of uint8
        UTF-8, with at least 64 spare bytes after the last text, so that loops may read 64 bytes at a time.
    begins, ends : ndarray of shape (n,)
        Text i has the bytes from ``begins[i]`` up to ``ends[i]``.

    Examples
    --------
    >>> texts = EncodedTexts.of(["naïve", "", "text"])
    >>> len(texts), texts[0], list(texts[1:])
    (3, 'naïve', ['', 'text'])
    """

    __slots__ = ("begins", "ends", "letters")

    def __init__(self, letters: np.ndarray, begins: np.ndarray, ends: np.ndarray) -> None:
        self.letters = letters
        self.begins = begins
        self.ends = ends

    @classmethod
    def of(cls, texts: Sequence[str]) -> "EncodedTexts":
        """Return these texts, encoded; half of a surrogate pair is encoded as if it were a character."""
        if isinstance(texts, EncodedTexts):
            return texts
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        cuts = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=cuts[1:])
        encoded.append(bytes(SPARE))
        # Not read-only bytes, for which loops would be compiled a second time.
        return cls(np.frombuffer(bytearray().join(encoded), np.uint8), cuts[:-1], cuts[1:])

    @property
    def lengths(self) -> np.ndarray:
        """The number of bytes of each text."""
        return self.ends - self.begins

    @property
    def largest_byte(self) -> int:
        """The largest byte of the texts and of what is between them.

        All characters are ASCII if it is below 0x80, and below U+10000 if it is below 0xF0.

        Examples
        --------
        >>> [hex(EncodedTexts.of([text]).largest_byte) for text in ("dull", "naïve", "😀")]
        ['0x75', '0xc3', '0xf0']
        """
        if not len(self.begins):
            return 0
        return int(self.letters[int(self.begins.min()) : int(self.ends.max())].max(initial=0))

    @property
    def size(self) -> int:
        """Number of bytes of all texts."""
        return int((self.ends - self.begins).sum())

    def __len__(self) -> int:
        return len(self.begins)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice | np.ndarray) -> "EncodedTexts": ...
    def __getitem__(self, index: int | slice | np.ndarray) -> "str | EncodedTexts":
        if isinstance(index, (slice, np.ndarray)):
            return EncodedTexts(self.letters, self.begins[index], self.ends[index])
        return str(bytes(self.letters[self.begins[index] : self.ends[index]]), "utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        whole = bytes(self.letters)
        for begin, end in zip(self.begins.tolist(), self.ends.tolist(), strict=True):
            yield str(whole[begin:end], "utf-8", "surrogatepass")


SPARE = 64  # bytes
