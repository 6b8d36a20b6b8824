"""How good predictions are."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix, log_loss

from dropglm.text.classifier import TextClassifier

BINS = 10


@dataclass(frozen=True)
class Measures:
    """Accuracy, log loss, confusion and calibration of a model on texts with labels.

    Attributes
    ----------
    texts : int
    accuracy, standard_error, log_loss : float
    classes : list
    confusion : list of lists
        Texts of each class (rows) that were given each class (columns).
    calibration : list of dict
        Texts by the probability of the class that they were given: from, to, how many, the mean probability,
        and how many of them were right.
    calibration_error : float
        The mean distance of the two, weighted by the number of texts.
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
        """The same in plain types, for JSON."""
        return asdict(self)

    def mistakes(self, k: int) -> list[tuple[Any, Any, int]]:
        """The k most frequent mistakes: the class, the one that was given, and how many texts."""
        counts = np.array(self.confusion)
        np.fill_diagonal(counts, 0)
        order = np.argsort(-counts, axis=None, kind="stable")[:k]
        pairs = (np.unravel_index(place, counts.shape) for place in order)
        return [(self.classes[i], self.classes[j], int(counts[i, j])) for i, j in pairs if counts[i, j]]

    def line(self) -> str:
        """The main figures."""
        return (
            f"accuracy {self.accuracy:.4f} ± {self.standard_error:.4f}, log loss {self.log_loss:.4f}, "
            f"calibration error {self.calibration_error:.4f} on {self.texts:,} texts"
        )


def measured(model: TextClassifier, texts: list[str], y: np.ndarray) -> Measures:
    """The measures of a model."""
    labels = model.classes_.tolist()
    truth = _numbers(y, labels)
    p = model.predict_proba(texts).astype(np.float64)
    p /= p.sum(axis=1, keepdims=True)  # to more digits than float32 has
    given = p.argmax(axis=1)
    right = given == truth
    accuracy = float(right.mean())
    calibration = _calibration(p.max(axis=1), right)
    return Measures(
        texts=len(truth),
        accuracy=accuracy,
        standard_error=float(np.sqrt(accuracy * (1.0 - accuracy) / len(truth))),
        log_loss=float(log_loss(truth, p, labels=range(len(labels)))),
        classes=labels,
        confusion=confusion_matrix(truth, given, labels=range(len(labels))).tolist(),
        calibration=calibration,
        calibration_error=float(
            sum(bin["texts"] * abs(bin["probability"] - bin["right"]) for bin in calibration) / len(truth)
        ),
    )


def _numbers(y: np.ndarray, labels: list[Any]) -> np.ndarray:
    """The number of each label among the model's; where their types differ (a CSV's 1, "1"), as written."""
    values = y.tolist()
    exact = {label: k for k, label in enumerate(labels)}
    written = {spelling: k for k, label in enumerate(labels) for spelling in _spellings(label)}

    def number(value: Any) -> int | None:
        if value in exact:
            return exact[value]
        return next((written[spelling] for spelling in _spellings(value) if spelling in written), None)

    numbers = [number(value) for value in values]
    if None in numbers:
        row = numbers.index(None)
        names = ", ".join(repr(label) for label in labels[:10])
        raise ValueError(
            f"row {row + 1} has the label {values[row]!r}, which the model does not know; it knows "
            f"{names}{', …' if len(labels) > 10 else ''}."
        )
    return np.array(numbers)


def _spellings(label: Any) -> tuple[str, ...]:
    """How tables may write it: JSON has true where Python has True."""
    written = str(label)
    return (written, written.lower()) if written.lower() in ("true", "false") else (written,)


def _calibration(probability: np.ndarray, right: np.ndarray) -> list[dict[str, float]]:
    bins = np.minimum((probability * BINS).astype(int), BINS - 1)
    return [
        {
            "from": k / BINS,
            "to": (k + 1) / BINS,
            "texts": int((bins == k).sum()),
            "probability": float(probability[bins == k].mean()),
            "right": float(right[bins == k].mean()),
        }
        for k in np.unique(bins).tolist()
    ]
