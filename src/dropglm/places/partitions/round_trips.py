"""What a client asks of all partitions, and the rounds in which several problems ask together.

A request is a sum over rows, or numbers of each labelled row. A round costs tens of milliseconds on a
cluster, however little it asks. Problems that do not depend on each other (classes, folds, points of a grid)
run in threads of their own, each with its own steps and its own convergence; a round starts when all that are
still running wait for an answer.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from functools import reduce
from threading import Condition, local
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from dropglm.base.threads import ReadyQueue
from dropglm.core.families import Family
from dropglm.core.noise import NO_NOISE
from dropglm.core.objective import Coefficients, term_of
from dropglm.places.partitions.engine import Engine
from dropglm.places.partitions.prepared import PreparedPartition, Target
from dropglm.places.partitions.sums import Answer, RowValues, Sums, add_answers, add_lists, sums_of
from dropglm.places.rows import class_probability_columns, weighted_gram


class Request(Protocol):
    """A sum over rows, or numbers of rows."""

    def of(self, part: Any) -> Answer:
        """Return the share of a partition."""


def answer(group: Sequence[Any], requests: Sequence[Request]) -> list[Answer]:
    """Return the shares of a group of partitions in the answers to all requests."""
    with np.errstate(over="ignore", invalid="ignore"):  # the solver sees what is not finite
        return [reduce(add_answers, map(request.of, group)) for request in requests]


class ValueAndGradient(NamedTuple):
    """Value and gradient of a problem: numbers are f and ∂f/∂b, values ∂f/∂β.

    With a mean row x̄, the diagonal of the Fisher information follows: that of b among the numbers, that of β
    as further columns of the values. A feature that a partition does not have differs from its mean even so
    and has the curvature p x̄_j², with p = Σ_i w_i A''(η_i) over the rows of such partitions. The last numbers
    are p, and the client adds this curvature.
    """

    target: Target
    beta: np.ndarray  # (d, K)
    intercept: np.ndarray  # (K,)
    mean: np.ndarray | None = None  # x̄, (d,)

    def of(self, part: PreparedPartition) -> Sums:
        """Return the share of a partition."""
        part = part.without(self.target.left_out)
        block, (d, K) = part.block(self.target), self.beta.shape
        if block is None:
            numbers, columns = (1 + K, K) if self.mean is None else (1 + 3 * K, 2 * K)
            return _nothing(numbers, (d, columns), self.beta.dtype)
        term = term_of(block, self.target.family, self.target.penalty)
        share = term.at(part.own(self.beta), self.intercept)
        numbers, values = [[share.value], share.by_intercept], share.by_beta
        if self.mean is not None:
            centre = part.own(self.mean)
            spread, w_A2 = term.fisher(share, centre)
            p = np.zeros(K) if part.places is None else w_A2
            numbers += [w_A2, p]
            values = np.hstack([values, spread - differs_from_mean(p, centre)])
        return sums_of(np.concatenate(numbers), values, part.places, d)


def differs_from_mean(p: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Return p_k x̄_j², the curvature of features in rows that do not have them; shape (d, K)."""
    return (np.square(mean, dtype=np.float64)[:, None] * p).astype(mean.dtype)


class Predictors(NamedTuple):
    """Xβ of the labelled rows that a fold holds out, or of all labelled rows."""

    beta: np.ndarray  # (d, K)
    fold: int | None = None
    left_out: frozenset[int] = frozenset()

    def of(self, part: PreparedPartition) -> RowValues:
        """Return the predictors of a partition's rows."""
        if part.y is None or part.rows is None:
            return RowValues(np.empty(0, np.intp), np.empty((0, self.beta.shape[1])))
        rows, eta = part.rows, _predictors(part.without(self.left_out), self.beta)
        if self.fold is None:
            return RowValues(rows, eta)
        assert part.known is not None
        held_out = part.known.held_out[self.fold]
        return RowValues(rows[held_out], eta[held_out])


# Returns R of shape (n, C) for the rows of a partition, or None if these do not count.
Columns = Callable[[PreparedPartition], np.ndarray | None]


class TransposedProduct(NamedTuple):
    """XᵀR, and the sums of R, for columns R that partitions compute from labels, weights and predictors."""

    columns: Columns
    shape: tuple[int, int]  # (d, C)
    dtype: np.dtype
    left_out: frozenset[int] = frozenset()

    def of(self, part: PreparedPartition) -> Sums:
        """Return the share of a partition."""
        part = part.without(self.left_out)
        R = self.columns(part)
        if R is None:
            return _nothing(self.shape[1], self.shape, self.dtype)
        return sums_of(R.sum(axis=0), part.design.transposed_dot(R), part.places, self.shape[0])


class BlockGram(NamedTuple):
    """Σ_i w_i x_i x_iᵀ of a dense block over the labelled rows, or over those without labels."""

    number: int
    width: int
    labeled: bool

    def of(self, part: PreparedPartition) -> Sums:
        """Return the share of a partition."""
        total = np.zeros((self.width, self.width))
        if (part.y is not None) == self.labeled:
            own, design = part.places_by_block[self.number], part.design.blocks[self.number].design
            Z = design.dot(np.eye(len(own), dtype=design.dtype))
            total[np.ix_(own, own)] = weighted_gram(Z, part.weights)
        return Sums(total.ravel(), np.empty((0, 0)), None, 0)


def weight_column(part: PreparedPartition, fold: int | None) -> np.ndarray | None:
    """Return the column of the mean row: the weights of labelled rows in the fits to a fold."""
    return None if part.y is None else part.weights_of(fold)[:, None]


def class_columns(part: PreparedPartition, fold: int | None) -> np.ndarray | None:
    """Return one column per class, with the weights of its labelled rows in the fits to a fold."""
    return None if part.y is None else part.weights_of(fold)[:, None] * part.class_columns()


def target_columns(
    part: PreparedPartition, number: int | None, fold: int | None, *, weighted: bool
) -> np.ndarray | None:
    """Return the columns w y and w (1 - y) of labelled rows, as naive Bayes counts them."""
    if part.y is None:
        return None
    weights, y = part.weights_of(fold), part.target(number)
    return (weights if weighted else weights > 0.0)[:, None] * np.hstack([y, 1.0 - y])


def predicted_columns(
    part: PreparedPartition, family: type[Family], model: Coefficients
) -> np.ndarray | None:
    """Return the columns w p and w (1 - p) of unlabelled rows, with predicted p."""
    if part.y is not None:
        return None
    p = family.mean(_predictors(part, model[0]) + model[1])
    return part.weights[:, None] * np.hstack([p, 1.0 - p])


def predicted_classes(part: PreparedPartition, model: Coefficients, *, multilabel: bool) -> np.ndarray | None:
    """Return one column per class, the weights of unlabelled rows times its predicted probability."""
    eta = _predictors(part, model[0]) + model[1]
    return part.weights[:, None] * class_probability_columns(eta, multilabel)


def _predictors(part: PreparedPartition, beta: np.ndarray) -> np.ndarray:
    """Return Xβ; shape (n, K).

    One set of coefficients goes through the columns, which an evaluation reads as well: rows that are stored
    only for this would double the memory of a partition.
    """
    own = part.own(beta)
    return NO_NOISE.moments(part.design, own[:, 0])[0][:, None] if own.shape[1] == 1 else part.design.dot(own)


def _nothing(numbers: int, shape: tuple[int, int], dtype: np.dtype) -> Sums:
    """Return the share of a partition without rows that count."""
    return Sums(np.zeros(numbers), np.zeros((0, shape[1]), dtype), np.zeros(0, np.int32), shape[0])


Item = TypeVar("Item")
Result = TypeVar("Result")


class RoundTrips:
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
        self._later: list[PendingRequest] = []
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

    def ask_later(self, request: Request) -> "PendingRequest":
        """Let a request be part of the next round; its answer is there after that, or after ``flush``."""
        found = PendingRequest(request)
        with self._changed:
            self._later.append(found)
        return found

    def flush(self) -> None:
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


class PendingRequest:
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
