"""Reading goes on after a bad row."""

from collections.abc import Callable, Iterator
from typing import Any

from dropglm.tables.complaint import RowError
from dropglm.tables.lines import Lines


def resumed(
    good: Callable[[], Iterator[tuple[Any, ...]]], lines: Lines
) -> Iterator[tuple[Any, ...] | RowError]:
    r"""The good rows, and for each bad one its complaint.

    Parameters
    ----------
    good
        Begins to read rows at the next line, and raises the complaint about the first bad one. A generator
        that has raised is at its end, so it is called again after each bad row.
    lines
        What it reads from.

    Examples
    --------
    >>> from io import BytesIO
    >>> lines = Lines(BytesIO(b"1\nI\n3\n"), "numbers.txt", "txt", lenient=True)
    >>> def numbers():
    ...     for line in lines:
    ...         if not line.strip().isdigit():
    ...             raise lines.complaint("is no number")
    ...         yield (int(line),)
    ...         lines.done()
    >>> list(resumed(numbers, lines))
    [(1,), RowError('numbers.txt: row 2 (line 2) is no number.'), (3,)]
    """
    while True:
        try:
            yield from good()
            return
        except RowError as error:
            # Whoever keeps the complaint should not keep the line, which its origins hold.
            bad = error.with_traceback(None)
            bad.__context__ = None
        yield bad
        lines.done()
