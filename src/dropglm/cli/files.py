"""Files of the commands: tables, embeddings and models that they read, and checks of what they write."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from inspect import signature
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec

from dropglm import tables
from dropglm.base.files import check_writable, descriptor, file_identity
from dropglm.base.progress import begin_stage
from dropglm.base.registry import quoted
from dropglm.cli.errors import BadInputError, in_options
from dropglm.cli.options import File, bad_option, option_name
from dropglm.tables.formats import find_format, format_of_lines, format_of_standard_input

if TYPE_CHECKING:
    import numpy as np

    from dropglm.text.fitted_model import FittedTextModel

FilePath = str | Path
PREDICTING = 3e-8  # rough number of seconds that predictions take per character, on two cores
Parameters = ParamSpec("Parameters")


def format_of(path: str, given: str | None) -> str | None:
    """Return the format that was given, or else that of standard input; the names of files say theirs."""
    return given or (format_of_standard_input() if path == "-" else None)


def read_labelled(table: tables.Table, *more: tables.Table) -> tuple[tables.Batch, tables.Batch]:
    """Return the rows of tables that have a label, at least one, and those that have none."""
    row = () if table.row_of is None else table.row_of.names
    check_columns(table.text, table.label, table.keep, table.weight, table.probabilities, row)
    read = []
    for one in (table, *more):
        begin_stage(f"Reading {one.name}")
        read.append(one.read())
    labelled, without = tables.Batch.joined(read).by_label()
    if not labelled.labels:
        raise tables.no_labels(table)
    return labelled, without


def read_unlabelled(paths: Iterable[FilePath], labelled: tables.Table, text: str | None) -> list[str]:
    """Return the texts of tables without labels, from the column ``text`` or that of the labelled table."""
    texts: list[str] = []
    for path in map(str, paths):
        table = replace(unlabelled(labelled, text), path=path)
        if text and labelled.row_of is not None:
            raise bad_option("--unlabeled-text", "is for a single column of texts.")
        advice = {} if text else {labelled.text: "name the column to use with --unlabeled-text"}
        begin_stage(f"Reading {path}")
        with advising(advice):
            texts += table.read().texts
    return texts


def unlabelled(table: tables.Table, text: str | None) -> tables.Table:
    """Return how tables without labels are read, with the format that their names say."""
    columns: dict[str, Any] = {"label": None, "keep": (), "weight": None, "probabilities": ()}
    return replace(table, text=text or table.text, format=None, **columns)


def texts_or_files(given: Sequence[str], files: tables.Table) -> list[tables.Table]:
    """Return the tables that a command reads: standard input, files, and arguments that are texts themselves.

    An existing path is a file; what has a blank, or a character of a script that is written without blanks,
    is a text. ``files`` says how files are read. Standard input has one text per line unless it begins like a
    table with the column of the texts.
    """
    from dropglm.text.ngrams.tokens import UNSPACED_CHARACTER

    sources, texts = [], []
    for one in given or ["-"]:
        if one == "-":
            format = format_of_lines(files.text) if files.row_of is None else "jsonl"
            sources.append(replace(files, path="-", format=files.format or format))
        elif _exists(one):
            sources.append(replace(files, path=one))
        elif files.row_of is not None:
            sources.append(_row_given_here(one, files))
        elif len(one.split()) != 1 or UNSPACED_CHARACTER.search(one):
            texts.append(one)
        else:
            raise BadInputError(
                f"{one}: there is no such file. If it is a text of a single word, pass it through standard "
                f"input: echo {one} | dropglm ..."
            )
    if texts:
        lines = "".join(json.dumps({files.text: text}) + "\n" for text in texts)
        given_here = BytesIO(lines.encode())
        sources.append(replace(files, path=given_here, format="jsonl", encoding=None, delimiter=None))
    return sources


def _row_given_here(row: str, files: tables.Table) -> tables.Table:
    """Return the table that an argument is, which must be a JSON object."""
    from dropglm.text.ngrams.fields import decode_row

    try:
        values = decode_row(row)
    except ValueError:
        raise BadInputError(
            f"{row}: there is no such file. The model takes rows: an argument that is not a file must be a "
            f"JSON object with the columns {quoted(files.row_of.names)}."
        ) from None
    line = BytesIO(json.dumps({files.text: None} | values).encode())
    return replace(files, path=line, format="jsonl", encoding=None, delimiter=None)


def _exists(path: str) -> bool:
    try:
        return os.path.exists(path)
    except ValueError:  # a text with a null character
        return False


def columns_of_model(
    model: "FittedTextModel", text: str | None, label: str | None = None
) -> tuple[str, str, dict[Any, str]]:
    """Return the columns to read: by default those that the model was trained with, if it has any.

    The third value is for ``advising``.
    """
    if model.row_of is not None:
        if text is not None:
            raise bad_option(
                "--text", f"cannot be used: the model takes the columns {quoted(model.row_of.names)}."
            )
        text = model.row_of.text[0]
    trained = "the model was trained with this column, so name the column to use with"
    advice = {} if text else {model.text_column_: f"{trained} --text"}
    advice |= {} if label else {model.label_column_: f"{trained} --label"}
    return text or model.text_column_ or "text", label or model.label_column_ or "label", advice


@contextmanager
def advising(advice: Mapping[Any, str]) -> Iterator[None]:
    """Add to an error about a missing column what to do about this column."""
    try:
        yield
    except tables.TableError as error:
        if error.missing_column is None or error.missing_column not in advice:
            raise
        raise BadInputError(f"{str(error).rstrip('.')}; {advice[error.missing_column]}.") from None


def check_columns(
    text: str,
    label: str | None,
    groups: Sequence[str] = (),
    weight: str | None = None,
    probabilities: Sequence[str] = (),
    row: Sequence[str] = (),
) -> None:
    """Refuse one column for two of texts, labels, groups, weights and probabilities.

    ``row`` are the columns of a row, if it is more than a text.
    """
    taken = {text: "texts"} | dict.fromkeys(row, "features")
    others = ("--label", "labels", label), *(("--group", "groups", name) for name in groups)
    more = (("--label-probabilities", "probabilities of a class", name) for name in probabilities)
    for option, what, name in (*others, ("--weight", "weights", weight), *more):
        if name in taken:
            raise bad_option(option, f"{name!r} is the column with the {taken[name]}.")
        if name is not None:
            taken[name] = what


class EmbeddingRows:
    """Rows of NumPy files, in the order of the texts of a table; None where no file is given.

    The files are read as far as their rows are needed.
    """

    def __init__(self, *paths: Path | None) -> None:
        given = [path for path in paths if path is not None]
        self.names = " and ".join(map(str, given))
        self.arrays = [_open_array(path) for path in given]
        self.total = sum(map(len, self.arrays))
        self.taken = 0

    def all(self, n: int, table: str) -> "np.ndarray | None":
        """Return all rows, which must be as many as the n texts of the table."""
        if self.arrays and n != self.total:
            raise BadInputError(f"{self.names}: there are {self.total:,} rows, but {n:,} texts in {table}.")
        return self.next_rows(n, table)

    def next_rows(self, n: int, table: str) -> "np.ndarray | None":
        """Return the rows of the next n texts."""
        if not self.arrays:
            return None
        import numpy as np

        start, self.taken = self.taken, self.taken + n
        if self.taken > self.total:
            raise BadInputError(f"{self.names}: there are {self.total:,} rows, but more texts in {table}.")
        parts, first = [], 0
        for array in self.arrays:
            part = array[max(0, start - first) : max(0, self.taken - first)]
            parts += [part] if len(part) else []
            first += len(array)
        if len({part.shape[1] for part in parts}) > 1:
            raise BadInputError(f"{self.names}: the rows have different lengths.")
        rows = np.concatenate(parts) if parts else self.arrays[0][:0]
        finite = np.isfinite(rows).all(axis=1)
        if not finite.all():
            number = start + int(np.argmin(finite))
            raise BadInputError(
                f"{self.names}: there are NaN or infinite numbers, first in row {number} (counted from 0)."
            )
        return rows

    def check_all_taken(self, table: str) -> None:
        """Refuse files with more rows than the table has texts."""
        if self.taken < self.total:
            raise BadInputError(
                f"{self.names}: there are {self.total:,} rows, but only {self.taken:,} texts in {table}."
            )


def joined_embeddings(E: "np.ndarray | None", F: "np.ndarray | None") -> "np.ndarray | None":
    """Return the embeddings of unlabelled texts of the table and of --unlabeled; None if there are none."""
    if E is None or F is None:
        return F if E is None else E
    if E.shape[1] != F.shape[1]:
        raise BadInputError(
            f"--embeddings-unlabeled has {F.shape[1]} numbers per text, but --embeddings has {E.shape[1]}."
        )
    import numpy as np

    return np.concatenate([E, F])


def _open_array(path: Path) -> "np.ndarray":
    """Return the array in a NumPy file, which stays on disk."""
    import numpy as np

    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError):
        array = None
    if not isinstance(array, np.ndarray):
        raise BadInputError(f"{path} is not a NumPy file (.npy) with an array of numbers.")
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise BadInputError(
            f"{path} must hold one row of numbers per text, but its array has shape {array.shape} and dtype "
            f"{array.dtype}."
        )
    return array


def check_not_both(embeddings: object, embedder: str | None) -> None:
    """Refuse both embeddings and an embedder."""
    if embeddings and embedder is not None:
        raise bad_option("--embedder", "cannot be used with --embeddings.")


def read_embedder(name: str | None) -> Any:
    """Return the embedder of this name or in this folder; None if none is given."""
    if name is None:
        return None
    from dropglm.text.encoders import encoder_of

    begin_stage(f"Reading {name}")
    return encoder_of(name)


def model_and_embeddings(
    model: Path, embeddings: Path | None, embedder: str | None, *, trust: bool
) -> "tuple[FittedTextModel, EmbeddingRows]":
    """Return the model in a file, with its embedder if one is named, and the embeddings of texts."""
    from dropglm.text.fitted_model import load_fitted_model

    check_not_both(embeddings, embedder)
    rows = EmbeddingRows(embeddings)
    return load_fitted_model(model, embedder=read_embedder(embedder), trust=trust), rows


def distinct_files(command: Callable[Parameters, None]) -> Callable[Parameters, None]:
    """Let a command refuse, before any work, a file that two of its options name, if it would be lost.

    The types of the parameters say which of them name a file, and what happens to it; see ``File``.
    """

    @wraps(command)
    def checked(*arguments: Parameters.args, **given: Parameters.kwargs) -> None:
        files: dict[File, list[tuple[str, Any]]] = {File.READ: [], File.WRITTEN: []}
        for name, role in file_parameters(command).items():
            value: Any = given[name]
            files[role] += [(name, path) for path in (value if isinstance(value, list) else [value])]
        check_distinct(
            [(option_name(name), path) for name, path in files[File.WRITTEN]],
            [path for _, path in files[File.READ]],
        )
        command(*arguments, **given)

    return checked


def file_parameters(command: Callable[..., Any]) -> dict[str, File]:
    """Return the parameters of a command that name files."""
    return {
        name: role
        for name, parameter in signature(command).parameters.items()
        for role in getattr(parameter.annotation, "__metadata__", ())
        if isinstance(role, File)
    }


def check_distinct(
    outputs: Iterable[tuple[str, FilePath | None]], inputs: Iterable[FilePath | None] = ()
) -> None:
    """Refuse an output that is also an input, or another output.

    ``outputs`` are pairs of an option and a file. A device, such as a terminal, may be named twice.
    """
    read = {file_identity("/dev/stdin" if str(path) == "-" else path) for path in inputs if path is not None}
    written: dict[Any, str] = {}
    for option, path in outputs:
        identity = None if path is None else file_identity("/dev/stdout" if str(path) == "-" else path)
        if identity is None:
            continue
        if identity in read:
            raise bad_option(option, f"{path} is also an input; choose another output file.")
        if identity in written:
            raise bad_option(option, f"{path} is also the file of {written[identity]}; choose another one.")
        written[identity] = option


def check_output(path: FilePath, option: str, *, regular: bool = False) -> None:
    """Refuse, before any work, a file that cannot be written.

    ``regular`` refuses pipes, devices and open files such as /dev/stdout as well, except the null device.
    """
    if str(path) == "-":
        raise bad_option(option, "standard output is not supported; name a file.")
    if regular and descriptor(path) is not None:
        raise bad_option(option, f"{path} is not supported; name a file.")
    if regular and os.path.exists(path) and not os.path.isfile(path) and str(path) != os.devnull:
        kind = "folder" if os.path.isdir(path) else "pipe or a device"
        raise bad_option(option, f"{path} is a {kind}; name a file.")
    try:
        check_writable(path)
    except OSError as error:
        raise bad_option(option, f"{path} cannot be written: {error.strerror}.") from None


def check_output_table(path: FilePath, format: str | None, *, option: str = "--out") -> None:
    """Refuse, before any work, a table that cannot be written or whose format is unknown."""
    check_output(path, option)
    try:
        find_format(str(path), format)
    except tables.TableError as error:
        sentence = in_options(error, format="--out-format")
        if option != "--out":  # no other option has one for its format
            known = quoted(tables.FORMATS)
            sentence = f"{path}: cannot determine the format from the name; end the name with one of {known}."
        raise bad_option(option, sentence) from None
