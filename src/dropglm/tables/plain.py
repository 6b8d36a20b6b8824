"""Plain text: every line is a text, and nothing else."""

from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

from dropglm.tables.columns import Columns
from dropglm.tables.complaint import TableError
from dropglm.tables.lines import Lines

if TYPE_CHECKING:
    from polars import DataFrame


def rows(lines: Lines, columns: Columns, delimiter: str) -> Iterator[tuple[Any, ...]]:
    r"""The texts; a blank line is an empty one, so that line k of the answer is about line k.

    Examples
    --------
    >>> from io import BytesIO
    >>> list(rows(Lines(BytesIO(b"one\n\ntwo"), "reviews.txt", "txt"), Columns("text"), ","))
    [('one',), ('',), ('two',)]
    """
    more = columns.names[1:]
    if more:
        raise TableError(f"{lines.name}: plain text has one column, of texts; it has no {more[0]!r}.")
    for line in lines:
        yield (line.rstrip("\r\n"),)
        lines.done()
    if lines.row == 1:
        raise TableError(f"{lines.name}: this file is empty.")


def write(frame: "DataFrame", stream: IO[bytes], header: bool) -> None:
    """The first column, a line for each row; line ends inside become spaces."""
    for value in frame.to_series(0):
        stream.write(f"{' '.join(str(value).splitlines())}\n".encode())
