"""Tables that the commands read, and checks of the files that they write."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec

from dropglm import tables
from dropglm.base.files import check_writable, descriptor, file_identity
from dropglm.base.imports import import_extra
from dropglm.base.progress import Progress
from dropglm.base.registry import lookup
from dropglm.cli.errors import BadInputError
from dropglm.cli.options import File, TrainOptions, bad_option, option_name, refusing
from dropglm.tables.formats import find_format

if TYPE_CHECKING:
    import numpy as np

    from dropglm.text.fitted_model import FittedTextModel

FilePath = str | Path
Parameters = ParamSpec("Parameters")


def read_labelled(table: tables.Table, *, quiet: bool) -> tuple[list[str], "np.ndarray"]:
    """Return the texts and classes of a table."""
    check_columns(table.text, table.label)
    with Progress(f"Reading {table.name}", shown=not quiet):
        read = table.read()
    return list(read.texts), tables.to_classes(read.labels)


def read_unlabelled(
    paths: Iterable[FilePath], labelled: tables.Table, text: str | None, *, quiet: bool
) -> list[str]:
    """Return the texts of tables without labels, from the column ``text`` or that of the labelled table."""
    texts: list[str] = []
    for path in map(str, paths):
        table = replace(labelled, path=path, text=text or labelled.text, label=None, format=None)
        try:
            with Progress(f"Reading {path}", shown=not quiet):
                texts += table.read().texts
        except tables.TableError as error:
            if error.missing_column is None or text is not None:
                raise
            raise BadInputError(
                f"{str(error).rstrip('.')}; name the column to use with --unlabeled-text."
            ) from None
    return texts


def save_model(model: Any, table: tables.Table, options: TrainOptions) -> None:
    """Write a model with the names of the columns that it was trained with."""
    model.text_column_, model.label_column_ = table.text, table.label
    with Progress(f"Writing {options.out}", shown=not options.quiet):
        model.save(options.out)


@dataclass(frozen=True)
class ColumnsOfModel:
    """The columns that a command reads by default: those that the model was trained with.

    ``text`` and ``label`` are the columns that the user named, or None.
    """

    model: "FittedTextModel"
    text: str | None
    label: str | None = None

    def names(self) -> tuple[str, str]:
        """Return the names of both columns; models that were fitted in Python need not have any."""
        text = self.text or self.model.text_column_ or "text"
        return text, self.label or self.model.label_column_ or "label"

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """Add to an error about a missing column that the model was trained with it."""
        options = {} if self.text else {self.model.text_column_: "--text"}
        options |= {} if self.label else {self.model.label_column_: "--label"}
        try:
            yield
        except tables.TableError as error:
            if error.missing_column is None or error.missing_column not in options:
                raise
            option = options[error.missing_column]
            raise BadInputError(
                f"{str(error).rstrip('.')}; the model was trained with this column, so name the column to "
                f"use with {option}."
            ) from None


def check_columns(text: str, label: str | None) -> None:
    """Refuse one column for both texts and labels."""
    if text == label:
        raise bad_option("--label", f"{text!r} is the column with the texts.")


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
    except ValueError as error:
        # Only --out has an option for its format.
        instead = "set --out-format to" if option == "--out" else "end the name with"
        hint = str(error).replace("set format to", instead)
        raise bad_option(option, hint) from None


def need_server(purpose: str) -> None:
    """Raise an error unless the packages are installed that a server needs."""
    for package in ("starlette", "uvicorn"):
        import_extra(package, "label", purpose)


def check_name(option: str, name: str, names: Iterable[str]) -> None:
    """Refuse a name that is not among these, and suggest the nearest one."""
    with refusing(option):
        lookup(dict.fromkeys(names), name, option.lstrip("-"))
