"""Checks of the labels of training texts."""

from typing import Any

import numpy as np

from dropglm import checks


def check_labels(y: Any, n: int) -> np.ndarray:
    """Return the labels of n texts as an array, or raise an error if they cannot be classes.

    Examples
    --------
    >>> check_labels(["good", "bad"], 2)
    array(['good', 'bad'], dtype='<U4')
    """
    y = np.asarray(y if hasattr(y, "__len__") or y is None else list(y))
    if y.shape != (n,):
        raise ValueError(f"y has shape {y.shape}, but X has {n} texts.")
    if not n:
        raise ValueError("X is empty; give at least two texts with labels.")
    missing = checks.missing(y)
    if missing is not None:
        raise ValueError(
            f"Text {missing} of X (counted from 0) has no label; pass texts without labels as X_unlabeled."
        )
    if y.dtype.kind == "f" and (y != np.floor(y)).any():
        fraction = float(y[y != np.floor(y)][0])
        raise ValueError(f"y has fractional numbers such as {fraction}; use strings or integers as classes.")
    return y
