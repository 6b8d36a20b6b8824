"""Compiled loops that several threads share: one call per thread, which takes pieces until none is left.

A loop over pieces is written as ::

    @kernel
    def double(cuts, tickets, x):
        piece = first_piece(tickets)
        while piece < cuts.size - 1:
            for i in range(cuts[piece], cuts[piece + 1]):
                x[i] *= 2.0
            piece = next_piece(tickets)

    share(double, cuts, threads, x)

The pieces do not depend on the number of threads. Where each piece has its own place for its results, and
they are added in order, neither do the results.
"""

import os
import time
from collections.abc import Callable
from functools import cache
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload
from numba.np.arrayobj import make_array

from dropglm.maths.compile import kernel

# Places in the tickets: the next piece, the number of finished pieces, that of all pieces, and whether another
# loop has begun. The first two change often and have cache lines of their own.
NEXT, FINISHED, PIECES, OVER = 0, 8, 16, 17
SIZE = 24

# How often a thread looks before it lets others run; about 50 µs, longer than the time between two loops.
GLANCES = 1 << 17


def share(loop: Callable[..., None], cuts: np.ndarray, threads: int, *arguments: Any) -> None:
    """Call ``loop(cuts, tickets, *arguments)`` on several threads, and return when every piece is finished.

    Parameters
    ----------
    loop : callable
        A compiled loop over pieces, as above; it must not raise exceptions.
    cuts : ndarray of int64
        Where pieces begin and end: piece k is cuts[k] to cuts[k + 1] - 1.
    threads : int
        At most so many threads take part. The caller's does all the work if the others are busy.
    *arguments
        Passed on to the loop.

    Examples
    --------
    >>> import numpy as np
    >>> from dropglm.maths.vectors import moved
    >>> moved(np.ones(3), 2.0, np.arange(3.0), threads=2)  # a shared loop
    array([1., 3., 5.])
    """
    tickets = np.zeros(SIZE, np.int64)
    pieces = tickets[PIECES] = len(cuts) - 1
    helpers = min(threads, pieces) - 1
    if helpers > 0:
        _crew().ask(helpers, loop, cuts, tickets, arguments)
    loop(cuts, _of_leader(tickets), *arguments)
    if helpers > 0:
        while not _all_finished(tickets):
            time.sleep(0)


def _of_leader(tickets: np.ndarray) -> np.ndarray:
    # The size tells the threads apart: the leader's thread returns when no piece is left, the others wait.
    return tickets[: SIZE - 1]


class _Crew:
    """Threads that wait for loops to share. They live as long as the process.

    All of them need the interpreter's lock to begin a loop, and handing it over takes 30 to 50 µs. So a
    thread that has found no piece left does not return to the interpreter, where it would be in the leader's
    way, until the next loop begins or some time has passed.
    """

    def __init__(self) -> None:
        self.loops: SimpleQueue[tuple] = SimpleQueue()
        self.last = np.zeros(SIZE, np.int64)  # tickets of the last loop
        self.size = 0
        self.lock = Lock()

    def ask(
        self, helpers: int, loop: Callable[..., None], cuts: np.ndarray, tickets: np.ndarray, arguments: tuple
    ) -> None:
        """Ask so many threads to share a loop; start threads if there are fewer."""
        if self.size < helpers:
            with self.lock:
                while self.size < helpers:
                    Thread(target=self._work, name=f"dropglm {self.size}", daemon=True).start()
                    self.size += 1
        for _ in range(helpers):
            self.loops.put((loop, cuts, tickets, arguments))
        self.last[OVER] = 1
        self.last = tickets

    def _work(self) -> None:
        while True:
            loop, cuts, tickets, arguments = self.loops.get()
            loop(cuts, tickets, *arguments)
            del loop, cuts, tickets, arguments  # memory must not wait for the next loop


@cache
def _crew() -> _Crew:
    return _Crew()


# A forked process has no threads but its own.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_crew.cache_clear)


def total(sums: np.ndarray) -> np.ndarray:
    """Return the sum over the pieces, in order; a single piece is not copied."""
    return sums[0] if len(sums) == 1 else sums.sum(axis=0)


@cache
def even_cuts(size: int, piece: int) -> np.ndarray:
    """Return cuts of 0, …, size - 1 into pieces of about equal length.

    Examples
    --------
    >>> even_cuts(9, piece=2)
    array([0, 2, 4, 6, 9])
    """
    pieces = max(1, size // piece)
    cuts = np.arange(pieces + 1) * size // pieces
    cuts.flags.writeable = False
    return cuts


def cuts_by_cost(cost: np.ndarray, pieces: int) -> np.ndarray:
    """Return cuts of 0, …, len(cost) - 2 into at most ``pieces`` of about equal cost, given its running sum.

    Examples
    --------
    >>> cuts_by_cost(np.array([0, 3, 6, 9, 12, 15]), 3)
    array([0, 2, 4, 5])
    """
    # In whole numbers: SciPy's arrays would be converted to floating point otherwise.
    goals = cost[0] + (cost[-1] - cost[0]) * np.arange(pieces + 1) // pieces
    cuts = np.searchsorted(cost, goals.astype(cost.dtype))
    cuts[0], cuts[-1] = 0, len(cost) - 1
    return np.unique(cuts).astype(np.int64)


_python_lock = Lock()


def add_to(tickets: np.ndarray, place: int, amount: int) -> int:
    """Add to a number that threads share, and return what it was before; compiled to one instruction."""
    with _python_lock:
        before = int(tickets[place])
        tickets[place] += amount
        return before


def look_at(tickets: np.ndarray, place: int) -> int:
    """Return a number that threads share, as it is now."""
    return int(tickets[place])


def _address(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array = make_array(signature.args[0])(context, builder, arguments[0])
    index = context.cast(builder, arguments[1], signature.args[1], types.intp)
    return cgutils.get_item_pointer(context, builder, signature.args[0], array, [index])


def _typed_add(typing_context: Any, tickets: Any, place: Any, amount: Any) -> Any:
    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = context.cast(builder, arguments[2], signature.args[2], types.int64)
        address = _address(context, builder, signature, arguments)
        return builder.atomic_rmw("add", address, value, ordering="seq_cst")

    return types.int64(tickets, place, amount), write


def _typed_look(typing_context: Any, tickets: Any, place: Any) -> Any:
    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load_atomic(_address(context, builder, signature, arguments), "acquire", 8)

    return types.int64(tickets, place), write


_add_to: Any = intrinsic(_typed_add)
_look_at: Any = intrinsic(_typed_look)


@overload(add_to, inline="always")
def _compiled_add(tickets, place, amount):
    return lambda tickets, place, amount: _add_to(tickets, place, amount)


@overload(look_at, inline="always")
def _compiled_look(tickets, place):
    return lambda tickets, place: _look_at(tickets, place)


@kernel
def first_piece(tickets):
    """Take a piece."""
    piece = add_to(tickets, NEXT, 1)
    if piece >= tickets[PIECES] and tickets.size == SIZE:
        _wait_for_next_loop(tickets)
    return piece


@kernel
def next_piece(tickets):
    """Mark the last piece as finished, and take another one."""
    add_to(tickets, FINISHED, 1)
    return first_piece(tickets)


@kernel
def _wait_for_next_loop(tickets):
    glances = 0
    while look_at(tickets, OVER) == 0 and glances < GLANCES:
        glances += 1


@kernel
def _all_finished(tickets):
    """Return whether all pieces are finished, after some waiting."""
    glances = 0
    while look_at(tickets, FINISHED) < tickets[PIECES] and glances < GLANCES:
        glances += 1
    return glances < GLANCES
