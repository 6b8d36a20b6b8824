"""A summary of an online text classifier: its data, its settings and its progressive scores."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dropglm.text.hashed_features import HashedFeatures
from dropglm.text.summary import format_class_counts


@dataclass(frozen=True)
class OnlineSummary:
    """Summary of an ``OnlineTextClassifier``; ``print`` it.

    Attributes
    ----------
    texts : dict
        Number of texts of each class.
    features : int
        Number of columns.
    used : int
        Number of columns that occurred in a text.
    hashed : bool
        Whether n-grams are hashed to columns; if not, the vocabulary is fixed.
    settings : dict
        The rule and its settings.
    progressive_accuracy, progressive_log_loss : float
        Scores of the predictions that were made for each text before learning from it; None if the model
        has learnt from none.
    """

    texts: dict[str, int]
    features: int
    used: int
    hashed: bool
    settings: dict[str, Any]
    progressive_accuracy: float | None
    progressive_log_loss: float | None

    @classmethod
    def of(cls, learnt: Any) -> "OnlineSummary":
        """Summarise an ``OnlineTextModel``."""
        model, vectorizer = learnt.model, learnt.vectorizer
        rule, hashed = model._unchanged_rule(), isinstance(vectorizer, HashedFeatures)
        name = model.rule if isinstance(model.rule, str) else type(rule).__name__
        features, has_learnt = (
            int(model.n_features_in_),
            model._check_fitted()._progressive_scores.weight > 0.0,
        )
        return cls(
            texts={str(c): int(n) for c, n in zip(model.classes_, learnt.counts, strict=True)},
            features=features,
            used=int(np.count_nonzero(vectorizer.ngrams_.lengths)) if hashed else features,
            hashed=hashed,
            settings={"rule": name, "rate": float(rule.rate), "l2": float(model.l2)}
            | ({"power": float(rule.power)} if hasattr(rule, "power") else {})
            | ({"average": True} if model.average else {}),
            progressive_accuracy=model.progressive_accuracy_ if has_learnt else None,
            progressive_log_loss=model.progressive_log_loss_ if has_learnt else None,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the summary in plain types, for JSON."""
        return asdict(self)

    def lines(self) -> list[tuple[str, str]]:
        """Return the summary as pairs of a heading and its text."""
        features = f"{self.features:,}"
        if self.hashed:
            features = f"hashed to {self.features:,} columns, {self.used:,} of them in use"
        settings = ", ".join(f"{name} {value}" for name, value in self.settings.items())
        scores = "no texts yet"
        if self.progressive_accuracy is not None and self.progressive_log_loss is not None:
            scores = f"accuracy {self.progressive_accuracy:.4f}, log loss {self.progressive_log_loss:.4f}"
        return [
            ("texts", f"{sum(self.texts.values()):,} ({format_class_counts(self.texts)})"),
            ("n-grams", features),
            ("settings", settings),
            ("progressive", scores),
        ]

    def __str__(self) -> str:
        return "\n".join(f"{heading:<18}{statement}" for heading, statement in self.lines())
