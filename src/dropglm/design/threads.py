"""Work in pieces, on threads."""

import os
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from itertools import pairwise
from typing import TypeVar

import numpy as np

Item = TypeVar("Item")
Answer = TypeVar("Answer")

# Entries a piece: large enough to hide the cost of a call (some 20 µs), small enough for an even load.
PIECE = 1 << 19


def each(work: Callable[[Item], Answer], items: Iterable[Item], threads: int) -> list[Answer]:
    """``[work(item) for item in items]``, by that many threads; an exception of one is raised here."""
    items = list(items)
    workers = min(threads, len(items))
    if workers <= 1:
        return [work(item) for item in items]
    answers: dict[int, Answer] = {}
    todo = deque(enumerate(items))

    def take_one_after_another() -> None:
        while todo:
            try:
                k, item = todo.popleft()
            except IndexError:  # another thread was faster
                return
            answers[k] = work(item)

    # The caller's thread is one of the workers. A future for every item instead cost 60 µs each.
    others = [_pool(workers - 1).submit(take_one_after_another) for _ in range(workers - 1)]
    try:
        take_one_after_another()
    finally:
        todo.clear()  # nothing more to start if this thread was interrupted
        wait(others)
    for other in others:
        other.result()
    return [answers[k] for k in range(len(items))]


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
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
    total = float(cost[-1] - cost[0])
    count = 4 * max(1, round(total / (4 * piece))) if total > piece else 1
    cuts = np.searchsorted(cost, np.linspace(cost[0], cost[-1], count + 1))
    cuts[0], cuts[-1] = 0, n
    return [(int(a), int(b)) for a, b in pairwise(np.unique(cuts))]
