"""Tables of texts and labels, as a whole or in batches."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from dropglm.tables import parquet
from dropglm.tables.columns import Columns
from dropglm.tables.complaint import TableError, polars
from dropglm.tables.formats import format_of
from dropglm.tables.frames import complete, frames, typed
from dropglm.tables.lines import LONGEST, Lines, codec
from dropglm.tables.source import Place, is_path, name_of, opened, refuse_no_file

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
    pieces = _frames(path, columns, SIZE, format, encoding, delimiter, longest, prompt=False)
    frame = polars().concat(pieces, how="vertical_relaxed")
    complete(frame, columns, name_of(path, "standard input"))
    if label is not None and format_of(name_of(path, ""), format)[0].header:
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
    _above_zero(size, "size")
    columns = Columns(text, label, tuple(keep))
    start = 1
    for frame in _frames(path, columns, size, format, encoding, delimiter, longest, prompt=True):
        yield complete(frame, columns, name_of(path, "standard input"), start)
        start += frame.height


def _frames(
    path: Place,
    columns: Columns,
    size: int,
    format: str | None,
    encoding: str | None,
    delimiter: str | None,
    longest: int,
    *,
    prompt: bool,
) -> Iterator["DataFrame"]:
    """Frames that may lack texts and labels, at least one row in all."""
    _above_zero(longest, "longest")
    name = name_of(path, "standard input")
    if is_path(path):
        refuse_no_file(path)
    kind, compression = format_of(name, format)
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n\0'):
        raise TableError(
            f"The delimiter must be one character other than a quote or line end, got {delimiter!r}."
        )
    if encoding is not None:
        codec(encoding)
    with opened(path, compression) as stream:
        if kind.rows is None:
            file = path if is_path(path) and not compression else None
            found = parquet.frames(stream, file, columns, size, name)
        else:
            lines = Lines(stream, name, kind.name, encoding=encoding, header=kind.header, longest=longest)
            rows = kind.rows(lines, columns, delimiter or kind.delimiter)
            found = frames(rows, lines, columns, size, prompt=prompt)
        height = 0
        for frame in found:
            height += frame.height
            if frame.height:
                yield frame
        if not height:
            raise TableError(
                f"{name}: this table has {'a header' if kind.header else 'columns'} but no rows."
            )


def _above_zero(given: int, name: str) -> None:
    if not isinstance(given, int) or given < 1:
        raise ValueError(f"{name} must be a whole number above 0, got {given!r}.")
