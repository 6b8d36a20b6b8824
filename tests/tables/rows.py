"""Write tables row by row, and collect the rows and errors of a stream."""

import csv
import io
import json

import polars as pl

from dropglm import tables

MAX_ROW_LENGTH = 500  # characters of a row in these tests


class SlowFile(io.BytesIO):
    """Bytes that arrive a few at a time."""

    def __init__(self, data, step):
        super().__init__(data)
        self.step = step

    def read1(self, size=-1):
        return super().read1(min(size, self.step))


def encoded(format, rows):
    """Return each row as the bytes of its lines, without the last line end."""
    if format == "jsonl":
        return [json.dumps({"text": text, "label": label}).encode() for text, label in rows]
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\0", quoting=csv.QUOTE_ALL)
    writer.writerows(rows)
    return [line.encode() for line in file.getvalue().split("\0")[:-1]]


def table(format, rows, end=b"\n"):
    """Return the bytes of the file, and the first and last line of each row."""
    header = [b"text,label"] if format == "csv" else []
    line, spans = 1 + len(header), []
    for row in rows:
        spans.append((line, line + row.count(b"\n")))
        line = spans[-1][1] + 1
    return b"".join(row + end for row in header + rows), spans


def gathered(file, *, skip_bad=True, start=0, characters=1 << 20, **settings):
    """Return (number, line, text, label) of each good row, and the messages about bad rows."""
    settings = {"format": "csv", "max_row_length": MAX_ROW_LENGTH, **settings}
    rows, bad = [], []
    table = tables.Table(file, "text", "label", **settings)
    for batch in table.batches(skip_bad=skip_bad, start=start, characters=characters):
        assert len(batch.texts) == len(batch.labels) == len(batch.rows)
        assert len(batch.rows) or batch.bad
        lines = [None] * len(batch.rows) if batch.lines is None else [first for first, _ in batch.lines]
        rows += zip(batch.rows, lines, batch.texts, batch.labels, strict=True)
        bad += map(str, batch.bad)
    return rows, bad


def as_frame(table, batch):
    """Return the rows of a batch as a frame."""
    labels = {} if table.label is None else {table.label: batch.labels}
    columns = {table.text: list(batch.texts), **labels, **batch.others}
    return pl.DataFrame(columns, dict.fromkeys(columns, pl.String))


def read_frame(path, text="text", label=None, *, keep=(), **settings):
    """Return a whole table as a frame."""
    table = tables.Table(path, text, label, tuple(keep), **settings)
    return as_frame(table, table.read())


def read_frames(path, text="text", label=None, *, size=10_000, **settings):
    """Yield a table in frames."""
    table = tables.Table(path, text, label, **settings)
    return (as_frame(table, batch) for batch in table.batches(max_rows=size))


def place(number, span):
    """Return how a message about a row begins."""
    lines = f"line {span[0]}" if span[0] == span[1] else f"lines {span[0]} to {span[1]}"
    return f"the open file: row {number} ({lines}) "


def parquet(**columns):
    """Return a Parquet file as an open binary file; integers among floats become floats."""
    file = io.BytesIO()
    pl.DataFrame(columns, strict=False).write_parquet(file)
    return io.BytesIO(file.getvalue())


def written(texts, labels, format):
    """Return a whole table; CSV and TSV have labels as JSON writes them, and empty ones."""
    if format == "parquet":
        return parquet(text=texts, label=labels).getvalue()
    rows = list(zip(texts, labels, strict=True))
    if format == "jsonl":
        return b"\n".join(encoded("jsonl", rows))
    file = io.StringIO(newline="")
    plain = [
        (text, label if isinstance(label, str) else "" if label is None else json.dumps(label))
        for text, label in rows
    ]
    csv.writer(file, delimiter="\t" if format == "tsv" else ",").writerows([("text", "label"), *plain])
    return file.getvalue().encode()
