"""A summary of a fitted text classifier: its data, its settings and its cross-validated score."""

from dataclasses import asdict, dataclass
from numbers import Real
from typing import Any

import numpy as np

from dropglm.estimators import LogisticRegression, LogisticRegressionCV

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
        The dropout (or the name of the noise), l2, l2_weights and discount of the model; discount is None
        without unlabelled texts.
    search : dict or None
        None if no settings were tuned. Otherwise the scorer ("scoring"), the number of folds ("folds") and of
        candidate settings ("points"), the mean score of the chosen settings ("score") with its standard error
        over the folds ("standard_error"), and the number of candidates whose score is within one standard
        error of the best ("within").
    iterations : int
        Number of iterations of the final fit.
    converged : bool
        Whether the final fit converged.
    """

    texts: dict[str, int]
    unlabeled: int
    features: int
    settings: dict[str, Any]
    search: dict[str, Any] | None
    iterations: int
    converged: bool

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
        if self.search:
            lines.append(("cross-validation", _search_line(self.search)))
        status = "converged" if self.converged else "NOT converged"
        return [*lines, ("fit", f"{status} after {self.iterations} iterations")]

    def __str__(self) -> str:
        return "\n".join(f"{heading:<18}{text}" for heading, text in self.lines())


def _search_line(search: dict[str, Any]) -> str:
    folds = f"over {search['folds']} fold{'s' if search['folds'] > 1 else ''}"
    score = f"{search['scoring']} {search['score']:.4f}"
    if search["standard_error"] is None:
        return f"{score} {folds}; the best of {search['points']} settings"
    return (
        f"{score} ± {search['standard_error']:.4f} {folds}; {search['within']} of {search['points']} "
        "settings are within one standard error of the best"
    )


def format_class_counts(texts: dict[str, int]) -> str:
    """Return the number of texts of each class, of the first dozen classes if there are more."""
    first = [f"{label} {count:,}" for label, count in list(texts.items())[:MAX_CLASSES]]
    return ", ".join(first) + (", …" if len(texts) > MAX_CLASSES else "")


def summarize(
    model: LogisticRegression, search: LogisticRegressionCV | None, y: np.ndarray, n_unlabeled: int
) -> Summary:
    """Summarise a fit to texts with labels y and to unlabelled texts."""
    labels, counts = np.unique(y, return_counts=True)
    results = model.result_ if isinstance(model.result_, tuple) else (model.result_,)
    dropout = float(model.dropout) if isinstance(model.dropout, Real) else repr(model.dropout)
    l2_weights = model.l2_weights if isinstance(model.l2_weights, str) else "given"
    settings = {"dropout": dropout, "l2": float(model.l2), "l2_weights": l2_weights}
    return Summary(
        texts={str(label): int(count) for label, count in zip(labels, counts, strict=True)},
        unlabeled=n_unlabeled,
        features=int(model.n_features_in_),
        settings=settings | {"discount": float(model.discount) if n_unlabeled else None},
        search=None if search is None else _summarize_search(search),
        iterations=int(sum(result.n_iter for result in results)),
        converged=all(result.status == "converged" for result in results),
    )


def _summarize_search(search: LogisticRegressionCV) -> dict[str, Any]:
    table, best = search.cv_results_, search.best_index_
    scores = np.array([column[best] for name, column in table.items() if name.startswith("split")])
    error = float(scores.std(ddof=1) / np.sqrt(len(scores))) if len(scores) > 1 else None
    means = table["mean_test_score"]
    return {
        "scoring": search.scoring if isinstance(search.scoring, str) else "score",
        "folds": len(scores),
        "points": len(means),
        "score": search.best_score_,
        "standard_error": error,
        "within": int((means >= np.nanmax(means) - (error or 0.0)).sum()),
    }
