"""The parts of an experiment: fits to run, and the tables and figures made from their raw results."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from dropglm.pages import ResultTable

Line = dict[str, Any]  # the raw result of one fit, as stored in the file


@dataclass(frozen=True)
class Fit:
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
        Returns the data. If it raises ``DatasetError`` or ``ImportError``, the fit is skipped with a message.
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
        Rough running times. ``takes_quick`` is empty if there is no quick version.
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
    def fits(self, quick: bool) -> list[Fit]:
        """Return all fits of a full or quick run, without loading data; none if there is no quick version."""

    @abstractmethod
    def tabulate(self, lines: list[Line]) -> list[ResultTable]:
        """Return the tables; their first column is text."""

    def draw(self, lines: list[Line]) -> dict[str, list[Any]]:
        """Return lists of Matplotlib figures by caption."""
        return {}

    def compare(self, lines: list[Line]) -> list[Comparison]:
        """Return the paper's numbers next to ours, as far as results are available."""
        return []
