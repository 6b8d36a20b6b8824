"""The state of learning row by row, and what it takes in and gives out."""

from typing import Any, NamedTuple

import numpy as np

from dropglm.design.storage import Rows
from dropglm.online import kernels


class State(NamedTuple):
    """All that is known after some rows."""

    cells: np.ndarray  # (d + 1, K, 4), the last row for the intercept; see kernels
    time: np.ndarray  # the number of steps, the clock, the sum of squared sizes

    @classmethod
    def new(cls, d: int, K: int, *, average: bool) -> "State":
        """Nothing is known yet."""
        cells = np.zeros((d + 1, K, 4))
        # A step's own β counts for the average from that step on: the clock starts at 1 for it.
        cells[:, :, kernels.SINCE] = float(average)
        return cls(cells, np.zeros(3))

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
        self.rule = rule
        self.state = state
        self.l2 = l2
        self.fit_intercept = fit_intercept
        self.average = average

    def learn(self, rows: Rows, y: np.ndarray, weights: np.ndarray, order: np.ndarray) -> np.ndarray:
        """A step for each of these rows, in that order; the predictors before each step, (rows, K)."""
        eta = np.empty((len(order), y.shape[1]))
        settings = self.l2, self.fit_intercept, self.average
        kernels.learn(self.rule, rows, y, weights, order, *settings, *self.state, eta)
        return eta

    def coefficients(self) -> np.ndarray:
        """β of now, or its average over all steps; (d + 1, K)."""
        cells, time = self.state
        if self.average and self.state.steps:
            # β held from its last change until now.
            held = time[1] + 1.0 - cells[:, :, kernels.SINCE]
            return (cells[:, :, kernels.TOTAL] + cells[:, :, kernels.BETA] * held) / self.state.steps
        now = np.empty(cells.shape[:2])
        kernels.settle(self.rule, self.l2, cells, time, now)
        return now
