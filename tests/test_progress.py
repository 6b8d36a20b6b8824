"""The time left of a run whose steps differ in cost."""

import time

import pytest

from dropglm.progress import BELIEVED, TimeLeft


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_costs_are_believed_at_first():
    assert TimeLeft([1.0, 600.0]).seconds() == 601.0


def test_what_steps_took_corrects_what_others_cost(clock):
    left = TimeLeft([40.0, 1000.0], clock=clock)
    left.begin("a", 40.0)
    clock.now += 80.0
    left.end()
    assert left.seconds() == pytest.approx(1000 * (BELIEVED + 80) / (BELIEVED + 40))


def test_cheap_steps_do_not_speak_for_dear_ones(clock):
    """A hundred steps that took no time leave nearly all of the time to the last."""
    left = TimeLeft([0.001] * 100 + [60.0], clock=clock)
    for _ in range(100):
        left.begin("cheap", 0.001)
        left.end()
    assert 59 < left.seconds() < 61


def test_time_passes_within_a_step(clock):
    left = TimeLeft([60.0, 5.0], clock=clock)
    left.begin("a", 60.0)
    assert left.seconds() == 65.0
    clock.now += 20.0
    assert left.seconds() == 45.0
    clock.now += 200.0  # longer than it should
    assert left.seconds() == 5.0


def test_a_step_that_is_left_out_is_no_evidence(clock):
    left = TimeLeft([60.0, 5.0], clock=clock)
    left.begin("a", 60.0)
    clock.now += 1.0
    left.skip(60.0)
    assert left.seconds() == 5.0


def test_it_is_told_while_a_step_is_under_way_and_only_then():
    told = []
    with TimeLeft([30.0, 30.0], tell=lambda *said: told.append(said), every=0.001) as left:
        time.sleep(0.02)
        assert told == []
        left.begin("a", 30.0)
        waited(told, 1)
        left.end()
        number = len(told)
        left.begin("b", 30.0)
        waited(told, number + 2)
        left.end()
        number = len(told)
        time.sleep(0.02)
        assert len(told) == number
    assert told[0] == (0.0, "0 of 2 fits, 60 seconds left; a")
    assert told[-1][0] == 0.5
    assert told[-1][1].startswith("1 of 2 fits, ")
    assert told[-1][1].endswith(" left; b")
    assert not left.thread.is_alive()


def waited(told, number):
    end = time.monotonic() + 10
    while len(told) < number:
        assert time.monotonic() < end
        time.sleep(0.001)
