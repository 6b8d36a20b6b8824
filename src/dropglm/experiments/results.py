"""Summaries of raw results: lines grouped and averaged over seeds, and tables and curves of the means."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dropglm.plots.pages import ResultTable, fresh_axes
from dropglm.search.scoring import standard_error

ResultLine = dict[str, Any]  # the raw result of one fit, as stored in the file


class Lines(list[ResultLine]):
    """Raw results that are selected, grouped and summarised.

    Differences and means of results are lines as well, so that they are grouped and shown in the same way.

    Examples
    --------
    >>> line = {"parameters": {"labels": 50}, "data": "rt", "result": {"loss": 2.0}}
    >>> lines = Lines([line | {"method": "L2", "seed": 0}, line | {"method": "L2", "seed": 1}])
    >>> lines.where(seed=1, labels=50, unlabeled=None) == lines[1:]
    True
    >>> {seed: len(group) for seed, group in lines.by("seed").items()}
    {0: 1, 1: 1}
    >>> lines.values("loss"), lines.count_seeds(), lines.counts()
    ([2.0, 2.0], '2 seeds', {'50 labels': {'labels': 50}})
    """

    def where(self, **fields: Any) -> "Lines":
        """Return the lines whose fields and parameters have these values; None if a line has none."""
        return self.among(**{name: [value] for name, value in fields.items()})

    def among(self, **fields: Collection[Any]) -> "Lines":
        """Return the lines whose fields and parameters are among these values."""
        return Lines(line for line in self if all(_field(line, name) in fields[name] for name in fields))

    def by(self, *fields: str) -> "dict[Any, Lines]":
        """Group lines by the value of a field or parameter, or by several, in order of first appearance."""
        groups: dict[Any, Lines] = {}
        for line in self:
            key = tuple(_field(line, field) for field in fields)
            groups.setdefault(key if len(fields) > 1 else key[0], Lines()).append(line)
        return groups

    def values(self, score: str) -> list[float]:
        """Return one number from the result of each line that has it."""
        return [line["result"][score] for line in self if score in line["result"]]

    def means(self, score: str, along: str) -> "dict[Any, Mean]":
        """Return the means of a score by a parameter that is a number, in ascending order."""
        groups = sorted(self.by(along).items())
        return {number: mean for number, group in groups if (mean := mean_of(group.values(score)))}

    def minus(self, others: "Lines") -> "Lines":
        """Return lines with the differences from others with the same data, number of labels and seed.

        Examples
        --------
        >>> first = {"data": "rt", "seed": 0, "parameters": {}}
        >>> own, others = (Lines([first | {"result": {"loss": loss}}]) for loss in (0.75, 0.5))
        >>> own.minus(others).values("loss"), own.minus(Lines())
        ([0.25], [])
        """
        theirs = {_split(line): _scores(line) for line in others}
        return Lines(
            line | {"result": {key: own - other[key] for key, own in _scores(line).items() if key in other}}
            for line in self
            if (other := theirs.get(_split(line)))
        )

    def gap(self, score: str, other: str) -> "Lines":
        """Return lines with one score minus another as their result, named ``gap``; of those that have both.

        Examples
        --------
        >>> lines = Lines([{"result": {"loss": 0.75, "reported": 0.5}}, {"result": {"loss": 0.75}}])
        >>> lines.gap("reported", "loss")
        [{'result': {'gap': -0.25}}]
        """
        return Lines(
            line | {"result": {"gap": found[score] - found[other]}}
            for line in self
            if {score, other} <= (found := line["result"]).keys()
        )

    def averaged(self, sets: int) -> "Lines":
        """Return the means over data sets, of the splits that have results for all of the sets."""
        groups = [group for group in self.by("method", "labels", "seed").values() if len(group) == sets]
        return Lines(group[0] | {"result": group._mean_scores()} for group in groups)

    def _mean_scores(self) -> dict[str, float]:
        """Return the means of the scores that all lines have."""
        values = {name: self.values(name) for name in _scores(self[0])}
        return {name: float(np.mean(found)) for name, found in values.items() if len(found) == len(self)}

    def count_seeds(self) -> str:
        """Return the number of different seeds, in words."""
        number = len(self.by("seed"))
        return f"{number} seeds" if number > 1 else "1 seed"

    def counts(self, parameter: str = "labels", unit: str | None = None) -> dict[str, dict[str, int]]:
        """Return the columns of a table, one for each value of a parameter that is a number."""
        after = f" labels{self._per_class()}" if unit is None else unit
        return {f"{number:,}{after}": {parameter: number} for number in sorted(self.by(parameter))}

    def unit(self) -> str:
        """Return what the parameter ``labels`` counts: texts in all, or texts of each class."""
        return f"labelled texts{self._per_class()}"

    def _per_class(self) -> str:
        return " per class" if self and all(_field(line, "per_class") is True for line in self) else ""


Groups = Mapping[Any, Lines]


def _field(line: ResultLine, name: str) -> Any:
    return line[name] if name in line else line["parameters"].get(name)


def _split(line: ResultLine) -> tuple[Any, ...]:
    """Return what is equal for results on the same split of the same data."""
    return tuple(_field(line, name) for name in ("data", "labels", "seed"))


def _scores(line: ResultLine) -> dict[str, float]:
    return {name: number for name, number in line["result"].items() if isinstance(number, int | float)}


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


class Score(NamedTuple):
    """A score of raw results: its name there and in tables, its unit, and whether higher is better."""

    key: str
    name: str
    unit: Unit
    higher: bool = False

    def cells(self, lines: Lines, sign: str = "") -> list[str]:
        """Return the mean over some lines, and its standard error."""
        return self.unit.cells(lines.values(self.key), sign)

    def gain(self, lines: Lines) -> list[str]:
        """Return the mean of differences, with its sign, and its standard error."""
        return self.cells(lines, "+")

    def mean(self, lines: Lines) -> str:
        """Return the mean over some lines."""
        return self.cells(lines)[0]


ACCURACY = Score("accuracy", "accuracy in per cent", PERCENT, higher=True)
LOG_LOSS = Score("log_loss", "log loss", NUMBER)
MACRO_F1 = Score("macro_f1", "macro F1 in per cent", PERCENT, higher=True)


def table(
    title: str,
    header: Sequence[str],
    rows: Groups,
    columns: Mapping[str, Mapping[str, Any]],
    cells: Callable[[Lines], Iterable[str]],
) -> ResultTable:
    """Return a table with a group of cells for each row and column.

    Parameters
    ----------
    title : str
    header : sequence of str
        Heading of the names of rows, and of the cells of a group after its first; {} is the column's heading.
    rows : mapping of str to Lines
        The lines of each row.
    columns : mapping of str to mapping
        By heading, the fields and parameters of a column's lines.
    cells : callable
        Takes the lines that a row and a column share.
    """
    corner, *further = header
    return ResultTable(
        title,
        [corner, *(heading.format(column) for column in columns for heading in ("{}", *further))],
        [
            [name, *(cell for fields in columns.values() for cell in cells(lines.where(**fields)))]
            for name, lines in rows.items()
        ],
    )


def draw_curve(ax: Any, points: Mapping[Any, Mean], factor: float = 1.0, **style: Any) -> None:
    """Draw means with bars for their standard errors, if there are any."""
    if points:
        errors = [factor * (mean.error or 0.0) for mean in points.values()]
        means = [factor * mean.value for mean in points.values()]
        ax.errorbar(list(points), means, errors, capsize=2, **style)


def label_axis(ax: Any, ticks: Iterable[int], **settings: Any) -> None:
    """Give axes with curves a logarithmic scale of the number of labelled texts, and further settings."""
    ax.set(**{"xscale": "log", "xlabel": "labelled texts"} | settings)
    numbers = sorted(ticks)
    ax.set_xticks(numbers, [f"{number:,}" for number in numbers])
    ax.minorticks_off()


def draw_panels(display: Any, panels: int = 2) -> list[Any]:
    """Draw the panels of a display, each as a figure of its own."""
    axes = [fresh_axes() for _ in range(panels)]
    display.plot(axes)
    return [ax.figure for ax in axes]
