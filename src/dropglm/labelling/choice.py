"""Which texts to label next: those the model is unsure of, unlike the labelled ones and unlike each other."""

from collections.abc import Collection
from typing import Any

import numpy as np


def choose_texts(
    probabilities: Any, latent: Any, labeled: Collection[int], *, size: int = 1, excluded: Any = None
) -> np.ndarray:
    """Choose the texts to label next: uncertain, unlike those already labelled and unlike each other.

    Parameters
    ----------
    probabilities : array-like of shape (n, K)
        Predicted probabilities of all texts, such as ``PoolModel.probabilities``. With fewer than two
        classes, the texts are spread over the latent space.
    latent : array-like of shape (n, k)
        Latent features of all texts, with rows of length 1, such as ``TextPool.latent``.
    labeled : collection of int
        Numbers of the texts that have labels.
    size : int, default=1
        How many texts to choose.
    excluded : array-like of bool of shape (n,), default=None
        Texts that must not be chosen, such as copies. Labelled texts never are.

    Returns
    -------
    ndarray of int
        Numbers of the chosen texts, the most useful first; fewer than ``size`` if no more are left.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.array([[0.5, 0.5], [0.55, 0.45], [0.9, 0.1], [0.45, 0.55]])
    >>> latent = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    >>> choose_texts(p, latent, {0}, size=1)
    array([3])
    """
    p, rows = np.asarray(probabilities, np.float64), np.asarray(latent)
    free = np.ones(len(rows), np.bool_)
    free[np.fromiter(labeled, np.int64, len(labeled))] = False
    if excluded is not None:
        free &= ~np.asarray(excluded, np.bool_)
    candidates = np.flatnonzero(free)
    if p.shape[1] > 1:
        top = np.partition(p[candidates], -2, axis=1)
        uncertainty = 1.0 - (top[:, -1] - top[:, -2])
    else:
        uncertainty = np.ones(len(candidates))
    known = rows[np.fromiter(labeled, np.int64, len(labeled))]
    near = (rows[candidates] @ known.T).max(axis=1, initial=0.0)
    chosen: list[int] = []
    for _ in range(min(size, len(candidates))):
        best = int(np.argmax(uncertainty * (1.0 - np.maximum(near, 0.0)) + 1e-9 * uncertainty))
        chosen.append(int(candidates[best]))
        near = np.maximum(near, rows[candidates] @ rows[chosen[-1]])
        uncertainty[best] = -1.0
    return np.array(chosen, np.int64)
