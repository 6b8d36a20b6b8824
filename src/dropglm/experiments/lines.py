"""What all experiments ask of their raw lines."""

from collections.abc import Iterable

import numpy as np

from dropglm.experiments.experiment import Line


def by(field: str, lines: Iterable[Line]) -> dict[str, list[Line]]:
    """The lines by what they have in a field, in the order of its first appearance.

    Examples
    --------
    >>> lines = [{"data": "rt", "seed": 0}, {"data": "subj", "seed": 0}, {"data": "rt", "seed": 1}]
    >>> {data: len(mine) for data, mine in by("data", lines).items()}
    {'rt': 2, 'subj': 1}
    """
    found: dict[str, list[Line]] = {}
    for line in lines:
        found.setdefault(line[field], []).append(line)
    return found


def results(name: str, lines: Iterable[Line]) -> list[float]:
    """A number of each line's result, of those that have it."""
    return [line["result"][name] for line in lines if name in line["result"]]


def seeds(lines: Iterable[Line]) -> str:
    """How many there are, in words."""
    number = len({line["seed"] for line in lines})
    return f"{number} seeds" if number > 1 else "1 seed"


def percent(values: Iterable[float]) -> str:
    """The mean of accuracies.

    Examples
    --------
    >>> percent([0.5, 0.75]), percent([])
    ('62.50', '-')
    """
    found = list(values)
    return f"{100 * np.mean(found):.2f}" if found else "-"


def mean(values: Iterable[float]) -> str:
    """The mean of losses."""
    found = list(values)
    return f"{np.mean(found):.3f}" if found else "-"


def error(values: Iterable[float]) -> float | None:
    """The standard error of the mean; one value has none.

    Examples
    --------
    >>> error([0.5, 0.75]), error([0.5])
    (0.125, None)
    """
    found = list(values)
    return float(np.std(found, ddof=1) / np.sqrt(len(found))) if len(found) > 1 else None


def standard_error(values: Iterable[float]) -> str:
    """Of the mean of accuracies, in per cent.

    Examples
    --------
    >>> standard_error([0.5, 0.75]), standard_error([0.5])
    ('12.50', '-')
    """
    found = error(values)
    return "-" if found is None else f"{100 * found:.2f}"
