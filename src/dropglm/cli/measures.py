"""How good predictions are."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix, log_loss

from dropglm.text import TextClassifier

BINS = 10


@dataclass(frozen=True)
class Measures:
    """Accuracy, log loss, confusion and calibration of a model on texts with labels.

    Attributes
    ----------
    texts : int
    accuracy, standard_error, log_loss : float
    classes : list of str
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
    classes: list[str]
    confusion: list[list[int]]
    calibration: list[dict[str, float]]
    calibration_error: float

    def to_dict(self) -> dict[str, Any]:
        """The same in plain types, for JSON."""
        return asdict(self)

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
        classes=[str(label) for label in labels],
        confusion=confusion_matrix(truth, given, labels=range(len(labels))).tolist(),
        calibration=calibration,
        calibration_error=float(
            sum(bin["texts"] * abs(bin["probability"] - bin["right"]) for bin in calibration) / len(truth)
        ),
    )


def _numbers(y: np.ndarray, labels: list[Any]) -> np.ndarray:
    """The number of each label among the model's; as written where the types differ (a 1 of a CSV, "1")."""
    values = y.tolist()
    known: dict[Any, int] = {label: k for k, label in enumerate(labels)}
    if not all(value in known for value in values):
        known = {str(label).lower(): k for k, label in enumerate(labels)}
        written = [str(value).lower() for value in values]
        stranger = next((k for k, value in enumerate(written) if value not in known), None)
        if stranger is not None:
            names = ", ".join(repr(label) for label in labels[:10])
            raise ValueError(
                f"Row {stranger + 1} has the label {values[stranger]!r}, which the model does not know; it "
                f"knows {names}{', …' if len(labels) > 10 else ''}."
            )
        values = written
    return np.array([known[value] for value in values])


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
