"""Items of work of which some need the results of others."""

from collections.abc import Sequence
from heapq import heappop, heappush


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
