"""The state of learning row by row, and what it takes in and gives out."""

from typing import Any, NamedTuple

import numpy as np

from dropglm.design.storage import Rows
from dropglm.online import kernels


class State(NamedTuple):
    """All that is known after some rows; arrays are (d + 1, K), the last row for the intercept."""

    beta: np.ndarray
    sums: np.ndarray  # what the metric is made of
    since: np.ndarray  # the clock when a coefficient was last brought up to date
    total: np.ndarray  # its sum over the steps before, for the average; empty without
    time: np.ndarray  # the number of steps, the clock, the sum of squared sizes

    @classmethod
    def new(cls, d: int, K: int, *, average: bool) -> "State":
        """Nothing is known yet."""
        shape = d + 1, K
        total = np.zeros(shape if average else (0, 0))
        # A step's own β counts for the average from that step on: the clock starts at 1 for it.
        return cls(np.zeros(shape), np.zeros(shape), np.full(shape, float(average)), total, np.zeros(3))

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
        state = self.state
        if self.average and state.steps:
            # β held from its last change until now.
            return (state.total + state.beta * (state.time[1] + 1.0 - state.since)) / state.steps
        now = np.empty_like(state.beta)
        kernels.settle(self.rule, self.l2, state.beta, state.sums, state.since, state.time, now)
        return now
