"""Predictions of a text classifier compared with labels.

Metrics: accuracy, log loss, precision and recall, confusion and calibration. Texts whose prediction disagrees
with their label: mistakes of a model, or of whoever labelled them.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from dropglm.base import checks
from dropglm.base.errors import InputError
from dropglm.places.labels import as_rows, has_several
from dropglm.text.fitted_model import AnyTextModel
from dropglm.text.labels import find_class_numbers, not_a_class

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


class AnyMetrics:
    """What the metrics of one and of several labels per text have in common."""

    unknown_labels: int
    by_class: list[ClassMetrics]
    classes: list[Any]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields in plain types, for JSON."""
        return asdict(self)  # type: ignore[call-overload]

    def unknown_line(self) -> str:
        """Return how many labels are not classes of the model, and how these are counted."""
        n, example = self.unknown_labels, self.by_class[len(self.classes)].label
        labels = f"{n:,} label{' is not a class' if n == 1 else 's are not classes'}"
        return (
            f"{labels} of the model, such as {example!r}: counted as wrong, left out of log loss and "
            "calibration"
        )


@dataclass(frozen=True)
class Metrics(AnyMetrics):
    """Metrics of a model on texts with labels.

    With weights, every count is a sum of weights, and every mean a weighted one, except the numbers of texts.
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
        Number of texts, or sum of their weights, by true class (rows) and predicted class (columns).
    frequent_mistakes : list of (true class, predicted class, number of texts or sum of weights)
        The 100 most frequent mistakes.
    calibration : list of dict
        One entry per tenth of the range of the predicted class's probability: its limits ("from", "to"), the
        number of texts in it ("texts"), their mean probability ("probability") and the share of correct
        predictions ("right").
    weighted : bool
        Whether the texts have weights.
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
    confusion: list[list[float]]
    frequent_mistakes: list[tuple[Any, Any, float]]
    calibration: list[dict[str, float]]
    weighted: bool = False

    def line(self) -> str:
        """Return the main metrics on one line."""
        return (
            f"accuracy {self.accuracy:.4f} ± {self.standard_error:.4f}, log loss {self.log_loss:.4f}, "
            f"calibration error {self.calibration_error:.4f} on {self.texts:,} texts"
            f"{', weighted' if self.weighted else ''}"
            f"{f'; {self.unknown_line()}' if self.unknown_labels else ''}"
        )


@dataclass(frozen=True)
class MultilabelMetrics(AnyMetrics):
    """Metrics of a model on texts that have any number of labels.

    With weights, every count is a sum of weights, and every mean a weighted one, except the numbers of texts.
    A label that is not a class of the model counts as one that was not predicted, and is left out of log loss
    and of calibration.

    Attributes
    ----------
    texts : int
        Number of texts.
    unknown_labels : int
        Number of labels, over all texts, that are not classes of the model.
    micro_precision, micro_recall, micro_f1 : float
        Of all labels of all texts together.
    macro_f1 : float
        Mean F1 of the labels, each with the same weight; labels that were neither given nor predicted are
        left out.
    subset_accuracy, standard_error : float
        Share of the texts of which all labels are right, and its standard error.
    log_loss : float
        Mean, over texts and labels, of the negative logarithm of the probability of what is true.
    calibration_error : float
        As the function ``calibration_error``, of each text and label: the share of the texts that have the
        label in comparison with its mean probability.
    by_class : list of ClassMetrics
        Precision, recall and F1 of each label, then of each that is not a class of the model.
    classes : list
        The labels, in the order of the columns of the probabilities.
    calibration : list of dict
        As in ``Metrics``, with an entry for each text and label ("texts"), and the share of these in which
        the text has the label ("right").
    weighted : bool
        Whether the texts have weights.
    """

    texts: int
    unknown_labels: int
    micro_precision: float
    micro_recall: float
    micro_f1: float
    macro_f1: float
    subset_accuracy: float
    standard_error: float
    log_loss: float
    calibration_error: float
    by_class: list[ClassMetrics]
    classes: list[Any]
    calibration: list[dict[str, float]]
    weighted: bool = False

    def line(self) -> str:
        """Return the main metrics on one line."""
        return (
            f"micro F1 {self.micro_f1:.4f}, macro F1 {self.macro_f1:.4f}, all labels right "
            f"{self.subset_accuracy:.4f} ± {self.standard_error:.4f}, log loss {self.log_loss:.4f}, "
            f"calibration error {self.calibration_error:.4f} on {self.texts:,} texts"
            f"{', weighted' if self.weighted else ''}"
            f"{f'; {self.unknown_line()}' if self.unknown_labels else ''}"
        )


def compute_metrics(
    model: AnyTextModel, X: Sequence[str], y: np.ndarray, embeddings: Any = None, sample_weight: Any = None
) -> Metrics | MultilabelMetrics:
    """Compute the metrics of a fitted model on texts with labels, and embeddings if it uses them."""
    return metrics_of(model, y, model.predict_proba(X, embeddings), sample_weight)


def metrics_of(
    model: AnyTextModel, y: Any, probabilities: np.ndarray, sample_weight: Any = None
) -> Metrics | MultilabelMetrics:
    """Compute the metrics of the probabilities that a model has predicted."""
    if model.multilabel_:
        thresholds = model.thresholds_
        return multilabel_metrics(y, probabilities, model.classes_, thresholds, sample_weight)
    if has_several(y):
        raise InputError("the texts have several labels each, but the model predicts one.")
    return metrics_from_probabilities(y, probabilities, model.classes_, sample_weight)


def metrics_from_probabilities(
    y: Any, probabilities: Any, classes: Any, sample_weight: Any = None
) -> Metrics:
    """Compute the metrics of predicted probabilities.

    Parameters
    ----------
    y : array-like of shape (n,)
        The true labels.
    probabilities : array-like of shape (n, K)
        The predicted probabilities.
    classes : array-like of shape (K,)
        The classes, in the order of the columns.
    sample_weight : array-like of shape (n,), default=None
        Weights of the texts.

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
    truth, n = find_class_numbers(y, labels), len(probabilities)
    known = truth >= 0
    if not known.any():
        raise not_a_class(y, truth, labels)
    p = np.asarray(probabilities, np.float64)
    p = p / p.sum(axis=1, keepdims=True)  # to more digits than float32 has
    # Integers without weights, so that counts are.
    w = np.ones(n, np.int64) if sample_weight is None else checks.weights(sample_weight, n, rows="the table")
    checks.some_weight(w[known])
    totals = _sums(p.argmax(axis=1), w, len(labels))
    unknown = Counter(np.asarray(y)[~known].tolist()).most_common()
    hits = p.argmax(axis=1) == truth
    accuracy, error = float(np.average(hits, weights=w)), standard_error(hits, w)
    truth, p, correct, w = truth[known], p[known], hits[known], w[known]
    predicted, counts = p.argmax(axis=1), np.bincount(truth, minlength=len(labels))
    right, given = _sums(truth[correct], w[correct], len(labels)), _sums(truth, w, len(labels))
    by_class = _by_class(labels, given, right, totals, counts)
    pairs, places = np.unique((truth * len(labels) + predicted)[~correct], return_inverse=True)
    mistakes = _sums(places, w[~correct], len(pairs))
    order = np.argsort(-mistakes, kind="stable")[:MOST_MISTAKES]
    confused = len(labels) if len(labels) <= MOST_CONFUSED else 0
    confusion = np.zeros((confused, confused), w.dtype)
    if confused:
        np.add.at(confusion, (truth, predicted), w)
    by_class += [ClassMetrics(label, None, 0.0, 0.0, count) for label, count in unknown]
    return Metrics(
        texts=n,
        unknown_labels=n - len(truth),
        accuracy=accuracy,
        standard_error=error,
        log_loss=float(np.average(log_losses(p, truth), weights=w)),
        macro_f1=float(np.mean([one.f1 for one in by_class if one.f1 is not None])),
        calibration_error=calibration_error(truth, p, range(len(labels)), w),
        by_class=by_class,
        classes=labels,
        confusion=confusion.tolist(),
        frequent_mistakes=[
            (labels[pair // len(labels)], labels[pair % len(labels)], count)
            for pair, count in zip(pairs[order].tolist(), mistakes[order].tolist(), strict=True)
        ],
        calibration=_calibration(p.max(axis=1), correct, w, TABLE_BINS),
        weighted=sample_weight is not None,
    )


def multilabel_metrics(
    y: Any, probabilities: Any, classes: Any, thresholds: Any = 0.5, sample_weight: Any = None
) -> MultilabelMetrics:
    """Compute the metrics of predicted probabilities of texts that have any number of labels.

    Parameters
    ----------
    y : lists of labels, or indicator matrix of shape (n, K)
        The true labels.
    probabilities : array-like of shape (n, K)
        The predicted probabilities.
    classes : array-like of shape (K,)
        The labels, in the order of the columns.
    thresholds : float or array-like of shape (K,), default=0.5
        A label is predicted if its probability is above.
    sample_weight : array-like of shape (n,), default=None
        Weights of the texts.

    Returns
    -------
    MultilabelMetrics

    Examples
    --------
    >>> p = [[0.9, 0.2], [0.6, 0.7], [0.1, 0.3]]
    >>> found = multilabel_metrics([["a"], ["b"], []], p, ["a", "b"])
    >>> print(round(found.micro_f1, 2), found.subset_accuracy, found.by_class[1])
    0.8 0.6666666666666666 ClassMetrics(label='b', precision=1.0, recall=1.0, f1=1.0, texts=1)
    """
    labels, p = np.asarray(classes).tolist(), np.asarray(probabilities, np.float64)
    Y, strangers = given_labels(y, labels)
    n, K = Y.shape
    if p.shape != (n, K):
        raise InputError(f"probabilities must have shape ({n}, {K}), got {p.shape}.")
    w = checks.weights(sample_weight, n, rows="the table")
    checks.some_weight(w)
    predicted = p > np.asarray(thresholds)
    right, given, totals = w @ (Y & predicted), w @ Y, w @ predicted
    by_class = _by_class(labels, given, right, totals, Y.sum(axis=0))
    unknown = Counter(label for _, label in strangers).most_common()
    by_class += [ClassMetrics(label, None, 0.0, 0.0, count) for label, count in unknown]
    rows_of_strangers = np.array([row for row, _ in strangers], np.intp)
    n_right, n_given = right.sum(), given.sum() + w[rows_of_strangers].sum()
    hits = (predicted == Y).all(axis=1)
    hits[rows_of_strangers] = False
    f1 = [one.f1 for one in by_class if one.f1 is not None]
    smallest = np.finfo(np.float64).eps
    losses = -np.log(np.clip(np.where(Y, p, 1.0 - p), smallest, 1.0)).mean(axis=1)
    pairs = p.ravel(), Y.ravel(), np.repeat(w, K)
    away = pairs[2] * (pairs[0] - pairs[1])
    return MultilabelMetrics(
        texts=n,
        unknown_labels=len(strangers),
        micro_precision=_ratio(n_right, totals.sum()) or 0.0,
        micro_recall=_ratio(n_right, n_given) or 0.0,
        micro_f1=_ratio(2 * n_right, n_given + totals.sum()) or 0.0,
        macro_f1=float(np.mean(f1)) if f1 else 0.0,
        subset_accuracy=float(np.average(hits, weights=w)),
        standard_error=standard_error(hits, w),
        log_loss=float(np.average(losses, weights=w)),
        calibration_error=float(np.abs(np.bincount(_bins(pairs[0], ERROR_BINS), away)).sum() / w.sum() / K),
        by_class=by_class,
        classes=labels,
        calibration=_calibration(*pairs, TABLE_BINS),
        weighted=sample_weight is not None,
    )


def given_labels(y: Any, classes: list[Any]) -> tuple[np.ndarray, list[tuple[int, Any]]]:
    """Return which texts have which labels, and the labels that are not classes, with their rows.

    Examples
    --------
    >>> given_labels([["b", "c"], []], ["a", "b"])
    (array([[False,  True],
           [False, False]]), [(0, 'c')])
    """
    given = as_rows(y)
    if given.ndim == 2:
        return given.astype(np.bool_), []
    lists = [row if isinstance(row, tuple) else (row,) for row in given.tolist()]
    rows, values = np.repeat(np.arange(len(lists)), list(map(len, lists))), [x for row in lists for x in row]
    numbers = find_class_numbers(values, classes)
    if values and (numbers < 0).all():
        raise not_a_class(values, numbers, classes)
    Y = np.zeros((len(lists), len(classes)), np.bool_)
    Y[rows[numbers >= 0], numbers[numbers >= 0]] = True
    return Y, [(int(rows[k]), values[k]) for k in np.flatnonzero(numbers < 0)]


def _ratio(count: float, total: float) -> float | None:
    return float(count / total) if total else None


def _sums(numbers: np.ndarray, w: np.ndarray, length: int) -> np.ndarray:
    """Return the sum of the weights of each number, of the type of the weights."""
    return np.bincount(numbers, w, length).astype(w.dtype)


def standard_error(values: np.ndarray, weights: Any = None) -> float:
    """Return the standard error of the mean of one value per text, √(Σ (w_i (x_i - x̄))²) / Σ w_i.

    It is ``standard_error_of_rows`` of the search, whose module imports scikit-learn. Only standard errors
    over a few folds or runs have n - 1 in the place of one n.

    Examples
    --------
    >>> standard_error(np.array([1.0, -1.0] * 50))
    0.1
    """
    w = np.ones(len(values)) if weights is None else np.asarray(weights)
    away = values - np.average(values, weights=w)
    return float(np.sqrt(np.sum(np.square(w * away))) / w.sum())


def calibration_error(y: Any, probabilities: Any, classes: Any, sample_weight: Any = None) -> float:
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
    sample_weight : array-like of shape (n,), default=None
        Weights of the texts.

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
    truth = find_class_numbers(y, classes)
    p = np.asarray(probabilities, np.float64)[truth >= 0]
    w = checks.weights(sample_weight, len(truth))[truth >= 0]
    correct = p.argmax(axis=1) == truth[truth >= 0]
    bins, away = _bins(p.max(axis=1), ERROR_BINS), w * (p.max(axis=1) - correct)
    return float(np.abs(np.bincount(bins, away)).sum() / w.sum())


def log_losses(probabilities: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return the negative logarithm of the probability of each true class, clipped as scikit-learn does."""
    smallest = np.finfo(np.float64).eps
    return -np.log(np.clip(probabilities[np.arange(len(truth)), truth], smallest, 1.0 - smallest))


def _by_class(
    labels: list[Any], given: np.ndarray, right: np.ndarray, predicted: np.ndarray, counts: np.ndarray
) -> list[ClassMetrics]:
    return [
        ClassMetrics(
            label,
            _ratio(right[k], predicted[k]),
            _ratio(right[k], given[k]),
            _ratio(2 * right[k], given[k] + predicted[k]),
            int(counts[k]),
        )
        for k, label in enumerate(labels)
    ]


def _bins(probability: np.ndarray, n_bins: int) -> np.ndarray:
    return np.minimum((probability * n_bins).astype(int), n_bins - 1)


def _calibration(
    probability: np.ndarray, correct: np.ndarray, w: np.ndarray, n_bins: int
) -> list[dict[str, float]]:
    """Return the bins that hold at least one text of positive weight."""
    bins = _bins(probability, n_bins)
    return [
        {
            "from": k / n_bins,
            "to": (k + 1) / n_bins,
            "texts": int((bins == k).sum()),
            "probability": float(np.average(probability[bins == k], weights=w[bins == k])),
            "right": float(np.average(correct[bins == k], weights=w[bins == k])),
        }
        for k in np.unique(bins[w > 0]).tolist()
    ]


class Disagreement(NamedTuple):
    """A text whose predicted class differs from its label.

    Of several labels, one that differs: with the name of the label if the text has it, or is predicted to,
    and with "not" before the name otherwise.

    Attributes
    ----------
    row : int
        Position of the text, counted from 0.
    text : str
    label : object
        Its label.
    predicted : object
        The predicted class.
    probability : float
        The probability of the predicted class.
    label_probability : float
        The probability of the label.
    """

    row: int
    text: str
    label: Any
    predicted: Any
    probability: float
    label_probability: float


def confident_mistakes(
    X: Sequence[str], y: Any, probabilities: Any, classes: Any, k: int | None = None
) -> list[Disagreement]:
    """List the texts whose predicted class differs from their label, the most confident predictions first.

    If texts have any number of labels, they are listed in the order of ``suspicious_labels``: a rare label is
    always improbable, so its probability is compared with that of the other texts that have it.

    Parameters
    ----------
    X : sequence of str of length n
        Texts.
    y : array-like of shape (n,), or several labels per text
        Their labels. One that is not among the classes differs from every prediction.
    probabilities : array-like of shape (n, K)
        Predicted probabilities. Rows with NaN are left out.
    classes : array-like of shape (K,)
        The classes, in the order of the columns.
    k : int or None, default=None
        Maximal number of texts; None means all.

    Returns
    -------
    list of Disagreement
        Each has the row, the text, its label, the predicted class and its probability.

    See Also
    --------
    suspicious_labels : Labels that may be wrong, by the probabilities of held-out texts.

    Examples
    --------
    >>> p = [[0.2, 0.8], [0.4, 0.6], [0.9, 0.1]]
    >>> [mistake.text for mistake in confident_mistakes(["one", "two", "three"], "bbb", p, "ab")]
    ['three']
    """
    if has_several(y):
        each = _EachLabel.of(X, y, probabilities, classes)
        found = np.nonzero(each.own < 0.5)
        return each.listed(found, each.relative(found), k)
    checked = _LabelCheck.of(X, y, probabilities, classes)
    wrong = checked.predicted != checked.truth
    return checked.listed(wrong, -checked.probability, k)


def suspicious_labels(
    X: Sequence[str], y: Any, probabilities: Any, classes: Any, k: int | None = 10
) -> list[Disagreement]:
    """List the texts whose label may be wrong: those whose label is least probable for its class.

    The texts are listed by the predicted probability of their label, divided by the mean probability that
    the texts labelled so have for it: in a class that is hard to predict, a low probability says less. Their
    number is that of confident disagreements, as in confident learning [1]_: predictions that differ from the
    label, and whose probability is at least that mean for the predicted class. Both adapt to models whose
    probabilities are too high or too low, and to classes that are hard to predict. Predictions that are right
    no more often than the most frequent class is say nothing about labels: then the list is empty.

    If texts have any number of labels, all of this is done for one label after the other, whose two classes
    are the texts that have it and those that do not.

    Parameters
    ----------
    X : sequence of str of length n
        Texts.
    y : array-like of shape (n,), or several labels per text
        Their labels.
    probabilities : array-like of shape (n, K)
        Probabilities that models predict for texts they were not trained on, such as ``cv_probabilities_`` of
        a ``TextClassifier``. Rows with NaN are left out.
    classes : array-like of shape (K,)
        The classes, in the order of the columns.
    k : int or None, default=10
        Maximal number of texts; None means all.

    Returns
    -------
    list of Disagreement
        Texts whose predicted class differs from their label, those whose labels are least probable for their
        class first.

    See Also
    --------
    confident_mistakes : All predictions that differ from the label.
    dropglm.labelling.suspicious : The same for a pool of texts that is being labelled.

    References
    ----------
    .. [1] C. Northcutt, L. Jiang, I. Chuang (2021). Confident Learning: Estimating Uncertainty in Dataset
       Labels. Journal of Artificial Intelligence Research 70.

    Examples
    --------
    >>> X = ["great fun", "lovely", "dull", "boring", "what a bore"]
    >>> y = ["good", "good", "bad", "bad", "good"]
    >>> p = [[0.1, 0.9], [0.2, 0.8], [0.8, 0.2], [0.7, 0.3], [0.9, 0.1]]
    >>> for found in suspicious_labels(X, y, p, ["bad", "good"]):
    ...     print(found.text, found.label, found.predicted, found.probability)
    what a bore good bad 0.9
    """
    if has_several(y):
        return _EachLabel.of(X, y, probabilities, classes).suspicious(k)
    checked = _LabelCheck.of(X, y, probabilities, classes)
    if not checked.is_useful:
        return []
    usual = np.full(len(checked.labels), np.inf)
    for number in np.unique(checked.truth[checked.known]):
        usual[number] = checked.label_probability[checked.known & (checked.truth == number)].mean()
    wrong = checked.predicted != checked.truth
    count = int(np.count_nonzero(wrong & checked.known & (checked.probability >= usual[checked.predicted])))
    # With 2,000 labels, one in twenty of them exchanged at random, 86 and 84 % of the listed texts had
    # exchanged labels (docs and news4, two seeds each), instead of 80 and 80 % if only the confident
    # disagreements themselves are listed.
    # Ranked by the probability of the label alone, 70.7 instead of 71.1 % of the first 100 were wrong (mean
    # of six data sets, 2,000 labels, one in twenty exchanged), and no more on any of them.
    relative = checked.label_probability / np.maximum(usual[checked.truth], np.finfo(np.float64).tiny)
    return checked.listed(wrong, relative, count if k is None else min(k, count))


def can_judge_labels(X: Sequence[str], y: Any, probabilities: Any, classes: Any) -> bool:
    """Return whether predictions say anything about labels: they are right more often than one class is.

    Otherwise ``suspicious_labels``, which has the same parameters, lists nothing.

    Examples
    --------
    >>> p = [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]]
    >>> can_judge_labels(["one", "two", "three"], "aba", p, "ab")
    True
    >>> can_judge_labels(["one", "two", "three"], "aab", p, "ab")
    False
    """
    return _LabelCheck.of(X, y, probabilities, classes).is_useful


class _LabelCheck(NamedTuple):
    """Texts with labels and predictions; the arrays have one entry per text."""

    X: Sequence[str]
    y: list[Any]
    labels: list[Any]  # the classes
    truth: np.ndarray  # -1 if a label is not a class
    predicted: np.ndarray
    probability: np.ndarray
    label_probability: np.ndarray
    known: np.ndarray  # whether there is a prediction

    @classmethod
    def of(cls, X: Sequence[str], y: Any, probabilities: Any, classes: Any) -> Self:
        """Check the shapes, and find the predicted classes."""
        labels = np.asarray(list(classes)).tolist()
        y = y.tolist() if hasattr(y, "tolist") else list(y)
        truth, p = find_class_numbers(y, labels), np.asarray(probabilities, np.float64)
        n, K = len(X), len(labels)
        if p.shape != (n, K) or truth.shape != (n,):
            raise InputError(
                f"probabilities must have shape ({n}, {K}) and y must have {n} labels for {n} texts and {K} "
                f"classes, got {p.shape} and {len(truth)}."
            )
        known = ~np.isnan(p.sum(axis=1))
        of_label = np.where(truth < 0, 0.0, p[np.arange(n), truth])
        return cls(X, y, labels, truth, p.argmax(axis=1), p.max(axis=1), of_label, known)

    @property
    def is_useful(self) -> bool:
        """Whether predictions are right more often than the most frequent class is."""
        if (self.truth < 0).any():
            raise not_a_class(self.y, self.truth, self.labels)
        truth = self.truth[self.known]
        right = np.count_nonzero(self.predicted[self.known] == truth)
        return bool(len(truth) and right > np.bincount(truth).max())

    def listed(self, chosen: np.ndarray, key: np.ndarray, k: int | None) -> list[Disagreement]:
        """Return the chosen texts that have predictions, those with the smallest key first."""
        rows = np.flatnonzero(chosen & self.known)
        return [
            Disagreement(
                row,
                self.X[row],
                self.y[row] if self.truth[row] < 0 else self.labels[self.truth[row]],
                self.labels[self.predicted[row]],
                float(self.probability[row]),
                float(self.label_probability[row]),
            )
            for row in rows[np.argsort(key[rows], kind="stable")][:k].tolist()
        ]


class _EachLabel(NamedTuple):
    """Texts with any number of labels, and predictions; the arrays have one entry per text and label."""

    X: Sequence[str]
    labels: list[Any]
    Y: np.ndarray  # whether a text has a label
    own: np.ndarray  # the probability of what Y says; NaN if there is no prediction

    @classmethod
    def of(cls, X: Sequence[str], y: Any, probabilities: Any, classes: Any) -> Self:
        """Check the shapes."""
        labels, p = np.asarray(list(classes)).tolist(), np.asarray(probabilities, np.float64)
        Y, _ = given_labels(y, labels)
        if p.shape != Y.shape or len(Y) != len(X):
            raise InputError(
                f"probabilities must have shape ({len(X)}, {len(labels)}), and y labels of {len(X)} texts, "
                f"got {p.shape} and {len(Y)}."
            )
        return cls(X, labels, Y, np.where(Y, p, 1.0 - p))

    def suspicious(self, k: int | None) -> list[Disagreement]:
        """Return what ``suspicious_labels`` does."""
        known = ~np.isnan(self.own[:, 0])
        n_with = self.Y[known].sum(axis=0)
        useful = (self.own[known] > 0.5).sum(axis=0) > np.maximum(n_with, known.sum() - n_with)
        found = np.nonzero(useful & (self.own < 0.5))
        usual_of_other = self.usual()[1 - self.Y[found], found[1]]
        count = int(np.count_nonzero(1.0 - self.own[found] >= usual_of_other))
        return self.listed(found, self.relative(found), count if k is None else min(k, count))

    def usual(self) -> np.ndarray:
        """Return the mean probability of what Y says, of the texts without and with each label; (2, K)."""
        known = ~np.isnan(self.own[:, 0])
        Y, own = self.Y[known], self.own[known]
        n_with, with_label = Y.sum(axis=0), np.where(Y, own, 0.0).sum(axis=0)
        counts = np.array([len(Y) - n_with, n_with])
        sums = np.array([own.sum(axis=0) - with_label, with_label])
        return np.where(counts, sums / np.maximum(counts, 1), np.inf)

    def relative(self, found: Any) -> np.ndarray:
        """Return the probability of what Y says in some rows and columns, divided by the usual one."""
        usual = self.usual()[self.Y[found].astype(np.intp), found[1]]
        return self.own[found] / np.maximum(usual, np.finfo(np.float64).tiny)

    def listed(self, found: Any, key: np.ndarray, k: int | None) -> list[Disagreement]:
        """Return those of some rows and columns, those with the smallest key first."""
        order = np.argsort(key, kind="stable")[:k]
        return [
            Disagreement(
                row,
                self.X[row],
                self._name(column, has=self.Y[row, column]),
                self._name(column, has=not self.Y[row, column]),
                float(1.0 - self.own[row, column]),
                float(self.own[row, column]),
            )
            for row, column in zip(found[0][order].tolist(), found[1][order].tolist(), strict=True)
        ]

    def _name(self, column: int, *, has: bool) -> Any:
        return self.labels[column] if has else f"not {self.labels[column]}"
