"""The grid of a search: the values of each setting, and the candidates that combine them."""

from collections.abc import Sequence
from itertools import product
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from dropglm.base import checks
from dropglm.base.blocks import PerBlock
from dropglm.base.errors import InputError, InputTypeError
from dropglm.core.features import AnyFeatures
from dropglm.core.l2_weights import L2Weights, l2_weights_from
from dropglm.core.noise import Noise
from dropglm.core.penalties import Penalty
from dropglm.core.settings import noise_from
from dropglm.places.paths import Candidate

# Settings of which a search tries several values, besides l2_weights.
SETTINGS = ("dropout", "noise_std", "l2", "discount")


def is_grid(name: str, value: Any) -> bool:
    """Return whether the value of this setting is a sequence of values; a vector of l2_weights is one value.

    Examples
    --------
    >>> is_grid("l2", [1.0, 2.0]), is_grid("l2_weights", [1.0, 2.0]), is_grid("l2_weights", ["uniform"])
    (True, False, True)
    >>> is_grid("dropout", PerBlock(0.5, 0.0)), is_grid("dropout", [PerBlock(0.5, 0.0), 0.5])
    (False, True)
    """
    if isinstance(value, str) or not np.iterable(value):
        return False
    single = (L2Weights, PerBlock)
    return name != "l2_weights" or any(np.iterable(one) or isinstance(one, single) for one in value)


class GridNoise(NamedTuple):
    """The noise of some candidates, and the settings that describe it."""

    dropout: Any
    noise_std: Any
    noise: Noise


def grids_of(estimator: Any, blocks: int | None) -> dict[str, list[Any]]:
    """Return the values of every setting but l2_weights, strong penalties first."""
    grids: dict[str, list[Any]] = {}
    for name in SETTINGS:
        given = getattr(estimator, name)
        values: list[Any] = list(given) if is_grid(name, given) else [given]
        if not values:
            raise InputError(f"{name} is an empty grid; give at least one value.")
        if name == "dropout":
            values.sort(key=lambda dropout: noise_from(dropout, 0.0, blocks).strength, reverse=True)
        elif name == "noise_std":
            values.sort(key=lambda std: noise_from(0.0, std, blocks).strength, reverse=True)
        else:
            for value in values:
                checks.not_negative(value, name)
            values.sort(reverse=True)
        grids[name] = values
    return grids


def noises_of(grids: dict[str, list[Any]], blocks: int | None) -> list[GridNoise]:
    """Return the noise of every dropout rate with every standard deviation."""
    return [
        GridNoise(dropout, std, noise_from(dropout, std, blocks))
        for dropout, std in product(grids["dropout"], grids["noise_std"])
    ]


def l2_weights_grid(given: Any, features: AnyFeatures) -> list[Any]:
    """Return the values of l2_weights: a single name, number, array or PerBlock is a grid of one."""
    if isinstance(given, str):
        return _automatic(features) if given == "auto" else [given]
    if isinstance(given, (L2Weights, PerBlock, Real)):
        return [given]
    values: list[Any] = list(given) if np.iterable(given) else []
    if not values:
        raise InputTypeError(f"l2_weights must be a name, an array or a sequence of these, got {given!r}.")
    return values if is_grid("l2_weights", values) else [given]


def _automatic(features: AnyFeatures) -> list[Any]:
    """Return "uniform" and, if the features of some block are not negative, naive-Bayes weights for these."""
    by_block = ["uniform" if smallest < 0.0 else "naive_bayes" for smallest in features.smallest]
    if "naive_bayes" not in by_block:
        return ["uniform"]
    return ["uniform", by_block[0] if features.block_count is None else PerBlock(*by_block)]


def candidates_of(
    grids: dict[str, list[Any]],
    noises: Sequence[GridNoise],
    penalties: Sequence[Penalty | None],
    l2_weights: Sequence[Any],
    features: AnyFeatures,
) -> list[Candidate]:
    """Return all points of the grid: paths of constant l2_weights and discount, strong penalties first.

    The discount has no effect without unlabelled rows, so only one is tried then.
    """
    discounts = grids["discount"] if features.some_unlabeled else grids["discount"][:1]
    rules = [l2_weights_from(value, features) for value in l2_weights]
    paths = product(zip(l2_weights, rules, strict=True), discounts)
    return [
        Candidate(
            {
                "dropout": noise.dropout,
                "noise_std": noise.noise_std,
                "l2": l2,
                "l2_weights": value,
                "discount": discount,
            },
            penalty,
            rule,
            path,
            noise.noise.strength,
        )
        for path, ((value, rule), discount) in enumerate(paths)
        for noise, penalty in zip(noises, penalties, strict=True)
        for l2 in grids["l2"]
    ]
