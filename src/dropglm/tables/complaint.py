"""What can be wrong with a table is one sentence that names the file."""

from collections.abc import Iterable
from types import ModuleType

from dropglm import registry
from dropglm.files import FileError

SHOWN = 12  # names of columns in a sentence; more hide the hint


class TableError(FileError):
    """A table that cannot be read or written; the message is one sentence."""


class RowError(TableError):
    """A row that cannot be used, in a table whose other rows may be.

    Attributes
    ----------
    row
        Its number, from 1; 0 is the header.
    """

    row: int = 0

    @classmethod
    def at(cls, row: int, sentence: str) -> "RowError":
        """The complaint about that row."""
        bad = cls(sentence)
        bad.row = row
        return bad


def polars() -> ModuleType:
    """Polars, imported when the first table is read, so that the library works without it."""
    try:
        import polars
    except ImportError:
        raise ImportError("Tables need polars; install it with: pip install 'dropglm[text]'.") from None
    return polars


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint at the known name that is most like this one, empty if none is.

    Examples
    --------
    >>> nearest("LABELS", ["text", "label"])
    " (did you mean 'label'?)"
    """
    near = registry.nearest(name, known)
    return "" if near is None else f" (did you mean {near!r}?)"


def listed(names: Iterable[str]) -> str:
    """The names in their order, the first dozen of them."""
    names = list(names)
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(map(repr, names[:SHOWN])) + more
