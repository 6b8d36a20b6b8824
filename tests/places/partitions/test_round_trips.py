"""Problems that ask in common rounds."""

import signal
from threading import Lock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dropglm.places.partitions import SerialEngine
from dropglm.places.partitions.round_trips import RoundTrips
from tests.places.partitions.cases import no_features


class Add:
    """A request: the sum over partitions of a number times the part."""

    def __init__(self, factor):
        self.factor = factor

    def of(self, part):
        return no_features([self.factor * part])


def rounds_of():
    return RoundTrips(SerialEngine(), [[1.0], [2.0]])


@settings(max_examples=30)
@given(st.data())
def test_items_start_after_those_that_they_need(data):
    """Each item asks as often as it likes; rounds are as many as the longest chain of items asks."""
    count = data.draw(st.integers(2, 8))
    needs = [
        data.draw(st.lists(st.integers(0, k - 1), max_size=2, unique=True)) if k else [] for k in range(count)
    ]
    asks = [data.draw(st.integers(0, 3)) for _ in range(count)]
    at_most = data.draw(st.integers(1, 4) | st.none())
    rounds, done, running, lock = rounds_of(), set(), set(), Lock()

    def work(k):
        with lock:
            assert done.issuperset(needs[k])
            running.add(k)
            assert len(running) <= (at_most or count)
        total = sum(float(rounds.ask(Add(k))[0].numbers[0]) for _ in range(asks[k]))
        with lock:
            running.remove(k)
            done.add(k)
        return total

    found = rounds.each(work, range(count), needs, at_most)
    assert found == [3.0 * k * asks[k] for k in range(count)]
    ends = []
    for k in range(count):
        ends.append(asks[k] + max((ends[other] for other in needs[k]), default=0))
    if at_most is None or at_most >= count:
        assert rounds.count == max(ends)
    else:
        assert max(ends) <= rounds.count <= sum(asks)


def test_an_error_ends_all_items():
    rounds = rounds_of()

    def work(k):
        for step in range(10):
            rounds.ask(Add(k))
            if k == 2 and step == 3:
                raise KeyError("lost")

    with pytest.raises(KeyError, match="lost"):
        rounds.each(work, range(5), [(), (), (), (0,), (2,)])
    assert rounds.count == 4
    assert rounds.each(lambda k: rounds.ask(Add(k))[0].numbers[0], [1, 2]) == list(np.array([3.0, 6.0]))


def test_an_interrupt_ends_a_round_at_once():
    """It reaches the thread that runs the rounds, and the problems that wait for answers end with it."""

    class Interrupting(SerialEngine):
        def total(self, *arguments):
            signal.raise_signal(signal.SIGINT)
            raise AssertionError("not interrupted")

    rounds, ended = RoundTrips(Interrupting(), []), []

    def ask(item):
        try:
            rounds.ask()
        finally:
            ended.append(item)

    with pytest.raises(KeyboardInterrupt):
        rounds.each(ask, range(3))
    assert sorted(ended) == [0, 1, 2]
