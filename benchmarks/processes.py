"""Fresh processes, and the memory that a process uses (on Linux)."""

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TypeVar

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
