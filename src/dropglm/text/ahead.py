"""Work that is done ahead, on several threads."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from threading import Condition, Lock, Thread
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

DEPTH = 2  # results that wait
END: Any = object()  # in place of a result after the last one


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
        queue.stop()
        for thread in threads:
            thread.join()


class _Queue(Generic[Item, Result]):
    """Items to take and results to yield, both numbered from 0."""

    def __init__(self, items: Iterable[Item], most: int) -> None:
        self.items = iter(items)
        self.most = most  # items that may be taken before their results are yielded
        self.taking = Lock()
        self.changed = Condition()
        self.results: dict[int, tuple[Any, Exception | None]] = {}
        self.taken = self.yielded = 0
        self.ended = False  # whether no further items are to be taken

    @property
    def may_take(self) -> bool:
        """Whether not too many results are waiting."""
        return self.taken - self.yielded < self.most

    def work(self, worker: Callable[[Item], Result]) -> None:
        """Make results until there are no more items."""
        while not self.ended:
            with self.changed:
                self.changed.wait_for(lambda: self.ended or self.may_take)
            self.make_one(worker)

    def next_result(self, worker: Callable[[Item], Result]) -> Any:
        """Return the next result; until it is there, make others."""
        while True:
            with self.changed:
                if self.ended or not self.may_take:
                    self.changed.wait_for(lambda: self.yielded in self.results)
                found = self.results.pop(self.yielded, None)
                if found is not None:
                    self.yielded += 1
                    self.changed.notify_all()
            if found is None:
                self.make_one(worker)
                continue
            result, error = found
            if error is not None:
                raise error
            return result

    def make_one(self, worker: Callable[[Item], Result]) -> None:
        """Take an item and make its result; after the last item, ``END``."""
        result: Any = END
        with self.taking:
            if self.ended:
                return
            number, self.taken = self.taken, self.taken + 1
            item, error = self._next_item()
            if item is END:
                self.ended = True
        if item is not END:
            try:
                result = worker(item)
            except Exception as raised:
                error = raised
        with self.changed:
            self.results[number] = result, error
            self.changed.notify_all()

    def _next_item(self) -> tuple[Any, Exception | None]:
        try:
            return next(self.items, END), None
        except Exception as raised:
            return END, raised

    def stop(self) -> None:
        """Let the threads end after what they are making."""
        with self.changed:
            self.ended = True
            self.changed.notify_all()
