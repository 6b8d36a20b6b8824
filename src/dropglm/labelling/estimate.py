"""How accurate the model is, from texts drawn at random and predicted before they were labelled.

The model improves while texts are labelled, so early outcomes are too pessimistic. Outcome i of m gets the
weight (i/m)²: if accuracy grows by b with every e-fold of labels, the weighted mean is b/3 too low, instead
of b with equal weights, and its variance is that of 5/9 m outcomes. A window of the last half has about the
same bias and the variance of m/2 outcomes.
"""

from collections.abc import Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

POWER = 2  # of the weights of outcomes
# Fewer labels, or fewer points of the curve, say nothing about how it continues.
FEWEST_LABELS, FEWEST_POINTS = 50, 5
FARTHEST = 10.0  # a curve is not continued to more than so many times as many labels


class AccuracyEstimate(NamedTuple):
    """An estimate of accuracy with its interval.

    Attributes
    ----------
    accuracy : float
        The weighted share of correct predictions.
    low, high : float
        Bounds of the interval.
    n : int
        Number of outcomes.
    """

    accuracy: float
    low: float
    high: float
    n: int


def estimate_accuracy(correct: Sequence[bool], *, confidence: float = 0.95) -> AccuracyEstimate:
    """Estimate the accuracy of the present model for texts like those of the pool.

    It rests on texts that were drawn at random and predicted before they were labelled. Texts that the model
    has chosen are harder than others and must not be among them. For the texts that are left without a label
    the estimate is a little too low once a large part of a small pool has been labelled.

    Parameters
    ----------
    correct : sequence of bool
        For each text drawn at random, in the order of labelling, whether the model predicted its label
        before it was labelled.
    confidence : float, default=0.95
        Nominal coverage of the interval, between 0 and 1.

    Returns
    -------
    AccuracyEstimate
        The weight of an outcome grows with the square of its place, since the model was worse when the first
        ones were predicted. The interval is Wilson's [1]_, with as many outcomes as an unweighted mean of the
        same variance would have. Without outcomes, the accuracy is NaN and the interval is [0, 1].

    References
    ----------
    .. [1] E. B. Wilson (1927). Probable inference, the law of succession, and statistical inference. Journal
       of the American Statistical Association 22.

    Examples
    --------
    >>> found = estimate_accuracy([False, True, False, True, True, True, True, False, True, True])
    >>> print(f"{found.accuracy:.2f}, between {found.low:.2f} and {found.high:.2f}")
    0.81, between 0.41 and 0.96
    """
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must be between 0 and 1, got {confidence}.")
    outcomes = np.asarray(correct, np.float64)
    m = len(outcomes)
    if not m:
        return AccuracyEstimate(float("nan"), 0.0, 1.0, 0)
    weights = np.arange(1.0, m + 1.0) ** POWER
    weights /= weights.sum()
    share, n = float(weights @ outcomes), float(1.0 / (weights @ weights))
    z2 = NormalDist().inv_cdf((1.0 + confidence) / 2.0) ** 2
    middle = (share + z2 / (2.0 * n)) / (1.0 + z2 / n)
    half = np.sqrt(z2 * (share * (1.0 - share) / n + z2 / (4.0 * n * n))) / (1.0 + z2 / n)
    low, high = max(float(middle - half), 0.0), min(float(middle + half), 1.0)
    # Rounding would put a share of 1 above the upper bound, which is 1 as well.
    return AccuracyEstimate(share, min(low, share), max(high, share), m)


def labels_for_one_point(n_labels: Sequence[int], accuracy: Sequence[float]) -> int | None:
    """Estimate how many more labels raise the accuracy by one percentage point.

    The share of wrong predictions is taken to fall as a power of the number of labels, and this curve is
    fitted to the accuracies so far.

    Parameters
    ----------
    n_labels : sequence of int
        Numbers of labels so far, in increasing order.
    accuracy : sequence of float
        The accuracy that was estimated at each of them.

    Returns
    -------
    int or None
        None while it cannot be said: with fewer than five points or 50 labels, if the curve does not rise, or
        if one point more would take more than ten times as many labels.

    Examples
    --------
    >>> labels_for_one_point([25, 50, 100, 200], [0.60, 0.68, 0.74, 0.79])  # too few points
    >>> labels_for_one_point([25, 50, 100, 200, 400], [0.60, 0.68, 0.74, 0.79, 0.83])
    88
    """
    n, a = np.asarray(n_labels, np.float64), np.asarray(accuracy, np.float64)
    if n.shape != a.shape:
        raise ValueError(f"n_labels and accuracy must have the same length, got {len(n)} and {len(a)}.")
    usable = (n > 0) & np.isfinite(a)
    n, a = n[usable], a[usable]
    if len(n) < FEWEST_POINTS or n[-1] < FEWEST_LABELS:
        return None
    # log error = log b - c log n; the variance of an estimate is about inversely proportional to n.
    error = np.log(np.maximum(1.0 - a, 0.5 / n))
    c, log_b = _line(np.log(n), error, n)
    now = np.exp(log_b - c * np.log(n[-1]))
    if not (c > 0.0 and now > 0.01):
        return None
    factor = (1.0 - 0.01 / now) ** (-1.0 / c)
    return int(np.ceil(n[-1] * (factor - 1.0))) if factor <= FARTHEST else None


def _line(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """Return minus the slope and the intercept of the weighted least-squares line."""
    w = weights / weights.sum()
    x_mean, y_mean = w @ x, w @ y
    spread: Any = w @ (x - x_mean) ** 2
    slope = w @ ((x - x_mean) * (y - y_mean)) / spread if spread > 0.0 else 0.0
    return float(-slope), float(y_mean - slope * x_mean)
