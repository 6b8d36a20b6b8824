"""Which texts to label next: those the model is unsure of, unlike the labelled ones and unlike each other.

With the margin m_i between the two largest probabilities of text i, and its largest similarity s_i to a text
that is labelled or already chosen, the next text is the one with the largest

    (1 - m_i) (1 - s_i).

Before the model has two labels per class, its margins say little. Then the texts are those that represent the
pool best: each adds most to Σ_j max_i s_ij, the similarity of every text to its nearest chosen or labelled
one (facility location). Texts far from all others, which farthest-first traversal would choose, add little.
"""

from collections.abc import Collection
from typing import Any

import numpy as np

from dropglm.base.errors import InputError

# Of the texts without labels, so many of the least certain ones are compared with the labelled ones.
UNCERTAIN = 1000
# The pool is represented by so many texts, evenly spaced, and as many are candidates.
REPRESENTATIVES = 1000
LABELS_PER_CLASS = 2  # until there are as many on average, texts are spread over the pool


def choose_texts(
    probabilities: Any, latent: Any, labeled: Collection[int], *, size: int = 1, excluded: Any = None
) -> np.ndarray:
    """Choose the texts to label next: uncertain, unlike those already labelled and unlike each other.

    Until there are two labels per class, the texts that represent the others best are chosen instead.

    Parameters
    ----------
    probabilities : array-like of shape (n, K)
        Predicted probabilities of all texts, such as ``PoolModel.probabilities``. With fewer than two
        classes, no text is more uncertain than another.
    latent : array-like of shape (n, k)
        Latent features of all texts, with rows of length 1, such as ``TextPool.latent``. A row of zeros is a
        text without known words; it is chosen last.
    labeled : collection of int
        Numbers of the texts that have labels.
    size : int, default=1
        How many texts to choose. After about ten, the model should be fitted again.
    excluded : array-like of bool of shape (n,), default=None
        Texts that must not be chosen, such as copies of others. Labelled texts never are.

    Returns
    -------
    ndarray of int
        Numbers of the chosen texts, the most useful first; fewer than ``size`` if no more are left. The same
        arguments give the same texts.

    See Also
    --------
    TextPool : Texts with latent features.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.array([[0.5, 0.5], [0.55, 0.45], [0.9, 0.1], [0.45, 0.55], [0.8, 0.2], [0.1, 0.9]])
    >>> latent = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.6, 0.8], [0.8, 0.6]])
    >>> choose_texts(p, latent, {0, 1, 4, 5}, size=1)  # the third is like labelled ones, but more certain
    array([3])
    """
    p, rows = np.asarray(probabilities, np.float64), np.asarray(latent)
    if p.ndim != 2 or rows.ndim != 2 or len(p) != len(rows):
        raise InputError(
            f"probabilities and latent must have one row per text, got the shapes {p.shape} and {rows.shape}."
        )
    known = np.fromiter(labeled, np.int64, len(labeled))
    free = np.ones(len(rows), np.bool_)
    free[known] = False
    if excluded is not None:
        free &= ~np.asarray(excluded, np.bool_)
    candidates = np.flatnonzero(free)
    has_words = rows[candidates].any(axis=1)
    candidates, wordless = candidates[has_words], candidates[~has_words]
    K = p.shape[1]
    spread = K < 2 or len(known) < LABELS_PER_CLASS * K
    if spread:
        chosen = _representative(rows, candidates, known, size)
    else:
        chosen = _uncertain(p, rows, candidates, known, size)
    return np.concatenate([chosen, wordless])[:size]


def _uncertain(
    p: np.ndarray, rows: np.ndarray, candidates: np.ndarray, known: np.ndarray, size: int
) -> np.ndarray:
    """Return the candidates with the largest (1 - margin) (1 - similarity), one after the other."""
    largest = np.partition(p[candidates], -2, axis=1)[:, -2:]
    uncertainty = 1.0 - (largest[:, 1] - largest[:, 0])
    few = np.argsort(-uncertainty, kind="stable")[: max(UNCERTAIN, size)]
    candidates, uncertainty = candidates[few], uncertainty[few]
    near = (rows[candidates] @ rows[known].T).max(axis=1, initial=0.0)
    chosen: list[int] = []
    left = np.ones(len(candidates), np.bool_)
    while left.any() and len(chosen) < size:
        # The smallest positive novelty lets uncertainty decide among copies of labelled texts.
        score = np.where(left, uncertainty * np.maximum(1.0 - near, 1e-6), -1.0)
        best = int(score.argmax())
        chosen.append(int(candidates[best]))
        left[best] = False
        near = np.maximum(near, rows[candidates] @ rows[candidates[best]])
    return np.array(chosen, np.int64)


def _representative(rows: np.ndarray, candidates: np.ndarray, known: np.ndarray, size: int) -> np.ndarray:
    """Return the candidates that add most to the similarity of all texts to the nearest chosen one."""
    everyone = rows[_evenly(np.flatnonzero(rows.any(axis=1)), REPRESENTATIVES)]
    few = _evenly(candidates, max(REPRESENTATIVES, size))
    similar = np.maximum(everyone @ rows[few].T, 0.0)
    nearest = (everyone @ rows[known].T).max(axis=1, initial=0.0)
    chosen: list[int] = []
    left = np.ones(len(few), np.bool_)
    while left.any() and len(chosen) < size:
        gain = np.where(left, np.maximum(similar - nearest[:, None], 0.0).sum(axis=0), -1.0)
        best = int(gain.argmax())
        chosen.append(int(few[best]))
        left[best] = False
        nearest = np.maximum(nearest, similar[:, best])
    return np.array(chosen, np.int64)


def _evenly(numbers: np.ndarray, count: int) -> np.ndarray:
    """Return at most so many of the numbers, evenly spaced."""
    if len(numbers) <= count:
        return numbers
    return numbers[np.arange(count) * len(numbers) // count]
