"""The weights of n-grams for each class, and the n-grams with the strongest influence."""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple
from unicodedata import category

import numpy as np

from dropglm import checks
from dropglm.estimators.predictions import LogisticPredictions

# Punctuation, and the symbols that are typed like it: $ + < = > ^ ` | ~. Other symbols are mostly emoji,
# which mean something on their own; combining marks are parts of words.
PUNCTUATION = frozenset({"Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "Sc", "Sk", "Sm", "Cc", "Cf"})


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
        entries = words_first(names, np.flatnonzero(row > 0), row * factors, k)
        top[label] = [NgramWeight(name, float(row[j] * values[j])) for name, j in entries]
    return top


def words_first(
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


def weights_by_class(weights: np.ndarray, multi_class: str) -> Iterator[np.ndarray]:
    """Yield one row per class.

    For two classes, the weights of the first are the negative of those of the second. In a multinomial model
    only differences between classes matter, so the rows are centred over the classes.

    Parameters
    ----------
    weights : ndarray of shape (1, m) for two classes, else (K, m)
        Coefficients, or anything that is linear in them.
    multi_class : {"multinomial", "ovr"}
        Whether there is one model for all classes, or one for each class against the rest.
    """
    if len(weights) == 1:
        yield from (-weights[0], weights[0])
    elif multi_class == "multinomial":
        centre = weights.mean(axis=0)
        yield from (row - centre for row in weights)
    else:
        yield from weights


def weights_between(weights: np.ndarray, first: int, second: int) -> np.ndarray:
    """Return the weights of class ``first`` minus those of class ``second``.

    Examples
    --------
    The single row of a model of two classes is the difference between class 1 and class 0:

    >>> weights_between(np.array([[0.5, -2.0]]), 0, 1)
    array([-0.5,  2. ])
    >>> weights_between(np.array([[0.5], [0.2], [-0.3]]), 0, 2)
    array([0.8])
    """
    if len(weights) == 1:
        return weights[0] if first == 1 else -weights[0]
    return weights[first] - weights[second]


@cache
def _is_punctuation(character: str) -> bool:
    return category(character) in PUNCTUATION


def only_words(ngram: str) -> bool:
    """Return whether every token of the n-gram has a letter, a digit or an emoji.

    Where a hashed column stands for several n-grams, separated by " | ", it is enough that one of them has
    only words.

    Examples
    --------
    >>> [only_words(ngram) for ngram in ("don't", "mp3 player", "( a", "> _", ", | a lovely")]
    [True, True, False, False, True]
    """
    return any(_words(name.split()) for name in ngram.split(" | "))


def _words(tokens: list[str]) -> bool:
    return bool(tokens) and not any(all(map(_is_punctuation, token)) for token in tokens)
