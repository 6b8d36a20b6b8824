"""A profile of all threads: how much of their time is spent in compiled loops, in Python, and waiting.

Every call of a compiled function is timed, with the clock and with the processor time of its thread. The
interpreter's lock is released during a loop and taken again at its end, so the difference of the two is time
spent waiting for the lock, or for a processor. Processor time outside loops is that of Python, NumPy, SciPy
and BLAS. What remains of the time of all threads is spent waiting for work, asleep or watching for it.
"""

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from numba.core.registry import CPUDispatcher

KINDS = (
    "compiled loops",
    "Python, NumPy and SciPy",
    "at the end of a loop, waiting for the interpreter's lock or a processor",
    "waiting for work",
)
WATCHING = {"maths.shared_loops._help"}  # compiled, but no work


class Loop(NamedTuple):
    """The calls of one compiled function."""

    name: str
    calls: int
    share: float  # of the threads' time


class Profile(NamedTuple):
    """The time of a call; the shares of its threads' time by kind; and its compiled functions."""

    seconds: float
    processor_seconds: float
    shares: dict[str, float]
    loops: list[Loop]  # the longest first


def profile(work: Callable[[], object], threads: int) -> Profile:
    """Run the function, which uses that many threads and has been compiled before; return its profile."""
    with _timed_loops() as timed:
        start, processor = time.perf_counter(), time.process_time()
        work()
        seconds, processor = time.perf_counter() - start, time.process_time() - processor
    total: dict[str, list[float]] = defaultdict(lambda: [0, 0.0, 0.0])  # calls, seconds, processor seconds
    for of_thread in timed:
        for function, one in of_thread.items():
            name = f"{function.__module__.removeprefix('dropglm.core.')}.{function.__name__}"
            total[name] = [a + b for a, b in zip(total[name], one, strict=True)]
    watched = sum(total.pop(name)[2] for name in WATCHING & total.keys())
    capacity = threads * seconds
    running = sum(one[2] for one in total.values())
    blocked = sum(one[1] for one in total.values()) - running
    parts = [running, max(0.0, processor - watched - running), blocked]
    shares = [part / capacity for part in [*parts, max(0.0, capacity - sum(parts))]]
    loops = [Loop(name, int(calls), spent / capacity) for name, (calls, _, spent) in total.items()]
    return Profile(
        seconds,
        processor,
        dict(zip(KINDS, shares, strict=True)),
        sorted(loops, key=lambda loop: -loop.share),
    )


@contextmanager
def _timed_loops() -> Iterator[list[dict[Any, list[float]]]]:
    """Time every call of a compiled function from Python; yield the times by thread and by function."""
    own = threading.local()
    everyone: list[dict[Any, list[float]]] = []
    call = CPUDispatcher.__call__  # inherited, and compiled itself

    def timed(self: Any, *arguments: Any, **named: Any) -> Any:
        try:
            times = own.times
        except AttributeError:
            times = own.times = defaultdict(lambda: [0, 0.0, 0.0])
            everyone.append(times)
        start, processor = time.perf_counter(), time.thread_time()
        result = call(self, *arguments, **named)
        one = times[self.py_func]
        one[0] += 1
        one[1] += time.perf_counter() - start
        one[2] += time.thread_time() - processor
        return result

    setattr(CPUDispatcher, "__call__", timed)  # noqa: B010
    try:
        yield everyone
    finally:
        delattr(CPUDispatcher, "__call__")
