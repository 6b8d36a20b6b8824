"""Racing compared with fits of all settings to all folds: the choice, its score, test accuracy and CPU time.

Both models are trained on the same texts. The difference of the cross-validated scores is in units of their
standard error. CPU time is that of the whole fit; for a race, "fits" are those of the search whose n-gram
weight was chosen.

    DROPGLM_DATA=… python -m benchmarks.racing
    DROPGLM_DATA=… python -m benchmarks.racing rt subj
"""

import sys
import time
import warnings
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from dropglm import TextClassifier
from dropglm.datasets import load_dataset
from dropglm.experiments.few_labels import SETS
from dropglm.experiments.texts import all_texts
from dropglm.search import race

LABELS = (300, 1000, 5000)
UNLABELED, TEST = 2000, 2500  # texts, where there are as many
SEEDS = (0, 1)
HEADER = ("texts", "choice", "score, se", "test accuracy", "test log loss", "CPU time", "fits")


class Trained(NamedTuple):
    """A model, how good it is, and what it took."""

    choice: tuple[str, ...]
    score: float
    error: float
    accuracy: float
    log_loss: float
    seconds: float
    fits: int


def train(parts: tuple[Any, ...], *, races: bool) -> Trained:
    """Train and test a model on labelled, unlabelled and test texts."""
    texts, y, unlabeled, test, y_test = parts
    without = patch.object(race, "stops_of", lambda folds: [len(folds)])
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not races:
            without.start()
        model = TextClassifier(n_jobs=2).fit(texts, y, X_unlabeled=unlabeled if len(unlabeled) else None)
        if not races:
            without.stop()
    seconds, search = time.process_time() - start, model.search_
    p = model.predict_proba(test)[np.arange(len(test)), np.searchsorted(model.classes_, y_test)]
    return Trained(
        (f"{search.l2_:.3g}", str(search.l2_weights_), f"{model.vectorizer_.ngram_weight:g}"),
        search.best_score_,
        float(search.best_scores_.std(ddof=1) / np.sqrt(min(5, len(search.best_scores_)))),
        float(np.mean(model.predict(test) == y_test)),
        float(-np.log(p).mean()),
        seconds,
        int(search.cv_results_["folds_fitted"].sum()),
    )


def compare(name: str, n: int, m: int, seed: int) -> tuple[str, ...]:
    """Return the row of the table for n labelled and m unlabelled texts of a data set."""
    texts, y = all_texts(name, load_dataset)
    order = np.random.default_rng(seed).permutation(len(y))
    labeled, unlabeled, test = order[:n], order[n : n + m], order[n + m : n + m + TEST]
    parts = texts[labeled].tolist(), y[labeled], texts[unlabeled].tolist(), texts[test].tolist(), y[test]
    whole, raced = (train(parts, races=races) for races in (False, True))
    return (
        f"{name}, {n:,} + {m:,}, seed {seed}",
        "same" if whole.choice == raced.choice else f"{whole.choice} → {raced.choice}",
        f"{whole.score:.4f} {(raced.score - whole.score) / whole.error:+.2f}",
        f"{100 * whole.accuracy:.2f} → {100 * raced.accuracy:.2f}",
        f"{whole.log_loss:.4f} → {raced.log_loss:.4f}",
        f"{whole.seconds:.1f} → {raced.seconds:.1f} s",
        f"{whole.fits} → {raced.fits}",
    )


if __name__ == "__main__":
    print(" | ".join(HEADER))
    for name in sys.argv[1:] or SETS:
        total = len(all_texts(name, load_dataset)[1])
        for n in LABELS:
            for m in (0, UNLABELED):
                if n + m + 500 <= total:
                    for seed in SEEDS:
                        print(" | ".join(compare(name, n, m, seed)), flush=True)
