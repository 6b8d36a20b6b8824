"""Errors about tables: one sentence that names the file and, where possible, the row."""

from collections.abc import Iterable
from typing import Self

from dropglm.base.files import FileError
from dropglm.base.registry import nearest

MAX_LISTED = 12  # names of columns in a message; with more, the suggestion is hard to find


class TableError(FileError):
    """A table cannot be read or written; the message is one sentence.

    Attributes
    ----------
    missing_column : str or None
        The column that the table lacks, if that is the reason.
    """

    missing_column: str | None = None

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters that the message may advise to change: how the file is read."""
        return (*super().parameters, "format", "encoding", "delimiter")

    def about_missing(self, column: str) -> Self:
        """Return this error, with the name of the column that the table lacks."""
        self.missing_column = column
        return self


class EmptyTableError(TableError):
    """A table has no rows."""


class RowError(TableError):
    """One row of a table cannot be used; the other rows may be fine.

    Attributes
    ----------
    row : int
        Number of the row, counted from 1; 0 is the header.
    """

    row: int = 0

    @classmethod
    def at(cls, row: int, message: str) -> "RowError":
        """Return an error about the row with that number."""
        error = cls(message)
        error.row = row
        return error


def row_place(row: int, lines: "tuple[int, int] | None" = None) -> str:
    """Return the place of a row in a table, from its number and its first and last line.

    Examples
    --------
    >>> row_place(3), row_place(3, (4, 4)), row_place(3, (4, 6)), row_place(0, (1, 1))
    ('row 3', 'row 3 (line 4)', 'row 3 (lines 4 to 6)', 'the header (line 1)')
    """
    where = f"row {row}" if row else "the header"
    if lines is None:
        return where
    first, last = lines
    return f"{where} (line {last})" if first == last else f"{where} (lines {first} to {last})"


def suggestion(name: str, names: Iterable[str]) -> str:
    """Return a hint at the most similar name, or an empty string if no name is similar.

    Examples
    --------
    >>> suggestion("LABELS", ["text", "label"])
    " (did you mean 'label'?)"
    """
    near = nearest(name, names)
    return "" if near is None else f" (did you mean {near!r}?)"


def listed(names: Iterable[str]) -> str:
    """Return the names in their order, separated by commas, and at most a dozen of them."""
    names = list(names)
    more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
    return ", ".join(map(repr, names[:MAX_LISTED])) + more
