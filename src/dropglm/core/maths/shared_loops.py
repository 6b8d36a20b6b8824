"""Compiled loops that several threads share: each takes pieces of the work until none is left.

A loop over pieces is written as ::

    @kernel
    def double(cuts, tickets, x):
        piece = take_piece(tickets)
        while piece < cuts.size - 1:
            for i in range(cuts[piece], cuts[piece + 1]):
                x[i] *= 2.0
            piece = take_piece(tickets)

    run_shared_loop(double, cuts, threads, x)

The pieces do not depend on the number of threads. Where each piece has its own place for its results, and
they are added in order, neither do the results.
"""

import os
from collections.abc import Callable
from functools import cache, lru_cache
from queue import SimpleQueue
from threading import Thread
from types import FunctionType
from typing import Any

import numpy as np
from numba import config, jit

from dropglm.base.threads import in_team
from dropglm.core.maths.compile import KernelCompiler, kernel, kernel_helper
from dropglm.core.maths.instructions import FAILED, add_to, call, look_at, publish

# Places on the board: the addresses of the loop and of its arguments, how many threads may help, the number
# of the loop, which is odd while the loop is open, the threads inside it, and those that watch the board.
# Numbers that change often have cache lines of their own.
LOOP, ARGUMENTS, HELPERS, NUMBER, INSIDE, WATCHING = 0, 1, 2, 8, 16, 24
SIZE = 32

FEWEST_PIECES = 8

# Whether Numba's compiler is switched off; every loop then runs on the caller's thread alone.
IN_PYTHON: bool = getattr(config, "DISABLE_JIT", False)

# How often a thread looks at the board before it falls asleep: longer than between two loops of a fit.
GLANCES = 10_000


def run_shared_loop(loop: Callable[..., None], cuts: np.ndarray, threads: int, *arguments: Any) -> None:
    """Call ``loop(cuts, tickets, *arguments)`` on several threads, and return when every piece is finished.

    Parameters
    ----------
    loop : callable
        A compiled loop over pieces, as above. An exception, which can only be a MemoryError, stops it.
    cuts : ndarray of int64
        Where pieces begin and end: piece k is cuts[k] to cuts[k + 1] - 1.
    threads : int
        At most so many threads take part, the caller's among them, and at most the caller's team.
    *arguments
        Passed on to the loop.

    Examples
    --------
    >>> import numpy as np
    >>> from dropglm.core.maths.vectors import moved
    >>> moved(np.ones(3), 2.0, np.arange(3.0), threads=2)  # a shared loop
    array([1., 3., 5.])
    """
    tickets = np.zeros(1, np.int64)
    if IN_PYTHON:
        loop(cuts, tickets, *arguments)
        return
    helpers = max(min(in_team(threads), len(cuts) - 1) - 1, 0)
    try:
        helper_threads = _idle_helpers.pop()
    except IndexError:
        helper_threads = _HelperThreads()
    helper_threads.invite(helpers)
    _leader(loop)(helper_threads.board, cuts, tickets, *arguments)
    _idle_helpers.append(helper_threads)
    if tickets[0] >= FAILED:  # and no thread has taken another piece
        raise MemoryError("A loop that several threads share ran out of memory.")


class _HelperThreads:
    """Threads that help with loops. They live as long as the process.

    A loop is announced on a board of numbers, which the threads watch in compiled code. So they need no lock
    of the interpreter: handing it over takes some 50 µs, for each of 16 threads as long as a short loop.
    """

    def __init__(self) -> None:
        self.board = np.zeros(SIZE, np.int64)
        self.calls: SimpleQueue[None] = SimpleQueue()  # wakes threads up
        self.size = 0

    def invite(self, helpers: int) -> None:
        """Let so many threads help; start more of them if necessary, and wake those that sleep."""
        if helpers:
            while self.size < helpers:
                Thread(target=self._work, name=f"dropglm {self.size}", daemon=True).start()
                self.size += 1
            for _ in range(helpers - int(self.board[WATCHING])):
                self.calls.put(None)
        self.board[HELPERS] = helpers

    def _work(self) -> None:
        while True:
            _help(self.board)
            self.calls.get()


# Those without a loop, the last one used at the end; as many as loops were shared at the same time.
_idle_helpers: list[_HelperThreads] = []

# A forked process has no threads but its own.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle_helpers.clear)


loop: Any = None  # of ``_lead``; each copy of it has its own


def _lead(board, *arguments):
    """Announce a loop, take part in it, close it, and wait for the threads inside."""
    publish(board, LOOP, loop, arguments)
    add_to(board, NUMBER, 1)
    call(board[LOOP], board[ARGUMENTS])
    add_to(board, NUMBER, 1)
    while look_at(board, INSIDE) > 0:
        pass


@cache
def _leader(loop: Any) -> Any:
    """Return ``_lead`` for this loop, a copy with the loop's name, by which it is found on disk.

    Only the leader is compiled for callers in Python, also where there are no helpers: one file, and one
    function to load, for each loop and types of its arguments.
    """
    of_loop = loop.py_func
    options = loop.targetoptions | {"no_cpython_wrapper": True}
    part = jit(of_loop, pipeline_class=KernelCompiler, **options)
    leader = FunctionType(_lead.__code__, {**globals(), "loop": part}, f"{of_loop.__name__}_leader")
    leader.__module__, leader.__qualname__ = of_loop.__module__, of_loop.__qualname__
    return kernel(leader)


@kernel
def _help(board):
    """Take part in every loop that is announced, until none comes for some time."""
    add_to(board, WATCHING, 1)
    glances, last = 0, 0
    while glances < GLANCES:
        number = look_at(board, NUMBER)
        if number % 2 == 1 and number != last:
            # Whoever is inside keeps the leader from leaving, so the arguments stay valid.
            if add_to(board, INSIDE, 1) < board[HELPERS] and look_at(board, NUMBER) == number:
                call(board[LOOP], board[ARGUMENTS])
            add_to(board, INSIDE, -1)
            glances, last = 0, number
        else:
            glances += 1
    add_to(board, WATCHING, -1)


@kernel_helper
def take_piece(tickets):
    """Take the next piece."""
    return add_to(tickets, 0, 1)


def sum_over_pieces(sums: np.ndarray) -> np.ndarray:
    """Return the sum over the pieces, in order; a single piece is not copied."""
    return sums[0] if len(sums) == 1 else sums.sum(axis=0)


@lru_cache(256)  # a program may fit to data of any number of sizes
def even_cuts(size: int, piece: int) -> np.ndarray:
    """Return cuts of 0, …, size - 1 into pieces of about equal length.

    Examples
    --------
    >>> even_cuts(17, piece=2)
    array([ 0,  2,  4,  6,  8, 10, 12, 14, 17])
    >>> even_cuts(7, piece=2)
    array([0, 7])
    """
    pieces = number_of_pieces(size, piece)
    cuts = np.arange(pieces + 1) * size // pieces
    cuts.flags.writeable = False
    return cuts


def number_of_pieces(cost: float, piece: int) -> int:
    """Return into how many pieces work is divided; fewer than eight are not worth it, so they are one.

    Sharing a short loop would save less than a millisecond.
    """
    pieces = int(cost) // piece
    return pieces if pieces >= FEWEST_PIECES else 1


def cuts_by_cost(cost: np.ndarray, pieces: int) -> np.ndarray:
    """Return cuts of 0, …, len(cost) - 2 into at most ``pieces`` of about equal cost, given its running sum.

    Examples
    --------
    >>> cuts_by_cost(np.array([0, 3, 6, 9, 12, 15]), 3)
    array([0, 2, 4, 5])
    """
    # In whole numbers: NumPy would convert all costs to floating point otherwise.
    goals = cost[0] + (cost[-1] - cost[0]) * np.arange(pieces + 1) // pieces
    cuts = np.searchsorted(cost, goals.astype(cost.dtype))
    cuts[0], cuts[-1] = 0, len(cost) - 1
    return np.unique(cuts).astype(np.int64)
