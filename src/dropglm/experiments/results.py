"""Summaries of raw results: lines grouped and averaged over seeds, and tables and curves of the means."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dropglm.plots.pages import ResultTable, fresh_axes
from dropglm.search.scoring import standard_error

ResultLine = dict[str, Any]  # the raw result of one fit, as stored in the file


class Lines(list[ResultLine]):
    """Raw results that are selected, grouped and summarised.

    Examples
    --------
    >>> line = {"parameters": {"labels": 50}, "result": {"loss": 2.0}}
    >>> lines = Lines([line | {"seed": 0}, line | {"seed": 1}])
    >>> lines.where(seed=1, labels=50, unlabeled=None) == lines[1:]
    True
    >>> {seed: len(group) for seed, group in lines.by("seed").items()}
    {0: 1, 1: 1}
    >>> lines.values("loss"), lines.by_seed("loss"), lines.count_seeds(), lines.counts()
    ([2.0, 2.0], {0: 2.0, 1: 2.0}, '2 seeds', {'50 labels': 50})
    """

    def where(self, **fields: Any) -> "Lines":
        """Return the lines whose fields and parameters have these values; None if a line has none."""
        return self.among(**{name: [value] for name, value in fields.items()})

    def among(self, **fields: Collection[Any]) -> "Lines":
        """Return the lines whose fields and parameters are among these values."""
        return Lines(line for line in self if all(_field(line, name) in fields[name] for name in fields))

    def by(self, field: str) -> "dict[Any, Lines]":
        """Group lines by the value of a field or of a parameter, in order of first appearance."""
        groups: dict[Any, Lines] = {}
        for line in self:
            groups.setdefault(_field(line, field), Lines()).append(line)
        return groups

    def values(self, score: str) -> list[float]:
        """Return one number from the result of each line that has it."""
        return [line["result"][score] for line in self if score in line["result"]]

    def by_seed(self, score: str, sets: int = 1) -> dict[int, float]:
        """Return the mean of a score over data sets by seed, of the seeds that have all of the sets."""
        found = {seed: group.values(score) for seed, group in self.by("seed").items()}
        return {seed: float(np.mean(numbers)) for seed, numbers in found.items() if len(numbers) == sets}

    def count_seeds(self) -> str:
        """Return the number of different seeds, in words."""
        number = len(self.by("seed"))
        return f"{number} seeds" if number > 1 else "1 seed"

    def counts(self, parameter: str = "labels", unit: str = " labels") -> dict[str, int]:
        """Return the values of a parameter that is a number, in ascending order, by heading."""
        return {f"{number:,}{unit}": number for number in sorted(self.by(parameter))}


Groups = Mapping[Any, Lines]


def _field(line: ResultLine, name: str) -> Any:
    return line[name] if name in line else line["parameters"].get(name)


def paired(own: Mapping[int, float], others: Mapping[int, float]) -> dict[int, float]:
    """Return the differences on the seeds that both have.

    Examples
    --------
    >>> paired({0: 0.75, 1: 0.5}, {1: 0.25, 2: 0.5})
    {1: 0.25}
    """
    return {seed: number - others[seed] for seed, number in own.items() if seed in others}


class Mean(NamedTuple):
    """A mean and its standard error, which a single number does not have."""

    value: float
    error: float | None


def mean_of(numbers: Iterable[float]) -> Mean | None:
    """Return the mean of some numbers with its standard error, or None if there are none.

    Examples
    --------
    >>> mean_of([0.5, 0.75]), mean_of([0.5]), mean_of([])
    (Mean(value=0.625, error=0.125), Mean(value=0.5, error=None), None)
    """
    found = list(numbers)
    if not found:
        return None
    return Mean(float(np.mean(found)), standard_error(found))


def means_of(groups: Mapping[Any, Iterable[float]]) -> dict[Any, Mean]:
    """Return the means of groups of numbers, in the order of their keys, without empty groups.

    Examples
    --------
    >>> means_of({300: [0.75], 50: [], 100: [0.5]})
    {100: Mean(value=0.5, error=None), 300: Mean(value=0.75, error=None)}
    """
    return {key: mean for key, numbers in sorted(groups.items()) if (mean := mean_of(numbers))}


class Unit(NamedTuple):
    """How numbers are shown: multiplied by a factor, with a number of decimals; a dash if there are none."""

    factor: float
    decimals: int

    def cell(self, number: float | None, sign: str = "") -> str:
        """Return one number; the sign "+" also marks positive ones."""
        return "-" if number is None else f"{self.factor * number:{sign}.{self.decimals}f}"

    def mean(self, numbers: Iterable[float], sign: str = "") -> str:
        """Return the mean of some numbers."""
        return self.cells(numbers, sign)[0]

    def cells(self, numbers: Iterable[float], sign: str = "") -> list[str]:
        """Return the mean of some numbers, and its standard error.

        Examples
        --------
        >>> PERCENT.cells([0.5, 0.75], "+"), NUMBER.cells([0.5]), NUMBER.cells([])
        (['+62.50', '12.50'], ['0.500', '-'], ['-', '-'])
        """
        value, error = mean_of(numbers) or (None, None)
        return [self.cell(value, sign), self.cell(error)]


PERCENT, NUMBER = Unit(100.0, 2), Unit(1.0, 3)
POINTS = Unit(1.0, 2)  # of numbers that are in per cent or in the paper


def table(
    title: str,
    header: Sequence[str],
    rows: Iterable[str],
    columns: Mapping[str, Any],
    cells: Callable[[str, Any], Iterable[str]],
) -> ResultTable:
    """Return a table with a group of cells for each row and column.

    Parameters
    ----------
    title : str
    header : sequence of str
        Heading of the names of rows, and of the cells of a group after its first.
    rows : iterable of str
        Names of the rows.
    columns : mapping
        What the columns stand for, by heading.
    cells : callable
        Takes the name of a row and what a column stands for.
    """
    corner, *further = header
    return ResultTable(
        title,
        [corner, *(heading for column in columns for heading in (column, *further))],
        [[row, *(cell for column in columns.values() for cell in cells(row, column))] for row in rows],
    )


def draw_curve(ax: Any, points: Mapping[Any, Mean], factor: float = 1.0, **style: Any) -> None:
    """Draw means with bars for their standard errors, if there are any."""
    if points:
        errors = [factor * (mean.error or 0.0) for mean in points.values()]
        means = [factor * mean.value for mean in points.values()]
        ax.errorbar(list(points), means, errors, capsize=2, **style)


def label_axis(ax: Any, ticks: Iterable[int], **settings: Any) -> None:
    """Give axes with curves a logarithmic scale of the number of labelled texts, and further settings."""
    ax.set(xscale="log", xlabel="labelled texts", **settings)
    numbers = sorted(ticks)
    ax.set_xticks(numbers, [f"{number:,}" for number in numbers])
    ax.minorticks_off()


def draw_panels(display: Any, panels: int = 2) -> list[Any]:
    """Draw the panels of a display, each as a figure of its own."""
    axes = [fresh_axes() for _ in range(panels)]
    display.plot(axes)
    return [ax.figure for ax in axes]
