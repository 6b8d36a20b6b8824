"""Progress of long work on standard error: a line that is redrawn in a terminal, occasional lines in a log.

``Progress`` counts the steps of one piece of work, and ``Stages`` shows a whole command as one line. Also a
notice for users who wait while functions are compiled; it must not import the compiler.
"""

import shutil
import sys
import time
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from threading import Event, Lock, Thread
from typing import Self

BAR_WIDTH = 12  # characters
BAR_EVERY, LOG_EVERY = 0.2, 60.0  # seconds between two drawings of the bar, or two lines of a log
# How much measured work the stated costs are worth when both estimate the time left: so many seconds, but at
# most this share of the work.
PRIOR_SECONDS, PRIOR_SHARE = 10.0, 0.1
EVIDENCE = 0.25  # share of the time so far that steps after the first must have taken for an estimate
SHORTEST = 0.05  # seconds of a stage that the last line names
OVERDUE = 0.25  # work that takes longer than expected is expected to take this share of its time once more
CLEAR_LINE = "\r\x1b[K"


class Progress:
    """Show how far a piece of work has got, and estimate the time left.

    In a terminal this is one line that a thread redraws; elsewhere it is one line per minute and one at the
    end. Within ``Stages`` it has no line of its own. The steps may be equal (``total`` and ``advance``), of
    unknown number (``total=None``), or differ in cost (``costs`` with ``start_step``, ``finish_step`` and
    ``skip_step``). All methods may be called from any thread.

    The first step may compile functions and start from nothing, so the time left does not follow from how
    long it took, nor do those that other threads finish at about the same time. Without costs, there is no
    estimate until later steps have taken a quarter of the time so far; then the others are expected to take
    as long as the later half of the finished ones.

    Parameters
    ----------
    what : str
        What the steps are, such as ``"fits"``; without steps, what is being done, such as ``"Reading"``.
    total : int or None, default=None
        Number of steps; None if it is unknown. Ignored if ``costs`` are given.
    shown : bool
        Write nothing if False.
    likely : float, default=1.0
        Share of the steps that are likely to be needed; the others are left out later.
    is_stage : bool, default=False
        Whether it is a stage of its own within ``Stages``, not the steps of one.
    costs : sequence of float, default=None
        Rough number of seconds that each step takes. The time that finished steps took corrects the costs of
        the others, except that of the first; the costs themselves count as ``PRIOR_SECONDS`` of measured
        time, so that there is an estimate from the start. The line is drawn only while a step is running, so
        that it does not interrupt what is printed between steps.
    clock : callable, default=time.monotonic

    Attributes
    ----------
    done : float
        Number of finished steps, with parts of steps.
    total : int or None
        Number of steps, without those that were skipped.

    Examples
    --------
    >>> with Progress("fits", 3, shown=False) as progress:
    ...     for _ in range(3):
    ...         progress.advance()
    >>> progress.done
    3.0
    >>> progress = Progress("fits", costs=[1.0, 60.0], shown=False)
    >>> progress.start_step("a short one", 1.0)
    >>> progress.finish_step()
    >>> in_words(progress.seconds_left())
    '60 seconds'
    """

    def __init__(
        self,
        what: str,
        total: int | None = None,
        *,
        shown: bool,
        likely: float = 1.0,
        is_stage: bool = False,
        costs: Sequence[float] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.what, self.shown, self.likely, self.is_stage = what, shown, likely, is_stage
        self.clock = clock
        self.total = total if costs is None else len(costs)
        self.total_cost = None if costs is None else sum(costs)
        self.cost_per_step: float | None = None  # of equal steps, if the costs of stages are known
        self.rate = 1.0  # seconds per second of cost, before any were measured
        self.note = ""
        self.done, self.done_cost = 0.0, 0.0
        self.measured_seconds, self.measured_cost = 0.0, 0.0  # of steps whose time is a measure of others
        self.step_running, self.step_cost, self.step_start = costs is None, 0.0, clock()
        self.start, self.first_until = clock(), 0.0
        self.marks: list[tuple[float, float]] = []  # steps that were finished at a time, at most 5 % apart
        self.in_terminal = is_terminal()
        self.every = BAR_EVERY if self.in_terminal else LOG_EVERY
        self.lock, self.closed = Lock(), Event()
        self.thread: Thread | None = None
        self.stages: Stages | None = None  # of which it is a part

    def __enter__(self) -> Self:
        stages = _open_stages.get()
        if stages is not None:
            self.shown = False
            if self.is_stage:
                stages.begin(self.what)
            elif stages.add(self):
                self.stages = stages
        if self.shown:
            if self.in_terminal and self.step_running:
                self._draw()
            self.thread = Thread(target=self._redraw, daemon=True)
            self.thread.start()
        return self

    def advance(self, steps: float = 1, note: str = "") -> None:
        """Count finished steps, if any; ``note`` is shown after them, such as the value of an objective."""
        with self.lock:
            self.note = note
            if not steps:
                return
            self._finish(steps, steps * (self.cost_per_step or 0.0))
            self.step_start = self.clock()
            if not self.marks or self.done >= 1.05 * self.marks[-1][0]:
                self.marks.append((self.done, self.clock()))

    def leave_out(self, steps: int) -> None:
        """Reduce the number of steps, of equal ones that turn out not to be needed."""
        with self.lock:
            if self.total is not None:
                self.total -= steps
                if self.cost_per_step is not None:
                    self.total_cost = self.total * self.cost_per_step

    def start_step(self, note: str, cost: float) -> None:
        """Start a step of the given cost; ``note`` says which one it is."""
        with self.lock:
            self.note, self.step_cost, self.step_start, self.step_running = note, cost, self.clock(), True

    def finish_step(self) -> None:
        """Count the running step as finished."""
        with self.lock:
            self._finish(1, self.step_cost)
            self._end_step()

    def skip_step(self, cost: float) -> None:
        """Leave out a step of the given cost, which may be the running one."""
        with self.lock:
            if self.total is not None and self.total_cost is not None:
                self.total -= 1
                self.total_cost -= cost
            self._end_step()

    def _finish(self, steps: float, cost: float) -> None:
        """Count steps that end now."""
        now = self.clock()
        if not self.done:
            self.first_until = now + min(EVIDENCE * (now - self.step_start), self._pace() * cost)
        if now > self.first_until:
            self.measured_seconds += now - self.step_start
            self.measured_cost += cost
        self.done += steps
        self.done_cost += cost

    def _end_step(self) -> None:
        self.note, self.step_cost, self.step_running = "", 0.0, False

    def _pace(self) -> float:
        """Return how many seconds a second of cost takes."""
        prior = min(PRIOR_SECONDS, PRIOR_SHARE * (self.total_cost or 0.0))
        cost = prior + self.measured_cost
        return (prior * self.rate + self.measured_seconds) / cost if cost else self.rate

    def seconds_left(self) -> float | None:
        """Estimate the time left; None as long as nothing is known about it."""
        now = self.clock()
        if self.total_cost is not None:
            pace, left = self._pace(), self.total_cost - self.done_cost
            step = self.step_cost if self.cost_per_step is None else min(left, self.cost_per_step)
            seconds = now - self.step_start if self.step_running else 0.0
            return pace * max(0.0, left - step) + max(pace * step - seconds, OVERDUE * seconds)
        if self.total is None or not self.marks or now - self.marks[0][1] < EVIDENCE * (now - self.start):
            return None
        first_half = [mark for mark in self.marks if mark[0] <= self.done / 2]
        done, since = first_half[-1] if first_half else self.marks[0]
        return (now - since) * (self.total - self.done) / (self.done - done) if self.done > done else None

    def share_done(self) -> float | None:
        """Share of the work that is done, by cost where costs are known; None if the total is unknown."""
        if self.total_cost is not None:
            return self.done_cost / self.total_cost if self.total_cost else 0.0
        return min(1.0, self.done / self.total) if self.total else None

    def write(self, line: str) -> None:
        """Write a line that stays, above the bar."""
        if line and (self.shown or (self.stages is not None and self.stages.shown)):
            write_line(line)

    def _count(self) -> str:
        done = f"{int(self.done + 1e-6):,}"  # thirds of a step add up to a step
        if self.total is not None:
            return f"{done}/{self.total:,} {self.what}"
        return f"{done} {self.what}" if self.done else self.what

    def _line(self) -> str:
        left, elapsed = self.seconds_left(), self.clock() - self.start
        so_far = f", {in_words(elapsed)} so far" if elapsed >= LOG_EVERY else ""
        time_left = so_far if left is None else f", {in_words(left)} left"
        return f"{self._count()}{time_left}{self.note and f'; {self.note}'}"

    def _last_line(self) -> str:
        return f"{self._count()}: {self.clock() - self.start:.1f} s{self.note and f'; {self.note}'}"

    def _draw(self) -> None:
        if not self.in_terminal:
            _write(f"{self._line()}\n")
            return
        share = self.share_done()
        bar = "" if share is None else f"{'━' * round(BAR_WIDTH * share):<{BAR_WIDTH}} "
        width = shutil.get_terminal_size().columns - 1
        _write(CLEAR_LINE + f"{bar}{self._line()}"[:width])

    def _redraw(self) -> None:
        while not self.closed.wait(self.every):
            with self.lock:
                if self.step_running:
                    self._draw()

    def __exit__(self, kind: object, *error: object) -> None:
        self.closed.set()
        if self.thread is not None:
            self.thread.join()
        if self.stages is not None:
            self.stages.remove(self)
        if self.shown:
            clear_bar()
            if self.done or (self.total is None and kind is None):
                self.write(self._last_line())


class Stages(Progress):
    """Show a whole command as one line: its stages, a bar, and the time left until its end.

    While it is open, the functions that the command calls name the stages (``begin_stage``), and every
    ``Progress`` of the same thread counts steps of the running stage. The costs of the stages, once they are
    known, give the estimate; as with steps, the time that the finished ones took corrects those of the
    others. The bar is the share of the whole time that has passed, and never goes back.

    Parameters
    ----------
    shown : bool
        Write nothing if False, also about the work within.
    clock : callable, default=time.monotonic

    Examples
    --------
    >>> with Stages(shown=False) as stages:
    ...     begin_stage("Reading")
    ...     stages.plan([("Counting n-grams", 5.0), ("Final fit", 2.0)])
    ...     in_words(stages.seconds_left())
    '7 seconds'
    """

    def __init__(self, *, shown: bool, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__("Starting", shown=shown, clock=clock)
        self.later: list[tuple[str, float]] = []  # stages to come, with their costs
        self.steps: Progress | None = None  # those of the running stage
        self.share = 0.0
        self.seconds: dict[str, float] = {}  # that each stage took

    def __enter__(self) -> Self:
        super().__enter__()
        self.token = _open_stages.set(self)
        return self

    def plan(self, costs: Sequence[tuple[str, float]]) -> None:
        """State which stages follow, and roughly how many seconds each takes; some may not be needed."""
        with self.lock:
            self.later = list(costs)
            self.total_cost = sum(cost for _, cost in costs)

    def begin(self, name: str) -> None:
        """End the running stage and begin another one; planned ones before it are left out."""
        with self.lock:
            if self.steps is not None:  # this is work within a step
                return
            self._end_stage()
            self.what, self.step_start, self.step_cost = name, self.clock(), 0.0
            names = [planned for planned, _ in self.later]
            if name in names:
                place = names.index(name)
                self.step_cost = self.later[place][1]
                del self.later[: place + 1]

    def add(self, steps: Progress) -> bool:
        """Let the running stage consist of these steps, unless others are being counted."""
        with self.lock:
            if self.steps is not None:
                return False
            self.steps, steps.rate = steps, self._pace()
            if self.step_cost and steps.total and steps.total_cost is None:
                steps.total_cost = self.step_cost
                steps.cost_per_step = self.step_cost / (steps.likely * steps.total)
            return True

    def remove(self, steps: Progress) -> None:
        """End the steps; the stage may go on without."""
        with self.lock:
            if steps.cost_per_step is not None:
                self.measured_seconds += steps.measured_seconds
                self.measured_cost += steps.measured_cost
                self.step_cost = 0.0
            self.steps = None

    def seconds_left(self) -> float | None:
        """Estimate the time left; only that of the running stage if the costs of others are unknown."""
        left = None if self.steps is None else self.steps.seconds_left()
        if self.total_cost is None:
            return left
        pace, seconds = self._pace(), self.clock() - self.step_start
        if left is None:
            left = max(pace * self.step_cost - seconds, OVERDUE * seconds)
        return left + pace * sum(cost for _, cost in self.later)

    def share_done(self) -> float | None:
        """Share of the whole time that has passed; None as long as nothing is known about it."""
        left, elapsed = self.seconds_left(), self.clock() - self.start
        if self.total_cost is None or left is None:
            return None
        self.share = max(self.share, elapsed / (elapsed + left) if elapsed else 0.0)
        return self.share

    def _end_stage(self) -> None:
        seconds = self.clock() - self.step_start
        self.seconds[self.what] = self.seconds.get(self.what, 0.0) + seconds

    def _count(self) -> str:
        steps = self.steps
        counted = steps is not None and (steps.total or steps.done)
        return f"{self.what}: {steps._count()}" if steps is not None and counted else self.what

    def _line(self) -> str:
        minutes, seconds = divmod(int(self.clock() - self.start), 60)
        return f"{minutes}:{seconds:02d} {super()._line()}"

    def _last_line(self) -> str:
        self._end_stage()
        long = [(name, seconds) for name, seconds in self.seconds.items() if seconds >= SHORTEST]
        taken = ", ".join(f"{name[0].lower()}{name[1:]} {seconds:.1f} s" for name, seconds in long)
        return f"Took {self.clock() - self.start:.1f} s{taken and f': {taken}'}."

    def close(self) -> None:
        """End the command before its results are printed; the end of the context does nothing then."""
        self.__exit__(None)

    def __exit__(self, kind: object, *error: object) -> None:
        if not self.closed.is_set():
            _open_stages.reset(self.token)
            super().__exit__(kind, *error)


_open_stages: ContextVar[Stages | None] = ContextVar("open_stages", default=None)


def begin_stage(name: str) -> None:
    """Say that another stage of a command begins, if one is shown as ``Stages``.

    Examples
    --------
    >>> begin_stage("Reading")
    """
    stages = _open_stages.get()
    if stages is not None:
        stages.begin(name)


def is_terminal() -> bool:
    """Return whether standard error is a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


def clear_bar() -> None:
    """Remove the bar from the terminal, so that something else can be written there."""
    if is_terminal():
        _write(CLEAR_LINE)


def write_line(line: str) -> None:
    """Write a line to standard error, in place of the bar, which the next drawing puts below it."""
    _write(f"{CLEAR_LINE if is_terminal() else ''}{line}\n")


def _write(text: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(text)
        sys.stderr.flush()


def in_words(seconds: float) -> str:
    """Return a duration in words, rounded to about two digits.

    Examples
    --------
    >>> [in_words(seconds) for seconds in (0.2, 1.2, 80, 300, 7500)]
    ['less than a second', '1 second', '80 seconds', '5 minutes', '2 hours 5 minutes']
    """
    if seconds < 0.5:
        return "less than a second"
    if seconds < 99.5:
        return plural(round(seconds), "second")
    minutes = round(seconds / 60)
    if minutes < 100:
        return plural(minutes, "minute")
    hours, minutes = divmod(minutes, 60)
    return plural(hours, "hour") + (f" {plural(minutes, 'minute')}" if minutes else "")


def plural(number: int, noun: str) -> str:
    """Return a number with a noun, such as "1 text" or "1,200 texts"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _log(reason: str) -> None:
    import logging

    logging.getLogger("dropglm").warning("compiling functions, since %s.", reason)


_notices: list[Callable[[str], None]] = [_log]


def before_compiling(notice: Callable[[str], None] | None) -> None:
    """Call ``notice`` once, with the reason, right before the first function is compiled; None: nothing.

    By default, a warning is logged.

    Examples
    --------
    >>> before_compiling(lambda reason: print(f"This takes a moment, since {reason}."))
    >>> about_to_compile("the sources have changed")
    This takes a moment, since the sources have changed.
    >>> about_to_compile("the sources have changed")
    """
    _notices[:] = [] if notice is None else [notice]


def about_to_compile(reason: str) -> None:
    """Give the notice, unless it has been given."""
    while _notices:
        _notices.pop()(reason)
