"""What unlabelled texts bring to a fit: the score without and with them, and how the model uses them.

The model without them has the same n-grams and the same folds. It is among the candidates of every search,
unless the user asks for a positive discount or for l2 weights that count unlabelled texts.
"""

import warnings
from typing import Any

import numpy as np

from dropglm.estimators import LogisticRegressionCV
from dropglm.estimators.l2_weights import counts_unlabeled
from dropglm.estimators.warning import stacklevel
from dropglm.text.latent_prior import LatentPrior
from dropglm.text.search_summary import readable_score


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
