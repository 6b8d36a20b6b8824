"""Fits to more rows than fit into memory: partitions that are read again in each pass."""

import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from dropglm.base import checks
from dropglm.base.errors import InputTypeError
from dropglm.places.partitions.checkpoint import remove_checkpoint
from dropglm.places.partitions.contents import Rows, partition_name
from dropglm.places.partitions.engine import SerialEngine
from dropglm.places.partitions.rows import fit_partitions

Model = TypeVar("Model")


class Source(NamedTuple):
    """Where the rows of a partition come from."""

    number: int
    partition: Any
    load: Callable[[Any], Any] | None
    labeled: bool


def fit(
    model: Model,
    partitions: Sequence[Any],
    unlabeled_partitions: Sequence[Any] = (),
    *,
    load: Callable[[Any], Any] | None = None,
    in_memory: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Model:
    """Fit a linear model to partitions of rows that are read again in each pass over the data.

    The coefficients are those of ``model.fit`` to all rows at once, up to the tolerance of the solver. At
    most ``model.n_jobs`` partitions are in memory at a time, each worked on by a thread of its own, besides
    some vectors of one number per feature.

    Parameters
    ----------
    model : LogisticRegression, LogisticRegressionCV, LinearRegression or PoissonRegressor
        With the settings of the fit. The restrictions of ``dropglm.dask.LogisticRegressionCV`` apply here as
        well.
    partitions : sequence
        Labelled rows: functions without arguments, or whatever ``load`` takes, such as paths. A partition is
        (X, y) or (X, y, sample_weight), and must be the same each time it is read.
    unlabeled_partitions : sequence
        Unlabelled rows; such a partition is X or (X, unlabeled_weight).
    load : callable, optional
        Returns the rows of a partition, given an item of the sequences.
    in_memory : bool, default=False
        Keep the prepared partitions in memory, in place of reading them again.
    checkpoint : str or path, optional
        A folder for the state of the fit after each iteration. If the process dies, the same call continues
        there. The folder is removed at the end.

    Returns
    -------
    model
        The fitted model.

    See Also
    --------
    dropglm.dask : The same on a cluster.

    Examples
    --------
    >>> import numpy as np
    >>> from dropglm import LogisticRegression
    >>> from dropglm.places.partitions import fit
    >>> def rows(seed):  # for instance, read a file
    ...     rng = np.random.default_rng(seed)
    ...     X = rng.normal(size=(1000, 3))
    ...     return X, X[:, 0] + rng.normal(size=1000) > 0
    >>> model = fit(LogisticRegression(dropout=0.2), range(5), load=rows)
    >>> model.predict([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]])
    array([ True, False])
    """
    if not hasattr(model, "_fit_to"):
        raise InputTypeError(
            f"{type(model).__name__} cannot be fitted to partitions; pass a linear model of dropglm."
        )
    engine = SerialEngine(rereads=not in_memory, threads=checks.threads(getattr(model, "n_jobs", None)))
    sources = [
        [Source(number, partition, load, labeled) for number, partition in enumerate(found)]
        for found, labeled in ((partitions, True), (unlabeled_partitions, False))
    ]
    labeled, unlabeled = (engine.keep(read, found, None) for found in sources)
    fitted: Model = fit_partitions(model, engine, labeled, unlabeled, checkpoint)
    remove_checkpoint(checkpoint)
    return fitted


def read(source: Source, message: None) -> Rows:
    """Return the rows of a source."""
    number, partition, load, labeled = source
    name = partition_name(number, labeled=labeled)
    if load is None and not callable(partition):
        raise InputTypeError(f"{name} is {partition!r}, not a function; pass load=, which reads a partition.")
    try:
        found = partition() if load is None else load(partition)
    except Exception as error:
        error.add_note(f"{name} could not be read.")
        raise
    if not labeled and not isinstance(found, tuple):
        found = (found,)
    most = 3 if labeled else 2
    if not isinstance(found, tuple) or not most - 1 <= len(found) <= most:
        expected = "(X, y) or (X, y, sample_weight)" if labeled else "X or (X, unlabeled_weight)"
        raise InputTypeError(f"{name} must be {expected}.")
    if labeled:
        return Rows(number, *found)
    return Rows(number, found[0], None, found[1] if len(found) == 2 else None, labeled=False)
