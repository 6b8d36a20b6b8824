"""The state of an online fit, the object that updates it, and the loop that takes one step per row."""

import inspect
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from dropglm.base.errors import InputError
from dropglm.core.design.storage import BinaryRows, DenseRows, StoredRows, column, entries_before, span, value
from dropglm.core.families import Logistic, logistic
from dropglm.core.maths.compile import inlined, kernel, summing_kernel
from dropglm.core.maths.instructions import prefetch_for_later
from dropglm.core.online.rules import Rule

# The state of a coefficient, in neighbouring cells: β_j and the sum s_j that its metric is computed from.
BETA, SUM = 0, 1
# With L2 or averaging, the history of a coefficient: the clock when it was last updated, and the sum of β_j
# over the steps before.
UPDATED, BETA_TOTAL = 0, 1


# A predictor beyond this means divergence, even where it happens to have the right sign: probabilities are
# 0 or 1 from about 700 on, and coefficients of such a size soon overflow.
LARGEST_PREDICTOR = 1e30


class DivergenceError(InputError):
    """The coefficients are no longer finite numbers, or far too large.

    Attributes
    ----------
    step : int
        Number of the step after which this was noticed.
    rate : float
        The step size.
    """

    def __init__(self, step: int, rate: float) -> None:
        self.step = step
        self.rate = rate
        super().__init__(
            f"Training has diverged by step {step:,}: the coefficients overflow. "
            f"Lower rate (now {rate:g}), or scale the features down.",
            "rate",
        )

    def __reduce__(self) -> Any:
        return type(self), (self.step, self.rate)


class State(NamedTuple):
    """Everything that later steps depend on.

    Attributes
    ----------
    cells : ndarray of shape (K, d + 1, 2)
        Coefficient and sum of each feature; the last column is that of the intercept.
    histories : ndarray of shape (K, d + 1, 2) or (K, 0, 2)
        What delayed updates need; empty without L2 and averaging.
    time : ndarray of shape (3,)
        Number of steps, the clock of L2 and averaging, and the sum of squared row sizes.

    See Also
    --------
    Learner : Updates a state.

    Examples
    --------
    >>> from dropglm.core.online import State
    >>> State.new(10, 1, lazy=False, average=False).steps
    0
    """

    cells: np.ndarray  # (K, d + 1, 2), the last column for the intercept; see kernels
    histories: np.ndarray  # the same shape, or empty without L2 and averaging
    time: np.ndarray  # the number of steps, the clock of L2 and averaging, the sum of squared row sizes

    @classmethod
    def new(cls, d: int, K: int, *, lazy: bool, average: bool, dtype: Any = np.float64) -> "State":
        """Return the state before the first row; ``lazy`` says whether there is L2 or averaging."""
        # Always float64: a float32 clock would stop after 17 million rows.
        histories = np.zeros((K, d + 1 if lazy else 0, 2))
        if average:  # it includes β from after the first step on, so its clock starts at 1
            histories[:, :, UPDATED] = 1.0
        return cls(np.zeros((K, d + 1, 2), dtype), histories, np.zeros(3))

    @property
    def steps(self) -> int:
        """Number of rows that were learnt from."""
        return int(self.time[0])


class Learner:
    """Applies an update rule to a state.

    Parameters
    ----------
    rule : Rule
        The update rule.
    state : State
        Updated in place.
    l2 : float
        Strength λ of the L2 term in the problem of every step.
    fit_intercept, average : bool
        Whether there is an intercept, and whether predictions use the mean of the coefficients.

    See Also
    --------
    dropglm.OnlineLogisticRegression : The estimator around it.

    Examples
    --------
    >>> from dropglm.core.online import Learner, Sgd, State
    >>> state = State.new(10, 1, lazy=False, average=False)
    >>> Learner(Sgd(), state, l2=0.0, fit_intercept=True, average=False).coefficients().shape
    (1, 11)
    """

    def __init__(self, rule: Any, state: State, *, l2: float, fit_intercept: bool, average: bool) -> None:
        if (l2 > 0.0 or average) and not state.histories.shape[1]:
            raise InputError("l2 > 0 and average=True need a state created with lazy=True.")
        self.given_rate = float(rule.rate)
        # In the precision of the coefficients: with float64 settings, the arithmetic would be float64 as
        # well.
        with np.errstate(over="ignore"):
            self.rule = type(rule)(*map(state.cells.dtype.type, rule))
        self.state = state
        self.l2 = float(l2)  # kernels are compiled for floats, and 1 is an l2, too
        self.fit_intercept = fit_intercept
        self.average = average

    def learn(self, rows: StoredRows, y: np.ndarray, weights: np.ndarray, order: np.ndarray) -> np.ndarray:
        """Take one step per row, in the given order; return the predictors before each step, (rows, K).

        Raises
        ------
        DivergenceError
            If a predictor exceeds 1e30, or a coefficient of the last row is not finite.
        """
        eta = np.empty((len(order), y.shape[1]))
        cells, histories, time = self.state
        steps = self.state.steps
        data = rows, squared_sizes(rows), y, weights, order
        settings = self.l2, self.fit_intercept
        longest = int(np.diff(entries_before(rows)).max(initial=0))
        work = np.empty((2, longest), cells.dtype)
        take_steps(self.rule, *data, *settings, cells, histories, self.average, time, work, eta)
        within = (np.abs(eta) <= LARGEST_PREDICTOR).all(axis=1)
        if not within.all():
            # A predictor that is too large was computed from the coefficients of the step before.
            taken = np.count_nonzero(weights[order[: int(within.argmin())]])
            raise DivergenceError(int(steps + taken), self.given_rate)
        if len(order) and not np.isfinite(cells[:, _columns(rows, order[-1]), BETA]).all():
            raise DivergenceError(self.state.steps, self.given_rate)
        return eta

    def coefficients(self, columns: np.ndarray | None = None) -> np.ndarray:
        """Return β after the last step, or its average over all steps, with the intercept as the last.

        The shape is (K, d + 1), or (K, m + 1) for m columns.
        """
        cells, histories, time = self.state
        if columns is not None:
            columns = np.append(columns, -1)
            cells = np.ascontiguousarray(cells[:, columns])
            histories = np.ascontiguousarray(histories[:, columns]) if histories.shape[1] else histories
        beta = cells[:, :, BETA]
        if self.average and self.state.steps:
            # The current β_j counts for every step since its last update.
            held = time[1] + 1.0 - histories[:, :, UPDATED]
            total = histories[:, :, BETA_TOTAL] + beta * held
            return (total / self.state.steps).astype(beta.dtype)
        if self.l2 == 0.0:
            return beta.copy()
        out = np.empty(cells.shape[:2], cells.dtype)
        shrink_all(self.rule, self.l2, cells, histories, time, out)
        return out


def squared_sizes(rows: StoredRows) -> np.ndarray:
    """Return 1 + ‖x‖² of each row.

    Examples
    --------
    >>> squared_sizes(DenseRows(np.array([[3.0, 4.0], [0.0, 1.0]])))
    array([26.,  2.])
    """
    if isinstance(rows, BinaryRows):
        return 1.0 + np.diff(rows.indptr)
    out = np.empty(len(entries_before(rows)) - 1)
    _write_squared_sizes(rows, out)
    return out


def _columns(rows: StoredRows, i: int) -> Any:
    """Return the columns of row i and of the intercept, for indexing."""
    if isinstance(rows, DenseRows):
        return slice(None)
    return np.append(rows.indices[rows.indptr[i] : rows.indptr[i + 1]].astype(np.intp), -1)


class ProgressiveScores(NamedTuple):
    """Running totals over all rows so far.

    Attributes
    ----------
    weight : float
        Total weight of the rows.
    correct : float
        Total weight of the rows that were predicted correctly.
    loss : float
        Weighted sum of the log losses, over the rows and the one-versus-rest problems.

    See Also
    --------
    dropglm.OnlineLogisticRegression : Reports the scores of its stream.

    Examples
    --------
    >>> import numpy as np
    >>> from dropglm.core.online import ProgressiveScores
    >>> label = np.ones((1, 1))
    >>> ProgressiveScores().add(np.zeros((1, 1)), label, np.array([True]), np.ones(1)).loss
    0.6931
    """

    weight: float = 0.0
    correct: float = 0.0
    loss: float = 0.0

    def add(
        self, eta: np.ndarray, y: np.ndarray, correct: np.ndarray, weights: np.ndarray
    ) -> "ProgressiveScores":
        """Return the totals after further rows, given their predictors and labels, both of shape (n, K)."""
        with np.errstate(over="ignore"):
            loss = (Logistic.log_partition(eta) - y * eta).sum(axis=1)
            # Added one by one: sums of chunks would be rounded differently for every size of the chunks.
            terms = np.stack([weights, weights * correct, weights * loss])
            totals = np.cumsum(np.hstack([np.array(self)[:, None], terms]), axis=1)[:, -1]
        return ProgressiveScores(*totals.tolist())

    @property
    def accuracy(self) -> float:
        """Share of correct predictions; NaN before the first row."""
        return self.correct / self.weight if self.weight else float("nan")

    @property
    def log_loss(self) -> float:
        """Mean log loss; NaN before the first row."""
        return self.loss / self.weight if self.weight else float("nan")


def _calling(name: str) -> Any:
    """Return a function of a rule and further arguments that calls this method of the rule.

    Compiled code calls methods through these functions; the class of the rule is known at compile time.
    """

    def call(rule, *arguments):
        return getattr(rule, name)(*arguments)

    def compiled(rule, *arguments):
        return getattr(rule.instance_class, name)

    compiled.__signature__ = inspect.signature(getattr(Rule, name))  # type: ignore[attr-defined]
    # Not strict: the arguments of a method need not have the names that they have here.
    overload(call, strict=False)(compiled)
    return call


slope = _calling("slope")
increment = _calling("increment")
initial_sum = _calling("initial_sum")
metric = _calling("metric")
gradient_divisor = _calling("gradient_divisor")
same_metric_for_all = _calling("same_metric_for_all")
updates_metric_after_step = _calling("updates_metric_after_step")


@inlined
def after_idle_steps(rule, beta, s, idle, t, l2):
    """Return β_j after ``idle`` steps that did not contain feature j: β_j Π a_j / (a_j + ρ λ).

    After a warm start, a feature that has not occurred yet does not have a metric; its coefficient is kept.
    """
    if idle == 0.0 or (s == 0.0 and not same_metric_for_all(rule)):
        return beta
    if not same_metric_for_all(rule):
        idle *= np.log1p(rule.rate * l2 / metric(rule, s, t))
    return beta * np.exp(-idle)


@inlined
def sum_or_initial(s, initial):
    """Return s_j, or its initial value if the feature has not occurred yet."""
    return s if s > 0 else initial


@inlined
def add_to_history(cell, history, j, clock):
    """Add β_j to its total, once for every step since its last update."""
    history[j, BETA_TOTAL] += cell[j, BETA] * (clock - history[j, UPDATED])
    history[j, UPDATED] = clock


@summing_kernel
def _write_squared_sizes(rows, out):
    """Write 1 + ‖x‖² of each row to ``out``."""
    for i in range(len(out)):
        start, stop = span(rows, i)
        size = 1.0
        for e in range(start, stop):
            size += value(rows, i, e) ** 2
        out[i] = size


@kernel
def take_steps(
    rule, rows, sizes, y, weights, order, l2, intercept, cells, histories, average, time, work, eta
):
    """Take one step per row, in the given order, and write the prediction made before each step to ``eta``.

    ``cells`` has shape (K, d + 1, 2); the last column is the intercept. ``histories`` has the same shape,
    or is empty without L2 and averaging. ``time`` holds the number of steps, the clock of L2 and averaging,
    and the sum of the rows' squared sizes. ``sizes`` has these of each row. ``work`` is scratch memory of
    shape (2, entries of the longest row).
    """
    real, K, d = cells.dtype.type, cells.shape[0], cells.shape[1] - 1
    zero, one, shrinkage = real(0.0), real(1.0), real(rule.rate * l2)
    # β_j and s_j of the entries of a row, next to each other: square roots and divisions are then vectorised,
    # which saves a quarter of the time.
    betas, sums = work[0], work[1]
    for n in range(len(order)):
        i = order[n]
        w = weights[i]
        start, stop = span(rows, i)
        t = np.int64(time[0]) + 1
        clock = time[1]
        tick = 1.0
        if same_metric_for_all(rule) and l2 > 0.0:
            tick = np.log1p(rule.rate * l2 / metric(rule, one, t))
        next_clock = clock + tick
        squares = time[2] + sizes[i]
        initial, c = real(initial_sum(rule, squares / t)), gradient_divisor(rule, np.sqrt(squares / t))
        for k in range(K):
            cell, history = cells[k], histories[k]
            if l2 > 0.0:
                for e in range(start, stop):
                    j = column(rows, e)
                    idle = clock - history[j, UPDATED]
                    cell[j, BETA] = after_idle_steps(rule, cell[j, BETA], cell[j, SUM], idle, t, l2)
                    history[j, UPDATED] = clock
            # The coefficients of the next row are fetched into the second-level cache, since those of this
            # row fill the first: a pass takes 30 ms instead of 37.
            if n + 1 < len(order) and stop - start < d:
                first, last = span(rows, order[n + 1])
                for e in range(first, last):
                    prefetch_for_later(cell, column(rows, e))
            predictor, v = np.float64(cell[d, BETA]), 0.0
            if updates_metric_after_step(rule) and intercept:
                v = 1.0 / metric(rule, sum_or_initial(cell[d, SUM], initial), t)
            for e in range(start, stop):
                j = column(rows, e)
                beta, s = cell[j, BETA], sum_or_initial(cell[j, SUM], initial)
                betas[e - start], sums[e - start] = beta, s
                predictor += value(rows, i, e) * beta
                if updates_metric_after_step(rule):
                    x = real(value(rows, i, e))
                    v += x * x / metric(rule, s, t)
            eta[n, k] = predictor
            if w == 0.0:  # predicted, but not learnt from
                continue
            r = slope(rule, predictor, y[i, k], w, v)
            q = real(increment(rule, r, w, w * logistic(predictor)[2]))
            step = real(rule.rate * r / c)
            own = zero if updates_metric_after_step(rule) else q
            if average or l2 > 0.0:
                for e in range(start, stop):
                    add_to_history(cell, history, column(rows, e), next_clock)
                add_to_history(cell, history, d, next_clock)
            for e in range(stop - start):
                x, beta, s = real(value(rows, i, start + e)), betas[e], sums[e]
                a_inverse = real(one / (metric(rule, s + own * x * x, t) + shrinkage))
                betas[e] = beta - (step * x + shrinkage * beta) * a_inverse
                sums[e] = s + q * x * x
            for e in range(start, stop):
                j = column(rows, e)
                # A dense row also has zeros, which do not count as occurrences of the feature.
                if not same_metric_for_all(rule) and value(rows, i, e) == 0.0 and cell[j, SUM] == zero:
                    continue
                cell[j, BETA] = betas[e - start]
                if not same_metric_for_all(rule):
                    cell[j, SUM] = sums[e - start]
            if intercept:
                s = sum_or_initial(cell[d, SUM], initial)
                cell[d, BETA] -= step / metric(rule, s + own, t)
                cell[d, SUM] = s + q
        if w != 0.0:
            time[0], time[1], time[2] = t, next_clock, squares


@kernel
def shrink_all(rule, l2, cells, histories, time, out):
    """Write all coefficients to ``out``, with the shrinkage of the steps since their last update."""
    K, d, t = cells.shape[0], cells.shape[1] - 1, np.int64(time[0]) + 1
    for k in range(K):
        for j in range(d):
            idle = time[1] - histories[k, j, UPDATED]
            out[k, j] = after_idle_steps(rule, cells[k, j, BETA], cells[k, j, SUM], idle, t, l2)
        out[k, d] = cells[k, d, BETA]
