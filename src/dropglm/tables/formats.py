"""The formats of tables, by name and by suffix, and the files in which tables are, compressed or not.

CSV and TSV are read in ``separated``. JSON Lines are read with Python's json module, which takes 0.8 s for
100,000 reviews where polars takes 0.1 s, but names the line of an error. They are written without polars as
well: a command that predicts a few texts would spend a sixth of its time on the import. Parquet is read and
written, and CSV and TSV are written, with polars.
"""

import bz2
import gzip
import json
import lzma
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from io import BytesIO
from json.encoder import encode_basestring
from pathlib import Path, PurePath
from typing import IO, TYPE_CHECKING, Any, TypeAlias, TypeGuard

from dropglm.base.errors import InputError, InputTypeError
from dropglm.base.files import replacing
from dropglm.base.imports import import_extra
from dropglm.base.registry import quoted
from dropglm.tables import separated
from dropglm.tables.errors import EmptyTableError, RowError, TableError, listed, suggestion
from dropglm.tables.lines import CHUNK_SIZE, Lines, RawBatch, has_lone_surrogate, read_chunk, rows_and_errors

if TYPE_CHECKING:
    from polars import DataFrame

    from dropglm.tables.reader import Table

PARQUET_MAGIC = b"PAR1"
# A file name, "-" for standard input or output, or an open binary file.
PathOrFile: TypeAlias = str | os.PathLike[str] | IO[bytes]
# Rows to write: a frame, or values by column.
Frame: TypeAlias = "DataFrame | Mapping[str, Any]"


def _zstandard(stream: IO[bytes], mode: str) -> Any:
    if sys.version_info < (3, 14):
        raise TableError(
            "Zstandard (.zst) needs Python 3.14 or newer; decompress the file with zstd -d first, "
            "or use gzip (.gz)."
        )
    return import_module("compression.zstd").ZstdFile(stream, mode)


def _gzip(stream: IO[bytes], mode: str) -> Any:
    # Without a time stamp, so that the same table gives the same bytes. Level 6 is the default of the gzip
    # command.
    return gzip.GzipFile("", mode, 6, stream, 0)


# By suffix: opens a stream of plain bytes on a stream of compressed bytes, to read ("rb") or write ("wb").
COMPRESSIONS: dict[str, Callable[..., Any]] = {
    "gz": _gzip,
    "bz2": bz2.BZ2File,
    "xz": lzma.LZMAFile,
    "zst": _zstandard,
}


def is_path(source: PathOrFile) -> TypeGuard[str | os.PathLike[str]]:
    """Return whether it names a file, as opposed to a standard stream ("-") or an open file."""
    return source != "-" and isinstance(source, (str, os.PathLike))


def name_of(source: PathOrFile, standard_stream: str) -> str:
    """Return the name of the table in messages."""
    if source == "-":
        return standard_stream
    if is_path(source):
        return str(source)
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else "the open file"


def binary_stream(stream: Any, name: str) -> Any:
    """Return the bytes of ``sys.stdin`` or ``sys.stdout``, which are None if the shell closed them."""
    if stream is None:
        raise TableError(f"{name} is closed.")
    return stream.buffer


def guess_format(start: bytes) -> str:
    r"""Return the format of a table that begins with these bytes: jsonl, parquet, tsv or csv.

    Examples
    --------
    >>> guess_format(b'{"text": "good"}'), guess_format(b"text\tlabel\n"), guess_format(b"text,label\n")
    ('jsonl', 'tsv', 'csv')
    """
    if start.lstrip(b"\xef\xbb\xbf \r\n").startswith(b"{"):
        return "jsonl"
    if start.startswith(b"PAR1"):
        return "parquet"
    header, _, _ = start.partition(b"\n")
    return "tsv" if header.count(b"\t") > header.count(b",") else "csv"


def format_of_standard_input() -> str:
    """Return the format of the table that comes through standard input, of which nothing is consumed."""
    return guess_format(_start_of_standard_input())


def format_of_lines(column: str) -> str:
    """Return the format of standard input if it begins like a table that has this column, or else txt."""
    start = _start_of_standard_input()
    format, header = guess_format(start), start.partition(b"\n")[0].decode(errors="replace")
    if format == "jsonl":
        has_column = json.dumps(column, ensure_ascii=False) in header
    else:
        cells = [cell.strip('\r"\ufeff') for cell in header.split("\t" if format == "tsv" else ",")]
        has_column = format == "parquet" or (len(cells) > 1 and column in cells)
    return format if has_column else "txt"


def _start_of_standard_input() -> bytes:
    stream = binary_stream(sys.stdin, "standard input")
    if hasattr(stream, "peek"):
        return stream.peek(1)
    begin = stream.tell()
    start = stream.read()
    stream.seek(begin)
    return start


@contextmanager
def open_source(source: PathOrFile, compression: str | None) -> Iterator[IO[bytes]]:
    """Open a table and yield its decompressed bytes; a file that was open before stays open."""
    with ExitStack() as stack:
        stream: Any
        if source == "-":
            stream = binary_stream(sys.stdin, "standard input")
        elif is_path(source):
            stream = stack.enter_context(_open_file(Path(source)))
        elif hasattr(source, "read"):
            stream = source
        else:
            raise InputTypeError(f"A table must be a path, '-' or an open binary file, got {source!r}.")
        if compression is not None:
            stream = stack.enter_context(COMPRESSIONS[compression](stream, "rb"))
        yield stream


def check_file_exists(path: str | os.PathLike[str]) -> None:
    """Raise an error if there is no file, before its suffix is examined."""
    if os.path.isdir(path):
        raise TableError(f"{path}: this is a folder; name a file in it.")
    if not os.path.exists(path):
        raise TableError(f"{path}: there is no such file.")


def _open_file(path: Path) -> IO[bytes]:
    try:
        return open(path, "rb")
    except PermissionError:
        raise TableError(f"{path}: you may not read this file (permission denied).") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise TableError(f"{path}: this file cannot be opened ({reason}).") from None


# Plain text.


def plain_rows(lines: Lines) -> Iterator[tuple[Any, ...]]:
    r"""Yield each line of plain text as a text; a blank line is an empty text, so that line numbers match.

    Examples
    --------
    >>> from io import BytesIO
    >>> from dropglm.tables import Table
    >>> list(plain_rows(Lines(BytesIO(b"one\n\ntwo"), Table("reviews.txt"))))
    [('one',), ('',), ('two',)]
    """
    others = lines.table.columns[1:]
    if others:
        raise TableError(f"{lines.name}: plain text has one column, the texts; there is no {others[0]!r}.")
    for line in lines:
        yield (line.rstrip("\r\n"),)
        lines.end_row()
    if lines.row == 1:
        raise EmptyTableError(f"{lines.name}: this file is empty.")


def _write_plain(frame: Frame, stream: IO[bytes], header: bool) -> None:
    """Write the first column, one line per row; line ends inside a value become spaces."""
    for value in next(iter(_columns(frame).values()), ()):
        stream.write(f"{'' if value is None else ' '.join(str(value).splitlines())}\n".encode())


# JSON Lines.

TYPE_NAMES = {
    type(None): "null",
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "a string",
    list: "a list",
    dict: "an object",
}


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise InputError("a key occurs twice")
    return record


def _reject_constant(name: str) -> None:
    raise InputError(f"{name} is not allowed in JSON")


# By default the json module accepts repeated keys and NaN.
_decode = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_reject_constant).raw_decode

# One encoder for all calls: json.dumps makes one per call, which takes 1.7 us instead of 0.9.
_encode = json.JSONEncoder(ensure_ascii=False, default=str).encode


def json_rows(lines: Lines) -> Iterator[tuple[Any, ...] | RowError]:
    """Yield the requested values of each row: texts and kept columns as strings, labels with their types.

    Examples
    --------
    >>> from dropglm.tables import Table
    >>> data = BytesIO(b'{"text": "007", "label": 1, "id": 7}')
    >>> lines = Lines(data, Table("reviews.jsonl", "text", "label", keep=("id",)))
    >>> list(json_rows(lines))
    [('007', 1, '7')]
    """
    return rows_and_errors(lambda: _good_json_rows(lines), lines)


def _good_json_rows(lines: Lines) -> Iterator[tuple[Any, ...]]:
    """Yield rows up to the first bad one, which is raised."""
    table = lines.table
    text_key, label_key = table.text, table.label
    for record in _json_records(lines):
        text = record.get(text_key)
        if text is None and text_key not in record:
            hint = f"{suggestion(text_key, record)}; its keys: {listed(record)}"
            raise lines.error(f"has no {text_key!r}{hint}").about_missing(text_key)
        if text is not None and type(text) is not str:
            raise lines.error(f"has {TYPE_NAMES[type(text)]} as its {text_key!r}; a text must be a string")
        values = [text]
        if label_key is not None:
            label = record.get(label_key)
            among = label if table.lists and isinstance(label, list) else (label,)
            for one in among:
                if isinstance(one, (list, dict)):
                    what = "which must be a string, a number, true or false"
                    where = "as its label" if among is not label else "among its labels"
                    raise lines.error(f"has {TYPE_NAMES[type(one)]} {where}, {what}")
            values.append(label)
        for name in table.others:
            values.append(as_string(record.get(name)))
        strings = values if label_key is None or not isinstance(values[1], list) else [*values, *values[1]]
        if any(isinstance(value, str) and has_lone_surrogate(value) for value in strings):
            raise lines.error("contains half of a surrogate pair, which is not a character")
        yield tuple(values)
    if lines.row == 1:
        raise EmptyTableError(f"{lines.name}: this file is empty.")


def json_names(lines: Lines) -> list[str]:
    r"""Return the keys of all rows, in the order in which they occur first.

    Examples
    --------
    >>> from dropglm.tables import Table
    >>> lines = Lines(BytesIO(b'{"text": "a"}\n{"id": 1, "text": "b"}\n'), Table("reviews.jsonl"))
    >>> json_names(lines)
    ['text', 'id']
    """
    found: dict[str, None] = {}
    for record in _json_records(lines):
        found |= dict.fromkeys(record)
    return list(found)


def _json_records(lines: Lines) -> Iterator[dict[str, Any]]:
    """Yield the object of each line that is not blank."""
    for line in lines:
        line = line.strip()
        if line:
            yield _parse_json(line, lines)
            lines.end_row()
        else:
            lines.skip()


def _parse_json(line: str, lines: Lines) -> dict[str, Any]:
    try:
        record, end = _decode(line)
    except json.JSONDecodeError as error:
        if line.startswith("[") and lines.row == 1:
            # Not a bad row: the rows of an array end with commas, so that all but the last would be bad.
            raise TableError(
                f"{lines.name}: {lines.position()} starts a JSON array; "
                "JSON Lines has one object per line, without brackets around them."
            ) from None
        what = error.msg.removesuffix(" at")
        raise lines.error(f"is not valid JSON: {what} at character {error.pos + 1}") from None
    except (ValueError, RecursionError) as error:
        raise lines.error(f"is not valid JSON: {error}") from None
    if end < len(line):
        raise lines.error(
            f"is not valid JSON: there is more after the end of the value, at character {end + 1}"
        )
    if not isinstance(record, dict):
        raise lines.error(
            f'is {TYPE_NAMES[type(record)]}; each line must be an object such as {{"text": "..."}}'
        )
    return record


def as_string(value: Any) -> str | None:
    """Return a string as it is, and any other value as JSON writes it.

    Examples
    --------
    >>> [as_string(value) for value in ("1", 1, 1.5, True, None)]
    ['1', '1', '1.5', 'true', None]
    """
    if value is None or isinstance(value, str):
        return value
    return str(value) if type(value) is int else _encode(value)  # str is six times as fast


def _write_json(frame: Frame, stream: IO[bytes], header: bool) -> None:
    """Write one object per line."""
    columns = _columns(frame)
    keys = [f"{encode_basestring(name)}:" for name in columns]
    for row in zip(*columns.values(), strict=True):
        pairs = (key + _json_value(value) for key, value in zip(keys, row, strict=True))
        stream.write(f"{{{','.join(pairs)}}}\n".encode())


def _json_value(value: Any) -> str:
    """Return JSON of a value; null stands for numbers that JSON does not have."""
    if type(value) is str:
        return encode_basestring(value)
    # Also a float of 32 bits, whose own digits are fewer than those of the same number in 64 bits.
    if hasattr(value, "is_integer") and not isinstance(value, int):
        return str(value) if math.isfinite(value) else "null"
    return _encode(value)


# Parquet, and all that needs polars.


def import_polars() -> Any:
    """Import polars when it is needed first, so that the library works without it."""
    return import_extra("polars", "tables", "Tables need")


def _columns(frame: Frame) -> Mapping[str, Any]:
    """Return the values of each column."""
    return frame if isinstance(frame, Mapping) else frame.to_dict(as_series=False)


def _as_frame(frame: Frame) -> "DataFrame":
    """Return a frame of polars; columns without any value are strings."""
    pl = import_polars()
    made: DataFrame = pl.DataFrame(frame)
    return made.with_columns(pl.col(pl.Null).cast(pl.String))


def parquet_batches(stream: IO[bytes], table: "Table", path: str | None, size: int) -> Iterator[RawBatch]:
    """Yield the requested columns of up to ``size`` rows; without a path, all bytes are kept in memory.

    Labels have their types, all other columns are strings.
    """
    pl = import_polars()
    stream = stream if path else _in_memory(stream, table.name)
    _check_parquet(stream, table.name)
    try:
        frames = pl.scan_parquet(path, glob=False) if path else pl.scan_parquet(stream)
        schema = frames.collect_schema()
        table.positions(list(schema))
        frames = frames.select([_as_strings(column, schema[column], table) for column in table.columns])
        row = 1
        if table.part is not None:
            frames = frames.slice(table.part.start, table.part.stop - table.part.start)
        for frame in frames.collect_batches(chunk_size=size, maintain_order=True):
            if frame.height:
                yield RawBatch([column.to_list() for column in frame.get_columns()], row)
                row += frame.height
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise TableError(f"{table.name}: this Parquet file is damaged ({reason}).") from None


def n_parquet_rows(path: str) -> int:
    """Return the number of rows of a file."""
    pl = import_polars()
    return int(pl.scan_parquet(path, glob=False).select(pl.len()).collect().item())


def parquet_names(stream: IO[bytes], name: str) -> list[str]:
    """Return the names of the columns that can be read as strings: not those of lists, records and bytes."""
    pl = import_polars()
    source = stream if stream.seekable() else _in_memory(stream, name)
    _check_parquet(source, name)
    schema = pl.read_parquet_schema(source)
    return [column for column, dtype in schema.items() if not dtype.is_nested() and dtype != pl.Binary]


def _in_memory(stream: IO[bytes], name: str) -> IO[bytes]:
    """Return all bytes of a stream, since Parquet has to be read from the end."""
    return BytesIO(b"".join(iter(lambda: read_chunk(stream, CHUNK_SIZE, name), b"")))


def _check_parquet(stream: IO[bytes], name: str) -> None:
    stream.seek(0)
    start = read_chunk(stream, len(PARQUET_MAGIC), name)
    if not start:
        raise EmptyTableError(f"{name}: this file is empty.")
    if start != PARQUET_MAGIC:
        raise TableError(f"{name}: this is not a Parquet file; set format to its actual format.")
    stream.seek(-len(PARQUET_MAGIC), os.SEEK_END)
    if read_chunk(stream, len(PARQUET_MAGIC), name) != PARQUET_MAGIC:
        raise TableError(f"{name}: this Parquet file is truncated.")
    stream.seek(0)


def _as_strings(column: str, dtype: Any, table: "Table", of_lists: Any = None) -> Any:
    """Return the expression that reads the column: as strings, or, for labels, with its type.

    ``of_lists`` are the values in its lists, if these have the type.
    """
    pl = import_polars()
    values = pl.col(column) if of_lists is None else of_lists
    is_string = dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null)
    problem = ""
    if column == table.label and table.lists and isinstance(dtype, pl.List) and of_lists is None:
        return values.list.eval(_as_strings(column, dtype.inner, table, pl.element()))
    if column == table.text and not is_string:
        problem = "; texts must be strings"
    elif column == table.label and not is_string:
        if dtype.is_integer() or dtype.is_float() or dtype == pl.Boolean:
            # The digits that 32 bits hold: 0.1, not 0.10000000149011612.
            return values.cast(pl.String).cast(pl.Float64) if dtype == pl.Float32 else values
        problem = ", which is not valid for labels"
    elif dtype.is_nested() or dtype == pl.Binary:
        problem = ", which cannot be read as strings"
    if problem:
        raise TableError(f"{table.name}: column {column!r} has the type {dtype}{problem}.")
    return values.cast(pl.String)


# All formats, and writing them.


@dataclass(frozen=True)
class Format:
    """How a table is read and written.

    Attributes
    ----------
    name : str
        Its name in ``FORMATS``.
    rows : callable or None
        Reads rows, some of them in blocks, and yields an error in place of each bad one; None for Parquet,
        which is read with polars.
    write : callable
        Writes a frame to a binary stream, with or without the header.
    names : callable or None
        Reads the names of the columns; None where ``rows`` is None.
    header : bool, default=False
        Whether the names of the columns are a row of their own.
    delimiter : str, default=","
        Default field delimiter.
    """

    name: str
    rows: Callable[[Lines], Iterator[tuple[Any, ...] | RowError | RawBatch]] | None
    write: Callable[[Frame, IO[bytes], bool], object]
    names: Callable[[Lines], list[str]] | None = None
    header: bool = False
    delimiter: str = ","


def _separated(name: str, delimiter: str) -> Format:
    def write(frame: Frame, stream: IO[bytes], header: bool) -> None:
        _as_frame(frame).write_csv(stream, include_header=header, separator=delimiter)

    return Format(name, separated.rows, write, separated.names, header=True, delimiter=delimiter)


FORMATS = {
    "csv": _separated("csv", ","),
    "tsv": _separated("tsv", "\t"),
    "jsonl": Format("jsonl", json_rows, _write_json, json_names),
    "parquet": Format("parquet", None, lambda frame, stream, _: _as_frame(frame).write_parquet(stream)),
    "txt": Format("txt", plain_rows, _write_plain, lambda lines: []),
}
SYNONYMS = {"ndjson": "jsonl"}


def find_format(name: str, format: str | None) -> tuple[Format, str | None]:
    """Return the format and the compression of a table.

    Parameters
    ----------
    name : str
        Name of the file, whose suffixes determine the format if ``format`` is None.
    format : str or None
        A name in ``FORMATS``, with the compression if there is one: ``"csv.gz"``.

    Returns
    -------
    format : Format
    compression : str or None
        A key of ``COMPRESSIONS``.

    Examples
    --------
    >>> format, compression = find_format("reviews.ndjson.gz", None)
    >>> format.name, compression
    ('jsonl', 'gz')
    >>> find_format("reviews", "json")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    dropglm.tables.errors.TableError: format 'json' is unknown (did you mean 'jsonl'?); known: 'csv', ...
    """
    if format is not None and not isinstance(format, str):
        raise InputTypeError(f"format must be a name, got {format!r}; known: {quoted(FORMATS)}.")
    given = format or "".join(PurePath(name).suffixes)
    *rest, last = given.lower().lstrip(".").split(".")
    compression = last if last in COMPRESSIONS else None
    if compression:
        last = rest.pop() if rest else ""
    found = FORMATS.get(SYNONYMS.get(last, last))
    if found is None or (format and rest):
        if format:
            hint = suggestion(format, FORMATS)
            raise TableError(f"format {format!r} is unknown{hint}; known: {quoted(FORMATS)}.")
        raise TableError(
            f"{name}: cannot determine the format from the name; set format to one of {quoted(FORMATS)}."
        )
    return found, compression


def check_delimiter(delimiter: str) -> None:
    """Raise an error unless the delimiter is one character that can separate fields."""
    if len(delimiter) != 1 or delimiter in '"\r\n\0':
        raise TableError(
            f"delimiter must be one character other than a quote or a line end, got {delimiter!r}."
        )


def write(frames: "Frame | Iterable[Frame]", path: PathOrFile, *, format: str | None = None) -> None:
    """Write one or more frames as a table; a file appears only when it is complete.

    Parameters
    ----------
    frames : polars.DataFrame, mapping of str to sequence, or iterable of these
        One frame, or several with the same columns, which are written one by one. For Parquet they are
        collected first. A mapping has the values of each column.
    path : path or binary file
        A file, ``"-"`` for standard output, or an open binary file. An existing file stays until the new one
        is complete. Each frame is flushed to a stream at once; if the reader of a pipe has left, a
        ``BrokenPipeError`` is raised.
    format : str or None, default=None
        A name in ``FORMATS``, with the compression if there is one (``"csv.gz"``); None uses the suffix, and
        JSON Lines for standard output.

    Raises
    ------
    TableError
        If the table cannot be written.

    Examples
    --------
    >>> from io import BytesIO
    >>> file = BytesIO()
    >>> write({"label": ["pos", "neg"], "probability": [0.5, 1.0]}, file, format="csv")
    >>> print(file.getvalue().decode())
    label,probability
    pos,0.5
    neg,1.0
    <BLANKLINE>
    """
    name = name_of(path, "standard output")
    found, compression = find_format(name, "jsonl" if path == "-" and format is None else format)
    pieces: Any = [frames] if isinstance(frames, Mapping) or hasattr(frames, "columns") else frames
    if found.rows is None:
        pieces = _concatenated(list(pieces), name)
    header: list[str] | None = None
    with _os_errors_as_table_errors(name), _open_target(path, name) as target, ExitStack() as stack:
        stream = stack.enter_context(COMPRESSIONS[compression](target, "wb")) if compression else target
        for frame in pieces:
            columns = list(frame if isinstance(frame, Mapping) else frame.columns)
            if columns != (header or columns):
                raise TableError(f"{name}: the frames have different columns, {header} and {columns}.")
            buffer = BytesIO()
            try:
                found.write(frame, buffer, header is None)
            except Exception as error:
                if not type(error).__module__.startswith("polars"):
                    raise
                reason = str(error).splitlines()[0].rstrip(".")
                raise TableError(f"{name}: the table cannot be written as {found.name} ({reason}).") from None
            data = buffer.getbuffer()
            while data:  # unbuffered standard output (PYTHONUNBUFFERED) may write only a part of the data
                data = data[int(stream.write(data)) :]
            stream.flush()
            header = columns
        if header is None:
            raise TableError(f"{name}: there are no frames to write.")


def _concatenated(frames: list[Frame], name: str) -> "list[DataFrame]":
    """Return all frames as one, because polars cannot append to a Parquet file."""
    pl = import_polars()
    try:
        return [pl.concat(map(pl.DataFrame, frames), how="vertical_relaxed")] if frames else []
    except pl.exceptions.PolarsError:
        raise TableError(f"{name}: the frames have different columns.") from None


@contextmanager
def _open_target(path: PathOrFile, name: str) -> Iterator[Any]:
    """Open the stream to write to; a file is renamed to its name when it is complete."""
    if path == "-":
        yield binary_stream(sys.stdout, "standard output")
    elif not is_path(path):
        yield path
    elif os.path.isdir(path):
        raise TableError(f"{name}: this is a folder; name a file in it.")
    else:
        with replacing(path) as stream:
            yield stream


@contextmanager
def _os_errors_as_table_errors(name: str) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except FileNotFoundError:
        raise TableError(f"{name}: the folder does not exist.") from None
    except PermissionError:
        raise TableError(f"{name}: you may not write here (permission denied).") from None
    except OSError as error:
        raise TableError(f"{name}: this file cannot be written ({error.strerror or error}).") from None
