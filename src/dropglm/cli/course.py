"""What a training from a stream tells on its way."""

import time
from typing import TYPE_CHECKING, Any

from dropglm.cli import terminal

if TYPE_CHECKING:
    from dropglm.text.stream import OnlineTraining

FIRST_LINE = 100  # rows; then at every doubling


class Course:
    """What is told on the way: a line at every doubling of the rows, and the last figures in a terminal."""

    HEADER = f"{'rows':>12} {'accuracy':>9} {'since last':>11} {'log loss':>9} {'bad rows':>9} {'rows/s':>9}"

    def __init__(self, training: "OnlineTraining", *, quiet: bool) -> None:
        self.training = training
        self.shown = not quiet
        self.next = FIRST_LINE
        self.before = (0.0, 0.0)
        self.begun, self.at_first = time.perf_counter(), 0
        self.status = terminal.err.status("Reading")

    def __enter__(self) -> "Course":
        self.at_first = self.training.model.t_
        self.before = self.training.progressive_counts
        self._aim()
        if self.shown:
            terminal.err.print(self.HEADER, style="bold")
            self.status.start()
        return self

    def advance(self) -> None:
        """Another batch was learnt from."""
        if self.shown:
            self.status.update(self._line())
            if self.training.model.t_ >= self.next:
                self._print()
                self._aim()

    def _aim(self) -> None:
        while self.next <= self.training.model.t_:
            self.next *= 2

    def _print(self) -> None:
        terminal.err.print(self._line())
        self.before = self.training.progressive_counts

    def _line(self) -> str:
        model = self.training.model
        weight, right = self.training.progressive_counts
        new, new_right = weight - self.before[0], right - self.before[1]
        since = f"{new_right / new:.4f}" if new else ""
        speed = (model.t_ - self.at_first) / max(time.perf_counter() - self.begun, 1e-9)
        return (
            f"{model.t_:>12,} {model.progressive_accuracy_:>9.4f} {since:>11} "
            f"{model.progressive_log_loss_:>9.4f} {self.training.bad_rows:>9,} {speed:>9,.0f}"
        )

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if self.shown:
            self.status.stop()
            if self.training.progressive_counts[0] > self.before[0]:
                self._print()
