"""The command line: options in, library calls out.

Commands import the library when they run, so that help and completion do not wait for it.
"""

import os
import signal
import sys
from types import FrameType
from typing import NoReturn

INTERRUPTED = 130


def main() -> None:
    """Run the command; ``python -m dropglm`` does the same."""
    try:
        signal.signal(signal.SIGTERM, _terminate)
        prepare_streams()
        from dropglm.cli.app import app

        app(prog_name="dropglm")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("dropglm"):
            raise
        sys.exit(f"dropglm: the command line needs {error.name}: pip install 'dropglm[cli]'.")
    except KeyboardInterrupt:
        print("dropglm: interrupted.", file=sys.stderr)
        sys.exit(INTERRUPTED)


def prepare_streams() -> None:
    """Make standard output and standard error accept whatever the commands print.

    Characters that the encoding of standard output lacks are replaced; output to a closed stream is dropped.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the shell, as with >&-
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 (stays open)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    """End by an exception, so that files that are only partly written are removed."""
    sys.exit(128 + number)
