"""Progress of equal steps, of steps that differ in cost, of work without steps, and of whole commands."""

import io
import time

import pytest

from dropglm.base import progress
from dropglm.base.progress import CLEAR_LINE, OVERDUE, PRIOR_SECONDS, Progress, Stages, begin_stage


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


def wait_until(condition):
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


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


@pytest.mark.parametrize("seconds", [80.0, 20.0])
def test_the_first_step_says_nothing_about_the_others(clock, seconds):
    """It may have compiled functions."""
    work = with_costs(40.0, 1000.0, clock=clock)
    work.start_step("a", 40.0)
    clock.now += seconds
    work.finish_step()
    assert work.seconds_left() == 1000.0


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
    assert work.seconds_left() == 5.0 + OVERDUE * 220.0


def test_a_skipped_step_does_not_change_the_estimate_for_the_others(clock):
    work = with_costs(60.0, 5.0, clock=clock)
    work.start_step("a", 60.0)
    clock.now += 1.0
    work.skip_step(60.0)
    assert work.seconds_left() == 5.0


def test_a_log_has_lines_while_a_step_is_running_and_only_then(capsys, monkeypatch):
    monkeypatch.setattr(progress, "LOG_EVERY", 0.001)
    lines = []

    def wait_for(number):
        wait_until(lambda: lines.extend(capsys.readouterr().err.splitlines()) or len(lines) >= number)

    with Progress("fits", costs=[30.0, 30.0], shown=True) as work:
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
        work._draw()
    drawn = terminal.getvalue().split(CLEAR_LINE)
    assert drawn[1].strip() == "0/4 fits"
    assert drawn[2] == "━━━━━━       2/4 fits, 10 seconds left; l2=1"
    assert drawn[-1] == "2/4 fits: 10.0 s; l2=1\n"


def test_a_bar_stays_within_the_width_of_the_terminal(clock, monkeypatch):
    terminal = fake_terminal(monkeypatch)
    monkeypatch.setenv("COLUMNS", "30")
    with Progress("fits", 4, shown=True, clock=clock) as work:
        clock.now += 5.0
        work.advance(note="x" * 100)
        work._draw()
        assert len(terminal.getvalue().split(CLEAR_LINE)[-1]) == 29


def test_steps_of_unknown_number_are_counted(clock, monkeypatch):
    terminal = fake_terminal(monkeypatch)
    with Progress("iterations", shown=True, clock=clock) as work:
        clock.now += 2.0
        work.advance(1200, note="objective 3.5")
        assert work.seconds_left() is None
        work._draw()
    drawn = terminal.getvalue().split(CLEAR_LINE)
    assert drawn[1:3] == ["iterations", "1,200 iterations; objective 3.5"]
    assert drawn[-1] == "1,200 iterations: 2.0 s; objective 3.5\n"


def test_a_terminal_is_redrawn_while_a_step_is_running(monkeypatch):
    """One fit may take minutes."""
    terminal = fake_terminal(monkeypatch)
    monkeypatch.setattr(progress, "BAR_EVERY", 0.001)
    with Progress("fits", 4, shown=True):
        wait_until(lambda: terminal.getvalue().count(CLEAR_LINE) >= 3)


@pytest.mark.parametrize(("total", "line"), [(None, "fits"), (5, "0/5 fits")])
def test_a_log_has_lines_while_there_is_nothing_to_count(capsys, clock, monkeypatch, total, line):
    """Work may take minutes without a step, such as the fit of ten thousand classes."""
    monkeypatch.setattr(progress, "LOG_EVERY", 0.001)
    lines = []
    with Progress("fits", total, shown=True, clock=clock):
        wait_until(lambda: lines.extend(capsys.readouterr().err.splitlines()) or lines)
    assert set(lines) == {line}


def test_a_line_without_an_estimate_says_how_long_the_work_has_taken(capsys, clock):
    with Progress("iterations", shown=True, clock=clock) as work:
        clock.now += 120.0
        work.advance(7, note="objective 3.5")
        work._draw()
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


def test_parts_of_steps_add_up(clock):
    work = Progress("fits", 2, shown=False, clock=clock)
    for _ in range(3):
        work.advance(1 / 3)
    assert work._count() == "1/2 fits"


@pytest.fixture
def stages(clock):
    """A command that reads, counts and fits; reading is over, and the costs of the rest are known."""
    with Stages(shown=False, clock=clock) as work:
        begin_stage("Reading")
        clock.now += 2.0
        work.plan([("Counting", 10.0), ("Fitting", 20.0), ("Fitting more", 30.0), ("Saving", 8.0)])
        begin_stage("Counting")
        yield work


def test_the_time_left_is_that_of_all_stages(stages, clock):
    assert stages.seconds_left() == 68.0
    clock.now += 4.0
    assert stages.seconds_left() == 64.0
    assert stages.share_done() == 6.0 / 70.0


def test_there_is_no_estimate_before_the_costs_are_known(clock):
    with Stages(shown=False, clock=clock) as work:
        begin_stage("Reading")
        assert (work.seconds_left(), work.share_done()) == (None, None)


def test_a_stage_that_is_not_needed_is_left_out(stages, clock):
    clock.now += 10.0
    begin_stage("Fitting")
    clock.now += 20.0
    begin_stage("Saving")
    assert stages.seconds_left() == 8.0


def test_steps_of_a_stage_correct_its_estimate_and_those_of_later_stages(stages, clock):
    """Counting takes twice as long as expected; the first step, which compiles, is not a measure."""
    with Progress("texts", 100, shown=True, clock=clock) as counted:
        clock.now += 60.0
        counted.advance(10)
        assert stages.seconds_left() == pytest.approx(67.0, abs=1)
        while counted.done < 100:
            clock.now += 2.0
            counted.advance(10)
    begin_stage("Fitting")
    with Progress("fits", 10, shown=True, clock=clock):
        assert 1.3 * 58 < stages.seconds_left() < 2 * 58


def test_steps_within_a_step_change_nothing(stages):
    """The fits of a comparison have stages of their own."""
    with Progress("fits", 10, shown=True) as fits:
        begin_stage("Saving")
        with Progress("texts", 1000, shown=True) as texts:
            texts.advance(1000)
        assert stages._count() == "Counting: 0/10 fits"
    assert fits.done == 0


def test_the_bar_never_goes_back(stages, clock):
    """A stage takes far longer than expected, and one that was not expected follows."""
    shares = []
    for name, seconds in (("Counting", 5), ("Fitting", 300), ("Checking", 100), ("Saving", 1)):
        begin_stage(name)
        for _ in range(seconds):
            clock.now += 1.0
            shares.append(stages.share_done())
    assert shares == sorted(shares)
    assert shares[-1] < 1.0


def test_a_whole_command_is_one_line(clock, monkeypatch):
    terminal = fake_terminal(monkeypatch)
    with Stages(shown=True, clock=clock) as work:
        work.plan([("Counting", 3.0), ("Computing", 1.0)])
        begin_stage("Counting")
        with Progress("texts", 4, shown=True, clock=clock) as texts:
            clock.now += 0.75
            texts.advance(1)
            work._draw()
            clock.now += 2.25
            texts.advance(3)
        with Progress("Computing", is_stage=True, shown=True):
            work._draw()
            clock.now += 1.0
        work.write("a line that stays")
        work.close()
    drawn = terminal.getvalue().split(CLEAR_LINE)[1:]
    assert drawn[0] == "0:00 Starting"
    assert "━━           0:00 Counting: 1/4 texts, 3 seconds left" in drawn
    assert "━━━━━━━━━    0:03 Computing, 1 second left" in drawn
    assert "a line that stays\n" in drawn
    assert drawn[-1] == "Took 4.0 s: counting 3.0 s, computing 1.0 s.\n"
    assert begin_stage("Counting") is None  # which nobody shows
    assert terminal.getvalue().endswith(drawn[-1])


def test_work_within_a_quiet_command_is_quiet(capsys):
    with Stages(shown=False), Progress("fits", 2, shown=True) as work:
        work.advance(2)
        work.write("a line")
    assert capsys.readouterr() == ("", "")


def test_a_command_that_fails_leaves_no_line(capsys):
    with pytest.raises(OSError, match="no file"), Stages(shown=True):
        raise OSError("no file")
    assert capsys.readouterr().err == ""
