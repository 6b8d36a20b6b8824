"""Work that is done ahead, on another thread."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from queue import Empty, Queue
from threading import Event, Thread
from typing import TypeVar

Item = TypeVar("Item")

DEPTH = 2  # items that wait


def ahead(items: Iterable[Item], depth: int = DEPTH) -> Iterator[Item]:
    """Yield the items in their order, while another thread already makes the next ones.

    An error is raised where the item would have been. Whoever stops early, by closing the iterator, waits
    until the item that is being made is complete, so making an item must not wait for input.

    Parameters
    ----------
    items : iterable
    depth : int, default=2
        How many items may wait at most.

    Examples
    --------
    >>> list(ahead(number**2 for number in range(4)))
    [0, 1, 4, 9]
    """
    queue: Queue[tuple[Item | None, BaseException | None, bool]] = Queue(depth)
    stop = Event()

    def make() -> None:
        try:
            for item in items:
                queue.put((item, None, False))
                if stop.is_set():
                    return
            queue.put((None, None, True))
        except BaseException as error:
            queue.put((None, error, True))

    thread = Thread(target=make, name="dropglm-ahead", daemon=True)
    thread.start()
    try:
        while True:
            item, error, last = queue.get()
            if error is not None:
                raise error
            if last:
                return
            yield item  # type: ignore[misc]
    finally:
        stop.set()
        while thread.is_alive():
            with suppress(Empty):
                queue.get(timeout=0.01)  # so that the thread can put its last item
        thread.join()
