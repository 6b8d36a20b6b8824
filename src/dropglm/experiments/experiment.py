"""What an experiment is: fits to run, tables to collect from their raw lines, figures to draw from them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from dropglm.pages import ResultTable

Line = dict[str, Any]  # one fit, as it stands in the file


@dataclass(frozen=True)
class Fit:
    """One fit to run; all but the two functions and the cost say which one it is.

    Attributes
    ----------
    data, method : str
    seed : int
    parameters : mapping
        Whatever the result depends on, so that lines of a quick run are not mistaken for others.
    rows : callable
        Gives the data; a ``DatasetError`` or ``ImportError`` of it is told, and the fit left out.
    work : callable
        Turns the data into the result, a mapping that JSON can hold.
    cost : float
        Roughly how many seconds it takes on two cores; only the time left is estimated from it.
    """

    data: str
    method: str
    seed: int
    parameters: Mapping[str, Any]
    rows: Callable[[], Any]
    work: Callable[[Any], Mapping[str, Any]]
    cost: float = 1.0


class Comparison(NamedTuple):
    """A number of the paper beside ours, both in the paper's unit.

    Attributes
    ----------
    what : str
        What it is a number of, in a few words: data, method, score.
    paper : float or None
        None where ours goes beyond it.
    ours : float
    error : float or None
        The standard error of ours, over runs or over test rows; None where there is one run.
    """

    what: str
    paper: float | None
    ours: float
    error: float | None = None


def _nothing(lines: list[Line]) -> list[Comparison]:
    """Where the paper has no number."""
    return []


@dataclass(frozen=True)
class Experiment:
    """An experiment; ``collect``, ``draw`` and ``compare`` see nothing but lines, in the order of ``fits``.

    Attributes
    ----------
    title, summary : str
        A heading, and a line for the list.
    data : sequence of str
        Data sets that it reads, if it is not a quick run.
    takes, takes_quick : str
        How long, roughly; nothing for a quick form that has no fits.
    protocol : str
        What was done, in a paragraph.
    fits : callable
        All fits, for ``quick`` or not; needs no data yet.
    collect : callable
        Tables; the first column is words.
    draw : callable
        Matplotlib's figures by caption.
    compare : callable
        Numbers of the paper beside ours, as far as the lines have them.
    """

    title: str
    summary: str
    data: Sequence[str]
    takes: str
    takes_quick: str
    protocol: str
    fits: Callable[[bool], list[Fit]]
    collect: Callable[[list[Line]], list[ResultTable]]
    draw: Callable[[list[Line]], dict[str, list[Any]]]
    compare: Callable[[list[Line]], list[Comparison]] = _nothing
