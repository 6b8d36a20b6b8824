"""The command line: options in, library calls out.

Commands import the library when they run, so that help and completion do not wait for it.
"""

import atexit
import gc
import io
import os
import re
import signal
import sys
from types import FrameType
from typing import Any, NoReturn, TextIO

from dropglm.base.files import naming_file
from dropglm.cli.lazy_modules import HEAVY, postpone

INTERRUPTED = 130
_received: list[int] = []  # numbers of interrupt signals


def main() -> None:
    """Run the command; ``python -m dropglm`` does the same."""
    try:
        signal.signal(signal.SIGTERM, _terminate)
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not ignored, as after nohup
            signal.signal(signal.SIGINT, _interrupt)
        prepare_streams()
        ignore_impossible_sizes()
        collect_little_garbage()
        # Our threads share the work; those of BLAS would only be started, and wait for work in a busy loop.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        postpone(HEAVY)
        sys.stderr = on_file(sys.stderr, TolerantFile)
        from dropglm.cli.app import app

        app(prog_name="dropglm")
    except (ImportError, KeyboardInterrupt) as error:
        if is_interrupt(error):
            print("dropglm: interrupted.", file=sys.stderr)
            sys.exit(INTERRUPTED)
        if not isinstance(error, ModuleNotFoundError) or (error.name or "dropglm").startswith("dropglm"):
            raise
        sys.exit(f"dropglm: the command line needs {error.name}: pip install 'dropglm[cli]'.")


def collect_little_garbage() -> None:
    """Search for unreachable objects rarely, and not at the end.

    The modules that a command imports are hundreds of thousands of objects. Python searches them several
    times during the imports and once more when it ends, which took 0.4 of the 1.25 s of a prediction.
    """
    gc.set_threshold(300_000)
    atexit.register(gc.freeze)


def is_interrupt(error: BaseException) -> bool:
    """Return whether an interrupt caused this error.

    If a compiled module is interrupted while it is imported, it may raise an ``ImportError`` instead.
    """
    if any(isinstance(cause, KeyboardInterrupt) for cause in causes(error)):
        return True
    return isinstance(error, ImportError) and bool(_received)


def causes(error: BaseException) -> list[BaseException]:
    """Return an error and those that it was raised from or hides, the latest first."""
    found: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in found:
        found.append(cause)
        cause = cause.__cause__ or cause.__context__
    return found


def prepare_streams() -> None:
    """Make standard output and standard error accept whatever the commands print.

    Characters that the encoding of standard output lacks are replaced; output to a closed stream is dropped,
    and an error names standard output if it was the file that could not be written.
    """
    sys.stdout = on_file(sys.stdout, _StandardOutput)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the shell, as with >&-
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 (stays open)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")


def ignore_impossible_sizes() -> None:
    """Forget a size of the terminal that is not a number from 1 to 9999.

    With ``COLUMNS=0``, as some shells without a terminal set it, rich would print nothing at all.
    """
    for name in ("COLUMNS", "LINES", "TERMINAL_WIDTH"):  # the last is typer's
        if not re.fullmatch("0*[1-9][0-9]{0,3}", os.environ.get(name, "80")):
            del os.environ[name]


class _StandardOutput(io.FileIO):
    """Standard output, whose errors have its name, as those of other files have theirs."""

    def write(self, data: Any) -> int:
        """Write the data."""
        with naming_file("standard output"):
            return super().write(data)


class TolerantFile(io.FileIO):
    """A file that discards what cannot be written, as on a full disk.

    Messages that cannot be shown do not end a command, nor change its exit code.
    """

    def write(self, data: Any) -> int:
        """Write the data, or do nothing."""
        try:
            return super().write(data)
        except OSError:
            return len(data)


def on_file(stream: TextIO, kind: type[io.FileIO]) -> TextIO:
    """Return a stream to the same file as this one, opened as another kind of file."""
    buffer = getattr(stream, "buffer", None)
    raw = getattr(buffer, "raw", buffer)  # without PYTHONUNBUFFERED, there is a buffer in between
    if not isinstance(raw, io.FileIO):  # a console of Windows, or not a file
        return stream
    file: Any = kind(stream.fileno(), "w", closefd=False)
    return io.TextIOWrapper(
        file if raw is buffer else io.BufferedWriter(file),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=bool(stream.line_buffering),
        write_through=raw is buffer,
    )


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Raise ``KeyboardInterrupt``, and remember it in case a library turns it into another error."""
    _received.append(number)
    signal.default_int_handler(number, frame)


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    """End by an exception, so that files that are only partly written are removed."""
    sys.exit(128 + number)
