"""Settings of an estimator when blocks of features are added to the n-grams, or taken away again."""

from collections.abc import Callable, Sequence
from typing import Any

from dropglm.blocks import PerBlock
from dropglm.estimators import LogisticRegression, LogisticRegressionCV
from dropglm.estimators.grid import is_grid

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
