"""How commands end: what went wrong in one sentence, and a code that scripts can rely on."""

import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

import typer

from dropglm.cli import terminal
from dropglm.files import FileError

# 2, for wrong options, is typer's own.
FAILED, BAD_INPUT, INTERRUPTED = 1, 3, 130
CODES = (
    "Exit codes: 0 done, 2 wrong options, 3 bad input (a table, a model file, a data set), 1 any other "
    "failure, 130 interrupted."
)


class BadInputError(Exception):
    """What the user gave cannot be used; the message says why."""


@contextmanager
def bad_input(table: str = "") -> Iterator[None]:
    """Where the library complains of what it is given, the user gave it; perhaps in a table."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise BadInputError(f"{table}: {error}" if table else str(error)) from error


def not_onto(out: str | Path, *inputs: str | Path) -> None:
    """Refuse to write onto a file that is read."""
    for read in inputs:
        if os.path.exists(out) and os.path.exists(read) and os.path.samefile(out, read):
            raise typer.BadParameter(f"{out} is read too; name another file to write.")


def writable(path: Path, option: str) -> None:
    """Refuse a place for a file where none can be written, before all the work."""
    if path.is_dir():
        raise typer.BadParameter(f"{path} is a folder; name a file in it.", param_hint=option)
    if not (path.parent.is_dir() and os.access(path.parent, os.W_OK)):
        raise typer.BadParameter(f"no file can be written to {path.parent}.", param_hint=option)


def known(option: str, name: str, names: Iterable[str]) -> None:
    """Refuse a name that is none of these, with the nearest ones."""
    names = list(names)
    if name not in names:
        near = get_close_matches(name, names, n=3) or names[:10]
        raise typer.BadParameter(f"{name!r} is unknown; did you mean {' or '.join(near)}?", param_hint=option)


Arguments = ParamSpec("Arguments")


def ending(command: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """The command, whose errors become a sentence on standard error and an exit code."""

    @wraps(command)
    def ended(*arguments: Arguments.args, **options: Arguments.kwargs) -> None:
        warnings.showwarning = _warn
        try:
            command(*arguments, **options)
            sys.stdout.flush()
        except BrokenPipeError:
            # Whoever read our output has enough; Python would complain once more when it closes the stream.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except KeyboardInterrupt:
            raise _exit("interrupted.", INTERRUPTED) from None
        except MemoryError:
            raise _exit("not enough memory; try smaller --ngrams or --max-features.", FAILED) from None
        except (BadInputError, FileError, OSError, ImportError) as error:
            raise _exit(str(error), BAD_INPUT) from None

    return ended


def _exit(sentence: str, code: int) -> typer.Exit:
    terminal.complain(sentence)
    return typer.Exit(code)


def _warn(message: Any, *_: Any, **__: Any) -> None:
    terminal.complain(f"warning: {message}")
