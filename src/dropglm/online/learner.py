"""The state of learning row by row, and what it takes in and gives out."""

from typing import Any, NamedTuple

import numpy as np

from dropglm.design.storage import Rows
from dropglm.online import kernels


class State(NamedTuple):
    """All that is known after some rows."""

    cells: np.ndarray  # (K, d + 1, 2), the last column for the intercept; see kernels
    past: np.ndarray  # the same shape, or empty if there is neither ridge nor average
    time: np.ndarray  # the number of steps, the clock, the sum of squared sizes

    @classmethod
    def new(cls, d: int, K: int, *, lazy: bool, average: bool, dtype: Any = np.float64) -> "State":
        """Nothing is known yet; ``lazy`` is with a ridge or an average."""
        # The clock is float64 in any case: it outgrows float32 after 17 million rows.
        past = np.zeros((K, d + 1 if lazy else 0, 2))
        # A step's own β counts for the average from that step on: the clock starts at 1 for it.
        past[:, :, kernels.SINCE] = float(average)
        return cls(np.zeros((K, d + 1, 2), dtype), past, np.zeros(3))

    @property
    def steps(self) -> int:
        """How many rows were learnt from."""
        return int(self.time[0])


class Learner:
    """A rule, a ridge and a state.

    Parameters
    ----------
    rule : named tuple
        One of ``RULES`` with its settings.
    state : State
    l2 : float
        λ of the ridge in every step's problem.
    fit_intercept, average : bool
    """

    def __init__(self, rule: Any, state: State, *, l2: float, fit_intercept: bool, average: bool) -> None:
        # In the coefficients' own precision: with float64 among them, a step's arithmetic would be in it too.
        self.rule = type(rule)(*map(state.cells.dtype.type, rule))
        if (l2 > 0.0 or average) and not state.past.shape[1]:
            raise ValueError("A ridge or an average needs a state that keeps the past.")
        self.state = state
        self.l2 = l2
        self.fit_intercept = fit_intercept
        self.average = average

    def learn(self, rows: Rows, y: np.ndarray, weights: np.ndarray, order: np.ndarray) -> np.ndarray:
        """A step for each of these rows, in that order; the predictors before each step, (rows, K)."""
        eta = np.empty((len(order), y.shape[1]))
        cells, past, time = self.state
        data = rows, y, weights, order
        kernels.take_steps(
            self.rule, *data, self.l2, self.fit_intercept, cells, past, self.average, time, eta
        )
        return eta

    def coefficients(self) -> np.ndarray:
        """β of now, or its average over all steps; (K, d + 1)."""
        cells, past, time = self.state
        beta = cells[:, :, kernels.BETA]
        if self.average and self.state.steps:
            # β held from its last change until now.
            held = time[1] + 1.0 - past[:, :, kernels.SINCE]
            return ((past[:, :, kernels.TOTAL] + beta * held) / self.state.steps).astype(beta.dtype)
        if self.l2 == 0.0:
            return beta.copy()
        now = np.empty(cells.shape[:2], cells.dtype)
        kernels.shrink_all(self.rule, self.l2, cells, past, time, now)
        return now
