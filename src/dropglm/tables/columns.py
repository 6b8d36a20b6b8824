"""The columns of a table that a reader asks for: the text, the label, and columns to copy."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from dropglm.errors import InputTypeError
from dropglm.tables.errors import TableError, listed, suggestion

UNLABELED_HINT = "put rows without labels in a separate table of unlabelled texts"


@dataclass(frozen=True)
class Columns:
    """The columns to read from a table.

    Attributes
    ----------
    text : str
        Column of texts.
    label : str or None, default=None
        Column of labels.
    keep : tuple of str, default=()
        Further columns, which are read as strings.
    optional_text, optional_label : bool, default=False
        Whether texts and labels may be missing.

    Examples
    --------
    >>> columns = Columns("review", "stars", keep=("id",))
    >>> columns.names
    ('review', 'stars', 'id')
    >>> columns.positions(["id", "stars", "review"], "reviews.csv")
    [2, 1, 0]
    """

    text: str
    label: str | None = None
    keep: tuple[str, ...] = ()
    optional_text: bool = False
    optional_label: bool = False

    def __post_init__(self) -> None:
        for name in self.names:
            if not isinstance(name, str):
                raise InputTypeError(f"A column must be a name, got {name!r}.")
        duplicates = repeated(self.names)
        if duplicates:
            raise TableError(f"Column {duplicates[0]!r} is requested twice.")

    @property
    def names(self) -> tuple[str, ...]:
        """All names, in the order of the columns of the frames that are read."""
        return (self.text, *(() if self.label is None else (self.label,)), *self.keep)

    def positions(self, header: Sequence[str], table: str) -> list[int]:
        """Return the position of each name in the header.

        A name that the header lacks, or has more than once, is an error.
        """
        for name in self.names:
            if name not in header:
                hint = suggestion(name, header)
                error = TableError(
                    f"{table}: there is no column {name!r}{hint}; its columns: {listed(header)}."
                )
                error.missing_column = name
                raise error
        duplicates = [name for name in repeated(header) if name in self.names]
        if duplicates:
            name = duplicates[0]
            raise TableError(f"{table}: {header.count(name)} columns are named {name!r}; rename all but one.")
        return [header.index(name) for name in self.names]


def repeated(names: Sequence[str]) -> list[str]:
    """Return the names that occur more than once."""
    return [name for name, count in Counter(names).items() if count > 1]
