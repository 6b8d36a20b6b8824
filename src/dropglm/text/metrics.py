"""Metrics of a text classifier: accuracy, log loss, precision and recall, confusion and calibration."""

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dropglm.text.fitted_model import AnyTextModel
from dropglm.text.labels import class_numbers, not_a_class

TABLE_BINS, ERROR_BINS = 10, 15
MOST_CONFUSED = 1000  # classes, for which the confusion has a million entries
MOST_MISTAKES = 100  # pairs of classes


@dataclass(frozen=True)
class ClassMetrics:
    """Precision, recall and F1 of one class, which are None where they are 0/0.

    Attributes
    ----------
    label : object
        The class.
    precision : float or None
        Of the texts that were predicted to be of this class, the share for which that is correct.
    recall : float or None
        Of the texts of this class, the share that was predicted correctly.
    f1 : float or None
        The harmonic mean of precision and recall.
    texts : int
        Number of texts of this class.
    """

    label: Any
    precision: float | None
    recall: float | None
    f1: float | None
    texts: int


@dataclass(frozen=True)
class Metrics:
    """Metrics of a model on texts with labels.

    A text whose label is not a class of the model counts as a wrong prediction in accuracy, precision and F1.
    It is left out of log loss, which would be infinite, of confusion and of calibration.

    Attributes
    ----------
    texts : int
        Number of texts.
    unknown_labels : int
        Number of texts whose label is not a class of the model.
    accuracy, standard_error : float
        Share of correct predictions, and its standard error.
    log_loss : float
        Mean of the negative logarithm of the probability of the true class.
    macro_f1 : float
        Mean F1 of the classes, each with the same weight; classes that were neither given nor predicted are
        left out.
    calibration_error : float
        See the function ``calibration_error``.
    by_class : list of ClassMetrics
        Precision, recall and F1 of each class, then of each label that is not a class of the model.
    classes : list
        The classes, in the order of the confusion matrix.
    confusion : list of lists, empty if there are more than 1,000 classes
        Number of texts by true class (rows) and predicted class (columns).
    frequent_mistakes : list of (true class, predicted class, number of texts)
        The 100 most frequent mistakes.
    calibration : list of dict
        One entry per tenth of the range of the predicted class's probability: its limits ("from", "to"), the
        number of texts in it ("texts"), their mean probability ("probability") and the share of correct
        predictions ("right").
    """

    texts: int
    unknown_labels: int
    accuracy: float
    standard_error: float
    log_loss: float
    macro_f1: float
    calibration_error: float
    by_class: list[ClassMetrics]
    classes: list[Any]
    confusion: list[list[int]]
    frequent_mistakes: list[tuple[Any, Any, int]]
    calibration: list[dict[str, float]]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields in plain types, for JSON."""
        return asdict(self)

    def mistakes(self, k: int) -> list[tuple[Any, Any, int]]:
        """Return the k most frequent mistakes as (true class, predicted class, number of texts)."""
        return self.frequent_mistakes[:k]

    def line(self) -> str:
        """Return the main metrics on one line."""
        return (
            f"accuracy {self.accuracy:.4f} ± {self.standard_error:.4f}, log loss {self.log_loss:.4f}, "
            f"calibration error {self.calibration_error:.4f} on {self.texts:,} texts"
            f"{f'; {self.unknown_line()}' if self.unknown_labels else ''}"
        )

    def unknown_line(self) -> str:
        """Return how many labels are not classes of the model, and how these are counted."""
        n, example = self.unknown_labels, self.by_class[len(self.classes)].label
        labels = f"{n:,} label{' is not a class' if n == 1 else 's are not classes'}"
        return (
            f"{labels} of the model, such as {example!r}: counted as wrong, left out of log loss and "
            "calibration"
        )


def compute_metrics(model: AnyTextModel, X: list[str], y: np.ndarray, embeddings: Any = None) -> Metrics:
    """Compute the metrics of a fitted model on texts with labels, and embeddings if it uses them."""
    p = model.predict_proba(X) if embeddings is None else model.predict_proba(X, embeddings)
    return metrics_from_probabilities(y, p, model.classes_)


def metrics_from_probabilities(y: Any, probabilities: Any, classes: Any) -> Metrics:
    """Compute the metrics of predicted probabilities.

    Parameters
    ----------
    y : array-like of shape (n,)
        The true labels.
    probabilities : array-like of shape (n, K)
        The predicted probabilities.
    classes : array-like of shape (K,)
        The classes, in the order of the columns.

    Returns
    -------
    Metrics

    Examples
    --------
    >>> p = [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]]
    >>> found = metrics_from_probabilities(["ham", "spam", "spam"], p, ["ham", "spam"])
    >>> print(found.line())
    accuracy 0.6667 ± 0.2722, log loss 0.4149, calibration error 0.3000 on 3 texts
    >>> found.by_class[1]
    ClassMetrics(label='spam', precision=1.0, recall=0.5, f1=0.667, texts=2)
    """
    labels = np.asarray(classes).tolist()
    truth, n = class_numbers(y, labels), len(probabilities)
    known = truth >= 0
    if not known.any():
        raise not_a_class(y, truth, labels)
    p = np.asarray(probabilities, np.float64)
    p = p / p.sum(axis=1, keepdims=True)  # to more digits than float32 has
    totals = np.bincount(p.argmax(axis=1), minlength=len(labels))
    unknown = Counter(np.asarray(y)[~known].tolist()).most_common()
    truth, p = truth[known], p[known]
    predicted = p.argmax(axis=1)
    correct = predicted == truth
    accuracy = float(correct.sum() / n)
    right = np.bincount(truth[correct], minlength=len(labels))
    by_class = _by_class(labels, np.bincount(truth, minlength=len(labels)), right, totals)
    pairs, counts = np.unique((truth * len(labels) + predicted)[~correct], return_counts=True)
    order = np.argsort(-counts, kind="stable")[:MOST_MISTAKES]
    confused = len(labels) if len(labels) <= MOST_CONFUSED else 0
    confusion = np.zeros((confused, confused), np.int64)
    if confused:
        np.add.at(confusion, (truth, predicted), 1)
    by_class += [ClassMetrics(label, None, 0.0, 0.0, count) for label, count in unknown]
    return Metrics(
        texts=n,
        unknown_labels=n - len(truth),
        accuracy=accuracy,
        standard_error=float(np.sqrt(accuracy * (1.0 - accuracy) / n)),
        log_loss=float(log_losses(p, truth).mean()),
        macro_f1=float(np.mean([one.f1 for one in by_class if one.f1 is not None])),
        calibration_error=calibration_error(truth, p, range(len(labels))),
        by_class=by_class,
        classes=labels,
        confusion=confusion.tolist(),
        frequent_mistakes=[
            (labels[pair // len(labels)], labels[pair % len(labels)], count)
            for pair, count in zip(pairs[order].tolist(), counts[order].tolist(), strict=True)
        ],
        calibration=_calibration(p.max(axis=1), correct, TABLE_BINS),
    )


def calibration_error(y: Any, probabilities: Any, classes: Any) -> float:
    """Return the expected calibration error of the predicted classes.

    The range [0, 1] of the probability of the predicted class is divided into 15 bins of equal width. The
    error is Σ_b n_b/n · |a_b - p_b| over the bins b, where n_b is the number of texts whose probability is in
    the bin, a_b is the share of them that are predicted correctly, and p_b is their mean probability.

    Parameters
    ----------
    y : array-like of shape (n,)
        The true labels. Texts whose label is not one of the classes are left out.
    probabilities : array-like of shape (n, K)
        The predicted probabilities.
    classes : array-like of shape (K,)
        The classes, in the order of the columns.

    Returns
    -------
    float

    Examples
    --------
    Two texts with probability 0.9, of which one is correct, and two with 0.6, of which both are:

    >>> p = [[0.9, 0.1], [0.9, 0.1], [0.6, 0.4], [0.6, 0.4]]
    >>> calibration_error(["a", "b", "a", "a"], p, ["a", "b"])
    0.4
    """
    truth = class_numbers(y, classes)
    p = np.asarray(probabilities, np.float64)[truth >= 0]
    correct = p.argmax(axis=1) == truth[truth >= 0]
    bins = _calibration(p.max(axis=1), correct, ERROR_BINS)
    return float(sum(bin["texts"] * abs(bin["probability"] - bin["right"]) for bin in bins) / len(p))


def log_losses(probabilities: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return the negative logarithm of the probability of each true class, clipped as scikit-learn does."""
    smallest = np.finfo(np.float64).eps
    return -np.log(np.clip(probabilities[np.arange(len(truth)), truth], smallest, 1.0 - smallest))


def _by_class(
    labels: list[Any], given: np.ndarray, right: np.ndarray, predicted: np.ndarray
) -> list[ClassMetrics]:
    def ratio(count: int, total: int) -> float | None:
        return float(count / total) if total else None

    return [
        ClassMetrics(
            label,
            ratio(right[k], predicted[k]),
            ratio(right[k], given[k]),
            ratio(2 * right[k], given[k] + predicted[k]),
            int(given[k]),
        )
        for k, label in enumerate(labels)
    ]


def _calibration(probability: np.ndarray, correct: np.ndarray, n_bins: int) -> list[dict[str, float]]:
    """Return the bins that hold at least one text."""
    bins = np.minimum((probability * n_bins).astype(int), n_bins - 1)
    return [
        {
            "from": k / n_bins,
            "to": (k + 1) / n_bins,
            "texts": int((bins == k).sum()),
            "probability": float(probability[bins == k].mean()),
            "right": float(correct[bins == k].mean()),
        }
        for k in np.unique(bins).tolist()
    ]
