"""Scores of held-out rows: scikit-learn's scorers, and a log loss that misses no class.

``sklearn.metrics`` takes 0.3 s to import, so it is imported for other scores than log loss and accuracy only.
"""

from collections.abc import Callable, Iterable
from inspect import signature
from typing import Any

import numpy as np

from dropglm.base.errors import InputTypeError
from dropglm.base.registry import lookup
from dropglm.core.maths.vectors import dot
from dropglm.places.rows import class_numbers
from dropglm.search.blend import Targets

# Returns the score of every row, given predictors whose softmax are the probabilities, of shape (n, K), or
# (n, 1) for two classes, or those of several labels; and the labels.
RowScorer = Callable[[np.ndarray, Targets], np.ndarray]


def _log_probabilities(eta: np.ndarray, targets: Targets) -> np.ndarray:
    return -targets.losses(eta)


def _hits(eta: np.ndarray, targets: Targets) -> np.ndarray:
    return targets.hits(eta)


# Scores that are means over rows. They are defined also if a fold has no row of some class.
ROW_SCORERS: dict[str | None, RowScorer] = {
    "neg_log_loss": _log_probabilities,
    "accuracy": _hits,
    None: _hits,
}


def neg_log_loss(model: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Return the mean of log p over the rows, where p is the probability of a row's class.

    Unlike that of scikit-learn, it does not need a row of every class. Of several labels, it is their mean.
    """
    if model._multilabel:
        losses = Targets(np.asarray(y), multilabel=True).losses(model.decision_function(X))
        return -float(np.average(losses, weights=sample_weight))
    log_p = model.predict_log_proba(X)
    y = class_numbers(np.asarray(y), model.classes_)
    return float(np.average(log_p[np.arange(len(y)), y], weights=sample_weight))


def accuracy(model: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Return the share of rows that are predicted correctly, as scikit-learn's scorer does."""
    right = model.predict(X) == np.asarray(y)
    return float(np.average(right.all(axis=1) if right.ndim == 2 else right, weights=sample_weight))


def standard_error(scores: Iterable[float], independent: int | None = None) -> float | None:
    """Return the standard error of the mean score, or None for fewer than two scores.

    It is the standard deviation, with n - 1 in the denominator, divided by √n.

    Parameters
    ----------
    scores : iterable of float
        Scores of rows, folds or runs.
    independent : int or None
        How many of them are independent; None means all.

    Examples
    --------
    >>> standard_error([0.5, 0.75]), standard_error([0.5])
    (0.125, None)
    """
    found = scores if isinstance(scores, np.ndarray) else list(scores)
    n = len(found)
    return float(np.std(found, ddof=1) / np.sqrt(independent or n)) if n > 1 else None


def wilson_interval(hits: float, n: int, z: float = 1.96) -> tuple[float, float]:
    """Return Wilson's interval of a share, by default with 95 % confidence.

    Examples
    --------
    >>> [round(bound, 3) for bound in wilson_interval(8, 10)]
    [0.49, 0.943]
    """
    p, correction = hits / n, 1.0 + z * z / n
    centre, half = p + z * z / (2 * n), z * np.sqrt(p * (1.0 - p) / n + z * z / (4 * n * n))
    # Rounding errors would leave [0, 1] where all are right, or none.
    return max(0.0, float((centre - half) / correction)), min(1.0, float((centre + half) / correction))


def standard_error_of_rows(scores: np.ndarray, shares: np.ndarray, independent: float | None = None) -> float:
    """Return the standard error of the mean score of rows with these shares, which add up to 1.

    Unlike ``standard_error``, it is that of the rows at hand: equal shares 1/n give √(Σ (x_i - x̄)²) / n.

    Parameters
    ----------
    scores, shares : ndarray of shape (n,)
        The scores x_i and the shares w_i.
    independent : float or None
        None if all rows are independent: √(Σ (w_i (x_i - x̄))²). Otherwise how many of them are, as of rows
        that were held out several times and count once: √(Σ w_i (x_i - x̄)² / independent).

    Examples
    --------
    >>> round(standard_error_of_rows(np.array([1.0, -1.0] * 50), np.full(100, 0.01)), 6)
    0.1
    """
    # Not by BLAS, whose threads made each product of 25,000 rows take 0.4 ms between fits.
    away = scores - dot(shares, scores)
    variance = np.sum((shares * away) ** 2) if independent is None else dot(shares, away**2) / independent
    return float(np.sqrt(variance))


# Our own scorers; "accuracy" and None mean the same.
SCORERS = {"neg_log_loss": neg_log_loss, "accuracy": accuracy}


def scorer_from(scoring: Any, estimator: Any) -> Any:
    """Return the scorer of that name, or the callable itself; None means accuracy."""
    if isinstance(scoring, (list, tuple, set, dict)):
        raise InputTypeError(f"scoring must be a single scorer, got {scoring!r}.")
    check_scorer_name(scoring)
    if scoring is None:
        return accuracy
    if isinstance(scoring, str) and scoring in SCORERS:
        return SCORERS[scoring]
    from sklearn.metrics import check_scoring

    return check_scoring(estimator, scoring=scoring)


def row_scorer_of(scoring: Any) -> RowScorer | None:
    """Return what scores each row, or None if the score is not known to be a mean over rows."""
    return ROW_SCORERS.get(scoring) if isinstance(scoring, str | None) else None


def takes_weights(scorer: Any) -> bool:
    """Return whether a scorer can weight the rows."""
    score = getattr(scorer, "_score_func", scorer if scorer in SCORERS.values() else None)
    return score is not None and "sample_weight" in signature(score).parameters


def classification_scorers() -> list[str]:
    """Return the names of scikit-learn's scorers for classifiers with one label per row."""
    from sklearn.metrics import get_scorer, get_scorer_names

    modules = {name: get_scorer(name)._score_func.__module__ for name in get_scorer_names()}
    return [
        name
        for name, module in modules.items()
        if module.endswith(("_classification", "_ranking")) and not name.endswith("_samples")
    ]


def check_scorer_name(scoring: Any) -> None:
    """Refuse a name that scikit-learn does not have, and suggest the nearest scorer for classification."""
    if not isinstance(scoring, str) or scoring in SCORERS:
        return
    from sklearn.metrics import get_scorer_names

    if scoring not in get_scorer_names():
        lookup(dict.fromkeys(classification_scorers()), scoring, "scoring")
