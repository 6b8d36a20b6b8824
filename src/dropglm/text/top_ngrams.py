"""The n-grams with the strongest influence on each class."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dropglm import checks
from dropglm.estimators.predictions import LogisticPredictions
from dropglm.text.class_weights import weights_by_class
from dropglm.text.words import only_words


class NgramWeight(NamedTuple):
    """An n-gram and what it typically adds to the predictor of a class."""

    ngram: str
    weight: float


def top_ngrams(
    names: Callable[[np.ndarray], list[str]],
    model: LogisticPredictions,
    typical: np.ndarray,
    scale: np.ndarray,
    k: int,
) -> dict[Any, list[NgramWeight]]:
    """Return at most k n-grams with positive weights for each class, those that consist of words first.

    Parameters
    ----------
    names : callable
        Returns the n-grams of columns.
    model : LogisticPredictions
        A fitted model.
    typical : ndarray that broadcasts to shape (features,)
        The typical value of a feature in the texts that have it. The weight of an n-gram is its coefficient
        times this value.
    scale : ndarray that broadcasts to shape (K, features)
        N-grams are ranked by coefficient times scale. The scale grows with the number of texts that have the
        n-gram; without it, n-grams of two or three texts would come first.
    k : int
        Number of n-grams per class.
    """
    checks.whole_number(k, "k", least=1)
    labels = model.classes_.tolist()
    values = np.broadcast_to(typical, model.n_features_in_)
    scales = np.broadcast_to(scale, (len(labels), model.n_features_in_))
    top = {}
    rows = weights_by_class(model.coef_, model.multi_class_)
    for label, row, factors in zip(labels, rows, scales, strict=True):
        entries = _words_first(names, np.flatnonzero(row > 0), row * factors, k)
        top[label] = [NgramWeight(name, float(row[j] * values[j])) for name, j in entries]
    return top


def _words_first(
    names: Callable[[np.ndarray], list[str]], columns: np.ndarray, effects: np.ndarray, k: int
) -> list[tuple[str, int]]:
    """Return the k columns with the largest effects and their names: first words, then punctuation."""
    # Only the columns with the largest effects are sorted and named: there may be millions of columns.
    effects, m = effects[columns], 8 * k
    while True:
        smallest = np.partition(effects, -m)[-m] if m < len(columns) else -np.inf
        chosen = np.flatnonzero(effects >= smallest)
        chosen = columns[chosen[np.argsort(-effects[chosen], kind="stable")]]
        named = list(zip(names(chosen), chosen.tolist(), strict=True))
        words = [entry for entry in named if only_words(entry[0])]
        if len(words) >= k or m >= len(columns):
            others = [entry for entry in named if not only_words(entry[0])]
            return (words + others)[:k]
        m *= 8


def top_to_dict(top: dict[Any, list[NgramWeight]]) -> dict[str, list[dict[str, Any]]]:
    """Return the result of ``top_features`` in plain types, for JSON."""
    return {str(label): [entry._asdict() for entry in entries] for label, entries in top.items()}
