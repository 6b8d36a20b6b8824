"""Whether an objective without a ridge has a minimum, where that is easy to see."""

import numpy as np

from dropglm.estimators.problem import Problem
from dropglm.objective import Coefficients
from dropglm.penalties import Penalty


def why_none(problem: Problem, penalty: Penalty | None, found: Coefficients) -> str | None:
    """Why coefficients may grow for ever, given those that a fit found; None where nothing says so."""
    if penalty is None:
        return _if_separable(problem, found, "there is neither noise nor a ridge")
    if penalty.vanishes:
        return _if_separable(problem, found, "the quadratic penalty vanishes as coefficients grow")
    if penalty.spares_one_sided and not penalty.noise.absolute and _has_one_sided(problem):
        return "some features occur in one class only, and dropout alone never speaks against them"
    return None


def _if_separable(problem: Problem, found: Coefficients, why: str) -> str | None:
    beta, intercept = found
    eta = problem.features.labeled.dot(beta) + intercept
    right = (
        eta.argmax(axis=1) == problem.y.argmax(axis=1)
        if problem.family.several
        else (eta > 0)[:, 0] == problem.y[:, 0]
    )
    return f"the rows are separable and {why}" if right.all() else None


def _has_one_sided(problem: Problem) -> bool:
    """Whether some feature that is never negative speaks for one class only."""
    design = problem.features.labeled
    if problem.family.several or design.smallest < 0.0:
        return False
    # Σ_i ±x_ij reaches Σ_i x_ij where all of a feature's entries have the same sign.
    side = 2.0 * problem.y - 1.0
    agreed, all_of_it = (np.abs(design.transposed_dot(r)[:, 0]) for r in (side, np.ones_like(side)))
    return bool(((agreed >= all_of_it * (1.0 - 1e-6)) & (all_of_it > 0.0)).any())
