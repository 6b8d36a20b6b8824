"""Embeddings of texts: from an embedder, or computed by the user; checked, and in float32.

An embedder is an object with a method ``encode``, such as a model of sentence-transformers or model2vec, or a
callable. Either takes a list of texts and returns an array with one row of numbers per text.
"""

from collections.abc import Callable, Sequence
from functools import partial
from inspect import signature
from typing import Any

import numpy as np

from dropglm.errors import InputError, InputTypeError
from dropglm.model_files import LARGEST
from dropglm.progress import Progress

BATCH = 256  # texts per call of an embedder, so that there can be a progress bar


def embed(embedder: Any, texts: Sequence[str], *, shown: bool = False) -> np.ndarray:
    """Return the embeddings of the texts; each text is passed to the embedder once.

    Parameters
    ----------
    embedder : callable or object with a method ``encode``
    texts : sequence of str
        At least one text.
    shown : bool, default=False
        Whether to show a progress bar.

    Returns
    -------
    ndarray of shape (n, k) and dtype float32

    Examples
    --------
    >>> embed(lambda texts: [[len(text), text.count(" ")] for text in texts], ["one", "two words"])
    array([[3., 0.],
           [9., 1.]], dtype=float32)
    """
    encode = encoder_of(embedder)
    found: np.ndarray | None = None
    with Progress("embeddings", len(texts), shown=shown) as progress:
        for start in range(0, len(texts), BATCH):
            batch = list(texts[start : start + BATCH])
            rows = check_embeddings(encode(batch), len(batch), of_embedder=True)
            if found is None:
                found = np.empty((len(texts), rows.shape[1]), np.float32)
            if rows.shape[1] != found.shape[1]:
                raise InputError(
                    f"The embedder returned {rows.shape[1]} numbers per text after it had returned "
                    f"{found.shape[1]}."
                )
            found[start : start + len(batch)] = rows
            progress.advance(len(batch))
    if found is None:
        raise InputError("X is empty; give at least one text.")
    return found


def encoder_of(embedder: Any) -> Callable[[list[str]], Any]:
    """Return the function from texts to embeddings, without a progress bar of its own.

    Examples
    --------
    >>> encoder_of("MiniLM-L6")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    dropglm.errors.InputTypeError: embedder must be callable or have a method encode, got ...
    """
    if isinstance(embedder, (str, bytes, type)):  # strings have a method encode, classes are callable
        shown = embedder.__name__ if isinstance(embedder, type) else repr(embedder)
        raise InputTypeError(
            f"embedder must be callable or have a method encode, got {shown}; load the model first."
        )
    # Models of sentence-transformers are also callable, but not with texts.
    encode = getattr(embedder, "encode", embedder)
    if not callable(encode):
        raise InputTypeError(
            f"embedder must be callable or have a method encode, got {type(embedder).__name__}."
        )
    try:
        has_bar = "show_progress_bar" in signature(encode).parameters
    except (TypeError, ValueError):  # a function that is not written in Python
        has_bar = False
    return partial(encode, show_progress_bar=False) if has_bar else encode


def check_embeddings(
    given: Any, n: int, *, name: str = "embeddings", rows_of: str = "X", of_embedder: bool = False
) -> np.ndarray:
    """Return embeddings as a float32 array, after checking that there are n finite rows.

    Parameters
    ----------
    given : array-like of shape (n, k)
        A NumPy array, a list, a data frame, or a tensor of PyTorch.
    n : int
        Number of texts.
    name : str
        Name of the parameter, for errors.
    rows_of : str
        Name of the texts, for errors.
    of_embedder : bool
        Whether an embedder has returned them.

    Returns
    -------
    ndarray of shape (n, k)

    Examples
    --------
    >>> check_embeddings([[0.5, 1], [2, 3]], 3)
    Traceback (most recent call last):
    dropglm.errors.InputError: embeddings has 2 rows, but X has 3 texts.
    """
    what = "What the embedder returned" if of_embedder else name
    array = as_array(given, what)
    if array.ndim != 2 or not array.shape[1]:
        raise InputError(
            f"{what} must have one row of numbers per text, but its shape is {array.shape} for {n} texts."
        )
    if len(array) != n:
        raise InputError(f"{what} has {len(array)} rows, but {rows_of} has {n} texts.")
    finite = (np.abs(array) <= LARGEST).all(axis=1)
    if not finite.all():
        raise InputError(
            f"{what} has NaN, infinite or huge numbers (beyond {LARGEST:g}), first in row "
            f"{int(np.argmin(finite))} (counted from 0)."
        )
    return array


def as_array(given: Any, what: str = "embeddings") -> np.ndarray:
    """Return a numeric array as float32; numbers that are too large become infinite."""
    if hasattr(given, "tocsr"):
        raise InputTypeError(f"{what} must be a dense array, got a sparse matrix; use its method toarray.")
    for method in ("detach", "cpu"):  # tensors of PyTorch
        given = getattr(given, method)() if hasattr(given, method) else given
    try:
        array = np.asarray(given)
        if array.dtype.kind not in "biufO":
            raise InputError(f"its dtype is {array.dtype}")
        with np.errstate(over="ignore"):
            return np.asarray(array, np.float32)
    except (TypeError, ValueError, RuntimeError) as error:
        reason = str(error).splitlines()[0].partition(". ")[0].rstrip(".")
        raise InputTypeError(f"{what} is not a numeric array: {reason}.") from None
