"""Several problems that ask the partitions in common rounds.

A round costs tens of milliseconds on a cluster, however little it asks. Problems that do not depend on each
other (classes, folds, points of a grid) run in threads of their own, each with its own steps and its own
convergence; a round starts when all that are still running wait for an answer.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from threading import Condition, local
from typing import Any, TypeVar

from dropglm.base.threads import ReadyQueue
from dropglm.places.partitions.engine import Engine
from dropglm.places.partitions.requests import Request, answer
from dropglm.places.partitions.sums import Answer, add_lists

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
        self._later: list[Later] = []
        self._inside = local()

    def ask(self, *requests: Request) -> list[Any]:
        """Return the sums over all partitions, one per request."""
        if not getattr(self._inside, "each", False):
            return self._round(requests)
        own = _Waiting(requests)
        with self._changed:
            if self._stopped:
                raise CancelledError
            self._waiting.append(own)
            self._changed.notify_all()
            self._changed.wait_for(lambda: own.done)
        if own.error is not None:
            raise own.error
        return own.answers

    def later(self, request: Request) -> "Later":
        """Let a request be part of the next round; its answer is there after that, or after ``settle``."""
        found = Later(request)
        with self._changed:
            self._later.append(found)
        return found

    def settle(self) -> None:
        """Run a round for the requests that are left, if there are any."""
        if self._later:
            self._round([])

    def each(
        self,
        work: Callable[[Item], Result],
        items: Sequence[Item],
        needs: Sequence[Sequence[int]] | None = None,
        at_most: int | None = None,
    ) -> list[Result]:
        """Return ``[work(item) for item in items]``, all at a time, with common rounds.

        Parameters
        ----------
        work : callable
        items : sequence
        needs : sequence of sequences of int, optional
            The items that each item waits for, by their numbers, which are smaller than its own.
        at_most : int, optional
            How many items may be in progress at a time.
        """
        queue = ReadyQueue([()] * len(items) if needs is None else needs)
        limit = len(items) if at_most is None else min(at_most, len(items))
        if limit < 2:
            return [work(item) for item in items]
        results: dict[int, Result] = {}
        errors: list[BaseException] = []

        def start() -> None:
            """Start what is ready; the caller holds the lock."""
            while queue.ready and self._running < limit and not self._stopped:
                self._running += 1
                pool.submit(run, queue.take())

        def run(k: int) -> None:
            self._inside.each = True
            try:
                results[k] = work(items[k])
            except BaseException as error:
                errors.append(error)
                self._stopped = True
            with self._changed:
                self._running -= 1
                queue.finish(k)
                start()  # before the others' round, so that it waits for those that start
                self._changed.notify_all()

        self._running, self._stopped = 0, False
        with ThreadPoolExecutor(limit, thread_name_prefix="dropglm-problem") as pool:
            try:
                with self._changed:
                    start()
                # In this thread, which an interrupt by the user reaches, and without the lock.
                while waiting := self._next():
                    self._answer(waiting)
            except BaseException:
                with self._changed:
                    self._stopped = True
                    self._finish(self._waiting, CancelledError())
                raise
        for error in sorted(errors, key=lambda error: isinstance(error, CancelledError)):
            raise error
        return [results[k] for k in range(len(items))]

    def _next(self) -> "list[_Waiting]":
        """Return the requests of the next round, once all that are running wait; none at the end."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._waiting) >= self._running)
            waiting, self._waiting = self._waiting, []
            return waiting

    def _answer(self, waiting: "list[_Waiting]") -> None:
        """Run a round; every problem ends with its error, if there is one."""
        failed: BaseException | None = CancelledError()
        try:
            if not self._stopped:
                answers = iter(self._round([request for one in waiting for request in one.requests]))
                for one in waiting:
                    one.answers = [next(answers) for _ in one.requests]
                failed = None
        except Exception as error:
            failed = error
        finally:
            with self._changed:
                self._finish(waiting, failed)

    def _finish(self, waiting: "list[_Waiting]", error: BaseException | None) -> None:
        """Let problems continue; the caller holds the lock."""
        for one in waiting:
            one.error, one.done = error, True
        self._changed.notify_all()

    def _round(self, requests: Sequence[Request]) -> list[Any]:
        with self._changed:
            later, self._later = self._later, []
        self.count += 1
        together = [*requests, *(one.request for one in later)]
        answers = self.engine.total(answer, self.parts, together, add_lists)
        for one, found in zip(later, answers[len(requests) :], strict=True):
            one.answer, one.request = found, None  # whose coefficients need memory
        return answers[: len(requests)]


class Later:
    """A request that waits for the next round, and its answer."""

    def __init__(self, request: Request) -> None:
        self.request: Any = request
        self.answer: Any = None


class _Waiting:
    """The requests of a problem that waits for a round."""

    def __init__(self, requests: Sequence[Request]) -> None:
        self.requests = requests
        self.answers: list[Answer] = []
        self.error: BaseException | None = None
        self.done = False
