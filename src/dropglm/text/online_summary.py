"""What a text classifier has learnt from a stream, and how well it predicted on the way."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dropglm.text.hashing import NgramHasher
from dropglm.text.summary import format_class_counts


@dataclass(frozen=True)
class OnlineSummary:
    """A stream in figures; ``print`` it.

    Attributes
    ----------
    texts : dict
        The number of texts of each class.
    features : int
        The number of columns.
    used : int
        How many of them a text has had.
    hashed : bool
        Whether n-grams are hashed to columns; else the vocabulary is frozen.
    settings : dict
        The rule and what it goes by.
    progressive_accuracy, progressive_log_loss : float
        Of the predictions that were made for each text before it was learnt from.
    """

    texts: dict[str, int]
    features: int
    used: int
    hashed: bool
    settings: dict[str, Any]
    progressive_accuracy: float
    progressive_log_loss: float

    @classmethod
    def of(cls, classifier: Any) -> "OnlineSummary":
        """That of an ``OnlineTextClassifier``."""
        model, vectorizer = classifier.model_, classifier.vectorizer_
        rule, hashed = model._unchanged_rule(), isinstance(vectorizer, NgramHasher)
        return cls(
            texts={str(c): int(n) for c, n in zip(classifier.classes_, classifier.counts_, strict=True)},
            features=int(model.n_features_in_),
            used=int(np.count_nonzero(vectorizer.ngrams_.lengths)) if hashed else int(model.n_features_in_),
            hashed=hashed,
            settings={"rule": model.rule, "rate": float(rule.rate), "l2": float(model.l2)}
            | ({"power": float(model.power)} if model.rule == "dropout" else {})
            | ({"average": True} if model.average else {}),
            progressive_accuracy=model.progressive_accuracy_,
            progressive_log_loss=model.progressive_log_loss_,
        )

    def to_dict(self) -> dict[str, Any]:
        """The same in plain types, for JSON."""
        return asdict(self)

    def lines(self) -> list[tuple[str, str]]:
        """What there is to say, as pairs of a heading and a statement."""
        features = f"{self.features:,}"
        if self.hashed:
            features = f"hashed to {self.features:,} columns, {self.used:,} of them in use"
        settings = ", ".join(f"{name} {value}" for name, value in self.settings.items())
        return [
            ("texts", f"{sum(self.texts.values()):,} ({format_class_counts(self.texts)})"),
            ("n-grams", features),
            ("settings", settings),
            (
                "progressive",
                f"accuracy {self.progressive_accuracy:.4f}, log loss {self.progressive_log_loss:.4f}",
            ),
        ]

    def __str__(self) -> str:
        return "\n".join(f"{heading:<18}{statement}" for heading, statement in self.lines())
