"""Features given by the user instead of learnt from the texts."""

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from dropglm.errors import InputError, InputTypeError


def column_names(vocabulary: Any) -> list[str]:
    """Return the n-gram of each column of a given vocabulary.

    Parameters
    ----------
    vocabulary : mapping of str to int, or iterable of str
        The column of each n-gram, or the n-grams in the order of their columns; those of a set are sorted.

    Examples
    --------
    >>> column_names({"dull": 1, "film": 0})
    ['film', 'dull']
    >>> column_names(["dull", "film", "dull"])
    Traceback (most recent call last):
    dropglm.errors.InputError: Duplicate term in vocabulary: 'dull'.
    """
    if isinstance(vocabulary, str) or not isinstance(vocabulary, Iterable):
        raise InputTypeError(f"vocabulary must be a mapping or an iterable of strings, got {vocabulary!r}.")
    names = sorted(vocabulary) if isinstance(vocabulary, (set, frozenset)) else list(vocabulary)
    if not names:
        raise InputError("An empty vocabulary was passed as the parameter vocabulary.")
    if isinstance(vocabulary, Mapping):
        columns = {int(column): name for name, column in vocabulary.items()}
        if len(columns) < len(names):
            raise InputError("Vocabulary contains repeated indices.")
        missing = next((j for j in range(len(names)) if j not in columns), None)
        if missing is not None:
            raise InputError(f"Vocabulary of size {len(names)} doesn't contain index {missing}.")
        names = [columns[j] for j in range(len(names))]
    seen: set[str] = set()
    for name in names:
        if not isinstance(name, str):
            raise InputTypeError(f"vocabulary must contain strings, got {name!r}.")
        if name in seen:
            raise InputError(f"Duplicate term in vocabulary: {name!r}.")
        seen.add(name)
    return names


def warn_of_upper_case(names: list[str]) -> None:
    """Warn of n-grams that are never found in texts converted to lower case."""
    if any(any(map(str.isupper, name)) for name in names):
        warnings.warn(
            "Upper case characters found in vocabulary while 'lowercase' is True. These entries will not be "
            "matched with any documents.",
            stacklevel=4,
        )
