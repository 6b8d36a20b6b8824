"""What an experiment is: fits to run, tables to collect from their raw lines, figures to draw from them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dropglm.pages import Table

Line = dict[str, Any]  # one fit, as it stands in the file


@dataclass(frozen=True)
class Fit:
    """One fit to run; all but the two functions say which one it is.

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
    """

    data: str
    method: str
    seed: int
    parameters: Mapping[str, Any]
    rows: Callable[[], Any]
    work: Callable[[Any], Mapping[str, Any]]


@dataclass(frozen=True)
class Experiment:
    """An experiment; ``collect`` and ``draw`` see nothing but lines, in the order of ``fits``.

    Attributes
    ----------
    title, summary : str
        A heading, and a line for the list.
    data : sequence of str
        Data sets that it reads, if it is not a quick run.
    takes, takes_quick : str
        How long, roughly.
    protocol : str
        What was done, in a paragraph.
    fits : callable
        All fits, for ``quick`` or not; needs no data yet.
    collect : callable
        Tables whose first column is words and whose others are numbers.
    draw : callable
        Matplotlib's figures by caption.
    """

    title: str
    summary: str
    data: Sequence[str]
    takes: str
    takes_quick: str
    protocol: str
    fits: Callable[[bool], list[Fit]]
    collect: Callable[[list[Line]], list[Table]]
    draw: Callable[[list[Line]], dict[str, list[Any]]]
