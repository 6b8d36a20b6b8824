"""What a text classifier tunes: its grids, also those of further blocks, and the estimator that chooses."""

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from dropglm.base.blocks import PerBlock
from dropglm.base.errors import InputError, InputTypeError
from dropglm.linear import LogisticRegression
from dropglm.search import LogisticRegressionCV
from dropglm.search.search import is_grid
from dropglm.text.ngrams.vectorizer import NgramVectorizer

# The settings where the user gives no value; several values are tuned. Predictors are blended with those of
# naive Bayes, so a coarse grid is enough. With many classes, naive-Bayes weights of l2 cost 0.9 points of
# accuracy (20 newsgroups, 1,000 labels).
GRID: dict[str, Any] = {
    "dropout": 0.5,
    "l2": (1.0, 0.1, 0.01),
    "l2_weights": "naive_bayes",
    "discount": 0.0,
}
SMALL_GRID: dict[str, Any] = GRID | {"l2": (1.0, 0.1), "l2_weights": "uniform"}
MANY_CLASSES = 10
# Without tuning. On rows of length 1, l2 = 1 is far too strong (82.9 instead of 85.1 % with 1,000 labels).
UNTUNED: dict[str, Any] = {"dropout": 0.5, "l2": 0.01, "l2_weights": "uniform", "discount": 0.0}
# With 50 to 1,000 labels, a weight of 1 instead of 0.5 costs up to 4 points of accuracy (news4). With 8,000
# reviews of IMDB it gains 0.5, so both are tried if there are many texts.
NGRAM_WEIGHTS = (0.5, 1.0)
MANY_TEXTS = 1000


def ngram_weights_of(classifier: Any, class_counts: np.ndarray) -> tuple[float, ...]:
    """Return the weights of longer n-grams to choose from, given the number of texts of each class."""
    given = classifier.ngram_weight
    if given is not None:
        values = tuple(given) if is_grid("ngram_weight", given) else (given,)
        if not values:
            raise InputError("ngram_weight is an empty grid; give at least one value.")
        return values
    _, longest = vectorizer_of(classifier, NGRAM_WEIGHTS[0])._check()
    many = class_counts.sum() > MANY_TEXTS and len(class_counts) <= MANY_CLASSES
    tuned = isinstance(estimator_of(classifier, class_counts), LogisticRegressionCV)
    return NGRAM_WEIGHTS if tuned and many and longest > 1 else NGRAM_WEIGHTS[:1]


def vectorizer_of(classifier: Any, ngram_weight: float) -> NgramVectorizer:
    """Return a vectorizer with the settings of a classifier, which has not seen any texts."""
    settings = classifier._settings_shared_with(NgramVectorizer) | {"ngram_weight": ngram_weight}
    return NgramVectorizer(**settings)


def check_values(classifier: Any) -> None:
    """Raise an error if a setting has several values but nothing is tuned, or values of several blocks."""
    for name in (*GRID, "ngram_weight"):
        value = getattr(classifier, name)
        several = is_grid(name, value)
        if not classifier.tune and several:
            raise InputError(f"tune=False needs a single value for {name}, got {value!r}.")
        if any(isinstance(one, PerBlock) for one in (value if several else [value])):
            raise InputTypeError(
                f"{name} of a text classifier is that of the n-grams; do not give a PerBlock."
            )


def estimator_of(classifier: Any, class_counts: np.ndarray) -> LogisticRegression | LogisticRegressionCV:
    """Return the estimator to fit: one with cross-validation if there are settings to choose."""
    given = {name: getattr(classifier, name) for name in GRID if getattr(classifier, name) is not None}
    several = any(is_grid(name, getattr(classifier, name)) for name in (*GRID, "ngram_weight"))
    settled = len(given) == len(GRID) and not several and not (classifier.calibrate or classifier.naive_bayes)
    # Nothing can be held out if every class has a single text.
    one_each = isinstance(classifier.cv, Integral | None) and class_counts.max() < 2
    if not classifier.tune or settled or one_each:
        shared = classifier._settings_shared_with(LogisticRegression)
        fixed = {name: value for name, value in shared.items() if name not in GRID}
        single = {name: value for name, value in given.items() if not is_grid(name, value)}
        return LogisticRegression(**fixed | UNTUNED | single)
    grid = SMALL_GRID if len(class_counts) > MANY_CLASSES else GRID
    shared = classifier._settings_shared_with(LogisticRegressionCV)
    return LogisticRegressionCV(**shared | grid | given, extend_l2=classifier.l2 is None)


# The settings that have one value per block.
BY_BLOCK = ("dropout", "noise_std", "l2_weights")


def add_blocks(
    estimator: LogisticRegression | LogisticRegressionCV,
    values: Callable[[str, Any], Sequence[tuple[Any, ...]]],
) -> None:
    """Give an estimator the settings of one or more further blocks.

    Parameters
    ----------
    estimator : LogisticRegression or LogisticRegressionCV
        Its settings are changed.
    values : callable
        Called with the name of a setting and with one of the values that it has for the blocks so far;
        returns the candidates for the further blocks, each with one value per block.

    Examples
    --------
    >>> search = LogisticRegressionCV(dropout=(0.5, 0.3), l2_weights="uniform")
    >>> add_blocks(search, lambda name, value: [(0.1,), (1.0,)] if name == "l2_weights" else [(0.0,)])
    >>> search.dropout, search.l2_weights
    ([PerBlock(0.5, 0.0), PerBlock(0.3, 0.0)], [PerBlock('uniform', 0.1), PerBlock('uniform', 1.0)])
    """
    tuned = isinstance(estimator, LogisticRegressionCV)
    for name in BY_BLOCK:
        given = getattr(estimator, name)
        if tuned and isinstance(given, str) and given == "auto":
            given = ("uniform", "naive_bayes")
        grid = [
            with_last(value, *last)
            for value in (given if is_grid(name, given) else [given])
            for last in values(name, value)
        ]
        estimator.set_params(**{name: grid[0] if len(grid) == 1 else grid})


def with_last(value: Any, *last: Any) -> PerBlock:
    """Return the values of a setting with those of further blocks.

    Examples
    --------
    >>> with_last(0.5, 0.0), with_last(PerBlock(0.5, 0.1), 0.0)
    (PerBlock(0.5, 0.0), PerBlock(0.5, 0.1, 0.0))
    """
    return PerBlock(*(value.values if isinstance(value, PerBlock) else [value]), *last)


def without_last(value: Any, count: int = 1) -> Any:
    """Return the values of a setting without those of the last blocks.

    Examples
    --------
    >>> without_last(PerBlock(0.5, 0.1, 0.0)), without_last(PerBlock(0.5, 0.1, 0.0), 2), without_last(0.5)
    (PerBlock(0.5, 0.1), 0.5, 0.5)
    """
    if not isinstance(value, PerBlock):
        return value
    first = value.values[:-count]
    return first[0] if len(first) == 1 else PerBlock(*first)
