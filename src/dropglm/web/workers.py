"""Several processes that answer requests on one port."""

import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from types import FrameType

from starlette.types import ASGIApp

from dropglm.web.running import run
from dropglm.web.stopping import end_if_computing

SECONDS_TO_START = 5.0  # a worker that ends sooner would end again
SECONDS_TO_STOP = 5.0  # a worker takes about 1.5; killing it sooner could lose requests


def run_workers(make_app: Callable[[], ASGIApp], listener: socket.socket, workers: int) -> None:
    """Serve an application in several processes until Ctrl-C or SIGTERM.

    A process that dies is replaced, and a line on standard error says so.

    Parameters
    ----------
    make_app : callable
        Returns the application; each process calls it. It must be possible to pickle it.
    listener : socket
        From ``listen``.
    workers : int
        Number of processes.

    Raises
    ------
    RuntimeError
        If a process ends soon after its start.
    """
    before = {number: signal.signal(number, _stop) for number in (signal.SIGINT, signal.SIGTERM)}
    started: dict[SpawnProcess, float] = {}
    try:
        for _ in range(workers):
            started[_started(make_app, listener)] = time.monotonic()
        while True:
            wait([process.sentinel for process in started])
            for process in [process for process in started if not process.is_alive()]:
                seconds = time.monotonic() - started.pop(process)
                if seconds < SECONDS_TO_START and (process.exitcode or 0) >= 0:  # not killed from outside
                    raise RuntimeError("A worker ended soon after its start; its messages say why.")
                new = _started(make_app, listener)
                started[new] = time.monotonic()
                sys.stderr.write(f"{time.strftime('%H:%M:%S')} {_replaced(process, new)}\n")
    except _StopSignal:
        pass
    finally:
        for number in before:
            signal.signal(number, signal.SIG_IGN)  # once is enough
        listener.close()  # the last worker to stop listening refuses connections, which nobody would accept
        for process in started:
            process.terminate()
        deadline = time.monotonic() + SECONDS_TO_STOP
        for process in started:
            process.join(max(0.0, deadline - time.monotonic()))
            process.kill()
        for number, handler in before.items():
            signal.signal(number, handler)


def _replaced(old: SpawnProcess, new: SpawnProcess) -> str:
    code = old.exitcode or 0
    how = f"was ended by signal {-code}" if code < 0 else f"ended with status {code}"
    return f"worker {old.pid} {how} and is replaced by {new.pid}"


class _StopSignal(BaseException):
    """Ctrl-C or SIGTERM."""


def _stop(number: int, frame: FrameType | None) -> None:
    raise _StopSignal


def _started(make_app: Callable[[], ASGIApp], listener: socket.socket) -> SpawnProcess:
    """Start a worker that leaves Ctrl-C, which reaches all processes of a terminal, to this process."""
    # Not forked: threads of libraries would be missing in the copy.
    process = multiprocessing.get_context("spawn").Process(
        target=_work, args=(make_app, listener), daemon=True
    )
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)  # inherited
    try:
        process.start()
    finally:
        signal.signal(signal.SIGINT, handler)
    return process


def _work(make_app: Callable[[], ASGIApp], listener: socket.socket) -> None:
    # Until the server runs, SIGTERM ends the process at once: clients would wait for it in vain.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    run(make_app(), listener)
    end_if_computing()


def _end_with_parent() -> None:
    """Stop this worker if the process that started it has been killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(SECONDS_TO_STOP)
    os._exit(0)
