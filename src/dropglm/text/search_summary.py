"""What a summary says of a cross-validation."""

from typing import Any

import numpy as np

from dropglm.estimators import LogisticRegressionCV
from dropglm.estimators.folds import FOLDS


def summarize_search(search: LogisticRegressionCV, y: np.ndarray) -> dict[str, Any]:
    """Return the field ``search`` of a summary, given the labels y of the texts."""
    scores, means = search.best_scores_, search.cv_results_["mean_test_score"]
    # Repeated draws of the folds are not independent of each other.
    independent = len(scores) if search.cv is not None else min(len(scores), FOLDS)
    error = float(scores.std(ddof=1) / np.sqrt(independent)) if len(scores) > 1 else None
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
