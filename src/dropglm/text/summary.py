"""What a text classifier has learnt, from how much, and how sure it is."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dropglm.estimators import LogisticRegression, LogisticRegressionCV

MOST_CLASSES = 12  # in a line


@dataclass(frozen=True)
class Summary:
    """A fit in figures; ``print`` it.

    Attributes
    ----------
    texts : dict
        The number of texts of each class.
    unlabeled : int
        The number of texts without labels.
    features : int
        The number of n-grams.
    settings : dict
        Dropout, l2, ridge and discount (without texts to discount, None).
    search : dict or None
        If the settings were chosen: the scorer, the number of folds and of points tried, the mean score of
        the chosen one, its standard error over the folds, and how many points are within it of the best.
    iterations : int
        Those of the last fit.
    converged : bool
        Whether it came to its end.
    """

    texts: dict[str, int]
    unlabeled: int
    features: int
    settings: dict[str, Any]
    search: dict[str, Any] | None
    iterations: int
    converged: bool

    def to_dict(self) -> dict[str, Any]:
        """The same in plain types, for JSON."""
        return asdict(self)

    def lines(self) -> list[tuple[str, str]]:
        """What there is to say, as pairs of a heading and a statement."""
        total = sum(self.texts.values())
        settings = ", ".join(f"{name} {value}" for name, value in self.settings.items() if value is not None)
        said = [
            ("texts", f"{total:,} with labels ({classes_line(self.texts)}), {self.unlabeled:,} without"),
            ("n-grams", f"{self.features:,}"),
            ("settings", settings),
        ]
        if self.search:
            found = self.search
            score = f"{found['scoring']} {found['score']:.4f}"
            if found["standard_error"] is not None:
                score += f" ± {found['standard_error']:.4f}"
                near = f"; {found['within']} of {found['points']} settings are within that of the best"
            else:
                near = f"; the best of {found['points']} settings"
            folds = f" over {found['folds']} fold{'s' if found['folds'] > 1 else ''}"
            said.append(("cross-validation", score + folds + near))
        how = "converged" if self.converged else "NOT converged"
        return [*said, ("fit", f"{how} after {self.iterations} iterations")]

    def __str__(self) -> str:
        return "\n".join(f"{heading:<18}{statement}" for heading, statement in self.lines())


def classes_line(texts: dict[str, int]) -> str:
    """The number of texts of each class, of the first dozen at least."""
    first = [f"{label} {count:,}" for label, count in list(texts.items())[:MOST_CLASSES]]
    return ", ".join(first) + (", …" if len(texts) > MOST_CLASSES else "")


def summarised(
    model: LogisticRegression, search: LogisticRegressionCV | None, X: Any, y: np.ndarray, unlabeled: int
) -> Summary:
    """The figures of a fit to the rows of X, of which the last are unlabelled."""
    labels, counts = np.unique(y, return_counts=True)
    results = model.result_ if isinstance(model.result_, tuple) else (model.result_,)
    ridge = model.l2_weights if isinstance(model.l2_weights, str) else "given"
    settings = {"dropout": float(model.dropout), "l2": float(model.l2), "l2_weights": ridge}
    return Summary(
        texts={str(label): int(count) for label, count in zip(labels, counts, strict=True)},
        unlabeled=unlabeled,
        features=int(X.shape[1]),
        settings=settings | {"discount": float(model.discount) if unlabeled else None},
        search=None if search is None else _searched(search),
        iterations=int(sum(result.n_iter for result in results)),
        converged=all(result.status.value == "converged" for result in results),
    )


def _searched(search: LogisticRegressionCV) -> dict[str, Any]:
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
