"""From the coefficients of a model, which has one row for two classes, to what counts for each class."""

from collections.abc import Iterator

import numpy as np


def weights_by_class(weights: np.ndarray, multi_class: str) -> Iterator[np.ndarray]:
    """Yield one row per class.

    For two classes, the weights of the first are the negative of those of the second. In a multinomial model
    only differences between classes matter, so the rows are centred over the classes.

    Parameters
    ----------
    weights : ndarray of shape (1, m) for two classes, else (K, m)
        Coefficients, or anything that is linear in them.
    multi_class : {"multinomial", "ovr"}
        Whether there is one model for all classes, or one for each class against the rest.
    """
    if len(weights) == 1:
        yield from (-weights[0], weights[0])
    elif multi_class == "multinomial":
        centre = weights.mean(axis=0)
        yield from (row - centre for row in weights)
    else:
        yield from weights


def weights_between(weights: np.ndarray, first: int, second: int) -> np.ndarray:
    """Return the weights of class ``first`` minus those of class ``second``.

    Examples
    --------
    The single row of a model of two classes is the difference between class 1 and class 0:

    >>> weights_between(np.array([[0.5, -2.0]]), 0, 1)
    array([-0.5,  2. ])
    >>> weights_between(np.array([[0.5], [0.2], [-0.3]]), 0, 2)
    array([0.8])
    """
    if len(weights) == 1:
        return weights[0] if first == 1 else -weights[0]
    return weights[first] - weights[second]
