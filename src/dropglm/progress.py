"""What is told while work takes a while: a bar of equal steps, or the time left of unequal ones."""

import sys
import time
from collections.abc import Callable, Sequence
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Self

WIDTH = 30
EVERY = 0.1  # seconds between two drawings
BELIEVED = 10.0  # seconds of work that stated costs are worth beside measured times


class Progress:
    """Counts steps on standard error, with an estimate of the time left; silent where ``shown`` is false.

    Examples
    --------
    >>> with Progress("fits", 3, shown=False) as progress:
    ...     for _ in range(3):
    ...         progress.advance()
    >>> progress.done
    3
    """

    def __init__(self, what: str, total: int, *, shown: bool) -> None:
        self.what = what
        self.total = total
        self.shown = shown
        self.done = 0
        self.lock = Lock()
        self.start = self.drawn = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def advance(self, steps: int = 1) -> None:
        """So many steps are done, on any thread."""
        with self.lock:
            self.done += steps
            if self.shown and (time.monotonic() - self.drawn > EVERY or self.done == self.total):
                self._draw()

    def _draw(self) -> None:
        self.drawn = time.monotonic()
        taken = self.drawn - self.start
        left = taken * (self.total - self.done) / self.done
        bar = "━" * round(WIDTH * self.done / self.total)
        sys.stderr.write(
            f"\r{bar:<{WIDTH}} {self.done}/{self.total} {self.what}, {taken:.0f} s, {left:.0f} s left  "
        )
        sys.stderr.flush()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.shown and self.done:
            sys.stderr.write("\n")


class TimeLeft:
    """How much longer a run takes, by what its steps cost.

    A cost is a rough number of seconds. What the steps so far took over what they cost corrects those to
    come; the costs themselves count like ``BELIEVED`` seconds that came true, so that there is an estimate
    from the start. It is told from a thread of its own, since one step may take minutes, and only while a
    step is under way, so that nothing comes between what is written after it.

    Parameters
    ----------
    costs : sequence of float
        Of all steps.
    tell : callable, optional
        Is given the share of the work that is done, and a sentence.
    every : float
        Seconds between two sentences.
    clock : callable

    Examples
    --------
    >>> left = TimeLeft([1.0, 60.0])
    >>> left.begin("a short one", 1.0)
    >>> left.end()
    >>> in_words(left.seconds())
    '55 seconds'
    """

    def __init__(
        self,
        costs: Sequence[float],
        *,
        tell: Callable[[float, str], None] | None = None,
        every: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.steps, self.cost = len(costs), sum(costs)
        self.tell, self.every, self.clock = tell, every, clock
        self.done, self.spent, self.taken = 0, 0.0, 0.0
        self.doing, self.costs_now, self.begun = "", 0.0, 0.0
        self.lock, self.over = Lock(), Event()
        self.thread = Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Self:
        if self.tell is not None:
            self.thread.start()
        return self

    def begin(self, doing: str, cost: float) -> None:
        """A step is under way."""
        with self.lock:
            self.doing, self.costs_now, self.begun = doing, cost, self.clock()

    def end(self) -> None:
        """It is done."""
        with self.lock:
            self.taken += self.clock() - self.begun
            self.spent += self.costs_now
            self.done += 1
            self.doing, self.costs_now = "", 0.0

    def skip(self, cost: float) -> None:
        """A step, perhaps the one under way, is left out."""
        with self.lock:
            self.steps -= 1
            self.cost -= cost
            self.doing, self.costs_now = "", 0.0

    def seconds(self) -> float:
        """An estimate of the time left."""
        rate = (BELIEVED + self.taken) / (BELIEVED + self.spent)
        later = self.cost - self.spent - self.costs_now
        now = rate * self.costs_now - (self.clock() - self.begun) if self.doing else 0.0
        return max(0.0, rate * later) + max(0.0, now)

    def _tick(self) -> None:
        while not self.over.wait(self.every):
            with self.lock:
                if self.doing and self.tell is not None:
                    left = in_words(self.seconds())
                    sentence = f"{self.done} of {self.steps} fits, {left} left; {self.doing}"
                    self.tell(self.spent / self.cost if self.cost else 0.0, sentence)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.over.set()
        if self.tell is not None:
            self.thread.join()


def in_words(seconds: float) -> str:
    """A duration, to two digits or so.

    Examples
    --------
    >>> [in_words(seconds) for seconds in (0.2, 1.2, 80, 300, 7500)]
    ['less than a second', '1 second', '80 seconds', '5 minutes', '2 hours 5 minutes']
    """
    if seconds < 0.5:
        return "less than a second"
    if seconds < 99.5:
        return _counted(round(seconds), "second")
    minutes = round(seconds / 60)
    if minutes < 100:
        return _counted(minutes, "minute")
    hours, minutes = divmod(minutes, 60)
    return _counted(hours, "hour") + (f" {_counted(minutes, 'minute')}" if minutes else "")


def _counted(number: int, unit: str) -> str:
    return f"{number} {unit}{'' if number == 1 else 's'}"
