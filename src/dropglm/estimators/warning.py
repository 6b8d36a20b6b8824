"""Warnings about a fit: no convergence, or no minimum to converge to."""

import sys
import warnings
from collections.abc import Sequence
from types import FrameType
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from dropglm.solvers import Result, Status


def stacklevel() -> int:
    """Return the ``stacklevel`` with which a warning points to the user's own line."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals["__name__"].split(".")[0] in ("dropglm", "sklearn"):
        frame, level = frame.f_back, level + 1
    return level


def called_from_model_selection() -> bool:
    """Return whether scikit-learn's cross-validation or search is calling."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith("sklearn.model_selection."):
            return True
        frame = frame.f_back
    return False


def warn_unless_converged(estimator: Any, results: Sequence[Result]) -> None:
    """Warn about solver runs that did not converge, with numbers and with what to change."""
    failed = [result for result in results if result.status in (Status.MAX_ITER, Status.STALLED)]
    if not failed:
        return
    worst = max(failed, key=lambda result: result.gradient_norm)
    advice = (
        "raise max_iter or l2, or scale the features"
        if worst.status == Status.MAX_ITER
        else "raise tol, or give X as float64"
    )
    which = "" if len(results) == 1 else f" ({len(failed)} of {len(results)} problems)"
    warnings.warn(
        f"{type(estimator).__name__} {worst.status}{which}: after {worst.n_iter} iterations the gradient "
        f"norm is {worst.gradient_norm:.2g}, above tol = {estimator.tol:g} (objective "
        f"{worst.objective:.6g}); {advice}.",
        ConvergenceWarning,
        stacklevel=stacklevel(),
    )


def warn_no_minimum(reason: str, coef: np.ndarray) -> None:
    """Warn that the objective has no minimum, however small the gradient has become."""
    warnings.warn(
        f"The objective has no minimum: {reason}. The coefficients, now up to {np.abs(coef).max():.3g}, are "
        "where the solver stopped. Set l2 above 0, or use expectation='gaussian' with dropout.",
        ConvergenceWarning,
        stacklevel=stacklevel(),
    )
