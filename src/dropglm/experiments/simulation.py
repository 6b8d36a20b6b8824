"""Dropout against ridge where useful features are rare (the paper's simulation study).

50 useful features, each active in 4 % of the rows, hide among 1,000 nuisance features that are always active.
The ridge ½λ‖β‖² shrinks all of them alike. The dropout penalty, to second order,

    R^q(β) = ½ δ/(1-δ) Σ_i p_i (1 - p_i) Σ_j x_ij² β_j²,

asks a useful feature for something only in the rows that have it, where it makes predictions confident. The
paper finds accuracies of 0.66 and 0.73 over rows with useful features, 0.53 and 0.55 over all rows.
"""

import warnings
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from dropglm.datasets.simulation import ACTIVE_GROUPS, GROUPS, SIGNAL, USEFUL, simulated
from dropglm.estimators import LogisticRegression
from dropglm.estimators.features import Features
from dropglm.estimators.problem import Problem
from dropglm.experiments.experiment import Experiment, Fit
from dropglm.experiments.simulation_results import (
    EARLY,
    GAUSSIAN,
    LATE,
    RIDGE,
    TRUTH,
    collect,
    compare,
    draw,
)
from dropglm.experiments.unscaled import Unscaled
from dropglm.families import Logistic
from dropglm.noising import noise_from, penalty_from
from dropglm.solvers import LBFGS

RUNS, RUNS_QUICK = 100, 10
TRAIN, TEST = 75, 2000
L2, DROPOUT = 32.0, 0.9  # the paper's
OTHER_L2 = (0.32, 3.2, 320.0, 3200.0)
SMALL = 2e-2  # largest entry of the gradient at which the paper's authors stopped
MAX_ITER = 200

PROTOCOL = (
    f"In each run {TRAIN} rows to train on, whose groups take turns, and {TEST:,} to test on, whose groups "
    "are drawn; no intercept. A row is active if it has useful features. Ridge has the paper's "
    f"λ = {L2:g}, dropout the paper's δ = {DROPOUT:g} and no ridge beside it. Weaker and stronger "
    "ridges are there to see whether that λ is the best one. Quadratic is the paper's surrogate, once "
    "stopped as its authors stopped theirs (plain L-BFGS from β = 0 until no entry of the gradient is above "
    f"{SMALL:g}) and once as far as {MAX_ITER} iterations of the library's solver go: its objective has no "
    "minimum where rows can be separated, as they can here. Gaussian is the library's default, whose "
    "objective is convex, to convergence. Exact dropout is not here: it has no minimum either, since it "
    "never speaks against a feature whose sign always agrees with the label, and each useful one has but "
    "three rows. The truth is the model that drew the labels; it can only guess where no useful feature is "
    "active. ± is the standard error over runs. Gains are over ridge with the paper's λ, on the same rows. "
    "The size of a coefficient is its absolute value."
)


class Rows(NamedTuple):
    """A run's rows to train and to test on; ``active`` are test rows that have useful features."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    active: np.ndarray


def drawn(rng: np.random.Generator) -> Rows:
    """The rows of a run.

    Examples
    --------
    >>> rows = drawn(np.random.default_rng(0))
    >>> rows.X.shape, rows.X_test.shape
    ((75, 1050), (2000, 1050))
    """
    X, y = simulated(np.arange(TRAIN) % GROUPS, rng)
    groups = rng.integers(GROUPS, size=TEST)
    return Rows(X, y, *simulated(groups, rng), groups < ACTIVE_GROUPS)


# Fits come run by run, so that one run's rows are enough.
@lru_cache(maxsize=1)
def rows_of(run: int) -> Rows:
    """The rows of the run with that number, the same for all methods."""
    return drawn(np.random.default_rng(run))


def estimated(rows: Rows, **settings: Any) -> np.ndarray:
    """β of the library's estimator, wherever it stopped."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return LogisticRegression(fit_intercept=False, **settings).fit(rows.X, rows.y).coef_[0]


def stopped_early(
    rows: Rows, *, dropout: float, expectation: str, largest_gradient: float, max_iter: int
) -> np.ndarray:
    """β where plain L-BFGS first meets a gradient that small."""
    features = Features(rows.X)
    problem = Problem(features, Logistic, rows.y[:, None], np.ones(len(rows.y)), fit_intercept=False)
    noising = penalty_from(expectation, "logistic", noise_from(dropout, 0.0))
    objective = problem.objective(noising, np.zeros((features.labeled.shape[1], 1)), 0.0)

    def small(number: int, point: Any) -> bool:
        return bool(np.abs(point.gradient).max() <= largest_gradient)

    start = objective.join(*problem.null_model())
    theta, _ = LBFGS(tol=0.0, max_iter=max_iter).minimize(Unscaled(objective), start, small)
    return features.given_back(objective.split(theta)[0])[0]


def true_coefficients(rows: Rows) -> np.ndarray:
    """β of the model that drew the labels."""
    return np.where(np.arange(rows.X.shape[1]) < ACTIVE_GROUPS * USEFUL, SIGNAL, 0.0)


def scored(rows: Rows, *, method: Callable[..., np.ndarray], settings: Mapping[str, Any]) -> dict[str, float]:
    """Accuracy and log loss on test rows, and how large both kinds of coefficients are."""
    coef = method(rows, **settings)
    eta = rows.X_test @ coef
    right = (eta > 0) == rows.y_test
    size, useful = np.abs(coef), ACTIVE_GROUPS * USEFUL
    return {
        "active": float(right[rows.active].mean()),
        "all": float(right.mean()),
        "log_loss": float(np.mean(Logistic.log_partition(eta) - rows.y_test * eta)),
        "useful_size": float(size[:useful].mean()),
        "nuisance_size": float(size[useful:].mean()),
    }


def methods() -> dict[str, tuple[Callable[..., np.ndarray], dict[str, Any]]]:
    """Each method's function and settings."""
    quadratic = {"dropout": DROPOUT, "expectation": "quadratic"}
    converged = {"l2": 0.0, "tol": 1e-4, "max_iter": MAX_ITER}
    return {
        RIDGE: (estimated, converged | {"dropout": 0.0, "l2": L2}),
        **{f"ridge, λ = {l2:g}": (estimated, converged | {"dropout": 0.0, "l2": l2}) for l2 in OTHER_L2},
        EARLY: (
            stopped_early,
            quadratic | {"largest_gradient": SMALL, "max_iter": MAX_ITER},
        ),
        LATE: (estimated, converged | quadratic),
        GAUSSIAN: (estimated, converged | {"dropout": DROPOUT, "expectation": "gaussian"}),
        TRUTH: (true_coefficients, {}),
    }


def fits(quick: bool) -> list[Fit]:
    """All methods, run by run."""
    groups = {"groups": GROUPS, "active_groups": ACTIVE_GROUPS, "useful": USEFUL}
    rows = {"rows": TRAIN, "test_rows": TEST, "signal": SIGNAL} | groups
    return [
        Fit(
            "simulation",
            name,
            run,
            rows | {"settings": settings},
            partial(rows_of, run),
            partial(scored, method=method, settings=settings),
            0.1,
        )
        for run in range(RUNS_QUICK if quick else RUNS)
        for name, (method, settings) in methods().items()
    ]


SIMULATION = Experiment(
    title="Simulation: dropout against ridge where useful features are rare",
    summary="accuracy with 50 rare useful features among 1,000 of noise, beside the paper's",
    data=(),
    takes="1 minute",
    takes_quick="8 seconds",
    protocol=PROTOCOL,
    fits=fits,
    collect=collect,
    draw=draw,
    compare=compare,
)
