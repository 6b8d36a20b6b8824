"""Progress of equal steps, of steps that differ in cost, and of work without steps."""

import io
import time

import pytest

from dropglm.base import progress
from dropglm.base.progress import CLEAR_LINE, PRIOR_SECONDS, Progress


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


class FakeTerminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock():
    return Clock()


def fake_terminal(monkeypatch):
    """Make standard error a terminal; not a fixture, since pytest replaces the stream after the setup."""
    terminal = FakeTerminal()
    monkeypatch.setattr("sys.stderr", terminal)
    return terminal


def with_costs(*costs, **settings):
    return Progress("fits", costs=costs, shown=False, **settings)


def test_the_first_estimate_is_the_sum_of_the_costs():
    assert with_costs(1.0, 600.0).seconds_left() == 601.0


def test_the_time_that_steps_took_corrects_the_costs_of_the_others(clock):
    work = with_costs(0.0, 40.0, 1000.0, clock=clock)
    for cost, seconds in ((0.0, 0.0), (40.0, 80.0)):
        work.start_step("a", cost)
        clock.now += seconds
        work.finish_step()
    assert work.seconds_left() == pytest.approx(1000 * (PRIOR_SECONDS + 80) / (PRIOR_SECONDS + 40))


@pytest.mark.parametrize(("seconds", "counted"), [(80.0, 40.0), (20.0, 20.0)])
def test_a_first_step_that_takes_longer_than_its_cost_says_nothing_about_the_others(clock, seconds, counted):
    """It may have compiled functions."""
    work = with_costs(40.0, 1000.0, clock=clock)
    work.start_step("a", 40.0)
    clock.now += seconds
    work.finish_step()
    assert work.seconds_left() == pytest.approx(1000 * (PRIOR_SECONDS + counted) / (PRIOR_SECONDS + 40))


def test_cheap_steps_hardly_change_the_estimate_for_expensive_ones(clock):
    """A hundred steps that took no time leave nearly all of the time to the last."""
    work = with_costs(*[0.001] * 100, 60.0, clock=clock)
    for _ in range(100):
        work.start_step("cheap", 0.001)
        work.finish_step()
    assert 59 < work.seconds_left() < 61


def test_the_estimate_falls_during_a_step(clock):
    work = with_costs(60.0, 5.0, clock=clock)
    work.start_step("a", 60.0)
    assert work.seconds_left() == 65.0
    clock.now += 20.0
    assert work.seconds_left() == 45.0
    clock.now += 200.0  # longer than expected
    assert work.seconds_left() == 5.0


def test_a_skipped_step_does_not_change_the_estimate_for_the_others(clock):
    work = with_costs(60.0, 5.0, clock=clock)
    work.start_step("a", 60.0)
    clock.now += 1.0
    work.skip_step(60.0)
    assert work.seconds_left() == 5.0


def test_a_log_has_lines_while_a_step_is_running_and_only_then(capsys):
    lines = []

    def wait_for(number):
        end = time.monotonic() + 10
        while len(lines) < number:
            assert time.monotonic() < end
            time.sleep(0.001)
            lines.extend(capsys.readouterr().err.splitlines())

    with Progress("fits", costs=[30.0, 30.0], shown=True, log_every=0.001) as work:
        time.sleep(0.02)
        assert capsys.readouterr().err == ""
        work.start_step("a", 30.0)
        wait_for(1)
        assert work.share_done() == 0.0
        work.finish_step()
        assert work.share_done() == 0.5
        lines += capsys.readouterr().err.splitlines()
        work.start_step("b", 30.0)
        wait_for(len(lines) + 2)
        work.finish_step()
        capsys.readouterr()
        time.sleep(0.02)
        assert capsys.readouterr().err == ""
    assert lines[0] == "0/2 fits, 60 seconds left; a"
    assert lines[-1].startswith("1/2 fits, ")
    assert lines[-1].endswith(" left; b")
    assert capsys.readouterr().err.startswith("2/2 fits: 0.")
    assert not work.thread.is_alive()


def estimates(clock, times, total):
    """Return the estimates after each of the steps that are finished at these times."""
    work, found = Progress("fits", total, shown=False, clock=clock), []
    assert work.seconds_left() is None
    start = clock.now
    for time_of_step in times:
        clock.now = start + time_of_step
        work.advance()
        found.append(work.seconds_left())
    return found


def test_equal_steps_are_assumed_to_take_equal_times(clock):
    assert estimates(clock, [30, 60, 90, 120], 5) == [None, 90, 60, 30]


def test_a_slow_first_step_is_no_measure_of_the_others(clock):
    """One fit compiles for 20 s; the others take half a second each."""
    times = [20 + 0.5 * step for step in range(60)]
    found = estimates(clock, times, 60)
    assert found[:14] == [None] * 14  # 7 of 27 s are the first quarter
    assert found[14:] == pytest.approx([0.5 * (59 - step) for step in range(14, 60)])


def test_steps_that_end_together_are_no_evidence(clock):
    """16 threads finish their first steps within 0.3 s, and the next ones every two seconds."""
    times = [10 + 2 * batch + 0.02 * thread for batch in range(20) for thread in range(16)]
    found = estimates(clock, times, len(times))
    assert found[:32] == [None] * 32
    true = [times[-1] - time_of_step for time_of_step in times]
    assert all(0.5 * a < b < 2 * a for a, b in zip(true[32:-16], found[32:-16], strict=True))


def test_the_estimate_follows_a_change_of_pace(clock):
    """After a hundred quick steps, the others take ten times as long."""
    times = [*range(1, 101), *range(110, 3110, 10)]
    found = estimates(clock, times, len(times))
    assert found[99] == pytest.approx(300, rel=0.05)
    assert found[219] == pytest.approx(10 * (400 - 220), rel=0.05)


def test_many_steps_need_few_marks():
    work = Progress("texts", 10**6, shown=False)
    for _ in range(10**4):
        work.advance(100)
    assert len(work.marks) < 300


def test_a_terminal_shows_a_bar_that_is_replaced_at_the_end(clock, monkeypatch):
    terminal = fake_terminal(monkeypatch)
    with Progress("fits", 4, shown=True, clock=clock) as work:
        for _ in range(2):
            clock.now += 5.0
            work.advance(note="l2=1")
    drawn = terminal.getvalue().split(CLEAR_LINE)
    assert drawn[1].strip() == "0/4 fits"
    assert drawn[3] == "━━━━━━       2/4 fits, 10 seconds left; l2=1"
    assert drawn[-1] == "2/4 fits: 10.0 s; l2=1\n"


def test_a_bar_stays_within_the_width_of_the_terminal(clock, monkeypatch):
    terminal = fake_terminal(monkeypatch)
    monkeypatch.setenv("COLUMNS", "30")
    with Progress("fits", 4, shown=True, clock=clock) as work:
        clock.now += 5.0
        work.advance(note="x" * 100)
        assert len(terminal.getvalue().split(CLEAR_LINE)[-1]) == 29


def test_steps_of_unknown_number_are_counted(clock, monkeypatch):
    terminal = fake_terminal(monkeypatch)
    with Progress("iterations", shown=True, clock=clock) as work:
        clock.now += 2.0
        work.advance(1200, note="objective 3.5")
        assert work.seconds_left() is None
    drawn = terminal.getvalue().split(CLEAR_LINE)
    assert drawn[1:3] == ["iterations", "1,200 iterations; objective 3.5"]
    assert drawn[-1] == "1,200 iterations: 2.0 s; objective 3.5\n"


def test_a_log_has_one_line_per_interval_and_one_at_the_end(capsys, clock):
    with Progress("texts", 100, shown=True, clock=clock) as work:
        for _ in range(100):
            clock.now += 2.0
            work.advance()
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "31/100 texts, 2 minutes left"
    assert lines[-1] == "100/100 texts: 200.0 s"
    assert len(lines) == 200 // progress.LOG_EVERY + 1


@pytest.mark.parametrize(("total", "line"), [(None, "fits"), (5, "0/5 fits")])
def test_a_log_has_lines_while_there_is_nothing_to_count(capsys, total, line):
    """Work may take minutes without a step, such as the fit of ten thousand classes."""
    lines = []
    with Progress("fits", total, shown=True, log_every=0.001):
        end = time.monotonic() + 10
        while not lines:
            assert time.monotonic() < end
            time.sleep(0.001)
            lines += capsys.readouterr().err.splitlines()
    assert set(lines) == {line}


def test_a_line_without_an_estimate_says_how_long_the_work_has_taken(capsys, clock):
    with Progress("iterations", shown=True, clock=clock) as work:
        clock.now += 120.0
        work.advance(7, note="objective 3.5")
    assert capsys.readouterr().err.startswith("7 iterations, 2 minutes so far; objective 3.5\n")


def test_work_without_steps_is_named_with_its_time_unless_it_fails(capsys, clock):
    with Progress("Reading a.csv", shown=True, clock=clock):
        clock.now += 1.5
    assert capsys.readouterr().err == "Reading a.csv: 1.5 s\n"
    with pytest.raises(OSError, match="no file"), Progress("Reading b.csv", shown=True):
        raise OSError("no file")
    assert capsys.readouterr().err == ""


def test_nothing_is_written_where_it_is_not_shown(capsys, clock):
    with Progress("texts", 2, shown=False, clock=clock) as work:
        clock.now += 1000.0
        work.advance(2)
        work.write("a line")
    assert capsys.readouterr() == ("", "")


def test_a_closed_standard_error_is_no_failure(monkeypatch):
    monkeypatch.setattr("sys.stderr", None)
    with Progress("texts", 1, shown=True) as work:
        work.advance()
    assert work.done == 1
