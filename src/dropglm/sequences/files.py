"""Sentences in files: the columns of the CoNLL tasks, or one JSON object per line.

In the first, each line is a token, its columns are separated by tabs or by other white space, and blank lines
separate sentences. In the second, each line is a sentence, and its columns are lists by name.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dropglm.base.files import FileError, naming_file, replacing

CONLL, JSONL = "conll", "jsonl"
MISSING = "_"  # in place of a tag that is not known; null in JSON
DOCUMENT = "-DOCSTART-"
DEFAULTS: dict[str, tuple[Any, Any]] = {CONLL: (0, -1), JSONL: ("tokens", "tags")}

Column = int | str
PARAMETERS = {"token": "tokens", "tag": "tags", "column": "features"}


class Columns(NamedTuple):
    """Where a file has tokens, tags, and what else becomes features; columns of CoNLL are counted from 0."""

    format: str
    token: Column
    tag: Column
    others: tuple[Column, ...]

    @classmethod
    def of(cls, format: str, token: str | None, tag: str | None, others: Sequence[str]) -> "Columns":
        """Return columns that users name; columns of CoNLL are numbers.

        Without further columns of their own, files of CoNLL have those between tokens and tags.
        """
        defaults = DEFAULTS[format]
        names = [*(given or default for given, default in zip((token, tag), defaults, strict=True)), *others]
        if format == CONLL:
            try:
                names = [int(name) for name in names]
            except ValueError:
                raise FileError(
                    "Columns of CoNLL files are numbers, counted from 0; -1 is the last."
                ) from None
        return cls(format, names[0], names[1], tuple(names[2:]))

    def as_dict(self) -> dict[str, Any]:
        """Return them as a model file holds them."""
        return self._asdict() | {"others": list(self.others)}


class Sentence(NamedTuple):
    """A sentence of a file: its tokens with the other columns, its tags, and its lines."""

    tokens: list[Any]
    tags: list[str | None] | None  # None if the file has no column of tags
    source: Any  # the lines of its tokens, or the object


def format_of(path: str) -> str:
    """Return the format that the name of a file suggests.

    Examples
    --------
    >>> format_of("names.jsonl"), format_of("eng.train")
    ('jsonl', 'conll')
    """
    return JSONL if Path(path).suffix in {".jsonl", ".ndjson"} else CONLL


def read_sentences(path: str, columns: Columns, *, tagged: bool = True) -> list[Sentence]:
    """Return the sentences of a file; - is standard input.

    Parameters
    ----------
    path : str
    columns : Columns
    tagged : bool, default=True
        Whether every sentence must have tags.

    Raises
    ------
    FileError
        If a line cannot be used; the message names it.
    """
    try:
        data = sys.stdin.buffer.read() if path == "-" else _bytes_of(path)
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise FileError(f"{path}, line {line} is not UTF-8; convert the file.") from None
    read = _conll if columns.format == CONLL else _jsonl
    found = list(read(path, text.split("\n"), columns, tagged))
    if not found:
        raise FileError(f"{path} has no sentence.")
    return found


def _bytes_of(path: str) -> bytes:
    with naming_file(path):
        return Path(path).read_bytes()


def _conll(path: str, lines: list[str], columns: Columns, tagged: bool) -> Iterator[Sentence]:
    separator = "\t" if any("\t" in line for line in lines) else None
    width, cells = 0, []
    others: tuple[int, ...] = ()
    for number, line in enumerate([*lines, ""], 1):
        row = line.rstrip("\r\n").split(separator)
        if line.strip() and row[0] != DOCUMENT:
            if not width:
                width = len(row)
                places = _places(path, columns, width, tagged)
                token, tag = places
                between = range(token + 1, tag if tag is not None else token + 1)
                others = tuple(int(o) % width for o in columns.others) or tuple(between)
            if len(row) != width:
                raise FileError(
                    f"{path}, line {number} has {len(row)} columns, but the first token has {width}."
                )
            cells.append((line, row))
        elif cells:
            tokens = [(row[token], *(row[o] for o in others)) for _, row in cells]
            tags = None if tag is None else [_known(row[tag]) for _, row in cells]
            yield Sentence(tokens, tags, [line for line, _ in cells])
            cells = []


def _places(path: str, columns: Columns, width: int, tagged: bool) -> tuple[int, int | None]:
    """Return the numbers of the columns of tokens and of tags; the latter may be missing unless required."""
    for parameter, column in _needed(columns, tagged):
        if not -width <= int(column) < width:
            raise FileError(
                f"{path} has no column {column} for {PARAMETERS[parameter]}: its lines have {width} "
                f"column{'s' if width > 1 else ''}, counted from 0; set {parameter}.",
                parameter,
            )
    token, tag = int(columns.token) % width, int(columns.tag)
    if tagged and tag % width == token:
        raise FileError(f"{path} has tokens and tags in the same column, {token}; set tag.", "tag")
    return token, tag % width if tagged else None


def _needed(columns: Columns, tagged: bool) -> list[tuple[str, Column]]:
    """Return the columns that a file must have, each with the parameter that names it."""
    others = [("column", other) for other in columns.others]
    return [("token", columns.token), *others, *([("tag", columns.tag)] if tagged else [])]


def _jsonl(path: str, lines: list[str], columns: Columns, tagged: bool) -> Iterator[Sentence]:
    needed = _needed(columns, tagged)
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise FileError(f"{path}, line {number} is not valid JSON: {error}.") from None
        if not isinstance(row, dict):
            raise FileError(f"{path}, line {number} is not a JSON object.")
        found = list[Any]()
        for parameter, name in needed:
            if name not in row:
                what = f"no {name!r} for {PARAMETERS[parameter]}"
                raise FileError(f"{path}, line {number} has {what}; set {parameter}.", parameter)
            cells = row[name]
            if parameter == "tag" and cells is None:  # none of the tags is known
                cells = [None] * len(found[0])
            if not isinstance(cells, list) or (found and len(cells) != len(found[0])):
                raise FileError(f"{path}, line {number}: {name!r} is not a list with an entry per token.")
            if not all(isinstance(cell, str) or (parameter == "tag" and cell is None) for cell in cells):
                raise FileError(f"{path}, line {number}: {name!r} has an entry that is not a string.")
            found.append(cells)
        words = found[: 1 + len(columns.others)]
        tags = [_known(tag) for tag in found[-1]] if tagged else None
        yield Sentence(list(zip(*words, strict=True)), tags, row)


def _known(tag: str | None) -> str | None:
    return None if tag == MISSING else tag


def write_tags(
    path: str, sentences: Sequence[Sentence], tags: Sequence[Sequence[Any]], columns: Columns
) -> None:
    """Write sentences with one more column, the predicted tags; - is standard output."""
    lines: list[str] = []
    for sentence, own in zip(sentences, tags, strict=True):
        if columns.format == CONLL:
            for line, tag in zip(sentence.source, own, strict=True):
                lines.append(f"{line.rstrip()}{chr(9) if chr(9) in line else ' '}{tag}")
            lines.append("")
        else:
            lines.append(json.dumps(sentence.source | {"predicted": list(own)}, ensure_ascii=False))
    text = "".join(f"{line}\n" for line in lines)
    if path == "-":
        print(text, end="")
        return
    with replacing(path) as stream:
        stream.write(text.encode())
