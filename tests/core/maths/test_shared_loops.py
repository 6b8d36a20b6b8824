import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from dropglm.core.maths.compile import kernel
from dropglm.core.maths.instructions import add_to, look_at
from dropglm.core.maths.shared_loops import cuts_by_cost, even_cuts, run_shared_loop, take_piece


@kernel
def add_one(cuts, tickets, x):
    piece = take_piece(tickets)
    while piece < cuts.size - 1:
        for i in range(cuts[piece], cuts[piece + 1]):
            x[i] += 1
        piece = take_piece(tickets)


@pytest.mark.parametrize("threads", [1, 2, 3, 40])
def test_every_piece_is_done_once(threads):
    for size in (1, 7, 1000):
        x = np.zeros(size, np.int64)
        for calls in range(1, 21):
            run_shared_loop(add_one, even_cuts(size, 3), threads, x)
            assert (x == calls).all()


@kernel
def fail_at(cuts, tickets, where, x):
    piece = take_piece(tickets)
    while piece < cuts.size - 1:
        if piece == where:
            raise MemoryError
        x[piece] += 1
        piece = take_piece(tickets)


@pytest.mark.parametrize("where", [0, 500])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_an_error_on_any_thread_is_raised(threads, where):
    for _ in range(20):
        x = np.zeros(1000, np.int64)
        with pytest.raises(MemoryError):
            run_shared_loop(fail_at, even_cuts(1000, 1), threads, where, x)
        assert x[where] == 0
    # The threads are ready for the next loop.
    x[:] = 0
    run_shared_loop(fail_at, even_cuts(1000, 1), threads, -1, x)
    assert (x == 1).all()


def test_many_threads_may_share_loops_at_the_same_time():
    def work(number):
        x = np.zeros(5000, np.int64)
        for _ in range(50):
            run_shared_loop(add_one, even_cuts(5000, 10), 3, x)
        return (x == 50).all()

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(16)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process")  # newer versions of Python warn about threads
def test_a_forked_process_starts_threads_of_its_own():
    x = np.zeros(100, np.int64)
    run_shared_loop(add_one, even_cuts(100, 10), 2, x)
    child = os.fork()
    if child == 0:
        run_shared_loop(add_one, even_cuts(100, 10), 2, x)
        os._exit(0 if (x == 2).all() else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_tickets_count_in_python_as_in_compiled_code():
    tickets = np.zeros(1, np.int64)
    assert [add_to(tickets, 0, 1), add_to(tickets, 0, 2), look_at(tickets, 0)] == [0, 1, 3]
    assert [take_piece.py_func(tickets), kernel(lambda tickets: take_piece(tickets))(tickets)] == [3, 4]


@given(size=st.integers(0, 500), piece=st.integers(1, 50))
def test_even_cuts_cover_everything_once(size, piece):
    cuts = even_cuts(size, piece)
    assert (cuts[0], cuts[-1]) == (0, size)
    assert np.ptp(np.diff(cuts)) <= 1
    assert np.diff(cuts).max() < 8 * piece
    assert len(cuts) == 2 or np.diff(cuts).max() < 2 * piece


@given(costs=st.lists(st.integers(0, 9), min_size=1, max_size=60), pieces=st.integers(1, 9))
def test_cuts_by_cost_cover_everything_once(costs, pieces):
    cost = np.concatenate([[0], np.cumsum(costs)])
    cuts = cuts_by_cost(cost, pieces)
    assert (cuts[0], cuts[-1]) == (0, len(costs))
    assert (np.diff(cuts) > 0).all()
    assert len(cuts) - 1 <= pieces
    assert np.diff(cost[cuts]).max() <= cost[-1] / pieces + 2 * max(costs)
    assert_array_equal(cuts, cuts_by_cost(cost + 5, pieces))
