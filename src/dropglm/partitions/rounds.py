"""Several problems that ask the partitions in common rounds.

A round costs tens of milliseconds on a cluster, however little it asks. Problems that do not depend on each
other (classes, folds, points of a grid) run in threads of their own, each with its own steps and its own
convergence; a round starts when all that are still running wait for an answer.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor, wait
from threading import Condition, local
from typing import Any, TypeVar

from dropglm.partitions.engine import Engine
from dropglm.partitions.requests import Request, answer
from dropglm.partitions.sums import Sums, add_lists

Item = TypeVar("Item")
Result = TypeVar("Result")


class Rounds:
    """The requests of one or several problems to the same partitions.

    Parameters
    ----------
    engine : Engine
    parts : sequence
        Prepared partitions, as the engine keeps them.

    Attributes
    ----------
    count : int
        Number of rounds so far.
    """

    def __init__(self, engine: Engine, parts: Sequence[Any]) -> None:
        self.engine = engine
        self.parts = parts
        self.count = 0
        self._changed = Condition()
        self._running = 0  # threads of ``each``
        self._stopped = False  # whether a thread has failed, or the user has interrupted
        self._waiting: list[_Waiting] = []
        self._inside = local()

    def ask(self, *requests: Request) -> list[Sums]:
        """Return the sums over all partitions, one per request."""
        if not getattr(self._inside, "each", False):
            return self._round(requests)
        own = _Waiting(requests)
        with self._changed:
            if self._stopped:
                raise CancelledError
            self._waiting.append(own)
            self._start_if_complete()
            self._changed.wait_for(lambda: own.done)
        if own.error is not None:
            raise own.error
        return own.answers

    def each(self, work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Return ``[work(item) for item in items]``, all at a time, with common rounds."""
        if len(items) < 2:
            return [work(item) for item in items]

        def run(item: Item) -> Result:
            self._inside.each = True
            try:
                return work(item)
            except BaseException:
                self._stopped = True
                raise
            finally:
                with self._changed:
                    self._running -= 1
                    self._start_if_complete()

        self._running, self._stopped = len(items), False
        with ThreadPoolExecutor(len(items), thread_name_prefix="dropglm-problem") as pool:
            futures = [pool.submit(run, item) for item in items]
            try:
                wait(futures)
            except BaseException:
                self._stopped = True
                raise
        errors = [error for future in futures if (error := future.exception()) is not None]
        for error in sorted(errors, key=lambda error: isinstance(error, CancelledError)):
            raise error
        return [future.result() for future in futures]

    def _start_if_complete(self) -> None:
        """Run a round if nobody else will ask before it; the caller holds the lock."""
        if not self._waiting or len(self._waiting) < self._running:
            return
        waiting, self._waiting = self._waiting, []
        try:
            answers = iter(self._round([request for one in waiting for request in one.requests]))
            for one in waiting:
                one.answers = [next(answers) for _ in one.requests]
        except BaseException as error:  # every problem ends with it
            for one in waiting:
                one.error = error
        for one in waiting:
            one.done = True
        self._changed.notify_all()

    def _round(self, requests: Sequence[Request]) -> list[Sums]:
        self.count += 1
        return self.engine.total(answer, self.parts, list(requests), add_lists)


class _Waiting:
    """The requests of a problem that waits for a round."""

    def __init__(self, requests: Sequence[Request]) -> None:
        self.requests = requests
        self.answers: list[Sums] = []
        self.error: BaseException | None = None
        self.done = False
