"""Errors as one sentence on standard error, with an exit code that scripts can rely on.

An error is about the user's input if it concerns a file, or if it is a ``ValueError``, a ``TypeError`` or an
``ImportError`` that a ``raise`` statement of this package raised: those are the checks of arguments and of
optional packages. The same errors from anywhere else (a wrong call, an operation of NumPy that fails, a
package that is broken) are not about the input.
"""

import dis
import errno
import os
import re
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

import dropglm
from dropglm.cli import INTERRUPTED, is_interrupt, terminal
from dropglm.extras import BrokenPackageError
from dropglm.files import FileError

FAILED, BAD_INPUT = 1, 3  # 2, wrong options, is typer's
EXIT_CODES = (
    "Exit codes: 0 success, 2 invalid options, 3 invalid input (table, model file or data set), 1 any other "
    "failure, 130 interrupted."
)
WRITE_ERRORS = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO, errno.EBADF)
PACKAGE = Path(dropglm.__file__).parent
# What to do if there is not enough memory, by command.
MEMORY_HINTS = {
    "train": "try smaller --ngrams or --max-features, or smaller --bits with --online",
    "serve": "try smaller --workers, --max-texts or --max-megabytes",
}
OTHER_MEMORY_HINT = "close other programs, or use a machine with more of it"


class BadInputError(Exception):
    """Input that cannot be used; the message says why."""


@contextmanager
def naming(table: str) -> Iterator[None]:
    """Put the name of a table before errors about its content; errors about other files name them already."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if isinstance(error, FileError) or not is_about_input(error):
            raise
        sentence = str(error)
        if sentence.partition(" ")[0].istitle():
            sentence = sentence[0].lower() + sentence[1:]
        raise BadInputError(f"{table}: {sentence}") from error


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
    if isinstance(error, MemoryError):
        # Ours name the size and a remedy.
        sentence = f"not enough memory; {MEMORY_HINTS.get(command or '', OTHER_MEMORY_HINT)}."
        return in_options(str(error)) if _is_raised_here(error) else sentence, FAILED
    code = FAILED if _is_write_error(error) or isinstance(error, BrokenPackageError) else BAD_INPUT
    if isinstance(error, OSError) and error.strerror is not None:
        nameless = "a file cannot be written: " if code == FAILED else ""  # such as one of Numba's cache
        return f"{f'{error.filename}: ' if error.filename else nameless}{error.strerror}.", code
    if is_about_input(error) and str(error):
        return in_options(str(error)), code
    return (
        f"internal error, {type(error).__name__}: {' '.join(str(error).split())}. Please report it with the "
        "output of dropglm --debug.",
        FAILED,
    )


def is_about_input(error: BaseException) -> bool:
    """Return whether an error is about the user's input, as defined at the top of this file."""
    if isinstance(error, (BadInputError, FileError, OSError)):
        return True
    return isinstance(error, (TypeError, ValueError, ImportError)) and _is_raised_here(error)


def _is_raised_here(error: BaseException) -> bool:
    """Return whether a ``raise`` statement of this package raised an error."""
    trace = error.__traceback__
    if trace is None:
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    code = trace.tb_frame.f_code
    raised = dis.opname[code.co_code[trace.tb_lasti]] == "RAISE_VARARGS"
    return raised and Path(code.co_filename).is_relative_to(PACKAGE)


def _is_write_error(error: BaseException) -> bool:
    """Return whether output could not be written, as on a full disk; ours may hide the system's error."""
    cause: BaseException | None = error
    while cause is not None and getattr(cause, "errno", None) not in WRITE_ERRORS:
        cause = cause.__context__
    return cause is not None


def in_options(sentence: str) -> str:
    """Name the options of the command where the library names arguments.

    Examples
    --------
    >>> in_options("a.csv: this is not UTF-8; set encoding to that of the file.")
    'a.csv: this is not UTF-8; set --encoding to that of the file.'
    >>> in_options("a.csv: no n-gram occurs often enough (min_df=9, max_df=1.0).")
    'a.csv: no n-gram occurs often enough; lower --min-df (now 9) or raise --max-df (now 1.0).'
    >>> in_options("no n-gram occurs often enough (min_df=(1, 2), max_df=1.0).")
    'no n-gram occurs often enough; lower --min-df (now 1, 2 for longer n-grams) or raise --max-df (now 1.0).'
    >>> in_options("none was found; use device='cpu'.")
    'none was found; use --device cpu.'
    """
    sentence = re.sub(r"""\b(device|expectation)=(["'])(\w+)\2""", r"--\1 \3", sentence)
    sentence = re.sub(r"\bset (encoding|format|delimiter) to\b", r"set --\1 to", sentence)
    sentence = re.sub(r"\blower rate\b", "lower --rate", sentence)
    sentence = re.sub(
        r"\bis in use; choose another\.$",
        "is in use; choose another one with --port, or leave it out to take the next free one.",
        sentence,
    )
    sentence = sentence.replace(
        "load_model(path, embedder=...), or pass embeddings.", "--embedder or --embeddings."
    )
    sentence = sentence.replace("of the texts as embeddings.", "of the texts with --embeddings.")
    sentence = re.sub(r"\bmin_df=\((\S+), (\S+)\)", r"min_df=\1, \2 for longer n-grams", sentence)
    return re.sub(
        r" \(min_df=(.+), max_df=(\S+)\)\.$",
        r"; lower --min-df (now \1) or raise --max-df (now \2).",
        sentence,
    )


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
