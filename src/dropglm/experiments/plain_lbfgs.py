"""Logistic regression with dropout, trained by plain L-BFGS as in the paper.

The library's solver starts from the Fisher diagonal and gets most of the way in one or two steps. Experiments
that look at the path of a fit, or that stop it early, need steps like those of the paper's authors, which
start from a multiple of the identity.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dropglm.core.families import Logistic
from dropglm.core.features import Features
from dropglm.core.objective import Objective
from dropglm.core.penalties import EXPECTATIONS
from dropglm.core.problem import Problem
from dropglm.core.settings import noise_from, penalty_from
from dropglm.core.solvers import LBFGS, Result

# Called after each step with the coefficients (d,), the intercept and the gradient; True ends the fit.
StopRule = Callable[[np.ndarray, float, np.ndarray], bool]


def train_with_plain_lbfgs(
    X: Any,
    y: np.ndarray,
    callback: StopRule,
    *,
    expectation: str,
    dropout: float,
    l2: float = 0.0,
    fit_intercept: bool = True,
    tol: float,
    max_iter: int,
) -> tuple[np.ndarray, Result]:
    """Return the coefficients (d,) where the fit ended, and the result of the solver.

    Examples
    --------
    >>> X, y = np.array([[1.0], [1.0], [-1.0]]), np.array([1.0, 0.0, 0.0])
    >>> coef, result = train_with_plain_lbfgs(
    ...     X, y, lambda *step: False, expectation="gaussian", dropout=0.5, tol=1e-6, max_iter=50
    ... )
    >>> from dropglm import LogisticRegression
    >>> model = LogisticRegression(dropout=0.5, l2=0.0).fit(X, y)
    >>> np.allclose(coef, model.coef_[0], atol=1e-3)
    True
    """
    features = Features(X)
    problem = Problem(
        features, Logistic, y[:, None].astype(np.float64), np.ones(len(y)), fit_intercept=fit_intercept
    )
    penalty = penalty_from(EXPECTATIONS[expectation], Logistic, noise_from(dropout, 0.0))
    objective = problem.objective(penalty, np.full((features.labeled.shape[1], 1), l2), 0.0)

    def after_step(number: int, point: Any) -> bool:
        beta, intercept = objective.split(point.theta)
        return callback(features.expand(beta)[0], float(intercept[0]), point.gradient)

    start = objective.join(*problem.null_model())
    theta, result = LBFGS(tol, max_iter).minimize(_Unscaled(objective), start, after_step)
    return features.expand(objective.split(theta)[0])[0], result


@dataclass(frozen=True)
class _Unscaled:
    """An objective whose preconditioner is a multiple of the identity: the mean of the Fisher diagonal."""

    objective: Objective

    def __getattr__(self, name: str) -> Any:
        return getattr(self.objective, name)

    def preconditioner(self, point: Any) -> np.ndarray:
        diagonal = self.objective.preconditioner(point)
        return np.full_like(diagonal, diagonal.mean())
