"""Read labelled texts in batches, for learning as they arrive; bad rows may be skipped."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from dropglm.errors import InputError
from dropglm.tables.block import Block
from dropglm.tables.columns import Columns
from dropglm.tables.decoding import has_lone_surrogate
from dropglm.tables.errors import RowError, TableError
from dropglm.tables.labels import class_name, class_names
from dropglm.tables.lines import MAX_ROW_LENGTH, Lines
from dropglm.tables.parquet import RowCounter
from dropglm.tables.source import PathOrFile
from dropglm.tables.table import Table, check_positive

MAX_ROWS = 10_000  # of a batch, which matters where texts are short


class Batch(NamedTuple):
    """Consecutive rows of a table, without the bad rows between them.

    Attributes
    ----------
    texts : sequence of str
        A list, or ``EncodedTexts`` where the format allows.
    labels : list of str
        Names of their classes.
    rows : list of int
        Row numbers in the table, counted from 1.
    lines : list of int or None
        The first line of each row; None for Parquet, which has no lines.

    Examples
    --------
    >>> batch = Batch(["good", "bad"], ["1", "0"], rows=[16, 17], lines=[17, 20])
    >>> batch.place(1)
    'row 17 (line 20)'
    """

    texts: Sequence[str]
    labels: list[str]
    rows: list[int]
    lines: list[int] | None

    def after(self, k: int) -> "Batch":
        """Return the rows of the batch from index k on."""
        lines = None if self.lines is None else self.lines[k:]
        return Batch(self.texts[k:], self.labels[k:], self.rows[k:], lines)

    def place(self, k: int) -> str:
        """Return the position in the table of the row with index k, for messages."""
        return f"row {self.rows[k]}" + ("" if self.lines is None else f" (line {self.lines[k]})")


def stream(
    path: PathOrFile,
    text: str,
    label: str,
    *,
    on_bad: Callable[[RowError], None] | None = None,
    start: int = 0,
    characters: int = 1 << 20,
    format: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    max_row_length: int = MAX_ROW_LENGTH,
) -> Iterator[Batch]:
    r"""Read texts and labels in batches; memory is bounded by the batch, not by the file.

    Rows from a pipe are yielded as soon as no more of them are waiting.

    Parameters
    ----------
    path : path or binary file
        A file, ``"-"`` for standard input, or an open binary file.
    text : str
        Column of texts.
    label : str
        Column of labels, which are yielded as names of classes (``class_name``).
    on_bad : callable or None, default=None
        Called with the error about each bad row, which is then skipped; None raises the first error. Errors
        about the table as a whole are raised in any case, also if all rows are bad. Good rows before an error
        are yielded first.
    start : int, default=0
        Number of rows to skip at the beginning; bad rows among them are not reported.
    characters : int, default=1 << 20
        A batch is complete when its texts have this many characters, or at 10,000 rows; from CSV and TSV it
        may have fewer.
    format, encoding, delimiter, max_row_length
        See ``read``.

    Yields
    ------
    Batch
        At least one row: its text, its label, its number (from 1; bad rows count) and its first line.

    Raises
    ------
    TableError
        If the table cannot be read, or none of its rows can be used.

    Notes
    -----
    In a CSV, the row after a bad row starts on the line after the one where the error is found. A missing
    closing quote is found at the next quote, after ``max_row_length`` characters, or at the end of the file.

    Examples
    --------
    >>> from io import BytesIO
    >>> table = b'label,text\n1,"good, very"\n0\n0,bad\n'
    >>> batches = stream(BytesIO(table), "text", "label", on_bad=print, format="csv")
    >>> for batch in batches:  # doctest: +ELLIPSIS
    ...     print(list(batch.texts), batch.labels, batch.rows)
    the open file: row 2 (line 3) has 1 field, but the header has 2; the row is truncated, or a quote ...
    ['good, very', 'bad'] ['1', '0'] [1, 3]
    """
    check_positive(characters, "characters")
    if not isinstance(start, int) or start < 0:
        raise InputError(f"start must be a non-negative integer, got {start!r}.")
    columns = Columns(text, label)
    table = Table(path, format, encoding, delimiter, max_row_length)
    counts = _RowCounts(on_bad, start)
    limits = {"block_rows": MAX_ROWS, "block_characters": characters}
    with table.rows(columns, lenient=on_bad is not None or start > 0, **limits) as (rows, counter):
        labelled = _texts_and_labels(rows, counter, columns)
        yield from _batches(labelled, counter, counts, characters)
    counts.check(table)


class _RowCounts:
    """Counts good and bad rows; reports or raises errors about rows after ``start``."""

    def __init__(self, on_bad: Callable[[RowError], None] | None, start: int) -> None:
        self.on_bad = on_bad
        self.start = start
        self.good = 0
        self.bad = 0
        self.first_error: RowError | None = None

    def add_bad(self, error: RowError) -> None:
        self.bad += 1
        self.first_error = self.first_error or error
        if error.row > self.start:
            if self.on_bad is None:
                raise error
            self.on_bad(error)

    def check(self, table: Table) -> None:
        """Raise an error if the table has no good row."""
        if self.good:
            return
        if self.first_error is None:
            raise table.no_rows_error()
        rows = f"none of the {self.bad:,} rows can" if self.bad > 1 else "the only row cannot"
        first = str(self.first_error).removeprefix(f"{table.name}: ")
        raise TableError(f"{table.name}: {rows} be used; {first}")


def _texts_and_labels(
    rows: Iterable[tuple[Any, ...] | RowError | Block],
    counter: Lines | RowCounter,
    columns: Columns,
) -> Iterator[tuple[str, str] | RowError | Batch]:
    """Yield the text and the name of the class of each row, or an error if one of them is missing.

    A block becomes a batch, unless a label is missing.
    """
    for row in rows:
        if isinstance(row, RowError):
            yield row
            continue
        if isinstance(row, Block):
            yield from _batches_of_block(row, counter, columns)
            continue
        text, name = row[0], class_name(row[1])
        problem = _problem(text, name, columns)
        yield counter.error(problem) if problem or name is None else (text, name)


def _batches_of_block(block: Block, counter: Any, columns: Columns) -> Iterator[Batch | RowError]:
    """Yield the rows of a block in batches, and an error for each row without a label."""
    names = class_names(block.column(1))
    after, start = (counter.row, counter.first_line, counter.n_lines), 0
    numbers = range(block.first_row, block.first_row + block.n_rows)
    bad = [k for k, name in enumerate(names) if not name]
    for k in (*bad, block.n_rows):
        if k > start:
            part, lines = slice(start, k), block.lines[start:k, 0].tolist()
            yield Batch(block.column(0)[part], names[part], list(numbers[part]), lines)
        if k < block.n_rows:
            counter.row, (counter.first_line, counter.n_lines) = numbers[k], block.lines[k].tolist()
            yield counter.error(_problem("", None, columns))
            counter.row, counter.first_line, counter.n_lines = after
        start = k + 1


def _problem(text: str | None, name: str | None, columns: Columns) -> str:
    if text is None:
        return f"has no text (null in {columns.text!r})"
    if name is None:
        return "has no label"
    if has_lone_surrogate(text) or has_lone_surrogate(name):
        return "contains half of a surrogate pair, which is not a character"
    return ""


def _batches(
    rows: Iterable[tuple[str, str] | RowError | Batch],
    counter: Lines | RowCounter,
    counts: _RowCounts,
    characters: int,
) -> Iterator[Batch]:
    batch, characters_left = _empty_batch(counter), characters
    try:
        for row in rows:
            if isinstance(row, RowError):
                counts.add_bad(row)
            elif isinstance(row, Batch):
                counts.good += len(row.rows)
                if batch.texts:
                    yield batch
                batch, characters_left = row.after(bisect_right(row.rows, counts.start)), characters
            else:
                counts.good += 1
                if not isinstance(batch.texts, list):
                    yield batch
                    batch, characters_left = _empty_batch(counter), characters
                if counter.row > counts.start:
                    _append(batch, row, counter)
                    characters_left -= len(row[0])
            # Also after a bad row, so that good rows before it need not wait for rows that may never come.
            full = characters_left <= 0 or len(batch.texts) >= MAX_ROWS
            if batch.texts and (full or counter.would_block()):
                yield batch
                batch, characters_left = _empty_batch(counter), characters
    except Exception:
        # Good rows before the error are yielded first, so that they do not depend on the size of batches.
        if batch.texts:
            yield batch
        raise
    if batch.texts:
        yield batch


def _empty_batch(counter: Lines | RowCounter) -> Batch:
    return Batch([], [], [], None if counter.first_line is None else [])


def _append(batch: Batch, row: tuple[str, str], counter: Lines | RowCounter) -> None:
    text, label = row
    assert isinstance(batch.texts, list)
    batch.texts.append(text)
    batch.labels.append(label)
    batch.rows.append(counter.row)
    if batch.lines is not None and counter.first_line is not None:
        batch.lines.append(counter.first_line)
