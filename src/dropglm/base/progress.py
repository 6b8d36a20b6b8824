"""Progress of long work on standard error: a bar in a terminal, occasional lines in a log.

Also a notice for users who wait while functions are compiled; it must not import the compiler.
"""

import shutil
import sys
import time
from collections.abc import Callable, Sequence
from threading import TIMEOUT_MAX, Event, Lock, Thread
from typing import Self

BAR_WIDTH = 12  # characters
BAR_EVERY, LOG_EVERY = 0.2, 60.0  # seconds between two drawings of the bar, or two lines of a log
PRIOR_SECONDS = 10.0  # how much measured work the stated costs are worth when both estimate the time left
EVIDENCE = 0.25  # share of the time so far that steps after the first must have taken for an estimate
CLEAR_LINE = "\r\x1b[K"


class Progress:
    """Show how far a piece of work has got, and estimate the time left.

    In a terminal this is one line that is redrawn; elsewhere it is one line per minute and one at the end.
    The steps may be equal (``total`` and ``advance``), of unknown number (``total=None``), or differ in cost
    (``costs`` with ``start_step``, ``finish_step`` and ``skip_step``). All methods may be called from any
    thread.

    The first step may compile functions and start from nothing, so the time left does not follow from how
    long it took. There is no estimate for equal steps until those after the first have taken a quarter of
    the time so far; then the others are expected to take as long as the later half of the finished ones.

    Parameters
    ----------
    what : str
        What the steps are, such as ``"fits"``; without steps, what is being done, such as ``"Reading"``.
    total : int or None, default=None
        Number of steps; None if it is unknown. Ignored if ``costs`` are given.
    shown : bool
        Write nothing if False.
    costs : sequence of float, default=None
        Rough number of seconds that each step takes. The time that finished steps took corrects the costs of
        the others, where the first counts with its cost if it took longer; the costs themselves count as
        ``PRIOR_SECONDS`` of measured time, so that there is an estimate from the start. Since one step may
        take minutes, the line is redrawn from a thread, and only while a step is running, so that it does not
        interrupt what is printed between steps.
    log_every : float, default=LOG_EVERY
        Seconds between two lines where standard error is not a terminal.
    clock : callable, default=time.monotonic

    Attributes
    ----------
    done : int
        Number of finished steps.
    total : int or None
        Number of steps, without those that were skipped.

    Examples
    --------
    >>> with Progress("fits", 3, shown=False) as progress:
    ...     for _ in range(3):
    ...         progress.advance()
    >>> progress.done
    3
    >>> progress = Progress("fits", costs=[1.0, 60.0], shown=False)
    >>> progress.start_step("a short one", 1.0)
    >>> progress.finish_step()
    >>> in_words(progress.seconds_left())
    '55 seconds'
    """

    def __init__(
        self,
        what: str,
        total: int | None = None,
        *,
        shown: bool,
        costs: Sequence[float] | None = None,
        log_every: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.what, self.shown, self.clock = what, shown, clock
        self.total = total if costs is None else len(costs)
        self.total_cost = None if costs is None else sum(costs)
        self.note = ""
        self.done, self.done_cost, self.done_seconds = 0, 0.0, 0.0
        self.step_running, self.step_cost, self.step_start = False, 0.0, 0.0
        self.start = self.last_drawn = clock()
        self.marks: list[tuple[int, float]] = []  # steps that were finished at a time, at most 5 % apart
        self.in_terminal = is_terminal()
        self.every = BAR_EVERY if self.in_terminal else LOG_EVERY if log_every is None else log_every
        self.lock, self.closed = Lock(), Event()
        self.thread: Thread | None = None

    def __enter__(self) -> Self:
        if self.shown and (self.total_cost is not None or not self.in_terminal):
            self.thread = Thread(target=self._redraw, daemon=True)
            self.thread.start()
        elif self.shown:
            self._draw()
        return self

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Count finished steps, if any; ``note`` is shown after them, such as the value of an objective."""
        with self.lock:
            self.done += steps
            self.note = note
            if steps and (not self.marks or self.done >= 1.05 * self.marks[-1][0]):
                self.marks.append((self.done, self.clock()))
            finished = self.in_terminal and self.done == self.total
            if self.shown and (self.clock() - self.last_drawn > self.every or finished):
                self._draw()

    def leave_out(self, steps: int) -> None:
        """Reduce the number of steps, of equal ones that turn out not to be needed."""
        with self.lock:
            if self.total is not None:
                self.total -= steps

    def start_step(self, note: str, cost: float) -> None:
        """Start a step of the given cost; ``note`` says which one it is."""
        with self.lock:
            self.note, self.step_cost, self.step_start, self.step_running = note, cost, self.clock(), True

    def finish_step(self) -> None:
        """Count the running step as finished."""
        with self.lock:
            seconds = self.clock() - self.step_start
            self.done_seconds += seconds if self.done else min(seconds, self.step_cost)
            self.done_cost += self.step_cost
            self.done += 1
            self._end_step()

    def skip_step(self, cost: float) -> None:
        """Leave out a step of the given cost, which may be the running one."""
        with self.lock:
            if self.total is not None and self.total_cost is not None:
                self.total -= 1
                self.total_cost -= cost
            self._end_step()

    def _end_step(self) -> None:
        self.note, self.step_cost, self.step_running = "", 0.0, False

    def seconds_left(self) -> float | None:
        """Estimate the time left; None as long as nothing is known about it."""
        if self.total is None:
            return None
        if self.total_cost is None:
            now = self.clock()
            if not self.marks or now - self.marks[0][1] < EVIDENCE * (now - self.start):
                return None
            first_half = [mark for mark in self.marks if mark[0] <= self.done / 2]
            done, since = first_half[-1] if first_half else self.marks[0]
            return (now - since) * (self.total - self.done) / (self.done - done) if self.done > done else None
        rate = (PRIOR_SECONDS + self.done_seconds) / (PRIOR_SECONDS + self.done_cost)
        later = rate * (self.total_cost - self.done_cost - self.step_cost)
        running = rate * self.step_cost - (self.clock() - self.step_start) if self.step_running else 0.0
        return max(0.0, later) + max(0.0, running)

    def share_done(self) -> float:
        """Share of the work that is done, by cost where costs are known; 0 if the total is unknown."""
        if self.total_cost is not None:
            return self.done_cost / self.total_cost if self.total_cost else 0.0
        return min(1.0, self.done / self.total) if self.total else 0.0

    def write(self, line: str) -> None:
        """Write a line that stays, above the bar."""
        if self.shown and line:
            clear_bar()
            _write(f"{line}\n")

    def _count(self) -> str:
        if self.total is not None:
            return f"{self.done:,}/{self.total:,} {self.what}"
        return f"{self.done:,} {self.what}" if self.done else self.what

    def _line(self) -> str:
        left, elapsed = self.seconds_left(), self.clock() - self.start
        so_far = f", {in_words(elapsed)} so far" if elapsed >= LOG_EVERY else ""
        time_left = so_far if left is None else f", {in_words(left)} left"
        return f"{self._count()}{time_left}{self.note and f'; {self.note}'}"

    def _last_line(self) -> str:
        return f"{self._count()}: {self.clock() - self.start:.1f} s{self.note and f'; {self.note}'}"

    def _draw(self) -> None:
        self.last_drawn = self.clock()
        if not self.in_terminal:
            _write(f"{self._line()}\n")
            return
        bar = "" if self.total is None else f"{'━' * round(BAR_WIDTH * self.share_done()):<{BAR_WIDTH}} "
        width = shutil.get_terminal_size().columns - 1
        _write(CLEAR_LINE + f"{bar}{self._line()}"[:width])

    def _redraw(self) -> None:
        while not self.closed.wait(min(self.every, TIMEOUT_MAX)):
            with self.lock:
                silent = self.total_cost is None and self.clock() - self.last_drawn >= self.every
                if self.step_running or silent:
                    self._draw()

    def __exit__(self, kind: object, *error: object) -> None:
        self.closed.set()
        if self.thread is not None:
            self.thread.join()
        if self.shown:
            clear_bar()
            if self.done or (self.total is None and kind is None):
                self.write(self._last_line())


def is_terminal() -> bool:
    """Return whether standard error is a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


def clear_bar() -> None:
    """Remove the bar from the terminal, so that something else can be written there."""
    if is_terminal():
        _write(CLEAR_LINE)


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
