"""Objects that threads take turns to use, as many as threads work at the same time."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Generic, TypeVar

Thing = TypeVar("Thing")


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
