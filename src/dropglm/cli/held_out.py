"""The texts on which ``dropglm train --validation`` measures a model: a part of the table, or another one."""

import math
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import typer

from dropglm.cli.errors import BadInputError
from dropglm.cli.inputs_outputs import read_labelled
from dropglm.tables import Table

if TYPE_CHECKING:
    import numpy as np


class HeldOut(NamedTuple):
    """Texts with labels that are not trained on, and their rows in the table; None for another table."""

    texts: list[str]
    y: "np.ndarray"
    rows: "np.ndarray | None"


def split(
    texts: list[str], y: "np.ndarray", validation: str | None, table: Table, seed: int, *, quiet: bool
) -> "tuple[np.ndarray, HeldOut | None]":
    """Return the rows to train on and, if ``--validation`` is given, the texts to measure on."""
    import numpy as np

    rows = np.arange(len(texts))
    if validation is None:
        return rows, None
    try:
        fraction = float(validation)
    except ValueError:
        return rows, HeldOut(*read_labelled(replace(table, path=validation, format=None), quiet=quiet), None)
    if not 0.0 < fraction < 1.0:
        raise typer.BadParameter("a fraction must be between 0 and 1.", param_hint="--validation")
    counts = Counter(y.tolist())
    n_held_out = math.ceil(fraction * len(texts))
    n_train = len(texts) - n_held_out
    stratified = min(counts.values()) > 1
    needed = len(counts) if stratified else 1
    if min(n_train, n_held_out) < needed:
        advice = "smaller" if n_train < n_held_out else "larger"
        raise BadInputError(
            f"--validation {fraction} of {len(texts)} texts leaves {n_train} for training and {n_held_out} "
            f"for evaluation; each needs at least {needed}. Choose a {advice} fraction or a separate table."
        )
    from sklearn.model_selection import train_test_split

    ours, held_out = train_test_split(
        rows, test_size=n_held_out, random_state=seed, stratify=y if stratified else None
    )
    return ours, HeldOut([texts[row] for row in held_out], y[held_out], held_out)
