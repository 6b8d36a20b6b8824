"""An experiment: fits to run, their raw results, and the tables and figures made from these.

Raw results are stored as one line of JSON per fit. A run executes only the fits that have no line yet.
"""

import json
import os
import platform
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from threadpoolctl import threadpool_limits

from dropglm.base.errors import InputError, UserError
from dropglm.base.files import FileError, append
from dropglm.base.progress import Progress
from dropglm.datasets import DatasetError
from dropglm.experiments.results import Lines, ResultLine
from dropglm.plots.pages import ResultTable

IDENTITY = ("experiment", "data", "method", "seed", "parameters")
MEASURED: dict[str, Any] = {"result": dict, "seconds": (int, float), "versions": dict}


class MissingMethodError(UserError):
    """A method that needs a package that is not installed; the message is a sentence that says so."""


@dataclass(frozen=True)
class PlannedFit:
    """One fit of an experiment.

    Attributes
    ----------
    data, method : str
        Names of the data and of the method.
    seed : int
        Random seed.
    parameters : mapping
        Everything else that the result depends on. A stored result is used again only if all of this is
        equal, so that results of a quick run are never taken for those of a full one.
    load : callable
        Returns the data. If it raises ``DatasetError`` or ``ImportError``, all fits to these data are skipped
        with a message; if it raises ``MissingMethodError``, all fits of the method.
    measure : callable
        Takes the data and returns the result, a mapping that can be stored as JSON.
    cost : float
        Rough running time in seconds on two cores, used only to estimate the time left.
    """

    data: str
    method: str
    seed: int
    parameters: Mapping[str, Any]
    load: Callable[[], Any]
    measure: Callable[[Any], Mapping[str, Any]]
    cost: float = 1.0


@dataclass(frozen=True)
class PlannedData:
    """Data that several methods are fitted to: one split of a data set, or rows that are drawn.

    Attributes
    ----------
    name, seed, load
        As those of a fit.
    parameters : mapping
        What the results of all fits depend on.
    """

    name: str
    seed: int
    parameters: Mapping[str, Any]
    load: Callable[[], Any]

    def fit(
        self, method: str, measure: Callable[[Any], Mapping[str, Any]], cost: float, **parameters: Any
    ) -> PlannedFit:
        """Return the fit of a method, whose result depends on further parameters."""
        more = {**self.parameters, **parameters}
        return PlannedFit(self.name, method, self.seed, more, self.load, measure, cost)


class Comparison(NamedTuple):
    """A number from the paper and the number measured here, in the same unit.

    Attributes
    ----------
    what : str
        What was measured: data, method and score.
    paper : float or None
        None if the paper has no such number.
    ours : float
        Mean of our results.
    error : float or None
        Standard error of ours, over runs or over test rows; None for a single run.
    """

    what: str
    paper: float | None
    ours: float
    error: float | None = None


class Experiment(ABC):
    """An experiment of the paper, or one that extends it.

    A subclass is a frozen dataclass whose fields are its grids, seeds and sizes. ``tabulate``, ``draw`` and
    ``compare`` use nothing but raw results, which come in the order of ``fits`` and may be incomplete.

    Attributes
    ----------
    title, summary : str
        Heading of the section, and one line for the list of experiments.
    data : sequence of str
        Data sets that a full run reads.
    takes, takes_quick : str
        Rough running times. ``takes`` also names that of the subset, if there is one; ``takes_quick`` is
        empty if there is no quick version.
    """

    title: str
    summary: str
    data: Sequence[str] = ()
    takes: str
    takes_quick: str = ""

    @property
    @abstractmethod
    def protocol(self) -> str:
        """What was done, in one paragraph."""

    @abstractmethod
    def fits(self, quick: bool) -> list[PlannedFit]:
        """Return all fits of a full or quick run, without loading data; none if there is no quick version."""

    def subset(self) -> list[PlannedFit]:
        """Return the fits of a full run that are worth running alone; none if there is no such subset."""
        return []

    @abstractmethod
    def tabulate(self, lines: Lines) -> list[ResultTable]:
        """Return the tables; their first column is text."""

    def draw(self, lines: Lines) -> dict[str, list[Any]]:
        """Return lists of Matplotlib figures by caption."""
        return {}

    def compare(self, lines: Lines) -> list[Comparison]:
        """Return the paper's numbers next to ours, as far as results are available."""
        return []


class RawResults:
    """The raw results of one experiment, in ``<folder>/<experiment>.jsonl``.

    The file is read once, here; after that lines are only appended. An incomplete last line, left by a run
    that was killed, is ignored and overwritten by the next result.

    Parameters
    ----------
    folder : Path
    experiment : str

    Raises
    ------
    FileError
        If a line of the file is not a raw result.
    """

    def __init__(self, folder: Path, experiment: str) -> None:
        self.experiment = experiment
        self.path = folder / f"{experiment}.jsonl"
        content = self.path.read_bytes() if self.path.exists() else b""
        complete = content.rfind(b"\n") + 1
        self._lines = _parse(content[:complete], self.path)
        self._cut_at = complete if complete < len(content) else None

    def line(self, fit: PlannedFit) -> ResultLine | None:
        """Return the result of a fit, or None if there is none yet."""
        return self._lines.get(identity(self._described(fit)))

    def append(self, fit: PlannedFit, result: Mapping[str, Any], seconds: float) -> None:
        """Write the result of a fit to the file, and make sure that it is on disk."""
        line = self._described(fit) | {"result": dict(result), "seconds": seconds, "versions": _versions()}
        # NaN is not valid JSON; a result that contains one is a bug in the experiment.
        text = json.dumps(line, allow_nan=False).encode() + b"\n"
        if self._cut_at is not None:
            os.truncate(self.path, self._cut_at)
            self._cut_at = None
        append(self.path, text)
        self._lines[identity(line)] = json.loads(text)

    def _described(self, fit: PlannedFit) -> ResultLine:
        """Return the part of a line that is known before the fit has run."""
        return {"experiment": self.experiment} | {name: getattr(fit, name) for name in IDENTITY[1:]}


def identity(line: Mapping[str, Any]) -> str:
    """Return a string that is equal for two lines only if they are results of the same fit.

    Examples
    --------
    >>> line = {"experiment": "online", "data": "rt", "method": "sgd", "seed": 0, "parameters": {}}
    >>> identity(line) == identity(line | {"seconds": 2}), identity(line) == identity(line | {"seed": 1})
    (True, False)
    """
    return json.dumps([line[name] for name in IDENTITY], sort_keys=True)


def _parse(content: bytes, path: Path) -> dict[str, ResultLine]:
    """Return the lines by identity."""
    lines: dict[str, ResultLine] = {}
    for number, text in enumerate(content.split(b"\n")[:-1], 1):
        try:
            line = json.loads(text, parse_constant=_refuse)
            if not all(isinstance(line[name], kind) for name, kind in MEASURED.items()):
                raise TypeError
            lines[identity(line)] = line
        except (ValueError, KeyError, TypeError, AttributeError):
            raise FileError(
                f"{path}, line {number} is not a raw result; delete this line or the file."
            ) from None
    return lines


def _refuse(constant: str) -> float:
    raise InputError(f"{constant} is not valid JSON")


def _versions() -> dict[str, str]:
    packages = {name: version(name) for name in ("dropglm", "numpy", "scikit-learn")}
    return packages | {"python": platform.python_version()}


class ExperimentRun:
    """A full or quick run of an experiment, with the results that a folder already has.

    Parameters
    ----------
    name : str
        Name of the experiment; its raw results are in ``<folder>/<name>.jsonl``.
    experiment : Experiment
    folder : Path
    quick : bool, default=False
    subset : bool, default=False
        Whether to run only the subset of a full run. Results of all its fits are used, as far as they are
        stored.

    Attributes
    ----------
    fits : list of PlannedFit
        All fits of the full or quick run, whether or not they have a result.
    results : RawResults
        The stored results, read when the object is created.
    """

    def __init__(
        self, name: str, experiment: Experiment, folder: Path, *, quick: bool = False, subset: bool = False
    ) -> None:
        self.name = name
        self.experiment = experiment
        self.quick = quick
        self.fits = experiment.fits(quick)
        self.subset = subset
        self.results = RawResults(folder, name)

    @property
    def lines(self) -> Lines:
        """The available results, in the order of the fits."""
        return Lines(line for fit in self.fits if (line := self.results.line(fit)))

    @property
    def missing(self) -> list[PlannedFit]:
        """The fits, of the subset if only that is run, that have no result yet."""
        fits = self.experiment.subset() if self.subset else self.fits
        return [fit for fit in fits if self.results.line(fit) is None]

    def run(self, *, progress: Progress | None = None, tell: Callable[[str], None] = print) -> None:
        """Run the missing fits and store a result for each.

        Parameters
        ----------
        progress : Progress, optional
            Updated after each fit; may cover several experiments.
        tell : callable, default=print
            Called with one sentence for each data set that is not available, and for each package that a
            method needs. Their fits are skipped.
        """
        fits = self.missing
        progress = progress or Progress("fits", costs=[fit.cost for fit in fits], shown=False)
        unavailable: set[str] = set()
        reported: set[str] = set()  # several feature matrices may come from one data set
        for fit in fits:
            if {fit.data, fit.method} & unavailable:
                progress.skip_step(fit.cost)
                continue
            progress.start_step(f"{self.name}: {fit.data}, {fit.method}, seed {fit.seed}", fit.cost)
            try:
                data = fit.load()
            except (DatasetError, ImportError, MissingMethodError) as error:
                progress.skip_step(fit.cost)
                method = isinstance(error, MissingMethodError)
                unavailable.add(fit.method if method else fit.data)
                if str(error) not in reported:
                    tell(str(error) if method else f"{fit.data} is skipped: {error}")
                reported.add(str(error))
                continue
            start = time.perf_counter()
            # On a busy machine, BLAS with several threads slowed a baseline's fits of small vectors 40 times.
            with threadpool_limits(1, "blas"):
                result = fit.measure(data)
            self.results.append(fit, result, seconds=round(time.perf_counter() - start, 3))
            progress.finish_step()
