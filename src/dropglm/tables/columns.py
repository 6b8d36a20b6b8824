"""Which columns of a table are the text, the label, and further ones that are carried along."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from dropglm.tables.complaint import TableError, listed, nearest

UNLABELED = "rows without labels belong in a file of their own, --unlabeled"


@dataclass(frozen=True)
class Columns:
    """The columns that are wanted of a table; ``mixed`` are labels that may be of several kinds (1 and "1").

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
    mixed: bool = False

    def __post_init__(self) -> None:
        for name in self.names:
            if not isinstance(name, str):
                raise TypeError(f"A column must be a name, got {name!r}.")
        again = repeated(self.names)
        if again:
            raise TableError(f"Column {again[0]!r} is asked for twice.")

    @property
    def names(self) -> tuple[str, ...]:
        """All names, in the order of the frames that are read."""
        return (self.text, *(() if self.label is None else (self.label,)), *self.keep)

    def positions(self, header: Sequence[str], table: str) -> list[int]:
        """Where each name stands in the header; one that is not there, or twice, is refused."""
        for name in self.names:
            if name not in header:
                hint = nearest(name, header)
                raise TableError(
                    f"{table}: no column is named {name!r}{hint}; its columns: {listed(header)}."
                )
        again = [name for name in repeated(header) if name in self.names]
        if again:
            raise TableError(
                f"{table}: {header.count(again[0])} columns are named {again[0]!r}; rename all but one."
            )
        return [header.index(name) for name in self.names]


def repeated(names: Sequence[str]) -> list[str]:
    """The names that stand there more than once."""
    return [name for name, count in Counter(names).items() if count > 1]
