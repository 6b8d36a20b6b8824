"""Fresh processes, and the memory that a process uses (on Linux)."""

import math
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple, TypeVar

Result = TypeVar("Result")


def in_fresh_process(work: Callable[..., Result], *arguments: object) -> Result:
    """Return the function's result, computed in a new process that starts with little memory."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(work, *arguments).result()


def memory_in_use() -> int:
    """Return the resident size in bytes."""
    return _status("VmRSS")


def peak_memory() -> int:
    """Return the largest resident size in bytes since the process started or the peak was reset."""
    return _status("VmHWM")


def reset_peak_memory() -> None:
    """Set the peak to the memory that is in use now."""
    Path("/proc/self/clear_refs").write_text("5")


def _status(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(field))


class Finished(NamedTuple):
    """A process that has ended."""

    seconds: float
    processor_seconds: float
    peak_memory: int  # bytes, of the process or of the largest process that it started
    output: str


def run(
    command: Sequence[str],
    folder: Path,
    variables: Mapping[str, str] | None = None,
    limit: float = math.inf,
    text: str = "",
) -> Finished:
    """Run a command in a folder, with more environment variables, and text as its input.

    A command is stopped after ``limit`` seconds, and has then taken infinitely long. If it fails, exit.
    """
    with (
        tempfile.TemporaryFile("w+") as given,
        tempfile.TemporaryFile("w+") as out,
        tempfile.TemporaryFile("w+") as errors,
    ):
        given.write(text)
        given.seek(0)
        # Where bytecode is not stored, as in some containers, every process would compile all modules.
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment = {**kept, **(variables or {})}
        start = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=folder, stdin=given, stdout=out, stderr=errors, env=environment
        )
        timer = threading.Timer(min(limit, threading.TIMEOUT_MAX), process.kill)
        timer.start()
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        for file in (out, errors):
            file.seek(0)
        stopped = process.returncode == -signal.SIGKILL and seconds >= limit
        if process.returncode and not stopped:
            sys.exit(f"{' '.join(command)} failed:\n{errors.read()}")
        taken = math.inf if stopped else seconds
        return Finished(taken, used.ru_utime + used.ru_stime, 1024 * used.ru_maxrss, out.read())
