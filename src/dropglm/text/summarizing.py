"""How a fit of a text classifier is summarised, and what unlabelled texts bring to it.

The model without unlabelled texts has the same n-grams and the same folds. It is among the candidates of
every search, unless the user asks for a positive discount or for l2 weights that count unlabelled texts.
"""

import warnings
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

from dropglm.estimators import LogisticRegression, LogisticRegressionCV
from dropglm.estimators.folds import FOLDS
from dropglm.estimators.l2_weights import counts_unlabeled
from dropglm.estimators.scoring import standard_error
from dropglm.estimators.warning import stacklevel
from dropglm.text.latent_prior import LatentPrior
from dropglm.text.summary import Summary, readable_score
from dropglm.text.vectorizer import NgramVectorizer


def _short(number: float) -> float:
    return float(f"{number:.3g}")


def summarize(
    vectorizer: NgramVectorizer,
    model: LogisticRegression,
    search: LogisticRegressionCV | None,
    found: dict[str, Any] | None,
    sizes: dict[str, int],
    n_unlabeled: int,
    embedding: dict[str, Any] | None = None,
    effect: dict[str, Any] | None = None,
) -> Summary:
    """Summarise a fit to texts of classes of these sizes, to unlabelled texts and to embeddings.

    ``found`` and ``effect`` are the fields ``search`` and ``unlabeled_effect`` of the summary.
    """
    results = model.result_ if isinstance(model.result_, tuple) else (model.result_,)
    dropout = float(model.dropout) if isinstance(model.dropout, Real) else repr(model.dropout)
    l2_weights = model.l2_weights if isinstance(model.l2_weights, str | Real) else "given"
    settings = {"dropout": dropout, "l2": _short(model.l2), "l2_weights": l2_weights}
    return Summary(
        texts=sizes,
        unlabeled=n_unlabeled,
        features=int(model.n_features_in_),
        settings=settings
        | {
            "discount": float(model.discount) if n_unlabeled and model.discount else None,
            "scale": _short(search.scale_) if search and (search.calibrate or search.naive_bayes) else None,
            "naive_bayes": _short(search.naive_bayes_) if search and search.naive_bayes else None,
            "ngram_weight": float(vectorizer.ngram_weight) if vectorizer._check()[1] > 1 else None,
        },
        search=found,
        iterations=int(sum(result.n_iter for result in results)),
        converged=all(result.status == "converged" for result in results),
        embedding=embedding,
        unlabeled_effect=effect,
    )


def class_sizes(counts: Mapping[Any, int]) -> dict[str, int]:
    """Return the field ``texts`` of a summary, given the number of texts of each class."""
    return {str(label): count for label, count in sorted(counts.items())}


def summarize_search(search: LogisticRegressionCV, accuracy: float, never_held_out: int) -> dict[str, Any]:
    """Return the field ``search`` of a summary, given its last figures."""
    scores, means = search.best_scores_, search.cv_results_["mean_test_score"]
    # Repeated draws of the folds are not independent of each other.
    independent = len(scores) if search.cv is not None else min(len(scores), FOLDS)
    error = standard_error(scores, independent)
    return {
        "scoring": search.scoring if isinstance(search.scoring, str) else "score",
        "folds": len(scores),
        "points": len(means),
        "score": search.best_score_,
        "standard_error": error,
        "within": int((means >= np.nanmax(means) - (error or 0.0)).sum()),
        "accuracy": accuracy,
        "l2_at_edge": search.l2_at_edge_,
        "never_held_out": never_held_out,
    }


def held_out_figures(search: LogisticRegressionCV, y: np.ndarray) -> tuple[float, int]:
    """Return the accuracy on held-out texts, and the number of texts that were never held out."""
    held_out = ~np.isnan(search.cv_probabilities_[:, 0])
    predicted = search.classes_[search.cv_probabilities_[held_out].argmax(axis=1)]
    return float(np.mean(predicted == y[held_out])), int((~held_out).sum())


def effect_of(search: LogisticRegressionCV, prior: LatentPrior | None) -> dict[str, Any]:
    """Return the field ``unlabeled_effect`` of a summary."""
    table = search.cv_results_
    means = table["mean_test_score"]
    without = [
        row
        for row, params in enumerate(table["params"])
        if not _uses_unlabeled(params, prior) and not np.isnan(means[row])
    ]
    best = max(without, key=lambda row: means[row], default=None)
    latent = None if prior is None else prior.chosen(search.l2_weights_)
    return {
        "score_without": None if best is None else float(means[best]),
        "accuracy_without": None if best is None else float(table["accuracy"][best]),
        "n_latent": 0 if prior is None or latent is None else prior.blocks[latent].width,
        "rare_words": prior is not None and latent is not None and prior.powers[latent] > 0.0,
        "rounds": len(search.rounds_),
        "discount": float(search.discount_),
    }


def _uses_unlabeled(params: dict[str, Any], prior: LatentPrior | None) -> bool:
    """Return whether candidates with these settings use unlabelled texts, apart from the rounds."""
    latent = prior is not None and prior.chosen(params["l2_weights"]) is not None
    return bool(params["discount"]) or counts_unlabeled(params["l2_weights"]) or latent


def warn_unless_better(summary: Any) -> None:
    """Warn if the cross-validated score with unlabelled texts is not better than that without."""
    effect, search = summary.unlabeled_effect, summary.search
    if effect is None or effect["score_without"] is None or search["score"] > effect["score_without"]:
        return
    name, score = readable_score(search["scoring"], search["score"])
    _, score_without = readable_score(search["scoring"], effect["score_without"])
    warnings.warn(
        f"The {summary.unlabeled:,} texts without labels did not improve the cross-validated {name} "
        f"({score_without:.4f} without, {score:.4f} with); compare models with and without them on labelled "
        "texts that you hold out.",
        stacklevel=stacklevel(),
    )
