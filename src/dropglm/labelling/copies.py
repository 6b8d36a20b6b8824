"""Texts that equal others but for case and white space: one answer is enough for all of them."""

from collections.abc import Sequence

import numpy as np


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
