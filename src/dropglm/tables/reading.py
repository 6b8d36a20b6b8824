"""Read tables of texts and labels, at once or in batches."""

import os
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from dropglm.tables.columns import Columns, repeated
from dropglm.tables.errors import TableError
from dropglm.tables.frames import check_complete, import_polars
from dropglm.tables.lines import MAX_ROW_LENGTH
from dropglm.tables.source import PathOrFile, is_path
from dropglm.tables.stream import stream
from dropglm.tables.table import Table, check_positive

if TYPE_CHECKING:
    from polars import DataFrame

BATCH_SIZE = 10_000  # rows: 13 MB of film reviews


def read(
    path: PathOrFile,
    text: str,
    label: str | None = None,
    *,
    keep: Iterable[str] = (),
    optional_text: bool = False,
    optional_label: bool = False,
    format: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    max_row_length: int = MAX_ROW_LENGTH,
) -> "DataFrame":
    r"""Read the texts, the labels and further columns of a table.

    Parameters
    ----------
    path : path or binary file
        A file, ``"-"`` for standard input, or an open binary file.
    text : str
        Column of texts: strings, none missing.
    label : str or None, default=None
        Column of labels, none missing. They are read as names of classes (``class_name``), which
        ``to_classes`` turns into numbers or booleans if all of them are.
    keep : iterable of str, default=()
        Further columns, read as strings; values may be missing.
    optional_text, optional_label : bool, default=False
        Whether texts and labels may be missing; they are then null. In a CSV, an empty text is an empty
        string.
    format : str or None, default=None
        A name in ``FORMATS``, with the compression if there is one (``"csv.gz"``); None uses the suffix.
    encoding : str or None, default=None
        A codec of Python; None is UTF-8, or what a byte-order mark says.
    delimiter : str or None, default=None
        Field delimiter of a CSV; None uses that of the format.
    max_row_length : int, default=10_000_000
        Maximum number of characters per row.

    Returns
    -------
    polars.DataFrame
        Columns in the order text, label, keep.

    Raises
    ------
    TableError
        If the table cannot be read, or a text or a label is missing.

    Examples
    --------
    >>> from io import BytesIO
    >>> table = BytesIO(b'label,text\n1,"good, very"\n0,bad\n')
    >>> read(table, "text", "label", format="csv").rows()
    [('good, very', '1'), ('bad', '0')]
    """
    columns = Columns(text, label, tuple(keep), optional_text, optional_label)
    table = Table(path, format, encoding, delimiter, max_row_length)
    frames = table.frames(columns, BATCH_SIZE, prompt=False)
    frame: DataFrame = import_polars().concat(frames)
    how: dict[str, Any] = {
        "format": format,
        "encoding": encoding,
        "delimiter": delimiter,
        "max_row_length": max_row_length,
    }
    place = partial(_place, path=path, text=text, label=label, name=table.name, **how)
    check_complete(frame, columns, table.name, place=place)
    return frame


def _place(row: int, path: PathOrFile, text: str, label: str | None, name: str, **how: Any) -> str:
    """Return the number of the first row without a label, and its lines if the file can be read again."""
    if label is not None and is_path(path) and os.path.isfile(path):
        try:
            for _ in stream(path, text, label, **how):
                pass
        except (OSError, TableError) as error:
            found = str(error).removeprefix(f"{name}: ").removesuffix(" has no label.")
            if found.startswith(f"row {row} (") and found.endswith(")"):
                return found
    return f"row {row}"


def column_names(
    path: PathOrFile, *, format: str | None = None, encoding: str | None = None, delimiter: str | None = None
) -> list[str]:
    r"""Return the names of the columns that ``batches`` can read as strings, in the order of the table.

    Names that occur more than once are left out, as are columns of lists, records and bytes of a Parquet
    file. The columns of JSON Lines are the keys of all rows. Plain text has no names.

    Examples
    --------
    >>> from io import BytesIO
    >>> column_names(BytesIO(b"id,x,text,x\n"), format="csv")
    ['id', 'text']
    """
    names = Table(path, format, encoding, delimiter, MAX_ROW_LENGTH).column_names()
    several = repeated(names)
    return [name for name in names if name not in several]


def batches(
    path: PathOrFile,
    text: str,
    label: str | None = None,
    *,
    keep: Iterable[str] = (),
    optional_text: bool = False,
    size: int = BATCH_SIZE,
    format: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    max_row_length: int = MAX_ROW_LENGTH,
) -> Iterator["DataFrame"]:
    r"""Read a table as ``read`` does, but in frames of up to ``size`` rows; memory is bounded by the batch.

    Rows from a pipe are yielded as soon as no more of them are waiting.

    Examples
    --------
    >>> from io import BytesIO
    >>> table = BytesIO(b'{"text": "a"}\n{"text": "b"}\n{"text": "c"}\n')
    >>> [frame["text"].to_list() for frame in batches(table, "text", size=2, format="jsonl")]
    [['a', 'b'], ['c']]
    """
    check_positive(size, "size")
    columns = Columns(text, label, tuple(keep), optional_text=optional_text)
    table = Table(path, format, encoding, delimiter, max_row_length)
    start = 1
    for frame in table.frames(columns, size, prompt=True):
        check_complete(frame, columns, table.name, start)
        yield frame
        start += frame.height
