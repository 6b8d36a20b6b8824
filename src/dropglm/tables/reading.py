"""Tables of texts and labels, as a whole or in batches."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from dropglm.tables.columns import Columns
from dropglm.tables.complaint import polars
from dropglm.tables.frames import complete, typed
from dropglm.tables.lines import LONGEST
from dropglm.tables.source import Place
from dropglm.tables.table import Table, above_zero

if TYPE_CHECKING:
    from polars import DataFrame

SIZE = 10_000  # rows of a batch: 13 MB of film reviews


def read(
    path: Place,
    text: str,
    label: str | None = None,
    *,
    keep: Iterable[str] = (),
    format: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    longest: int = LONGEST,
) -> "DataFrame":
    r"""A table's text, label and kept columns, all rows.

    Parameters
    ----------
    path
        A file, ``"-"`` for standard input, or an open binary file.
    text
        The column of texts: strings, none missing.
    label
        The column of labels, none missing. Integers, floats and booleans stay what they are; a CSV, which
        has no types, has them where ``typed`` finds them.
    keep
        Further columns, carried along as strings; nulls may be among them.
    format
        A name in ``FORMATS``, with the compression if there is one (``"csv.gz"``); None asks the suffix.
    encoding
        A codec of Python; None is UTF-8, or what a byte-order mark says.
    delimiter
        What parts the fields of a CSV; None is the format's own.
    longest
        Characters that a row may have.

    Returns
    -------
    polars.DataFrame
        Columns in the order text, label, keep.

    Examples
    --------
    >>> from io import BytesIO
    >>> table = BytesIO(b'label,text\n1,"good, very"\n0,bad\n')
    >>> read(table, "text", "label", format="csv").rows()
    [('good, very', 1), ('bad', 0)]
    """
    columns = Columns(text, label, tuple(keep))
    table = Table(path, format, encoding, delimiter, longest)
    frame = polars().concat(table.frames(columns, SIZE, prompt=False), how="vertical_relaxed")
    complete(frame, columns, table.name)
    if label is not None and table.kind.header:
        frame = frame.with_columns(typed(frame[label]))
    return frame


def batches(
    path: Place,
    text: str,
    label: str | None = None,
    *,
    keep: Iterable[str] = (),
    size: int = SIZE,
    format: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    longest: int = LONGEST,
) -> Iterator["DataFrame"]:
    r"""The frames of ``read``, up to ``size`` rows at a time; memory follows the batch, not the file.

    A pipe's rows are handed over as soon as no more of them wait. Labels of a CSV are strings here, since one
    batch does not tell the type of the next; ``typed`` finds it for a whole column.

    Examples
    --------
    >>> from io import BytesIO
    >>> table = BytesIO(b'{"text": "a"}\n{"text": "b"}\n{"text": "c"}\n')
    >>> [frame["text"].to_list() for frame in batches(table, "text", size=2, format="jsonl")]
    [['a', 'b'], ['c']]
    """
    above_zero(size, "size")
    columns = Columns(text, label, tuple(keep))
    table = Table(path, format, encoding, delimiter, longest)
    start = 1
    for frame in table.frames(columns, size, prompt=True):
        yield complete(frame, columns, table.name, start)
        start += frame.height
