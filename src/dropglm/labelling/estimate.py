"""How accurate the model is, from texts drawn at random and predicted before they were labelled."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import special


class AccuracyEstimate(NamedTuple):
    """An estimate of accuracy with its interval.

    Attributes
    ----------
    accuracy : float
    low, high : float
        Bounds of the interval.
    n : int
        Number of outcomes that the estimate rests on.
    """

    accuracy: float
    low: float
    high: float
    n: int


def estimate_accuracy(correct: Sequence[bool], *, confidence: float = 0.95) -> AccuracyEstimate:
    """Estimate the accuracy of the present model from the texts that were drawn at random.

    Parameters
    ----------
    correct : sequence of bool
        For each text drawn at random, in the order of labelling, whether the model predicted its label
        before it was labelled.
    confidence : float, default=0.95
        Nominal coverage of the interval.

    Returns
    -------
    AccuracyEstimate
        Without outcomes, the accuracy is NaN and the interval is [0, 1].

    Examples
    --------
    >>> estimate_accuracy([True] * 8 + [False] * 2)
    AccuracyEstimate(accuracy=0.8, low=0.490162471536642, high=0.943317848545625, n=10)
    """
    outcomes = np.asarray(correct, np.float64)
    n = len(outcomes)
    if not n:
        return AccuracyEstimate(float("nan"), 0.0, 1.0, 0)
    share, z = outcomes.mean(), special.ndtri((1.0 + confidence) / 2.0)
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return AccuracyEstimate(float(share), float(middle - half), float(middle + half), n)


def labels_for_one_point(n_labels: Sequence[int], accuracy: Sequence[float]) -> int | None:
    """Estimate how many more labels raise accuracy by one percentage point.

    Parameters
    ----------
    n_labels : sequence of int
        Numbers of labels so far, increasing.
    accuracy : sequence of float
        The accuracy estimated at each of them.

    Returns
    -------
    int or None
        None while it cannot be said: with fewer than five points or 50 labels, or if accuracy does not grow.

    Examples
    --------
    >>> labels_for_one_point([20, 40, 80, 160, 320], [0.6, 0.65, 0.7, 0.75, 0.8])
    48
    """
    n, a = np.asarray(n_labels, np.float64), np.asarray(accuracy, np.float64)
    if len(n) < 5 or n[-1] < 50:
        return None
    # accuracy = a + b log n
    slope = np.polyfit(np.log(n), a, 1)[0]
    if not slope > 0.0 or 0.01 / slope > 5.0:
        return None
    return int(np.ceil(n[-1] * np.expm1(0.01 / slope)))
