"""Run blocks of Python and of shell commands of one page, one after the other, in an empty folder.

Each line of standard input is a block as JSON, and so is its result on standard output: what it printed, or
the error. Python blocks share their names. A command that ends in & is a service on port 8765, which runs
until the page is finished.
"""

import io
import json
import os
import re
import socket
import subprocess
import sys
import time
import traceback
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import Any

PORT = "8765"  # in pages; replaced by one that is free


def free_port() -> str:
    """Return the number of a port that nobody uses."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return str(one.getsockname()[1])


class Session:
    """The state between the blocks of a page."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.background: list[subprocess.Popen[bytes]] = []
        self.port = free_port()

    def wait_for_port(self) -> None:
        """Wait until the service that was started last answers."""
        end = time.monotonic() + 60
        while time.monotonic() < end and self.background[-1].poll() is None:
            with suppress(OSError), socket.create_connection(("127.0.0.1", int(self.port)), timeout=1):
                return
            time.sleep(0.1)
        raise RuntimeError("The service did not start.")

    def python(self, code: str, figure: str | None) -> str:
        """Return what Python prints; store the figure that it has drawn."""
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(code.replace(PORT, self.port), "the page", "exec"), self.names)
        if figure:
            from matplotlib import pyplot

            Path(figure).parent.mkdir(parents=True, exist_ok=True)
            pyplot.savefig(figure, metadata={"Date": None}, bbox_inches="tight")
            pyplot.close("all")
        return printed.getvalue()

    def sh(self, code: str, figure: str | None) -> str:
        """Return what commands print on standard output."""
        printed = []
        for command in code.replace("\\\n", " ").replace(PORT, self.port).splitlines():
            if command.endswith("&"):
                quiet = subprocess.DEVNULL
                shell = ["bash", "-c", f"exec {command.removesuffix('&')}"]
                self.background.append(subprocess.Popen(shell, stdout=quiet, stderr=quiet))
                self.wait_for_port()
            else:
                done = subprocess.run(["bash", "-c", command], capture_output=True, encoding="utf-8")
                if done.returncode:
                    raise RuntimeError(f"{command}: {done.stderr}")
                printed.append(done.stdout if done.stdout.endswith("\n") else f"{done.stdout}\n")
        return re.sub(r" +$", "", "".join(printed), flags=re.MULTILINE).replace(self.port, PORT)


if __name__ == "__main__":
    os.environ |= {"COLUMNS": "80", "NO_COLOR": "1", "MPLBACKEND": "Agg"}
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    session = Session()
    for line in sys.stdin:
        block = json.loads(line)
        try:
            result = {"printed": getattr(session, block["language"])(block["code"], block["figure"])}
        except Exception:
            result = {"error": traceback.format_exc(limit=-2)}
        print(json.dumps(result), file=answers, flush=True)
    for process in session.background:
        process.terminate()
