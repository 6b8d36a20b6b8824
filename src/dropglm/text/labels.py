"""Labels of texts: checks, and positions among the classes of a model."""

from typing import Any

import numpy as np

from dropglm import checks
from dropglm.errors import InputError
from dropglm.tables import class_name
from dropglm.tables.errors import listed


def check_labels(y: Any, n: int) -> np.ndarray:
    """Return the labels of n texts as an array, or raise an error if they cannot be classes.

    Examples
    --------
    >>> check_labels(["good", "bad"], 2)
    array(['good', 'bad'], dtype='<U4')
    """
    y = np.asarray(y if hasattr(y, "__len__") or y is None else list(y))
    if y.shape != (n,):
        raise InputError(f"y has shape {y.shape}, but X has {n} texts.")
    if not n:
        raise InputError("X is empty; give at least two texts with labels.")
    missing = checks.missing(y)
    if missing is not None:
        raise InputError(
            f"Text {missing} of X (counted from 0) has no label; pass texts without labels as X_unlabeled."
        )
    if y.dtype.kind == "f" and (y != np.floor(y)).any():
        fraction = float(y[y != np.floor(y)][0])
        raise InputError(f"y has fractional numbers such as {fraction}; use strings or integers as classes.")
    return y


def class_numbers(y: Any, classes: Any) -> np.ndarray:
    """Return the position of each label among the classes of a model; -1 if it is not one of them.

    Labels of another type match by the name of their class: 1 in a Parquet file is "1" in a CSV file. True,
    true and TRUE are the same label unless they are several classes.

    Examples
    --------
    >>> class_numbers(["2", "1", "3"], [1, 2])
    array([ 1,  0, -1])
    >>> class_numbers([True, 1], [1, 2])
    array([-1,  0])
    """
    values, labels = y if isinstance(y, list) else np.asarray(y).tolist(), np.asarray(classes).tolist()
    by_name = {_match(label): k for k, label in enumerate(labels)}
    exact = {(type(label), label): k for k, label in enumerate(labels)}
    kinds = [(type(value), value) for value in values]  # since True == 1
    numbers = {kind: exact.get(kind, by_name.get(_match(kind[1]), -1)) for kind in set(kinds)}
    return np.array([numbers[kind] for kind in kinds], np.intp)


def _match(label: Any) -> str | None:
    name = class_name(label)
    return name.lower() if name and name.lower() in ("true", "false") else name


def not_a_class(y: Any, numbers: np.ndarray, classes: Any) -> InputError:
    """Return the error about the first label that is not a class; ``numbers`` are those of the labels."""
    row = int((numbers < 0).argmax())
    others = ", nor is any other label" if len(numbers) > 1 and (numbers < 0).all() else ""
    return InputError(
        f"row {row + 1} has the label {np.asarray(y).tolist()[row]!r}, which is not a class of the "
        f"model{others}; its classes are {listed(np.asarray(classes).tolist())}."
    )
