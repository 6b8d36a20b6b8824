"""Items that need the results of others wait for them."""

import time
from threading import Event, Lock, Thread, get_ident

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dropglm.base.threads import each, in_team


@st.composite
def graphs(draw):
    n = draw(st.integers(0, 12))
    return [sorted(draw(st.sets(st.integers(0, k - 1), max_size=3))) if k else [] for k in range(n)]


@settings(max_examples=100, deadline=None)
@given(graphs(), st.integers(1, 6))
def test_every_item_comes_once_and_after_those_that_it_needs(needs, threads):
    done, lock, running = [], Lock(), set()

    def work(k):
        with lock:
            running.add(k)
            assert len(running) <= threads
            assert set(needs[k]) <= set(done)
            assert 1 <= in_team(threads) <= threads
        time.sleep(0.0002)
        with lock:
            running.discard(k)
            done.append(k)

    each(work, range(len(needs)), threads, needs)
    assert sorted(done) == list(range(len(needs)))
    if threads == 1:
        assert done == list(range(len(needs)))


def test_items_that_are_ready_run_at_the_same_time():
    """The second and third wait for the first, and then for each other."""
    inside = []

    def work(k):
        inside.append(get_ident())
        end = time.monotonic() + 10.0
        while k and len(inside) < 3 and time.monotonic() < end:
            time.sleep(0.001)

    each(work, range(3), 2, [(), (0,), (0,)])
    assert len(set(inside[1:])) == 2


def test_spare_threads_are_divided_among_the_items_that_are_running():
    sizes, inside, end = {}, [], time.monotonic() + 10.0

    def work(k):
        inside.append(k)
        while len(inside) < 3 and time.monotonic() < end:
            time.sleep(0.001)
        sizes[k] = in_team(16)
        # Inner work divides the threads of its team.
        assert sum(each(lambda _: in_team(16), range(2), 16)) >= sizes[k]
        assert max(each(lambda _: in_team(16), range(2), 16)) <= sizes[k]
        inside.append(k)
        while len(inside) < 6 and time.monotonic() < end:
            time.sleep(0.001)

    each(work, range(3), 7)
    assert sorted(sizes.values()) == [2, 2, 3]
    assert in_team(16) == 16


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_ends_all_items(threads, error):
    done = []

    def work(k):
        if k == 1:
            raise error("stop")
        done.append(k)

    with pytest.raises(error, match="stop"):
        each(work, range(4), threads, [(), (0,), (1,), (2,)])
    assert done == [0]


def test_an_item_that_outlives_the_failure_of_another_does_not_wait_for_ever():
    """The third item, which needs the failed one, never becomes ready."""
    failed, raised = Event(), []

    def work(k):
        if k == 1:
            failed.set()
            raise ValueError("stop")
        failed.wait(10.0)
        time.sleep(0.05)  # until the failure has been noticed

    def run():
        with pytest.raises(ValueError, match="stop") as error:
            each(work, range(3), 2, [(), (), (1,)])
        raised.append(error)

    thread = Thread(target=run, daemon=True)
    thread.start()
    thread.join(30.0)
    assert raised
