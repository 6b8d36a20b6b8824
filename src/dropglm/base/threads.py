"""Work that is split into pieces and run on threads, or done ahead on them, and how many cores there are."""

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from heapq import heappop, heappush
from itertools import pairwise
from pathlib import Path
from queue import SimpleQueue
from threading import Condition, Event, Lock, Semaphore, Thread, local
from typing import Any, Generic, Self, TypeVar

import numpy as np

Item = TypeVar("Item")
Result = TypeVar("Result")
Thing = TypeVar("Thing")

# Entries per piece: large enough to hide the cost of a call (about 20 µs), small enough for an even load.
PIECE = 1 << 19
DEPTH = 2  # results of work that is done ahead that wait
END: Any = object()  # in place of a result after the last one

CGROUP_2 = Path("/sys/fs/cgroup/cpu.max")
CGROUP_1 = Path("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"), Path("/sys/fs/cgroup/cpu/cpu.cfs_period_us")


def each(
    work: Callable[[Item], Result],
    items: Iterable[Item],
    threads: int,
    needs: Sequence[Sequence[int]] | None = None,
) -> list[Result]:
    """Return ``[work(item) for item in items]``; a thread that is free takes the first item that is ready.

    While there are fewer items than threads, the others help with the loops of the items: each has a team.
    Overflow gives infinity without a warning; callers see it in the result.

    Parameters
    ----------
    work : callable
    items : iterable
    threads : int
        At most so many threads, and at most the caller's team. On one thread, the order is that of the items.
    needs : sequence of sequences of int, optional
        The items that each item waits for, by their numbers, which are smaller than its own.

    Examples
    --------
    >>> total = [0] * 4
    >>> def add(k):
    ...     total[k] = 1 + sum(total[other] for other in needs[k])
    >>> needs = [(), (0,), (0,), (1, 2)]
    >>> _ = each(add, range(4), 2, needs)
    >>> total
    [1, 2, 2, 5]
    """
    items = list(items)
    threads = in_team(threads)
    workers = min(threads, len(items))
    if workers <= 1:
        with np.errstate(over="ignore", invalid="ignore"):
            return [work(item) for item in items]
    results: dict[int, Result] = {}
    queue = _Teams([()] * len(items) if needs is None else needs, threads)

    def run(k: int) -> None:
        try:
            with queue.teams[k]:
                results[k] = work(items[k])
            queue.finish(k)
        except BaseException:
            queue.stop()
            raise

    on_threads(run, [queue.taken() for _ in range(workers)])
    return [results[k] for k in range(len(items))]


class ReadyQueue:
    """The items that are ready, and those that wait for others. Its users hold a lock where they need one.

    Parameters
    ----------
    needs : sequence of sequences of int
        The items that each item waits for, by their numbers, which are smaller than its own.

    Attributes
    ----------
    ready : list of int
        Items that wait for no others and have not been taken.
    unfinished : int
        Number of items that are not finished.

    Examples
    --------
    >>> queue = ReadyQueue([(), (0,), (0,)])
    >>> queue.take(), queue.ready
    (0, [])
    >>> queue.finish(0)
    >>> queue.ready
    [1, 2]
    """

    def __init__(self, needs: Sequence[Sequence[int]]) -> None:
        self._needs = [set(others) for others in needs]
        self._waiting: list[list[int]] = [[] for _ in needs]  # who waits for each
        for k, others in enumerate(self._needs):
            for other in others:
                self._waiting[other].append(k)
        self.ready = [k for k, others in enumerate(self._needs) if not others]  # sorted, so it is a heap
        self.unfinished = len(needs)

    def take(self) -> int:
        """Return the smallest item that is ready, and remove it from these."""
        return heappop(self.ready)

    def finish(self, k: int) -> None:
        """Let the items that needed this one become ready."""
        self.unfinished -= 1
        for other in self._waiting[k]:
            self._needs[other].discard(k)
            if not self._needs[other]:
                heappush(self.ready, other)


class _Teams(ReadyQueue):
    """The items that are ready, and the teams of those that are running."""

    def __init__(self, needs: Sequence[Sequence[int]], threads: int) -> None:
        super().__init__(needs)
        self.threads = threads
        self.teams: dict[int, Team] = {}  # of those that are running
        self._stopped = False
        self._changed = Condition()

    def taken(self) -> Iterator[int]:
        """Yield items as they become ready, until none is left or one has failed."""
        try:
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: self.ready or self._is_over)
                    if self._is_over:
                        return
                    k = self.take()
                    self.teams[k] = Team(1)
                    self._set_sizes()
                yield k
        except BaseException:  # Ctrl-C while waiting
            self.stop()
            raise

    @property
    def _is_over(self) -> bool:
        return self._stopped or not self.unfinished

    def stop(self) -> None:
        """Yield no more items; no thread may wait for one that failed."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def finish(self, k: int) -> None:
        """Hand the items that needed this one, and its threads, to the others."""
        with self._changed:
            del self.teams[k]
            super().finish(k)
            self._set_sizes()
            self._changed.notify_all()

    def _set_sizes(self) -> None:
        """Divide the threads among the items that are running, and those that are about to start."""
        busy = min(self.threads, len(self.teams) + len(self.ready))
        for number, team in enumerate(self.teams.values()):
            team.size = self.threads // busy + (number < self.threads % busy)


def on_threads(work: Callable[[Item], object], lanes: Sequence[Iterable[Item]]) -> None:
    """Call ``work(item)`` for the items of every lane, one thread per lane, and re-raise any exception.

    The caller's thread takes the first lane. An exception or Ctrl-C stops all lanes at their next item.
    Overflow gives infinity without a warning; callers see it in the result.
    """
    stop = Event()
    depth, team = getattr(_nesting, "depth", 0), getattr(_nesting, "team", None)

    def run(lane: Iterable[Item]) -> None:
        _nesting.depth, _nesting.team = depth + 1, team
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                for item in lane:
                    if stop.is_set():
                        return
                    work(item)
        except BaseException:
            stop.set()
            raise
        finally:
            _nesting.depth, _nesting.team = depth, team

    others = [_pool(depth, len(lanes) - 1).submit(run, lane) for lane in lanes[1:]]
    try:
        if lanes:
            run(lanes[0])
    finally:
        wait(others)
    for other in others:
        other.result()


# How many nested calls this thread is inside, and its team. Each level has its own pool: in a shared pool,
# lanes that wait for inner lanes could occupy all the workers that the inner lanes need.
_nesting = local()


class Team:
    """The threads that may work on one of several items at a time; their number may change meanwhile.

    Examples
    --------
    >>> with Team(2):
    ...     in_team(16)
    2
    >>> in_team(16)
    16
    """

    def __init__(self, size: int) -> None:
        self.size = size

    def __enter__(self) -> Self:
        self._outer = getattr(_nesting, "team", None)
        _nesting.team = self
        return self

    def __exit__(self, *exception: object) -> None:
        _nesting.team = self._outer


def in_team(threads: int) -> int:
    """Return how many threads a loop may use: as many as it asks for, but not more than its team has."""
    team = getattr(_nesting, "team", None)
    return threads if team is None else min(threads, team.size)


@cache
def _pool(depth: int, threads: int) -> ThreadPoolExecutor:
    # Cached: a new pool takes 0.25 ms, and a sweep needs one twice within 10 ms.
    return ThreadPoolExecutor(threads, thread_name_prefix="dropglm")


# A forked process inherits the pool but not its threads.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)


def even_pieces(cost: np.ndarray, piece: int = PIECE) -> list[tuple[int, int]]:
    """Split 0, …, len(cost) - 2 into ranges of about equal cost, given the cumulative cost.

    The ranges do not depend on the number of threads, so neither do sums over them. If there is more than
    one, their number is a multiple of four, so that two or four threads share them evenly.

    Examples
    --------
    >>> even_pieces(np.array([0, 3, 6, 9, 12, 15]), piece=4)
    [(0, 2), (2, 3), (3, 4), (4, 5)]
    """
    n = len(cost) - 1
    count = _count(float(cost[-1] - cost[0]), piece)
    if count == 1:  # as for a short text, which takes less time than to look for cuts
        return [(0, n)] if n else []
    cuts = np.searchsorted(cost, np.linspace(cost[0], cost[-1], count + 1))
    cuts[0], cuts[-1] = 0, n
    return [(int(a), int(b)) for a, b in pairwise(np.unique(cuts))]


def even_ranges(size: int, piece: int) -> list[tuple[int, int]]:
    """Split 0, …, size - 1 into ranges of about equal length.

    Examples
    --------
    >>> even_ranges(9, piece=2)
    [(0, 2), (2, 4), (4, 6), (6, 9)]
    """
    count = _count(size, piece)
    return list(pairwise(size * k // count for k in range(count + 1)))


def _count(total: float, piece: int) -> int:
    return 4 * max(1, round(total / (4 * piece))) if total > piece else 1


class PerThread(Generic[Thing]):
    """Objects with one user at a time, made when they are needed.

    Parameters
    ----------
    make : callable
        Returns a new object.

    Examples
    --------
    >>> lists = PerThread(list)
    >>> with lists.one() as (number, numbers):
    ...     numbers.append(number)
    >>> lists.made
    [[0]]
    """

    def __init__(self, make: Callable[[], Thing]) -> None:
        self.make = make
        self.made: list[Thing] = []
        self._free: list[int] = []
        self._lock = Lock()

    @contextmanager
    def one(self) -> Iterator[tuple[int, Thing]]:
        """Lend an object that nobody else uses, and its number."""
        with self._lock:
            if not self._free:
                self._free.append(len(self.made))
                self.made.append(self.make())
            number = self._free.pop()
        try:
            yield number, self.made[number]
        finally:
            with self._lock:
                self._free.append(number)


def ahead(
    items: Iterable[Item], workers: Sequence[Callable[[Item], Result]], depth: int = DEPTH
) -> Iterator[Result]:
    """Yield what the workers make of the items, in the order of the items, while they make the next ones.

    Every worker but the first has a thread of its own and takes an item when it is free; the first one takes
    one whenever the caller would have to wait. An error is raised where the result would have been. Whoever
    stops early, by closing the iterator, waits until the results that are being made are complete, so taking
    an item must not wait for input.

    Parameters
    ----------
    items : iterable
        Items are taken by one thread at a time.
    workers : sequence of callables
        Functions that do the same, each with memory of its own.
    depth : int, default=2
        How many results may wait at most.

    Examples
    --------
    >>> list(ahead(range(4), [lambda number: number**2] * 2))
    [0, 1, 4, 9]
    """
    first, *others = workers
    queue: _Queue[Item, Result] = _Queue(items, depth + len(others))
    threads = [
        Thread(target=queue.work, args=(worker,), name="dropglm-ahead", daemon=True) for worker in others
    ]
    for thread in threads:
        thread.start()
    try:
        while True:
            result = queue.next_result(first)
            if result is END:
                return
            yield result
            del result  # its memory is needed for the next ones
    finally:
        queue.stop(len(threads))
        for thread in threads:
            thread.join()


class _Queue(Generic[Item, Result]):
    """Items to take, and the results of those that were taken, in their order."""

    def __init__(self, items: Iterable[Item], most: int) -> None:
        self.items = iter(items)
        self.taking = Lock()
        self.room = Semaphore(most)  # for items that are taken before their results are yielded
        self.results: SimpleQueue[Future[Any]] = SimpleQueue()
        self.ended = False  # whether no further items are to be taken

    def work(self, worker: Callable[[Item], Result]) -> None:
        """Make results until there are no more items."""
        while not self.ended:
            self.room.acquire()
            self.make_one(worker)

    def next_result(self, worker: Callable[[Item], Result]) -> Any:
        """Return the next result; until it is there, make others."""
        result: Future[Any] | None = None
        while result is None or not result.done():
            if result is None and not self.results.empty():
                result = self.results.get()
            elif not self.ended and self.room.acquire(blocking=False):
                self.make_one(worker)
            else:
                result = result or self.results.get()
                break
        found = result.result()
        self.room.release()
        return found

    def make_one(self, worker: Callable[[Item], Result]) -> None:
        """Take an item, for which there is room, and make its result; after the last item, ``END``."""
        result: Future[Any] = Future()
        item: Any = END
        try:
            with self.taking:
                if self.ended:
                    return
                self.results.put(result)
                try:
                    item = next(self.items, END)
                finally:
                    if item is END:
                        self.ended = True
            result.set_result(END if item is END else worker(item))
        except Exception as error:
            result.set_exception(error)

    def stop(self, threads: int) -> None:
        """Let the threads end after what they are making."""
        self.ended = True
        self.room.release(max(threads, 1))


def core_count() -> int:
    """Return the number of cores: those that the process may run on, and the limits of its container.

    As ``joblib.cpu_count``, which takes longer to import than to write again; the environment variable
    ``LOKY_MAX_CPU_COUNT`` limits both.

    Examples
    --------
    >>> core_count() >= 1
    True
    """
    cores = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    most = int(os.environ.get("LOKY_MAX_CPU_COUNT", cores))
    return max(1, min(cores, most, container_limit() or cores))


def container_limit() -> int | None:
    """Return the number of cores that a container may use, rounded up, or None without a limit."""
    try:
        quota, period = (
            CGROUP_2.read_text().split() if CGROUP_2.exists() else (file.read_text() for file in CGROUP_1)
        )
        limit = float(quota) / float(period)  # "max" is not a number
    except (OSError, ValueError, ZeroDivisionError):
        return None
    return math.ceil(limit) if limit > 0 else None
