"""Work on threads that share the loops of fewer items, of which some may need the results of others."""

from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush
from threading import Condition
from typing import TypeVar

from dropglm.threads import Team, in_team, on_threads

Item = TypeVar("Item")
Result = TypeVar("Result")


def each_in_teams(work: Callable[[Item], Result], items: Sequence[Item], threads: int) -> list[Result]:
    """Return ``[work(item) for item in items]``, one item per thread; spare threads help with its loops.

    Examples
    --------
    >>> each_in_teams(abs, [-1, 2], threads=4)
    [1, 2]
    """
    results: dict[int, Result] = {}

    def one(k: int) -> None:
        results[k] = work(items[k])

    each_when_ready(one, [()] * len(items), threads)
    return [results[k] for k in range(len(items))]


def each_when_ready(work: Callable[[int], object], needs: Sequence[Sequence[int]], threads: int) -> None:
    """Call ``work(k)`` for k = 0, 1, …, each after the calls for all of ``needs[k]``, which are smaller.

    A thread that is free takes the smallest k that is ready; on one thread, the order is 0, 1, …. While there
    are fewer calls than threads, the others help with the calls' loops: each call has a team.

    Examples
    --------
    >>> total = [0] * 4
    >>> def add(k):
    ...     total[k] = 1 + sum(total[other] for other in needs[k])
    >>> needs = [(), (0,), (0,), (1, 2)]
    >>> each_when_ready(add, needs, threads=2)
    >>> total
    [1, 2, 2, 5]
    """
    queue = _Queue(needs, in_team(threads))

    def run(k: int) -> None:
        try:
            with queue.teams[k]:
                work(k)
            queue.finish(k)
        except BaseException:
            queue.stop()
            raise

    on_threads(run, [queue.taken() for _ in range(max(1, min(queue.threads, len(needs))))])


class _Queue:
    """The items that wait for others, those that are ready, and the teams of those that are running."""

    def __init__(self, needs: Sequence[Sequence[int]], threads: int) -> None:
        self.threads = threads
        self.teams: dict[int, Team] = {}  # of those that are running
        self._needs = [set(others) for others in needs]
        self._waiting: list[list[int]] = [[] for _ in needs]  # who waits for each
        for k, others in enumerate(self._needs):
            for other in others:
                self._waiting[other].append(k)
        self._ready = [k for k, others in enumerate(self._needs) if not others]  # sorted, so it is a heap
        self._unfinished = len(needs)
        self._stopped = False
        self._changed = Condition()

    def taken(self) -> Iterator[int]:
        """Yield items as they become ready, until none is left or one has failed."""
        try:
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: self._ready or self._is_over)
                    if self._is_over:
                        return
                    k = heappop(self._ready)
                    self.teams[k] = Team(1)
                    self._set_sizes()
                yield k
        except BaseException:  # Ctrl-C while waiting
            self.stop()
            raise

    @property
    def _is_over(self) -> bool:
        return self._stopped or not self._unfinished

    def stop(self) -> None:
        """Yield no more items; no thread may wait for one that failed."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def finish(self, k: int) -> None:
        """Hand the items that needed this one, and its threads, to the others."""
        with self._changed:
            del self.teams[k]
            self._unfinished -= 1
            for other in self._waiting[k]:
                self._needs[other].discard(k)
                if not self._needs[other]:
                    heappush(self._ready, other)
            self._set_sizes()
            self._changed.notify_all()

    def _set_sizes(self) -> None:
        """Divide the threads among the items that are running, and those that are about to start."""
        busy = min(self.threads, len(self.teams) + len(self._ready))
        for number, team in enumerate(self.teams.values()):
            team.size = self.threads // busy + (number < self.threads % busy)
