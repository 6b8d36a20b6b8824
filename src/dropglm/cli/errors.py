"""Errors as one sentence on standard error, with an exit code that scripts can rely on.

An error is about the user's input if it concerns a file, or if it is one of those that this package raises
for what users pass (``dropglm.base.errors``). Errors of any other class are not about the input.
"""

import errno
import os
import re
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from dropglm.base.errors import ClusterError, InputError, InputTypeError, TooLargeError, UserError
from dropglm.base.files import FileError
from dropglm.base.imports import BrokenPackageError
from dropglm.cli import INTERRUPTED, causes, is_interrupt, terminal
from dropglm.cli.options import option_name

FAILED, BAD_INPUT = 1, 3  # 2, wrong options, is typer's
EXIT_CODES = (
    "Exit codes: 0 success, 2 invalid options, 3 invalid input (table, model file or data set), 1 any other "
    "failure, 130 interrupted."
)
WRITE_ERRORS = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO, errno.EBADF)
FAILURES = (BrokenPackageError, ClusterError, TooLargeError)  # of the machine, not of the input
# What to do if there is not enough memory, by command.
MEMORY_HINTS = {
    "train": "try smaller --ngrams or --max-features, or smaller --bits with --online",
    "serve": "try smaller --workers, --max-texts or --max-megabytes",
}
PARAMETERS = ("X", "E")  # keep their case at the beginning of a sentence
OTHER_MEMORY_HINT = "close other programs, or use a machine with more of it"


class BadInputError(UserError):
    """Input of a command that cannot be used; the message says why."""


@contextmanager
def naming_table(table: str) -> Iterator[None]:
    """Put the name of a table before errors about its content; errors about other files name them already."""
    try:
        yield
    except FileError:
        raise
    except (InputError, InputTypeError) as error:
        sentence = str(error)
        first = sentence.partition(" ")[0]
        if first.istitle() and first not in PARAMETERS:
            sentence = sentence[0].lower() + sentence[1:]
        raise BadInputError(f"{table}: {sentence}", *error.parameters) from error


@contextmanager
def report_errors(context: typer.Context | None = None) -> Iterator[None]:
    """Turn an error into a sentence on standard error and an exit code; show warnings as sentences, too.

    The context is that of all commands; there is none while options are parsed.
    """
    show_warning, warnings.showwarning = warnings.showwarning, _show_warning
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()  # the reader of our output has read enough
    except (Exception, KeyboardInterrupt) as error:
        if hasattr(error, "exit_code"):  # typer's own: wrong options, or an exit
            raise
        if context is not None and context.params["debug"]:
            traceback.print_exception(error)
        sentence, code = describe(error, None if context is None else context.invoked_subcommand)
        terminal.message(sentence)
        _flush_output()
        raise typer.Exit(code) from None
    finally:
        warnings.showwarning = show_warning


def describe(error: BaseException, command: str | None = None) -> tuple[str, int]:
    """Return the sentence and the exit code for an error of a command."""
    if is_interrupt(error):
        return "interrupted.", INTERRUPTED
    if isinstance(error, MemoryError) and not isinstance(error, TooLargeError):
        return f"not enough memory; {MEMORY_HINTS.get(command or '', OTHER_MEMORY_HINT)}.", FAILED
    code = FAILED if _is_write_error(error) or isinstance(error, FAILURES) else BAD_INPUT
    if isinstance(error, OSError) and error.strerror is not None:
        nameless = "a file cannot be written: " if code == FAILED else ""  # such as one of Numba's cache
        return f"{f'{error.filename}: ' if error.filename else nameless}{error.strerror}.", code
    if is_about_input(error) and str(error):
        return in_options(error), code
    return (
        f"internal error, {type(error).__name__}: {' '.join(str(error).split())}. Please report it with the "
        "output of dropglm --debug.",
        FAILED,
    )


def is_about_input(error: BaseException) -> bool:
    """Return whether an error is about the user's input, as defined at the top of this file."""
    return isinstance(error, (UserError, OSError))


def _is_write_error(error: BaseException) -> bool:
    """Return whether output could not be written, as on a full disk; ours may hide the system's error."""
    return any(getattr(cause, "errno", None) in WRITE_ERRORS for cause in causes(error))


def in_options(error: BaseException, **others: str) -> str:
    """Return the message of an error, with options in place of the parameters that it advises to change.

    ``others`` are options that are not named after their parameters.

    Examples
    --------
    >>> in_options(InputError("No GPU was found; use device='cpu'.", "device"))
    'No GPU was found; use --device cpu.'
    >>> in_options(InputError("no n-gram is left; lower min_df (now 9).", "min_df"))
    'no n-gram is left; lower --min-df (now 9).'
    >>> in_options(FileError("labels: set format to csv.", "format"), format="--out-format")
    'labels: set --out-format to csv.'
    >>> in_options(InputError("The model counts characters; use characters=None.", "characters"))
    'The model counts characters; use --no-characters.'
    """
    sentence = str(error)
    for name in getattr(error, "parameters", ()):
        option = others.get(name) or option_name(name)
        sentence = re.sub(rf"\b{name}=(None|False)\b", option_name(f"no_{name}"), sentence)
        sentence = re.sub(rf"\b{name}=([\"']?)(\w+)\1", rf"{option} \2", sentence)
        sentence = re.sub(rf"\b(set|lower|raise|pass|as) {name}\b", rf"\1 {option}", sentence)
    return sentence


def _flush_output() -> None:
    try:
        sys.stdout.flush()
    except OSError:
        _discard_output()


def _discard_output() -> None:
    """Discard the rest of the output; otherwise Python fails once more when it closes the stream."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_warning(message: Any, *_: Any, **__: Any) -> None:
    terminal.message(f"warning: {message}")
