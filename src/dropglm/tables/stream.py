"""Labelled texts one batch after the other, for learning as they come; bad rows may be passed over."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from dropglm.tables.columns import Columns
from dropglm.tables.complaint import RowError, TableError
from dropglm.tables.decoding import halved
from dropglm.tables.jsonl import spelled
from dropglm.tables.lines import LONGEST, Lines
from dropglm.tables.parquet import Count
from dropglm.tables.source import Place
from dropglm.tables.table import Table, above_zero

ROWS = 10_000  # of a batch, where texts are so short that their characters do not limit it


class Batch(NamedTuple):
    """Rows that follow each other in a table, but for bad ones between them.

    Examples
    --------
    >>> batch = Batch(["good", "bad"], ["1", "0"], rows=[16, 17], lines=[17, 20])
    >>> batch.place(1)
    'row 17 (line 20)'
    """

    texts: list[str]
    labels: list[str]
    rows: list[int]
    lines: list[int] | None

    def after(self, k: int) -> "Batch":
        """The rows from k on."""
        lines = None if self.lines is None else self.lines[k:]
        return Batch(self.texts[k:], self.labels[k:], self.rows[k:], lines)

    def place(self, k: int) -> str:
        """Where row k of the batch stands in the table, with the line it starts at; Parquet has none."""
        return f"row {self.rows[k]}" + ("" if self.lines is None else f" (line {self.lines[k]})")


def stream(
    path: Place,
    text: str,
    label: str,
    *,
    on_bad: Callable[[RowError], None] | None = None,
    start: int = 0,
    characters: int = 1 << 20,
    format: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    longest: int = LONGEST,
) -> Iterator[Batch]:
    r"""A table's texts and labels, in batches; memory follows the batch, not the file.

    A pipe's rows are handed over as soon as no more of them wait.

    Parameters
    ----------
    path
        A file, ``"-"`` for standard input, or an open binary file.
    text
        The column of texts.
    label
        The column of labels. They come as they are spelled: the characters of a CSV; numbers, ``true`` and
        ``false`` as JSON writes them. So JSON's ``1`` and ``"1"`` are the same label.
    on_bad
        Is given the complaint about each bad row, which is then passed over; None raises the first one. What
        is wrong with the table as a whole is raised in any case, and so is a table all of whose rows are bad.
        The good rows before what is raised are yielded first.
    start
        So many rows at the beginning are passed over, bad ones among them, in silence.
    characters
        A batch is full when its texts have so many, or with 10,000 rows.
    format, encoding, delimiter, longest
        See ``read``.

    Yields
    ------
    Batch
        At least one row: its text, its label, its number (from 1, bad rows are counted) and its first line.

    Notes
    -----
    In a CSV, the next row starts on the line after the one at which a row is found to be bad. A quote that is
    not closed is found at the next quote, or after ``longest`` characters, or at the end of the file.

    Examples
    --------
    >>> from io import BytesIO
    >>> table = b'label,text\n1,"good, very"\n0\n0,bad\n'
    >>> batches = stream(BytesIO(table), "text", "label", on_bad=print, format="csv")
    >>> for batch in batches:  # doctest: +ELLIPSIS
    ...     print(batch.texts, batch.labels, batch.rows)
    the open file: row 2 (line 3) has 1 field, but the header has 2; the row is cut short, or a quote ...
    ['good, very', 'bad'] ['1', '0'] [1, 3]
    """
    above_zero(characters, "characters")
    if not isinstance(start, int) or start < 0:
        raise ValueError(f"start must be a whole number, 0 or more, got {start!r}.")
    columns = Columns(text, label, mixed=True)
    table = Table(path, format, encoding, delimiter, longest)
    tally = _Tally(on_bad, start)
    with table.rows(columns, lenient=on_bad is not None or start > 0) as (rows, at):
        yield from _batches(_pairs(rows, at, columns), at, tally, characters)
    tally.check(table)


class _Tally:
    """Counts good and bad rows; complaints are handed on or raised, but for those before the start."""

    def __init__(self, on_bad: Callable[[RowError], None] | None, start: int) -> None:
        self.on_bad = on_bad
        self.start = start
        self.good = 0
        self.bad = 0
        self.first: RowError | None = None

    def refuse(self, complaint: RowError) -> None:
        self.bad += 1
        self.first = self.first or complaint
        if complaint.row > self.start:
            if self.on_bad is None:
                raise complaint
            self.on_bad(complaint)

    def check(self, table: Table) -> None:
        """Refuse a table without a good row."""
        if self.good:
            return
        if self.first is None:
            raise table.without_rows()
        rows = f"all {self.bad:,} rows are" if self.bad > 1 else "the only row is"
        first = str(self.first).removeprefix(f"{table.name}: ")
        raise TableError(f"{table.name}: {rows} bad; {first}")


def _pairs(
    rows: Iterable[tuple[Any, ...] | RowError], at: Lines | Count, columns: Columns
) -> Iterator[tuple[str, str] | RowError]:
    """Texts and labels, both of them there, or the complaint."""
    for row in rows:
        if isinstance(row, RowError):
            yield row
            continue
        text, label = row
        if type(label) is not str:
            label = None if label != label else spelled(label)  # NaN, in Parquet, is no label
        flaw = _flaw(text, label, columns)
        yield at.complaint(flaw) if flaw else (text, label)


def _flaw(text: str | None, label: str | None, columns: Columns) -> str | None:
    if text is None:
        return f"has no text (null in {columns.text!r})"
    if label is None or not label.strip():
        return "has no label"
    if halved(text) or halved(label):
        return "holds half of a surrogate pair, which is no character"
    return None


def _batches(
    rows: Iterable[tuple[str, str] | RowError], at: Lines | Count, tally: _Tally, characters: int
) -> Iterator[Batch]:
    batch, room = _empty(at), characters
    try:
        for row in rows:
            if isinstance(row, RowError):
                tally.refuse(row)
            else:
                tally.good += 1
                if at.row > tally.start:
                    _add(batch, row, at)
                    room -= len(row[0])
            # After a bad row too: good ones before it should not wait for what may never come.
            if batch.texts and (room <= 0 or len(batch.texts) >= ROWS or at.waiting()):
                yield batch
                batch, room = _empty(at), characters
    except Exception:
        # The good rows before it are handed over, so that they are the same for batches of any size.
        if batch.texts:
            yield batch
        raise
    if batch.texts:
        yield batch


def _empty(at: Lines | Count) -> Batch:
    return Batch([], [], [], None if at.first is None else [])


def _add(batch: Batch, row: tuple[str, str], at: Lines | Count) -> None:
    text, label = row
    batch.texts.append(text)
    batch.labels.append(label)
    batch.rows.append(at.row)
    if batch.lines is not None and at.first is not None:
        batch.lines.append(at.first)
