"""Metrics of a text classifier: accuracy, log loss, confusion matrix and calibration."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix, log_loss

from dropglm.text.model import TextModel

BINS = 10


@dataclass(frozen=True)
class Metrics:
    """Accuracy, log loss, confusion matrix and calibration of a model on texts with labels.

    Attributes
    ----------
    texts : int
        Number of texts.
    accuracy, standard_error : float
        Share of correct predictions, and its standard error.
    log_loss : float
    classes : list
        The classes, in the order of the confusion matrix.
    confusion : list of lists
        Number of texts by true class (rows) and predicted class (columns).
    calibration : list of dict
        One entry per range of the predicted class's probability: its limits ("from", "to"), the number of
        texts in it ("texts"), their mean probability ("probability") and the share of correct predictions
        ("right").
    calibration_error : float
        Mean difference between the two, weighted by the number of texts.
    """

    texts: int
    accuracy: float
    standard_error: float
    log_loss: float
    classes: list[Any]
    confusion: list[list[int]]
    calibration: list[dict[str, float]]
    calibration_error: float

    def to_dict(self) -> dict[str, Any]:
        """Return the fields in plain types, for JSON."""
        return asdict(self)

    def mistakes(self, k: int) -> list[tuple[Any, Any, int]]:
        """Return the k most frequent mistakes as (true class, predicted class, number of texts)."""
        counts = np.array(self.confusion)
        np.fill_diagonal(counts, 0)
        order = np.argsort(-counts, axis=None, kind="stable")[:k]
        pairs = (np.unravel_index(place, counts.shape) for place in order)
        return [(self.classes[i], self.classes[j], int(counts[i, j])) for i, j in pairs if counts[i, j]]

    def line(self) -> str:
        """Return the main metrics on one line."""
        return (
            f"accuracy {self.accuracy:.4f} ± {self.standard_error:.4f}, log loss {self.log_loss:.4f}, "
            f"calibration error {self.calibration_error:.4f} on {self.texts:,} texts"
        )


def compute_metrics(model: TextModel, X: list[str], y: np.ndarray) -> Metrics:
    """Compute the metrics of a fitted model on texts with labels."""
    labels = model.classes_.tolist()
    truth = _class_numbers(y, labels)
    p = model.predict_proba(X).astype(np.float64)
    p /= p.sum(axis=1, keepdims=True)  # to more digits than float32 has
    predicted = p.argmax(axis=1)
    correct = predicted == truth
    accuracy = float(correct.mean())
    calibration = _calibration(p.max(axis=1), correct)
    return Metrics(
        texts=len(truth),
        accuracy=accuracy,
        standard_error=float(np.sqrt(accuracy * (1.0 - accuracy) / len(truth))),
        log_loss=float(log_loss(truth, p, labels=range(len(labels)))),
        classes=labels,
        confusion=confusion_matrix(truth, predicted, labels=range(len(labels))).tolist(),
        calibration=calibration,
        calibration_error=float(
            sum(bin["texts"] * abs(bin["probability"] - bin["right"]) for bin in calibration) / len(truth)
        ),
    )


def _class_numbers(y: np.ndarray, labels: list[Any]) -> np.ndarray:
    """Return the index of each label among the model's classes.

    Labels of another type match by their spelling: 1 in a Parquet file is "1" in a CSV file.
    """
    values = y.tolist()
    exact = {label: k for k, label in enumerate(labels)}
    by_spelling = {spelling: k for k, label in enumerate(labels) for spelling in _spellings(label)}

    def number(value: Any) -> int | None:
        if value in exact:
            return exact[value]
        return next(
            (by_spelling[spelling] for spelling in _spellings(value) if spelling in by_spelling), None
        )

    numbers = [number(value) for value in values]
    if None in numbers:
        row = numbers.index(None)
        names = ", ".join(repr(label) for label in labels[:10])
        raise ValueError(
            f"row {row + 1} has the label {values[row]!r}, which is not a class of the model; its classes "
            f"are {names}{', …' if len(labels) > 10 else ''}."
        )
    return np.array(numbers)


def _spellings(label: Any) -> tuple[str, ...]:
    """Return the ways in which a table may write the label: JSON has true where Python has True."""
    spelling = str(label)
    return (spelling, spelling.lower()) if spelling.lower() in ("true", "false") else (spelling,)


def _calibration(probability: np.ndarray, correct: np.ndarray) -> list[dict[str, float]]:
    bins = np.minimum((probability * BINS).astype(int), BINS - 1)
    return [
        {
            "from": k / BINS,
            "to": (k + 1) / BINS,
            "texts": int((bins == k).sum()),
            "probability": float(probability[bins == k].mean()),
            "right": float(correct[bins == k].mean()),
        }
        for k in np.unique(bins).tolist()
    ]
