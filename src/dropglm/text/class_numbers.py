"""The labels of a table as positions among the classes of a model."""

from typing import Any

import numpy as np


def class_numbers(y: Any, classes: Any) -> np.ndarray:
    """Return the position of each label among the classes of a model.

    Labels of another type match by their spelling: 1 in a Parquet file is "1" in a CSV file.

    Parameters
    ----------
    y : array-like of shape (n,)
    classes : array-like of shape (K,)

    Returns
    -------
    ndarray of shape (n,), integers

    Raises
    ------
    ValueError
        If a label is not among the classes.

    Examples
    --------
    >>> class_numbers(["2", "1", "2"], [1, 2])
    array([1, 0, 1])
    """
    values, labels = np.asarray(y).tolist(), np.asarray(classes).tolist()
    exact = {label: k for k, label in enumerate(labels)}
    by_spelling = {spelling: k for k, label in enumerate(labels) for spelling in _spellings(label)}

    def number(value: Any) -> int | None:
        if value in exact:
            return exact[value]
        return next(
            (by_spelling[spelling] for spelling in _spellings(value) if spelling in by_spelling), None
        )

    numbers = [number(value) for value in values]
    if None in numbers:
        row = numbers.index(None)
        names = ", ".join(repr(label) for label in labels[:10])
        raise ValueError(
            f"row {row + 1} has the label {values[row]!r}, which is not a class of the model; its classes "
            f"are {names}{', …' if len(labels) > 10 else ''}."
        )
    return np.array(numbers, np.intp)


def _spellings(label: Any) -> tuple[str, ...]:
    """Return the ways in which a table may write the label: JSON has true where Python has True."""
    spelling = str(label)
    return (spelling, spelling.lower()) if spelling.lower() in ("true", "false") else (spelling,)
