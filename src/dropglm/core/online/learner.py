"""The state of an online fit, and the object that updates it."""

from typing import Any, NamedTuple

import numpy as np

from dropglm.base.errors import InputError
from dropglm.core.design.storage import BinaryRows, DenseRows, Rows
from dropglm.core.online import kernels

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
            histories[:, :, kernels.UPDATED] = 1.0
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
        self.l2 = l2
        self.fit_intercept = fit_intercept
        self.average = average

    def learn(self, rows: Rows, y: np.ndarray, weights: np.ndarray, order: np.ndarray) -> np.ndarray:
        """Take one step per row, in the given order; return the predictors before each step, (rows, K).

        Raises
        ------
        DivergenceError
            If a predictor exceeds 1e30, or a coefficient of the last row is not finite.
        """
        eta = np.empty((len(order), y.shape[1]))
        cells, histories, time = self.state
        steps = self.state.steps
        take_steps = kernels.compiled_for(self.rule, kernels.take_steps)
        data = rows, squared_sizes(rows), y, weights, order
        settings = self.l2, self.fit_intercept
        work = np.empty((2, _longest(rows)), cells.dtype)
        take_steps(self.rule, *data, *settings, cells, histories, self.average, time, work, eta)
        within = (np.abs(eta) <= LARGEST_PREDICTOR).all(axis=1)
        if not within.all():
            # A predictor that is too large was computed from the coefficients of the step before.
            taken = np.count_nonzero(weights[order[: int(within.argmin())]])
            raise DivergenceError(int(steps + taken), self.given_rate)
        if len(order) and not np.isfinite(cells[:, _columns(rows, order[-1]), kernels.BETA]).all():
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
        beta = cells[:, :, kernels.BETA]
        if self.average and self.state.steps:
            # The current β_j counts for every step since its last update.
            held = time[1] + 1.0 - histories[:, :, kernels.UPDATED]
            total = histories[:, :, kernels.BETA_TOTAL] + beta * held
            return (total / self.state.steps).astype(beta.dtype)
        if self.l2 == 0.0:
            return beta.copy()
        out = np.empty(cells.shape[:2], cells.dtype)
        shrink_all = kernels.compiled_for(self.rule, kernels.shrink_all)
        shrink_all(self.rule, self.l2, cells, histories, time, out)
        return out


def squared_sizes(rows: Rows) -> np.ndarray:
    """Return 1 + ‖x‖² of each row.

    Examples
    --------
    >>> squared_sizes(DenseRows(np.array([[3.0, 4.0], [0.0, 1.0]])))
    array([26.,  2.])
    """
    if isinstance(rows, BinaryRows):
        return 1.0 + np.diff(rows.indptr)
    out = np.empty(len(rows.values) if isinstance(rows, DenseRows) else len(rows.indptr) - 1)
    kernels.squared_sizes(rows, out)
    return out


def _longest(rows: Rows) -> int:
    """Return the largest number of entries of a row."""
    if isinstance(rows, DenseRows):
        return rows.values.shape[1]
    return int(np.diff(rows.indptr).max(initial=0))


def _columns(rows: Rows, i: int) -> Any:
    """Return the columns of row i and of the intercept, for indexing."""
    if isinstance(rows, DenseRows):
        return slice(None)
    return np.append(rows.indices[rows.indptr[i] : rows.indptr[i + 1]].astype(np.intp), -1)
