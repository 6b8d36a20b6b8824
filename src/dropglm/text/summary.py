"""Summaries of fitted text classifiers: their data, their settings and their scores."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dropglm.text.ngrams.hashed import HashedFeatures

MAX_CLASSES = 12  # listed on one line


@dataclass(frozen=True)
class Summary:
    """Summary of a fit of ``TextClassifier``; ``print`` it.

    Attributes
    ----------
    texts : dict
        Number of texts of each class.
    unlabeled : int
        Number of texts without labels.
    features : int
        Number of n-grams.
    settings : dict
        The dropout (or the name of the noise), l2, l2_weights and discount of the model, the factors "scale"
        of its predictors and "naive_bayes" of naive Bayes', and "ngram_weight"; None where they have no
        effect.
    search : dict or None
        None if no settings were tuned. Otherwise the scorer ("scoring"), the number of folds ("folds") and of
        candidate settings ("points"), the mean score of the chosen settings ("score") with its standard error
        over the folds ("standard_error"), the number of candidates whose score is within one standard error
        of the best ("within"), the accuracy on held-out texts ("accuracy"), and whether a value of l2 beyond
        those that were tried may be better ("l2_at_edge"),
        and the number of texts that were never held out ("never_held_out").
    iterations : int
        Number of iterations of the final fit.
    converged : bool
        Whether the final fit converged.
    embedding : dict or None
        None if there are no embeddings. Otherwise the numbers per text ("dimension"), the name of the
        embedder ("name"; None if embeddings were given), the standard deviation of the noise relative to the
        root mean square of the columns ("noise"), and the l2 weight relative to that of the n-grams
        ("l2_weight").
    unlabeled_effect : dict or None
        None if there are no unlabelled texts or if nothing was tuned. Otherwise the mean score of the best
        settings that do not use them ("score_without") and its accuracy on held-out texts
        ("accuracy_without"), both None if no such settings were tried; those with unlabelled texts are in
        ``search``. Also how the model uses them: the number of latent features ("n_latent"), whether these
        give rare words more weight ("rare_words"), the number of rounds of naive Bayes ("rounds") and
        "discount".
    """

    texts: dict[str, int]
    unlabeled: int
    features: int
    settings: dict[str, Any]
    search: dict[str, Any] | None
    iterations: int
    converged: bool
    embedding: dict[str, Any] | None = None
    unlabeled_effect: dict[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields in plain types, for JSON."""
        return asdict(self)

    def lines(self) -> list[tuple[str, str]]:
        """Return the lines of the printed summary, as pairs (heading, text)."""
        total = sum(self.texts.values())
        classes = format_class_counts(self.texts)
        settings = ", ".join(f"{name} {value}" for name, value in self.settings.items() if value is not None)
        lines = [
            ("texts", f"{total:,} with labels ({classes}), {self.unlabeled:,} without"),
            ("n-grams", f"{self.features:,}"),
            ("settings", settings),
        ]
        if self.embedding:
            lines.insert(2, ("embeddings", _embedding_line(self.embedding)))
        if self.search:
            lines.append(("cross-validation", search_line(self.search)))
        if self.search and self.unlabeled_effect:
            lines.append(("unlabelled texts", effect_line(self.unlabeled_effect, self.search)))
        status = "converged" if self.converged else "NOT converged"
        return [*lines, ("fit", f"{status} after {self.iterations} iterations")]

    def __str__(self) -> str:
        return "\n".join(f"{heading:<18}{text}" for heading, text in self.lines())


def _embedding_line(embedding: dict[str, Any]) -> str:
    source = "" if embedding["name"] is None else f" from {embedding['name']}"
    return (
        f"{embedding['dimension']:,} numbers per text{source}; noise {embedding['noise']:g}, l2 weight "
        f"{embedding['l2_weight']:g}"
    )


def format_class_counts(texts: dict[str, int]) -> str:
    """Return the number of texts of each class, of the first dozen classes if there are more."""
    first = [f"{label} {count:,}" for label, count in list(texts.items())[:MAX_CLASSES]]
    return ", ".join(first) + (", …" if len(texts) > MAX_CLASSES else "")


def readable_score(scoring: str, score: float) -> tuple[str, float]:
    """Return the name of a score and its value in words of the field: a log loss is positive.

    Examples
    --------
    >>> readable_score("neg_log_loss", -0.5), readable_score("accuracy", 0.9)
    (('log loss', 0.5), ('accuracy', 0.9))
    """
    return ("log loss", -score) if scoring == "neg_log_loss" else (scoring, score)


def search_line(search: dict[str, Any]) -> str:
    """Return the line of the printed summary."""
    name, score = readable_score(search["scoring"], search["score"])
    parts = [f"{name} {score:.4f}"]
    if search["standard_error"] is not None:
        parts[0] += f" ± {search['standard_error']:.4f}"
    if name != "accuracy" and search.get("accuracy") is not None:
        parts.append(f"accuracy {search['accuracy']:.4f}")
    folds = f"{search['folds']} fold{'s' if search['folds'] > 1 else ''}"
    line = f"{', '.join(parts)} over {folds}"
    if search["points"] > 1 and search["standard_error"] is None:
        line += f"; the best of {search['points']} settings"
    elif search["points"] > 1:
        within = f"{search['within']} of {search['points']} settings"
        verb = "is" if search["within"] == 1 else "are"
        line += f"; {within} {verb} within one standard error of the best"
    if search.get("l2_at_edge"):
        line += "; l2 is at the edge of the values tried, and one beyond it may be better"
    alone = search.get("never_held_out")
    if alone:
        line += f"; without {alone} text{'s' if alone > 1 else ''} that could not be held out"
    return line


def effect_line(effect: dict[str, Any], search: dict[str, Any]) -> str:
    """Return the line of the printed summary, given the field ``search`` of the summary as well."""
    uses = []
    if effect["n_latent"]:
        rare = " that give rare words more weight" if effect["rare_words"] else ""
        uses.append(f"{effect['n_latent']} latent features{rare}")
    if effect["rounds"]:
        uses.append(f"{effect['rounds']} round{'s' if effect['rounds'] > 1 else ''} of naive Bayes")
    if effect["discount"]:
        uses.append(f"discount {effect['discount']:g}")
    used = ", ".join(uses) or "not used"
    if effect["score_without"] is None:
        return used
    name, score = readable_score(search["scoring"], search["score"])
    _, score_without = readable_score(search["scoring"], effect["score_without"])
    line = f"{name} {score:.4f} instead of {score_without:.4f}"
    if name != "accuracy":
        line += f", accuracy {search['accuracy']:.4f} instead of {effect['accuracy_without']:.4f}"
    return f"{line} without them; {used}"


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
