"""A summary of a fitted text classifier: its data, its settings and its cross-validated score."""

from dataclasses import asdict, dataclass
from numbers import Real
from typing import Any

import numpy as np

from dropglm.estimators import LogisticRegression, LogisticRegressionCV
from dropglm.estimators.folds import FOLDS
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
    """

    texts: dict[str, int]
    unlabeled: int
    features: int
    settings: dict[str, Any]
    search: dict[str, Any] | None
    iterations: int
    converged: bool
    embedding: dict[str, Any] | None = None

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
            lines.append(("cross-validation", _search_line(self.search)))
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


def _search_line(search: dict[str, Any]) -> str:
    name, score = search["scoring"], search["score"]
    if name == "neg_log_loss":
        name, score = "log loss", -score
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
) -> Summary:
    """Summarise a fit to texts with labels y, to unlabelled texts and to embeddings."""
    labels, counts = np.unique(y, return_counts=True)
    results = model.result_ if isinstance(model.result_, tuple) else (model.result_,)
    dropout = float(model.dropout) if isinstance(model.dropout, Real) else repr(model.dropout)
    l2_weights = model.l2_weights if isinstance(model.l2_weights, str) else "given"
    settings = {"dropout": dropout, "l2": _short(model.l2), "l2_weights": l2_weights}
    return Summary(
        texts={str(label): int(count) for label, count in zip(labels, counts, strict=True)},
        unlabeled=n_unlabeled,
        features=int(model.n_features_in_),
        settings=settings
        | {
            "discount": float(model.discount) if n_unlabeled else None,
            "scale": _short(search.scale_) if search and (search.calibrate or search.naive_bayes) else None,
            "naive_bayes": _short(search.naive_bayes_) if search and search.naive_bayes else None,
            "ngram_weight": float(vectorizer.ngram_weight) if vectorizer._check()[1] > 1 else None,
        },
        search=None if search is None else _summarize_search(search, y),
        iterations=int(sum(result.n_iter for result in results)),
        converged=all(result.status == "converged" for result in results),
        embedding=embedding,
    )


def _summarize_search(search: LogisticRegressionCV, y: np.ndarray) -> dict[str, Any]:
    table, best = search.cv_results_, search.best_index_
    scores = np.array([column[best] for name, column in table.items() if name.startswith("split")])
    # Repeated draws of the folds are not independent of each other.
    independent = len(scores) if search.cv is not None else min(len(scores), FOLDS)
    error = float(scores.std(ddof=1) / np.sqrt(independent)) if len(scores) > 1 else None
    means = table["mean_test_score"]
    held_out = ~np.isnan(search.cv_probabilities_[:, 0])
    predicted = search.classes_[search.cv_probabilities_[held_out].argmax(axis=1)]
    return {
        "scoring": search.scoring if isinstance(search.scoring, str) else "score",
        "folds": len(scores),
        "points": len(means),
        "score": search.best_score_,
        "standard_error": error,
        "within": int((means >= np.nanmax(means) - (error or 0.0)).sum()),
        "accuracy": float(np.mean(predicted == y[held_out])),
        "l2_at_edge": search.l2_at_edge_,
        "never_held_out": int((~held_out).sum()),
    }
