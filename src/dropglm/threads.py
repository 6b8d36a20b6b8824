"""Work in pieces, on threads."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from itertools import pairwise
from threading import Event, local
from typing import TypeVar

import numpy as np

Item = TypeVar("Item")
Answer = TypeVar("Answer")

# Entries a piece: large enough to hide the cost of a call (some 20 µs), small enough for an even load.
PIECE = 1 << 19


def each(work: Callable[[Item], Answer], items: Iterable[Item], threads: int) -> list[Answer]:
    """``[work(item) for item in items]``; each thread takes the next item when it is done with one."""
    items = list(items)
    answers: dict[int, Answer] = {}

    def answer(numbered: tuple[int, Item]) -> None:
        number, item = numbered
        answers[number] = work(item)

    todo = deque(enumerate(items))
    in_lanes(answer, [_drained(todo) for _ in range(min(threads, len(items)))])
    return [answers[number] for number in range(len(items))]


def in_lanes(work: Callable[[Item], object], lanes: Sequence[Iterable[Item]]) -> None:
    """``work(item)`` for the items of every lane, a thread a lane; an exception of one is raised here.

    The caller's thread takes the first lane. An exception or Ctrl-C stops all lanes at their next item.
    What overflows becomes infinite without a warning: whoever asked sees it in the result.
    """
    stop = Event()
    depth = getattr(_nesting, "depth", 0)

    def go(lane: Iterable[Item]) -> None:
        _nesting.depth = depth + 1
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
            _nesting.depth = depth

    others = [_pool(depth, len(lanes) - 1).submit(go, lane) for lane in lanes[1:]]
    try:
        if lanes:
            go(lanes[0])
    finally:
        wait(others)
    for other in others:
        other.result()


def _drained(todo: deque[Item]) -> Iterator[Item]:
    while todo:
        try:
            yield todo.popleft()
        except IndexError:  # another thread was faster
            return


# How many loops on threads this thread is inside of. Each level has a pool of its own: in a shared one, lanes
# that wait for inner lanes could hold all the workers that those need.
_nesting = local()


@cache
def _pool(depth: int, threads: int) -> ThreadPoolExecutor:
    # Kept: a new pool takes 0.25 ms, and a sweep asks twice within 10 ms.
    return ThreadPoolExecutor(threads, thread_name_prefix="dropglm")


# A forked process inherits the pool but none of its threads.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)


def even_pieces(cost: np.ndarray, piece: int = PIECE) -> list[tuple[int, int]]:
    """Cut 0 … len(cost) - 2 into ranges of about equal cost, given the running total of the cost.

    The ranges do not depend on the number of threads, so neither do sums over them. Where there are
    several, their number is a multiple of four, for two or four threads to share.

    Examples
    --------
    >>> even_pieces(np.array([0, 3, 6, 9, 12, 15]), piece=4)
    [(0, 2), (2, 3), (3, 4), (4, 5)]
    """
    n = len(cost) - 1
    count = _count(float(cost[-1] - cost[0]), piece)
    cuts = np.searchsorted(cost, np.linspace(cost[0], cost[-1], count + 1))
    cuts[0], cuts[-1] = 0, n
    return [(int(a), int(b)) for a, b in pairwise(np.unique(cuts))]


def even_ranges(size: int, piece: int) -> list[tuple[int, int]]:
    """The same for entries that cost the same each, without a search among them.

    Examples
    --------
    >>> even_ranges(9, piece=2)
    [(0, 2), (2, 4), (4, 6), (6, 9)]
    """
    count = _count(size, piece)
    return list(pairwise(size * k // count for k in range(count + 1)))


def _count(total: float, piece: int) -> int:
    return 4 * max(1, round(total / (4 * piece))) if total > piece else 1
