"""Warnings about a fit: no convergence, or no minimum to converge to."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from dropglm.base.errors import stacklevel
from dropglm.core.solvers import Result, Status


def warn_unless_converged(estimator: Any, results: Sequence[Result]) -> None:
    """Warn about solver runs that did not converge, with numbers and with what to change."""
    failed = [result for result in results if result.status in (Status.MAX_ITER, Status.STALLED)]
    if not failed:
        return
    worst = max(failed, key=lambda result: result.gradient_norm)
    stalled = worst.status == Status.STALLED
    advice = "raise tol, or pass X as float64" if stalled else "raise max_iter or l2, or scale the features"
    which = "" if len(results) == 1 else f" ({len(failed)} of {len(results)} problems)"
    warnings.warn(
        f"{type(estimator).__name__} did not converge{which}: it {worst.status} (n_iter = {worst.n_iter}), "
        f"with gradient norm {worst.gradient_norm:.2g}, above tol = {estimator.tol:g} (objective "
        f"{worst.objective:.6g}); {advice}.",
        ConvergenceWarning,
        stacklevel=stacklevel(),
    )


def warn_unless_all_converged(converged: Sequence[bool], max_iter: int) -> None:
    """Warn about the fits of a search that did not converge."""
    failed = sum(not one for one in converged)
    if failed:
        warnings.warn(
            f"{failed} of the {len(converged)} fits of the search did not converge within {max_iter} "
            "iterations; raise max_iter or remove weak penalties from the grid.",
            ConvergenceWarning,
            stacklevel=stacklevel(),
        )


def warn_no_minimum(reason: str, coef: np.ndarray) -> None:
    """Warn that the objective has no minimum, however small the gradient has become."""
    warnings.warn(
        f"The objective has no minimum: {reason}. The coefficients, now up to {np.abs(coef).max():.3g}, are "
        "where the solver stopped. Set l2 above 0, or dropout above 0 with expectation='gaussian'.",
        ConvergenceWarning,
        stacklevel=stacklevel(),
    )
