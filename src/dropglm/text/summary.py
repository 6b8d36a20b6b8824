"""A summary of a fitted text classifier: its data, its settings and its cross-validated score."""

from dataclasses import asdict, dataclass
from numbers import Real
from typing import Any

import numpy as np

from dropglm.estimators import LogisticRegression, LogisticRegressionCV
from dropglm.text.latent_prior import LatentPrior
from dropglm.text.search_summary import search_line, summarize_search
from dropglm.text.unlabeled_effect import effect_line, effect_of
from dropglm.text.vectorizer import NgramVectorizer

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


def _short(number: float) -> float:
    return float(f"{number:.3g}")


def summarize(
    vectorizer: NgramVectorizer,
    model: LogisticRegression,
    search: LogisticRegressionCV | None,
    y: np.ndarray,
    n_unlabeled: int,
    embedding: dict[str, Any] | None = None,
    prior: LatentPrior | None = None,
) -> Summary:
    """Summarise a fit to texts with labels y, to unlabelled texts and to embeddings."""
    labels, counts = np.unique(y, return_counts=True)
    results = model.result_ if isinstance(model.result_, tuple) else (model.result_,)
    dropout = float(model.dropout) if isinstance(model.dropout, Real) else repr(model.dropout)
    l2_weights = model.l2_weights if isinstance(model.l2_weights, str | Real) else "given"
    settings = {"dropout": dropout, "l2": _short(model.l2), "l2_weights": l2_weights}
    return Summary(
        texts={str(label): int(count) for label, count in zip(labels, counts, strict=True)},
        unlabeled=n_unlabeled,
        features=int(model.n_features_in_),
        settings=settings
        | {
            "discount": float(model.discount) if n_unlabeled and model.discount else None,
            "scale": _short(search.scale_) if search and (search.calibrate or search.naive_bayes) else None,
            "naive_bayes": _short(search.naive_bayes_) if search and search.naive_bayes else None,
            "ngram_weight": float(vectorizer.ngram_weight) if vectorizer._check()[1] > 1 else None,
        },
        search=None if search is None else summarize_search(search, y),
        iterations=int(sum(result.n_iter for result in results)),
        converged=all(result.status == "converged" for result in results),
        embedding=embedding,
        unlabeled_effect=effect_of(search, prior) if search and n_unlabeled else None,
    )
