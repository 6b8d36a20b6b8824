"""Read tables of texts and labels: one reader for all formats, commands and places."""

import glob
import math
import os
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from io import BytesIO
from itertools import chain, pairwise
from mmap import ACCESS_READ, mmap
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from dropglm.base.errors import InputError, InputTypeError
from dropglm.tables import formats
from dropglm.tables.errors import EmptyTableError, RowError, TableError, listed, row_place, suggestion
from dropglm.tables.formats import Format, PathOrFile, is_path, name_of
from dropglm.tables.lines import MAX_ROW_LENGTH, SAMPLE_SIZE, Lines, RawBatch, find_codec, guess_wide_encoding
from dropglm.tables.separated import record_ends

if TYPE_CHECKING:
    import numpy as np

INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")  # fits into 64 bits
WHOLE = re.compile(r"-?0\.0|(-?[1-9][0-9]*)\.0")
MAX_ROWS = 10_000  # of a batch
ROUNDING = 1e-3  # of the sum of the probabilities of a row
# In these, the bytes of delimiters, quotes and line ends mean nothing else.
ONE_BYTE_CODECS = ("utf-8", "ascii", "iso8859", "cp125")


@dataclass(frozen=True)
class Batch:
    """Consecutive rows of a table, without the bad rows between them.

    Attributes
    ----------
    texts : sequence of str
        A list, or ``EncodedTexts`` where the format allows. None stands for an optional text that is missing.
    labels : list of str, or of tuples
        Names of their classes; empty if no labels were requested. None stands for a missing label. Where rows
        have several labels, there is a tuple of names per row, and of probabilities, where these are read.
    others : dict of lists
        Further columns, as strings; values may be missing. Weights are numbers, 0 in rows without a label.
    rows : sequence of int
        Row numbers in the table, counted from 1; bad rows count.
    lines : sequence of pairs of int, or None
        The first and the last line of each row; None for Parquet, which has no lines.
    bad : list of RowError
        Errors about the bad rows up to the end of the batch that are not in a batch before it.

    Examples
    --------
    >>> batch = Batch(["good", "bad"], ["1", "0"], {}, rows=[16, 17], lines=[(17, 19), (20, 20)])
    >>> batch.place(0), batch.after(16).texts
    ('row 16 (lines 17 to 19)', ['bad'])
    """

    texts: Sequence[Any]
    labels: list[Any]
    others: dict[str, list[Any]]
    rows: Sequence[int]
    lines: Sequence[Any] | None = None
    bad: list[RowError] = field(default_factory=list)

    def take(self, indices: Sequence[int], bad: Iterable[RowError] = ()) -> "Batch":
        """Return the rows with these indices, and these errors."""

        def taken(column: Any) -> Any:
            if isinstance(column, list):
                return [column[k] for k in indices] if column else []
            import numpy as np

            return column[np.asarray(indices, np.intp)]

        return Batch(
            taken(self.texts),
            taken(self.labels),
            {name: taken(column) for name, column in self.others.items()},
            [self.rows[k] for k in indices],
            None if self.lines is None else taken(self.lines),
            list(bad),
        )

    @classmethod
    def joined(cls, batches: "Sequence[Batch]") -> "Batch":
        """Return the rows of several tables as those of one, in their order.

        Examples
        --------
        >>> one = Batch(["good"], ["1"], {}, rows=[1])
        >>> both = Batch.joined([one, Batch(["bad", "?"], ["0", None], {}, rows=[1, 2])])
        >>> both.texts, both.labels, both.rows
        (['good', 'bad', '?'], ['1', '0', None], range(1, 4))
        """
        if len(batches) == 1:
            return batches[0]
        texts = list(chain.from_iterable(batch.texts for batch in batches))
        labels = list(chain.from_iterable(batch.labels for batch in batches))
        others = {
            name: list(chain.from_iterable(batch.others[name] for batch in batches))
            for name in batches[0].others
        }
        return cls(texts, labels, others, range(1, len(texts) + 1))

    def by_label(self) -> tuple["Batch", "Batch"]:
        """Return the rows that have a label, with all errors, and those that have none.

        Examples
        --------
        >>> with_label, without = Batch(["good", "?", "bad"], ["1", None, "0"], {}, range(1, 4)).by_label()
        >>> with_label.texts, without.texts, without.rows
        (['good', 'bad'], ['?'], [2])
        """
        if None not in self.labels:
            return self, self.take(())
        has = [label is not None for label in self.labels]
        rows = range(len(has))
        return self.take([k for k in rows if has[k]], self.bad), self.take([k for k in rows if not has[k]])

    def after(self, row: int) -> "Batch":
        """Return what follows the row with this number."""
        later = range(bisect_right(self.rows, row), len(self.rows))
        return self.take(later, [error for error in self.bad if error.row > row])

    @property
    def last_row(self) -> int:
        """Number of the last row, good or bad."""
        return max([*self.rows[-1:], *(error.row for error in self.bad)])

    def place(self, k: int) -> str:
        """Return the position in the table of the row with index k, for messages."""
        return row_place(self.rows[k], None if self.lines is None else tuple(self.lines[k]))


class Part(NamedTuple):
    """Consecutive rows of a file: those in some of its bytes, or, in Parquet, those of some numbers."""

    start: int
    stop: int
    header: int = 0  # bytes of the header, which belongs to every part


@dataclass(frozen=True)
class Table:
    r"""A table of texts and labels, and how it is read.

    All ways of reading give the same texts, and the same names of classes (``class_name``), which
    ``to_classes`` turns into numbers or booleans if all of them are.

    Parameters
    ----------
    path : path or binary file
        A file, ``"-"`` for standard input, or an open binary file.
    text : str, default="text"
        Column of texts: strings, none missing.
    label : str or None, default=None
        Column of labels. A label may be missing (``class_name``); it is then None.
    lists : bool, default=False
        Whether a row may have a list of labels, in JSON Lines and Parquet.
    label_separator : str or None, default=None
        What separates the labels of a row that are written as one string; None means that a string is one
        label. See ``label_names``.
    probabilities : tuple of str, default=()
        Columns of the probabilities of the classes, in place of labels. A row where all are empty has none.
    keep : tuple of str, default=()
        Further columns, read as strings; values may be missing.
    weight : str or None, default=None
        Column of the weights of the rows with labels: numbers of at least 0, none missing.
    optional_text : bool, default=False
        Whether texts may be missing; they are then None. In a CSV, an empty text is an empty string.
    format : str or None, default=None
        A name in ``FORMATS``, with the compression if there is one (``"csv.gz"``); None uses the suffix.
    encoding : str or None, default=None
        A codec of Python; None is UTF-8, or what a byte-order mark says.
    delimiter : str or None, default=None
        Field delimiter of a CSV; None uses that of the format.
    max_row_length : int, default=10_000_000
        Maximum number of characters per row.
    part : Part or None, default=None
        The rows to read, if not all; see ``parts``.
    row_of : object or None, default=None
        Several columns in place of the texts, of which ``text`` is the first: an object with their ``names``,
        and a method ``encode`` from their values in a row to one string.

    Raises
    ------
    TableError
        By all methods, if the table cannot be read.

    Examples
    --------
    >>> from io import BytesIO
    >>> data = b'label,text\n1,"good, very"\n0\n0,bad\n'
    >>> for batch in Table(BytesIO(data), "text", "label", format="csv").batches(skip_bad=True):
    ...     print(list(batch.texts), batch.labels, list(batch.rows), *batch.bad)  # doctest: +ELLIPSIS
    ['good, very', 'bad'] ['1', '0'] [1, 3] the open file: row 2 (line 3) has 1 field, but the header has ...
    """

    path: PathOrFile
    text: str = "text"
    label: str | None = None
    keep: tuple[str, ...] = ()
    weight: str | None = None
    lists: bool = False
    label_separator: str | None = None
    probabilities: tuple[str, ...] = ()
    optional_text: bool = False
    format: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    max_row_length: int = MAX_ROW_LENGTH
    part: Part | None = None
    row_of: Any = None

    @property
    def columns(self) -> tuple[str, ...]:
        """All names of columns, in the order in which rows have them."""
        return (self.text, *(() if self.label is None else (self.label,)), *self.others)

    @property
    def others(self) -> tuple[str, ...]:
        """Names of the columns beside texts and labels."""
        others = *self.keep, *(() if self.weight is None else (self.weight,)), *self.probabilities
        if self.row_of is None:
            return others
        return *others, *(name for name in self.row_of.names if name != self.text and name not in others)

    @property
    def name(self) -> str:
        """Its name in messages."""
        name = name_of(self.path, "standard input")
        if self.part is None:
            return name
        unit = "rows" if self.found_format.rows is None else "bytes"
        return f"{name} ({unit} {self.part.start + 1:,} to {self.part.stop:,})"

    @property
    def found_format(self) -> Format:
        """The format that applies."""
        return formats.find_format(name_of(self.path, "standard input"), self.format)[0]

    @property
    def _compression(self) -> str | None:
        return formats.find_format(name_of(self.path, "standard input"), self.format)[1]

    @property
    def separator(self) -> str:
        """The field delimiter that applies."""
        return self.delimiter or self.found_format.delimiter

    def positions(self, header: Sequence[str]) -> list[int]:
        """Return the position of each column in the header.

        A name that the header lacks, or has more than once, is an error.
        """
        for name in self.columns:
            if name not in header:
                hint = f"{suggestion(name, header)}; its columns: {listed(header)}."
                raise TableError(f"{self.name}: there is no column {name!r}{hint}").about_missing(name)
        for name in _repeated(header):
            if name in self.columns:
                raise TableError(
                    f"{self.name}: {header.count(name)} columns are named {name!r}; rename all but one."
                )
        return [header.index(name) for name in self.columns]

    def read(self) -> Batch:
        """Return all rows; the first bad one is raised."""
        texts: list[Any] = []
        labels: list[Any] = []
        others: dict[str, list[Any]] = {name: [] for name in self.others if name not in self.probabilities}
        if self.row_of is not None:
            others[self.text] = []
        for batch in self._selected(self._batches(1 << 24, MAX_ROWS, lenient=False), skip_bad=False, start=0):
            texts += batch.texts
            labels += batch.labels
            for name, column in batch.others.items():
                others[name] += column
        return Batch(texts, labels, others, range(1, len(texts) + 1))

    def batches(
        self,
        *,
        skip_bad: bool = False,
        start: int = 0,
        characters: int = 1 << 24,
        max_rows: int | None = None,
    ) -> Iterator[Batch]:
        """Yield the rows in batches; memory is bounded by the batch, not by the file.

        Rows from a pipe are yielded as soon as no more of them are waiting.

        Parameters
        ----------
        skip_bad : bool, default=False
            Whether to skip bad rows, and to yield the errors about them with the batches, some of which may
            have no other rows. Without it, the first such error is raised, after the good rows before it.
            Errors about the table as a whole are raised in any case, also if all rows are bad.
        start : int, default=0
            Number of rows to skip at the beginning; bad rows among them are not reported.
        characters : int, default=1 << 24
            A batch is complete when its texts have this many characters; it may have fewer.
        max_rows : int or None, default=None
            Maximum number of rows of a batch; None means 10,000.

        Notes
        -----
        In a CSV, the row after a bad row starts on the line after the one where the error is found. A missing
        closing quote is found at the next quote, after ``max_row_length`` characters, or at the end of the
        file.
        """
        max_rows = MAX_ROWS if max_rows is None else max_rows
        _check_positive(characters, "characters")
        _check_positive(max_rows, "max_rows")
        if not isinstance(start, int) or start < 0:
            raise InputError(f"start must be a non-negative integer, got {start!r}.")
        batches = self._batches(characters, max_rows, lenient=skip_bad or start > 0)
        yield from self._selected(batches, skip_bad=skip_bad, start=start)

    def _selected(self, batches: Iterable[Batch], *, skip_bad: bool, start: int) -> Iterator[Batch]:
        """Yield the rows after ``start``; raise the first error, or that no row is good."""
        n_good, n_bad, first = 0, 0, None
        for batch in batches:
            n_good, n_bad = n_good + len(batch.rows), n_bad + len(batch.bad)
            first = first or next(iter(batch.bad), None)
            if start:
                batch = batch.after(start)
            error = batch.bad[0] if batch.bad and not skip_bad else None
            if error is not None:
                batch = batch.take(range(bisect_right(batch.rows, error.row)))
            if len(batch.rows) or batch.bad:
                yield batch
            if error is not None:
                raise error
        if not n_good and first is None:
            has = "a header" if self.found_format.header else "columns"
            raise EmptyTableError(f"{self.name}: this table has {has} but no rows.")
        if not n_good:
            rows = f"none of the {n_bad:,} rows can" if n_bad > 1 else "the only row cannot"
            raise TableError(f"{self.name}: {rows} be used; {str(first).removeprefix(f'{self.name}: ')}")

    def column_names(self) -> list[str]:
        r"""Return the names of the columns that can be read as strings, in the order of the table.

        Names that occur more than once are left out, as are columns of lists, records and bytes of a Parquet
        file. The columns of JSON Lines are the keys of all rows. Plain text has no names.

        Examples
        --------
        >>> Table(BytesIO(b"id,x,text,x\n"), format="csv").column_names()
        ['id', 'text']
        """
        with self._opened() as stream:
            find = self.found_format.names
            names = formats.parquet_names(stream, self.name) if find is None else find(Lines(stream, self))
        several = _repeated(names)
        return [name for name in names if name not in several]

    def parts(self, size: int) -> "list[Table]":
        """Return the file in parts of about ``size`` bytes that can be read independently of each other.

        A Parquet file is cut by rows, and a text file where a row begins. Compressed text files and those in
        wide encodings are one part.
        """
        path, length = str(self.path), os.path.getsize(str(self.path))
        if length <= size or self._compression is not None:
            return [self]
        if self.found_format.rows is None:
            n = formats.n_parquet_rows(path)
            count = min(n, -(-length // size))
            ends, header = [n * k // count for k in range(count + 1)] if count else [], 0
        else:
            with open(path, "rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
                if not (self._has_one_byte_codec(data[:SAMPLE_SIZE]) and self.separator.isascii()):
                    return [self]
                ends, header = self._row_starts(data, size)
        return [replace(self, part=Part(*pair, header)) for pair in pairwise(ends)] or [self]

    def _row_starts(self, data: mmap, size: int) -> tuple[list[int], int]:
        """Return where rows begin, one in every ``size`` bytes, and the number of bytes of the header."""
        header, row_ends = 0, record_ends(data, self.separator if self.found_format.header else None)
        if self.found_format.header:
            blank = b" \t\r\n\xef\xbb\xbf"
            header = next((end for end in row_ends if data[:end].strip(blank)), len(data))
        starts = [header]
        for end in row_ends:
            if end - starts[-1] >= size and end < len(data):
                starts.append(end)
        return [*starts, len(data)] if header < len(data) else [], header

    def _has_one_byte_codec(self, sample: bytes) -> bool:
        """Return whether characters such as line ends are single bytes, which occur in no other character."""
        if self.encoding is not None and not find_codec(self.encoding).name.startswith(ONE_BYTE_CODECS):
            return False
        return not sample.startswith((b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")) and not (
            self.encoding is None and b"\0" in sample and guess_wide_encoding(sample)
        )

    @contextmanager
    def _opened(self) -> Iterator[IO[bytes]]:
        """Check the settings, and open the table, or the bytes of its part."""
        for name in self.columns:
            if not isinstance(name, str):
                raise InputTypeError(f"A column must be a name, got {name!r}.")
        for name in _repeated(self.columns):
            raise TableError(f"Column {name!r} is requested twice.")
        _check_positive(self.max_row_length, "max_row_length")
        if is_path(self.path):
            formats.check_file_exists(self.path)
        format = self.found_format  # which may be unknown
        if self.delimiter is not None:
            formats.check_delimiter(self.delimiter)
        if self.encoding is not None:
            find_codec(self.encoding)
        with formats.open_source(self.path, self._compression) as stream:
            if self.part is not None and format.rows is not None:
                header = stream.read(self.part.header)
                stream.seek(self.part.start)
                yield BytesIO(header + stream.read(self.part.stop - self.part.start))
            else:
                yield stream

    def _batches(self, characters: int, max_rows: int, *, lenient: bool) -> Iterator[Batch]:
        """Yield all rows, good and bad, in batches."""
        with self._opened() as stream:
            yield from self._batches_of(stream, characters, max_rows, lenient=lenient)

    def _batches_of(
        self, stream: IO[bytes], characters: int, max_rows: int, *, lenient: bool
    ) -> Iterator[Batch]:
        if self.found_format.rows is None:
            path = str(self.path) if is_path(self.path) and not self._compression else None
            # Of texts with 1,000 characters each: their lengths are not known before they are read.
            for raw in formats.parquet_batches(stream, self, path, max(1, min(max_rows, characters // 1000))):
                yield from self._from_raw(raw, characters, max_rows)
            return
        lines = Lines(stream, self, lenient=lenient)
        rows: list[tuple[Any, ...]] = []
        numbers: list[int] = []
        spans: list[tuple[int, int]] = []  # the first and the last line of each row
        bad: list[RowError] = []
        size = 0

        def gathered() -> Batch:
            nonlocal rows, numbers, spans, bad, size
            columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in self.columns]
            batch = self._batch(columns, numbers, spans, bad)
            rows, numbers, spans, bad, size = [], [], [], [], 0
            return batch

        try:
            for row in self.found_format.rows(lines):
                if isinstance(row, RawBatch):
                    if rows or bad:
                        yield gathered()
                    yield from self._from_raw(row, characters, max_rows)
                    continue
                if isinstance(row, RowError):
                    bad.append(row)
                else:
                    rows.append(row)
                    numbers.append(lines.row)
                    spans.append((lines.first_line, lines.n_lines))
                    size += len(row[0] or "")
                full = size >= characters or len(rows) + len(bad) >= max_rows
                # Rows of a pipe do not wait for those that may never come, nor does an error that is raised.
                if full or lines.would_block() or (bad and not lenient):
                    yield gathered()
        except Exception:
            # Good rows before the error are yielded first, so that they do not depend on the size of batches.
            if rows or bad:
                yield gathered()
            raise
        if rows or bad:
            yield gathered()

    def _from_raw(self, raw: RawBatch, characters: int, max_rows: int) -> Iterator[Batch]:
        """Yield rows that were read at once, in several batches if there are too many."""
        texts: Any = raw.columns[0]
        sizes = [len(text or "") for text in texts] if isinstance(texts, list) else texts.lengths.tolist()
        cuts, size = [0], 0
        for k, one in enumerate(sizes, 1):
            size += one
            if size >= characters or k - cuts[-1] >= max_rows or k == len(sizes):
                cuts.append(k)
                size = 0
        for begin, end in pairwise(cuts):
            columns = [column[begin:end] for column in raw.columns]
            lines: Any = None if raw.lines is None else raw.lines[begin:end]
            yield self._batch(columns, range(raw.first_row + begin, raw.first_row + end), lines, [])

    def _batch(
        self, columns: list[Any], rows: Sequence[int], lines: Sequence[Any] | None, bad: list[RowError]
    ) -> Batch:
        """Return the rows with the names of their classes; those without a text, or a weight, are bad."""
        texts, rest = columns[0], iter(columns[1:])
        labels: list[Any] = []
        if self.label is not None:
            labels = [label_names(label, self.label_separator) for label in next(rest)]
        others: dict[str, list[Any]] = {
            name: list(column) for name, column in zip(self.others, rest, strict=True)
        }
        problems: dict[int, str] = {}
        if self.row_of is not None:
            others[self.text] = list(texts)
            texts, bad_values = _rows([others[name] for name in self.row_of.names], self.row_of)
        if self.lists:
            gap = "has a list with an empty label; leave it out, since [] means none of the labels"
            problems = {k: gap for k, label in enumerate(labels) if type(label) is tuple and "" in label}
        if self.probabilities:
            labels, problems = _probabilities({name: others.pop(name) for name in self.probabilities})
        if self.weight is not None:
            others[self.weight], bad_weights = _weights(others[self.weight], labels, self.weight)
            problems |= bad_weights
        if self.row_of is not None:
            problems |= bad_values
        if isinstance(texts, list) and None in texts and not self.optional_text:
            problem = f"has no text (null in {self.text!r})"
            problems |= {k: problem for k, text in enumerate(texts) if text is None}
        batch = Batch(texts, labels, others, rows, lines, bad)
        if not problems:
            return batch
        found = [
            RowError.at(rows[k], f"{self.name}: {batch.place(k)} {problem}.")
            for k, problem in problems.items()
        ]
        good = [k for k in range(len(rows)) if k not in problems]
        return batch.take(good, sorted([*bad, *found], key=lambda error: error.row))


def _rows(columns: list[list[Any]], row_of: Any) -> tuple[list[str], dict[int, str]]:
    """Return the values of several columns as one string per row, and what is wrong with some of them."""
    rows, problems = [], {}
    for k, values in enumerate(zip(*columns, strict=True)):
        try:
            rows.append(row_of.encode(values))
        except InputError as error:
            rows.append("")
            problems[k] = str(error).rstrip(".")
    return rows, problems


def _weights(given: list[str | None], labels: list[Any], column: str) -> tuple[list[float], dict[int, str]]:
    """Return the weights of rows, and what is wrong with some of those that have a label."""
    weights, problems = [0.0] * len(given), {}
    for k, (value, label) in enumerate(zip(given, labels, strict=True)):
        if label is None:
            continue
        weights[k] = _number(value)
        if value is None or not value.strip():
            problems[k] = f"has no weight (column {column!r} is empty)"
        elif not 0.0 <= weights[k] < math.inf:
            problems[k] = f"has the weight {value!r}, which is not a finite number of at least 0"
    return weights, problems


def _probabilities(columns: dict[str, list[Any]]) -> tuple[list[Any], dict[int, str]]:
    """Return the probabilities of the classes of each row, and what is wrong with some of them."""
    labels: list[Any] = []
    problems: dict[int, str] = {}
    for k, given in enumerate(zip(*columns.values(), strict=True)):
        if not any(value is not None and value.strip() for value in given):
            labels.append(None)
            continue
        labels.append(tuple(_number(value) for value in given))
        for name, value, p in zip(columns, given, labels[k], strict=True):
            if not 0.0 <= p <= 1.0:
                problems[k] = f"has {value or ''!r} in column {name!r}, which is not a number from 0 to 1"
        if k not in problems and abs(sum(labels[k]) - 1.0) > ROUNDING:
            problems[k] = f"has probabilities of the classes whose sum is {sum(labels[k]):.6g}, not 1"
    return labels, problems


def _number(value: str | None) -> float:
    """Return the number that is written, or NaN."""
    try:
        return float(value or "")
    except ValueError:
        return math.nan


def group_labels(table: Table, read: Batch) -> list[str] | None:
    """Return the first column that a table keeps as the groups of rows with labels; None if it keeps none.

    Raises
    ------
    TableError
        If a row has no group.
    """
    if not table.keep:
        return None
    column = table.keep[0]
    groups = read.others[column]
    for k, group in enumerate(groups):
        if read.labels[k] is not None and (group is None or not group.strip()):
            raise TableError(
                f"{table.name}: {read.place(k)} has no group (column {column!r} is empty); give every row "
                "one, such as its own number."
            )
    return groups


def row_weights(table: Table, read: Batch) -> list[float] | None:
    """Return the weights of the rows of a table; None if it is read without weights."""
    return None if table.weight is None else read.others[table.weight]


def no_labels(table: Table) -> TableError:
    """Return the error about a table in which no row has a label."""
    if is_path(table.path) and table.found_format.name == "jsonl":
        # An error if no row has the key.
        replace(table, keep=(), weight=None).positions(table.column_names())
    columns = table.probabilities or (table.label,)
    which = "column" if len(columns) == 1 else "columns"
    verb = "is" if len(columns) == 1 else "are"
    empty = f"{table.name}: no row has a label; the {which} {listed(map(str, columns))} {verb} empty."
    return TableError(empty).about_missing(str(columns[0]))


def find_files(patterns: Iterable[str]) -> list[str]:
    """Return the paths of files: those that are named, match a pattern or are in a folder.

    Files in folders whose names begin with a dot or an underscore are left out, such as ``_SUCCESS``. ``"-"``
    stays as it is.

    Raises
    ------
    TableError
        If there is no file for one of the patterns.
    """
    return [path for pattern in patterns for path in _matching(pattern)]


def _matching(pattern: str) -> list[str]:
    if os.path.isdir(pattern):
        names = sorted(name for name in os.listdir(pattern) if not name.startswith((".", "_")))
        found = [path for name in names if os.path.isfile(path := os.path.join(pattern, name))]
        if not found:
            raise TableError(f"{pattern}: this folder has no files.")
        return found
    if pattern == "-" or os.path.exists(pattern):
        return [pattern]
    if not glob.has_magic(pattern):
        raise TableError(f"{pattern}: there is no such file.")
    found = sorted(path for path in glob.glob(pattern) if os.path.isfile(path))
    if not found:
        raise TableError(f"{pattern}: no file matches this pattern.")
    return found


def _repeated(names: Sequence[str]) -> list[str]:
    """Return the names that occur more than once."""
    return [name for name, count in Counter(names).items() if count > 1]


def _check_positive(given: int, name: str) -> None:
    if not isinstance(given, int) or given < 1:
        raise InputError(f"{name} must be a positive integer, got {given!r}.")


@lru_cache(1000, typed=True)  # few, since a label may be a whole text by mistake
def class_name(label: Any) -> str | None:
    """Return the name of the class of a label; None if the label is missing: null, NaN or blank.

    Strings are names as they are; numbers, ``true`` and ``false`` are written as in JSON. A whole number is
    written without a fraction, also where it comes as a string: a column of integers with a gap becomes
    floats in pandas, and 1 becomes 1.0, also in the CSV or Parquet file that is then written.

    Examples
    --------
    >>> [class_name(label) for label in (1, 1.0, "1", "1.0", 1.5, "01", True, "sound ")]
    ['1', '1', '1', '1', '1.5', '01', 'true', 'sound ']
    >>> [class_name(label) for label in (None, float("nan"), " ")]
    [None, None, None]
    """
    if label is None or label != label:
        return None
    name = str(label).lower() if isinstance(label, bool) else str(label)
    whole = WHOLE.fullmatch(name)
    return whole[1] or "0" if whole else name if name.strip() else None


def label_names(label: Any, separator: str | None = None) -> "str | tuple[str, ...] | None":
    """Return the name of the class of a label, or a tuple of names if it is a list; None if it is missing.

    With a separator, a string is a list as well: names with the separator between them, without blanks around
    them. A separator alone means that the row has none of the labels, and so does an empty list. A name that
    occurs twice counts once.

    Examples
    --------
    >>> [label_names(label, ";") for label in ("b; a", "a", ";", " ", 1)]
    [('b', 'a'), ('a',), (), None, ('1',)]
    >>> [label_names(label) for label in (["b", 1.0, "b"], [], None, "b; a")]
    [('b', '1'), (), None, 'b; a']
    """
    if isinstance(label, list):
        return tuple(dict.fromkeys(class_names(label)))
    return class_name(label) if separator is None else _split_names(label, separator)


@lru_cache(1000, typed=True)
def _split_names(label: Any, separator: str) -> tuple[str, ...] | None:
    name = class_name(label)
    if name is None:
        return None
    return tuple(dict.fromkeys(class_names(one.strip() for one in name.split(separator) if one.strip())))


def joined_names(names: Iterable[Any], separator: str) -> str:
    """Return labels as one string, which ``label_names`` reads.

    Examples
    --------
    >>> joined_names(["b", "a"], ";"), joined_names([], ";")
    ('b;a', ';')
    """
    return separator.join(class_names(names)) or separator


def class_names(labels: Iterable[Any]) -> list[str]:
    """Return the names of the classes of labels, or of classes; that of a missing label is empty."""
    return [class_name(label) or "" for label in labels]


def class_type(names: Collection[str], *, fractions: bool = False) -> type:
    """Return the type of classes with these names: int or bool if all of them are, else str.

    Numbers with fractions are names, not a scale; with ``fractions``, their type is float.

    Examples
    --------
    >>> class_type(["1", "0"]), class_type(["1", "01"]), class_type(["true", "false"])
    (<class 'int'>, <class 'str'>, <class 'bool'>)
    >>> class_type(["1", "1.5"]), class_type(["1", "1.5"], fractions=True)
    (<class 'str'>, <class 'float'>)
    """
    names = set(names)
    if all(map(INTEGER.fullmatch, names)):
        return int
    if names <= {"true", "false"}:
        return bool
    return float if fractions and all(map(_is_number, names)) else str


def to_classes(
    names: Sequence[Any], kind: type | None = None, *, several: bool | None = None
) -> "np.ndarray":
    """Return classes for names; ``kind`` is the ``class_type`` of all names, if these are some of them.

    None stands for a missing name, and then for its class. If one of the names is a tuple, rows have several
    labels, and there is a tuple of classes for each; ``several`` says so of the names of all rows.

    Examples
    --------
    >>> to_classes(["1", "0", "1"])
    array([1, 0, 1])
    >>> to_classes(["1", None])
    array([1, None], dtype=object)
    >>> to_classes([("1", "0"), (), "1"])
    array([(1, 0), (), (1,)], dtype=object)
    """
    import numpy as np

    if has_lists(names) if several is None else several:
        kind = kind or class_type(all_names(names))
        class_of = {name: one for name in all_names(names) for one in to_classes([name], kind).tolist()}
        classes = np.empty(len(names), object)
        classes[:] = [None if row is None else tuple(class_of[one] for one in _names(row)) for row in names]
        return classes

    if None in names:
        there = np.array([name is not None for name in names])
        classes = np.full(len(names), None, object)
        classes[there] = to_classes([name for name in names if name is not None], kind)
        return classes
    kind = kind or class_type(names)
    if kind is bool:
        return np.array([name == "true" for name in names], np.bool_)
    return np.array(names, {int: np.int64, float: np.float64, str: object}[kind])


def has_lists(names: Iterable[Any]) -> bool:
    """Return whether rows have several labels: whether one of their names is a tuple."""
    return any(isinstance(row, tuple) for row in names)


def all_names(names: Iterable[Any]) -> set[str]:
    """Return all names, of rows with a name, with several, or without one.

    Examples
    --------
    >>> sorted(all_names(["b", ("a", "c"), None]))
    ['a', 'b', 'c']
    """
    return {name for row in names if row is not None for name in _names(row)}


def _names(row: Any) -> tuple[str, ...]:
    return row if isinstance(row, tuple) else (row,)


def _is_number(name: str) -> bool:
    try:
        return class_name(float(name)) == name and name not in ("inf", "-inf")
    except ValueError:
        return False
