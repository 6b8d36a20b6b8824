"""A bar in the terminal for work that takes a while."""

import sys
import time
from threading import Lock
from types import TracebackType
from typing import Self

WIDTH = 30
EVERY = 0.1  # seconds between two drawings


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
