"""Texts by number and hash, so that answers find their texts again after the table has changed.

Equal texts, but for case and white space, have one number: that of the first of them.
"""

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from dropglm.labelling.journal import TextReference


def first_copies(texts: Sequence[str]) -> np.ndarray:
    """Return for each text the number of the first one that is equal but for case and white space.

    Examples
    --------
    >>> first_copies(["A film", "a play", " a  FILM "])
    array([0, 1, 0])
    """
    seen: dict[str, int] = {}
    return np.array(
        [seen.setdefault(" ".join(text.casefold().split()), number) for number, text in enumerate(texts)],
        dtype=np.int64,
    )


def text_hash(text: str) -> str:
    """Return a short hash of a text.

    Examples
    --------
    >>> text_hash("a lovely film")
    '2f20b2a7c447'
    """
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


class TextNumbers:
    """The numbers of the texts of a table.

    Parameters
    ----------
    texts : sequence of str

    Attributes
    ----------
    copy_of : list of int
        For each text, the number of the first one that is equal but for case and white space.
    n_different : int
        Number of texts, where equal ones count once.
    moved : int
        Number of references that were resolved to another number than they name.
    missing : dict of str to int
        Negative numbers for texts that are not in the table, by hash.

    Examples
    --------
    >>> reference = TextNumbers(["a", "b"]).reference(0)
    >>> TextNumbers(["b", "a"]).number(reference), TextNumbers(["b", "c"]).number(reference)
    (1, -1)
    >>> TextNumbers(["A", "b", "a"]).number(reference)  # the third text is a copy of the first
    0
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        self.copy_of: list[int] = first_copies(texts).tolist()
        self.n_different = sum(first == number for number, first in enumerate(self.copy_of))
        self.missing: dict[str, int] = {}
        self._moved: set[str] = set()
        self._numbers: dict[str, int] | None = None

    @property
    def moved(self) -> int:
        """Number of texts that have another number than before."""
        return len(self._moved)

    def reference(self, number: int) -> TextReference:
        """Return the reference to a text."""
        number = self.copy_of[number]
        return TextReference(number, text_hash(self.texts[number]))

    def number(self, reference: TextReference) -> int:
        """Return the number of the text of a reference, or of the text that it is a copy of.

        The number is negative if the table does not have the text.
        """
        number, hashed = reference
        if number < len(self.texts) and text_hash(self.texts[number]) == hashed:
            return self.copy_of[number]
        if self._numbers is None:  # the table was changed: hash all its texts, 0.1 s for 50,000
            self._numbers = {}
            for other, text in enumerate(self.texts):
                self._numbers.setdefault(text_hash(text), other)
        found = self._numbers.get(hashed)
        if found is None:
            return self.missing.setdefault(hashed, -1 - len(self.missing))
        self._moved.add(hashed)
        return self.copy_of[found]
