"""Clients of a cluster that runs, or of one that is started on this machine."""

import logging
import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker

from distributed import Client, LocalCluster
from distributed.utils import silence_logging_cmgr

from dropglm.base.threads import core_count

SECONDS = 10  # to wait for an answer of a scheduler


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """Yield a client of the scheduler at this address.

    For ``"local"``, a cluster is started on this machine, with one single-threaded worker per core, and ends
    with the context.
    """
    if address == "local":
        with _local_cluster() as cluster, Client(cluster, set_as_default=False) as client:
            yield client
        return
    # A client whose scheduler goes away writes to the log, even tracebacks, though the fit raises an error.
    with silence_logging_cmgr(logging.CRITICAL):
        try:
            client = Client(address, timeout=SECONDS, set_as_default=False)
        except (OSError, TimeoutError):
            raise ConnectionError(f"No Dask scheduler answers at {address}.") from None
        with client:
            yield client


def _local_cluster() -> LocalCluster:
    with warnings.catch_warnings(), _interrupts_later():
        warnings.filterwarnings("ignore", "Port .* is already in use", UserWarning)
        # Errors of tasks are raised here as well, so they need not be in a log on the terminal.
        return LocalCluster(n_workers=core_count(), threads_per_worker=1, silence_logs=logging.CRITICAL)


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """Let an interrupt wait, and let threads that start meanwhile, and their processes, never see one.

    A terminal sends Ctrl-C to all processes of a command, and workers would write tracebacks.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # unblocks interrupts in the thread that first starts a process
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
