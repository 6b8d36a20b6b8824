"""Other libraries' logistic regression with an L2 penalty at C = 0.1, and the objective that each minimises.

Their objectives differ in the intercept: it is free, penalised like a coefficient, or missing. A fit is
limited by its number of iterations alone, so that the fewest iterations that reach a given objective can be
found. Each library has several settings to choose the fastest from.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

C = 0.1
NO_TOLERANCE = 1e-14  # never reached


class Coefficients(NamedTuple):
    """A fitted model."""

    coef: np.ndarray
    intercept: float = 0.0


class Setting(NamedTuple):
    """What can be chosen without changing the problem."""

    dtype: str
    blas: int = 1  # threads of BLAS
    options: tuple[tuple[str, Any], ...] = ()
    words: str = ""  # for the options

    def __str__(self) -> str:
        return ", ".join(part for part in (self.dtype, self.words) if part)


class Rival(NamedTuple):
    """A solver: its name, its fit, the form of its matrix, its kind of intercept, and its settings."""

    name: str
    fit: Callable[..., Coefficients]  # (X, y, iterations, **options)
    matrix: type
    intercept: str
    settings: tuple[Setting, ...]
    guess: int  # iterations to start from


def _blas(*dtypes: str) -> tuple[Setting, ...]:
    return tuple(
        Setting(dtype, threads, words=f"{threads} BLAS thread{'s' * (threads > 1)}")
        for dtype in dtypes
        for threads in (1, 2)
    )


def _sklearn(solver: str) -> Callable[..., Coefficients]:
    def fit(X: Any, y: np.ndarray, iterations: int, **options: Any) -> Coefficients:
        from sklearn.linear_model import LogisticRegression

        settings = {"C": C, "solver": solver, "tol": NO_TOLERANCE, "max_iter": iterations, **options}
        model = LogisticRegression(**settings, random_state=0).fit(X, y)
        return Coefficients(model.coef_[0], float(model.intercept_[0]))

    return fit


def _snapml(X: Any, y: np.ndarray, iterations: int, **options: Any) -> Coefficients:
    from snapml import LogisticRegression

    model = LogisticRegression(
        regularizer=1.0 / C,
        tol=NO_TOLERANCE,
        max_iter=iterations,
        fit_intercept=True,
        random_state=0,
        **options,
    ).fit(X, y)
    return Coefficients(np.ravel(model.coef_), float(np.ravel(model.intercept_)[0]))


def _skglm(X: Any, y: np.ndarray, iterations: int, **options: Any) -> Coefficients:
    from skglm.datafits import Logistic
    from skglm.penalties import L2
    from skglm.solvers import LBFGS

    # The loss is a mean over rows, and labels are ±1.
    solver, signs = LBFGS(max_iter=iterations, tol=NO_TOLERANCE), 2.0 * y - 1.0
    return Coefficients(solver.solve(X, signs, Logistic(), L2(1.0 / (C * X.shape[0])))[0])


# Not sag and saga: on IMDB's unigrams, 20 epochs of sag took twice the time in which lbfgs reached a smaller
# gap. Not newton-cholesky, which needs the Hessian as an array. skglm does not accept float32 here.
RIVALS = (
    Rival("scikit-learn lbfgs", _sklearn("lbfgs"), sparse.csr_array, "free", _blas("float32", "float64"), 55),
    Rival(
        "scikit-learn newton-cg",
        _sklearn("newton-cg"),
        sparse.csr_array,
        "free",
        _blas("float32", "float64"),
        8,
    ),
    Rival(
        "scikit-learn liblinear",
        _sklearn("liblinear"),
        sparse.csr_array,
        "penalised",
        (
            Setting("float64", words="primal"),
            Setting("float64", options=(("dual", True),), words="dual"),
        ),
        8,
    ),
    Rival(
        "snapml",
        _snapml,
        sparse.csr_matrix,
        "penalised",
        tuple(
            Setting(
                "float32",
                options=(("n_jobs", jobs), ("dual", dual)),
                words=f"{jobs} thread{'s' * (jobs > 1)}, {form}",
            )
            for dual, form in ((True, "dual"), (False, "primal"))
            for jobs in (1, 2)
        ),
        10,
    ),
    Rival("skglm lbfgs", _skglm, sparse.csc_matrix, "none", _blas("float64"), 60),
)


def objective(intercept: str, X: Any, y: np.ndarray, found: Coefficients) -> float:
    """Return the sum of log losses and ‖β‖²/(2C), with the square of the intercept if it is penalised."""
    eta = X @ found.coef.astype(np.float64) + found.intercept
    squares = float(found.coef.astype(np.float64) @ found.coef)
    if intercept == "penalised":
        squares += found.intercept**2
    return float(np.logaddexp(0.0, np.where(y == 1, -eta, eta)).sum() + squares / (2.0 * C))
