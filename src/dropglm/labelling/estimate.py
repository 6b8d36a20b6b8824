"""How accurate the model is, from texts drawn at random and predicted before they were labelled.

The model improves while texts are labelled, so early outcomes are too pessimistic. Outcome i of m gets the
weight (i/m)²: if accuracy grows by b with every e-fold of labels, the weighted mean is b/3 too low, instead
of b with equal weights, and its variance is that of 5/9 m outcomes. A window of the last half has about the
same bias and the variance of m/2 outcomes.
"""

from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from dropglm.base.errors import InputError

POWER = 2  # of the weights of outcomes
FEWEST_FOR_CURVE = 20  # fewer say nothing about how the curve continues
LEVEL = 0.05  # at which the curve must be found to rise, one-sided
# Mean and standard deviation of the exponent of learning curves: with 100 to 300 labels, it was 0.11 to 0.48
# on six data sets (dropglm reproduce labelling). Without this prior, slopes that are just significant are
# mostly too large, and the number of labels was 0.4 of the true one in the median.
EXPONENT, SPREAD = 0.3, 0.15
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

    See Also
    --------
    estimate_accuracy : Returns an estimate.

    Examples
    --------
    >>> from dropglm.labelling import estimate_accuracy
    >>> estimate_accuracy([True, False, True, True]).n
    4
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

    See Also
    --------
    labels_for_one_point : How many more labels raise the accuracy.

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
        raise InputError(f"confidence must be between 0 and 1, got {confidence}.")
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


def labels_for_one_point(n_labels: Sequence[int], correct: Sequence[bool]) -> int | None:
    """Estimate how many more labels raise the accuracy by one percentage point.

    The odds of a wrong prediction are taken to fall as a power of the number of labels. The exponent is
    estimated from the outcomes and from what is usual for learning curves (a normal prior with mean 0.3 and
    standard deviation 0.15).

    Parameters
    ----------
    n_labels : sequence of int
        For each text drawn at random, in the order of labelling, the number of labels when it was labelled.
    correct : sequence of bool
        Whether the model predicted its label before, as in ``estimate_accuracy``.

    Returns
    -------
    int or None
        None while the outcomes do not support a number: if there are fewer than 20, if their trend test [1]_
        does not find at a level of 5 per cent that the accuracy rises, or if one point more would take more
        than ten times as many labels.

    See Also
    --------
    estimate_accuracy : The accuracy so far.

    Notes
    -----
    With outcomes drawn by the accuracies of the 60 sessions of ``dropglm reproduce labelling``, one label in
    five at random, a number is returned in 19, 24 and 28 per cent of the cases at 120, 200 and 300 labels;
    94, 90 and 96 per cent of these numbers are between a third and three times the true one.

    References
    ----------
    .. [1] P. Armitage (1955). Tests for linear trends in proportions and frequencies. Biometrics 11.

    Examples
    --------
    >>> n_labels = range(5, 205, 5)
    >>> labels_for_one_point(n_labels, [True, False] * 20)  # no better than at first
    >>> labels_for_one_point(n_labels, [True, False] * 10 + [True] * 20)
    40
    """
    n, wrong = np.asarray(n_labels, np.float64), 1.0 - np.asarray(correct, np.float64)
    if n.shape != wrong.shape:
        raise InputError(f"n_labels and correct must have the same length, got {len(n)} and {len(wrong)}.")
    if len(n) < FEWEST_FOR_CURVE or _trend(np.log(n), wrong) > NormalDist().inv_cdf(LEVEL):
        return None
    log_odds, exponent = _odds_law(np.log(n / n[-1]), wrong)
    goal = 1.0 / (1.0 + np.exp(-log_odds)) - 0.01
    if goal <= 0.0 or exponent <= 0.0:
        return None
    log_factor = (log_odds - np.log(goal / (1.0 - goal))) / exponent
    return int(np.ceil(n[-1] * np.expm1(log_factor))) if log_factor <= np.log(FARTHEST) else None


def _trend(x: np.ndarray, wrong: np.ndarray) -> float:
    """Return the slope of wrong predictions over x, divided by its standard error if there were no trend."""
    share, x = wrong.mean(), x - x.mean()
    variance = share * (1.0 - share) * (x @ x)
    return float(x @ wrong / np.sqrt(variance)) if variance > 0.0 else 0.0


def _odds_law(x: np.ndarray, wrong: np.ndarray) -> tuple[float, float]:
    """Return a and c of the logistic model with log odds a - c x, with the prior of c."""
    Z = np.column_stack([np.ones_like(x), -x])
    prior, precision = np.array([0.0, EXPONENT]), np.diag([0.0, SPREAD**-2])
    found = prior.copy()
    for _ in range(50):
        p = 1.0 / (1.0 + np.exp(-Z @ found))
        gradient = Z.T @ (wrong - p) - precision @ (found - prior)
        step = np.linalg.solve((Z.T * (p * (1.0 - p))) @ Z + precision, gradient)
        found += step / max(1.0, np.abs(step).max())  # a full step could be too long
        if np.abs(step).max() < 1e-9:
            break
    return float(found[0]), float(found[1])
