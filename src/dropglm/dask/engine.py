"""The engine of ``dropglm.places.partitions`` on Dask.

Prepared partitions are futures that stay on their workers; the scheduler computes anew what a dead worker
held. A round is one message with the coefficients to one worker, from which the others fetch them, and one
graph with a task per partition and a tree of sums.
"""

import logging
import signal
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from functools import partial, reduce
from multiprocessing import resource_tracker
from typing import Any
from uuid import uuid4
from weakref import WeakSet

import dask
from dask.utils import parse_timedelta
from distributed import Client, Future, KilledWorker, LocalCluster, default_client
from distributed.client import wait
from distributed.comm.core import CommClosedError
from distributed.utils import silence_logging_cmgr

from dropglm.base.errors import ClusterError, InputError, InputTypeError
from dropglm.base.threads import core_count
from dropglm.places.partitions.engine import FAN_IN, Add, Work

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


# Time without any worker, or without an answer of the scheduler, after which a fit gives up; a setting of
# Dask, as in ``dask.config.set({"dropglm.patience": "5 minutes"})``.
PATIENCE = "60 s"
# How often a round is asked again if what it needs was lost with a worker.
ATTEMPTS = 5


class Message:
    """What all tasks of a round get; not a tuple, since Dask looks for keys inside these."""

    def __init__(self, content: Any) -> None:
        self.content = content


class Failure:
    """An error in the user's data, as the result of a task.

    It is raised on the client; raised on a worker, it would also be logged there, with a traceback.
    """

    def __init__(self, error: Exception) -> None:
        self.error = error


class DaskEngine:
    """Work on partitions that are futures of a Dask client.

    Parameters
    ----------
    client : distributed.Client
    patience : float, optional
        Seconds without any worker after which a fit gives up; by default Dask's setting "dropglm.patience",
        or 60.
    """

    rereads = False

    def __init__(self, client: Client, patience: float | None = None) -> None:
        self.client = client
        self.patience = _patience() if patience is None else patience
        self._direct = True  # whether workers can be reached without the scheduler
        self._kept: WeakSet[Future] = WeakSet()
        self.slots: int | None = self._threads()

    def keep(self, work: Work, parts: Sequence[Any], message: Any) -> list[Any]:
        """Return futures of ``work(part, message)``."""
        shared = self._recoverable(message)
        name = f"{work.__name__}-{uuid4().hex}"
        keys = [f"{name}-{number}" for number in range(len(parts))]
        futures = [
            self.client.submit(_work, work, part, shared, key=key, pure=False)
            for key, part in zip(keys, parts, strict=True)
        ]
        self._kept.update(futures)
        return futures

    def total(self, work: Work, parts: Sequence[Any], message: Any, add: Add) -> Any:
        """Return the sum of ``work(part, message)`` over all parts, in groups of a fixed size."""
        for attempt in range(ATTEMPTS):
            futures: list[Future] = []
            try:
                # Sent directly the first time, which is faster; a worker that dies takes it along.
                shared = self._recoverable(message) if attempt else self._scattered(message)
                graph, keys = _graph(work, parts, shared, add)
                futures = self.client.get(graph, keys, sync=False)
                result = reduce(partial(_added, add), self._results(futures))
            except (CancelledError, KilledWorker, CommClosedError) as error:
                lost = error
                if self.client.status != "running" or (attempt and isinstance(error, CancelledError)):
                    break
            except Exception as error:
                _name_partition(error, parts)
                raise
            except BaseException:  # the user has interrupted
                self._cancel(futures)
                raise
            else:
                if isinstance(result, Failure):
                    raise result.error
                return result
        raise ClusterError(self._reason(lost)) from lost

    def _reason(self, lost: BaseException) -> str:
        """Return a sentence on a round that could not be completed."""
        if self.client.status != "running" or isinstance(lost, CommClosedError):
            return "The connection to Dask's scheduler was lost, so the fit was stopped."
        if isinstance(lost, CancelledError):
            return (
                "Data that was scattered to a worker was lost with that worker; scatter it again, or pass "
                "delayed objects or a Dask collection, which Dask can compute again."
            )
        return (
            f"A round could not be completed in {ATTEMPTS} attempts because workers died meanwhile; check "
            "their memory and their logs."
        )

    def _scattered(self, message: Any) -> Any:
        if self._direct:
            try:
                return self.client.scatter(Message(message), direct=True, hash=False, timeout=10)
            except (OSError, TimeoutError):
                self._direct = not self._has_workers()
        return self._recoverable(message)

    def _recoverable(self, message: Any) -> Any:
        """Return the message as a task, which the scheduler can give to another worker."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            return self.client.submit(_same, Message(message), key=f"message-{uuid4().hex}", pure=False)

    def _results(self, futures: list[Future]) -> list[Any]:
        """Return the results, or raise an error if there has been no worker for a while."""
        idle_since: float | None = None
        while True:
            try:
                with self.client.as_current():
                    wait(futures, timeout=min(2.0, self.patience))
                return self.client.gather(futures, direct=self._direct)
            except TimeoutError:
                now = time.monotonic()
                idle_since = None if self._has_workers() else idle_since or now
                if idle_since is not None and now - idle_since > self.patience:
                    self._cancel(futures)
                    raise ClusterError(_no_worker(self.patience)) from None

    def _threads(self) -> int:
        """Return the number of threads of all workers; if there is no worker yet, wait for one."""
        if not self.client.nthreads():
            try:
                self.client.wait_for_workers(1, timeout=self.patience)
            except TimeoutError:
                raise ClusterError(_no_worker(self.patience)) from None
        return max(1, sum(self.client.nthreads().values()))

    def _has_workers(self) -> bool:
        try:
            return bool(self.client.nthreads())
        except (OSError, TimeoutError):
            return False

    def _cancel(self, futures: list[Future]) -> None:
        """Cancel a round and what was kept; a traceback would keep both alive."""
        with suppress(OSError, TimeoutError):  # if the scheduler is gone as well
            self.client.cancel([*futures, *self._kept], reason="the fit was stopped")


def _patience() -> float:
    return float(parse_timedelta(dask.config.get("dropglm.patience", PATIENCE)))


def _no_worker(patience: float) -> str:
    return (
        f"Dask has had no worker for {patience:.0f} seconds, so the fit was stopped; start workers and fit "
        "again."
    )


def _name_partition(error: Exception, parts: Sequence[Any]) -> None:
    """Add to an error of the user's own code for which partition it was raised."""
    failed = [k for k, part in enumerate(parts) if isinstance(part, Future) and part.status == "error"]
    if failed:
        error.add_note(f"Raised while Dask computed partition {failed[0]}, counted from 0.")


def client_from(client: Client | None) -> Client:
    """Return the client, or Dask's default client."""
    if client is not None:
        if not isinstance(client, Client):
            raise InputTypeError(f"client must be a dask.distributed.Client, got {client!r}.")
        if client.status == "closed":
            raise InputError("The Dask client is closed; create another one with dask.distributed.Client().")
        return client
    try:
        return default_client()
    except ValueError:
        raise InputError(
            "There is no Dask client; create one first with dask.distributed.Client(), or pass client=."
        ) from None


def _graph(work: Work, parts: Sequence[Any], shared: Any, add: Add) -> tuple[dict[str, Any], list[str]]:
    """Return the tasks of a round, and the keys of its results, at most two.

    The client adds these: 35 ms for a round of two tasks, and 42 ms with a third that adds them.
    """
    name = uuid4().hex
    level = [f"{work.__name__}-{name}-{number}" for number in range(len(parts))]
    graph: dict[str, Any] = {key: (_work, work, part, shared) for key, part in zip(level, parts, strict=True)}
    depth = 0
    while len(level) > 2:
        depth += 1
        above = []
        for first in range(0, len(level), FAN_IN):
            key = f"{add.__name__}-{name}-{depth}-{first // FAN_IN}"
            graph[key] = (_sum, add, *level[first : first + FAN_IN])
            above.append(key)
        level = above
    return graph, level


def _work(work: Work, part: Any, message: Message) -> Any:
    for one in part if isinstance(part, list) else [part]:
        if isinstance(one, Failure):
            return one
    try:
        return work(part, message.content)
    except (TypeError, ValueError) as error:
        return Failure(error)


def _sum(add: Add, *results: Any) -> Any:
    return reduce(partial(_added, add), results)


def _added(add: Add, a: Any, b: Any) -> Any:
    for one in (a, b):
        if isinstance(one, Failure):
            return one
    try:
        return add(a, b)
    except (TypeError, ValueError) as error:
        return Failure(error)


def _same(message: Message) -> Message:
    return message
