"""The exact and the quadratic dropout penalty while a model is trained (the paper's Figure 1b).

    minimise  Σ_i loss_i + R(β) + ½λ‖β‖²
    R(β) = Σ_i E A(η̃_i) - A(η_i),     R^q(β) = ½ Σ_i A''(η_i) Var η̃_i

The path of the optimisation is that of exact dropout; R^q, and the Gaussian approximation of R, are computed
at its steps. The paper says that R^q is accurate most of the way, only deteriorating slightly as the model
converges to highly confident predictions.
"""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from dropglm.datasets import load_dataset
from dropglm.estimators.features import Features
from dropglm.estimators.problem import Problem
from dropglm.experiments.experiment import Experiment, Fit, Line
from dropglm.experiments.unscaled import Unscaled
from dropglm.families import Logistic
from dropglm.noising import noise_from, penalty_from
from dropglm.pages import ResultTable
from dropglm.plots import PenaltyPathDisplay
from dropglm.plots.axes import fresh_axes
from dropglm.plots.penalty_path import penalties_along
from dropglm.solvers import LBFGS

DROPOUT = 0.5
RIDGES = (0.01, 1.0)  # the upper end of what the paper's authors used; the library's default
ROWS, ROWS_QUICK = 1000, 150
WORDS, LENGTH = 400, 20  # of made-up texts
TOL, MAX_ITER = 1e-4, 150
APPROXIMATIONS = ("quadratic", "gaussian")

PROTOCOL = (
    f"Logistic regression with an intercept, trained with the exact dropout penalty, δ = {DROPOUT:g}, from "
    "β = 0 by L-BFGS that begins with a multiple of the identity; the library's own preconditioner would do "
    "most of the way in its first step. The ridge λ is there because words that occur in one class only "
    "would have no finite weight without one. After each step the exact penalty is computed, and two "
    "approximations of it: the paper's quadratic one, and the library's default, which takes the noise of a "
    "row's predictor for normal. Errors are relative to the exact penalty. Confidence is the mean of "
    f"max(p, 1 - p). athr: {ROWS:,} documents drawn at random, 22,178 words. A quick run has made-up texts "
    "in its place."
)


class Rows(NamedTuple):
    """Features (n, d), labels (n,)."""

    X: Any
    y: np.ndarray


@lru_cache(maxsize=1)
def athr_rows(n: int, seed: int) -> Rows:
    """Documents drawn at random."""
    data = load_dataset("athr")
    chosen = np.random.default_rng(seed).permutation(len(data.y))[:n]
    return Rows(data.X[chosen].astype(np.float64), data.y[chosen])


def made_up_rows(n: int, seed: int) -> Rows:
    """Rows like short texts: which of their words they have, the k-th word's frequency proportional to 1/k.

    Examples
    --------
    >>> X, y = made_up_rows(100, 0)
    >>> X.shape, int(X.sum(axis=1).max()) <= LENGTH
    ((100, 400), True)
    """
    rng = np.random.default_rng(seed)
    frequency = 1.0 / np.arange(1, WORDS + 1)
    words = rng.choice(WORDS, size=(n, LENGTH), p=frequency / frequency.sum())
    X = np.zeros((n, WORDS))
    np.put_along_axis(X, words, 1.0, axis=1)
    return Rows(sparse.csr_array(X), Logistic.sample(X @ rng.normal(size=WORDS), rng))


def path(rows: Rows, *, l2: float) -> dict[str, list[float]]:
    """Penalties, loss and confidence after each step of training with exact dropout."""
    features = Features(rows.X)
    problem = Problem(features, Logistic, rows.y[:, None].astype(np.float64), np.ones(len(rows.y)))
    exact = penalty_from("exact", "logistic", noise_from(DROPOUT, 0.0))
    objective = problem.objective(exact, np.full((features.labeled.shape[1], 1), l2), 0.0)
    steps: list[tuple[np.ndarray, float]] = []

    def keep(number: int, point: Any) -> bool:
        beta, intercept = objective.split(point.theta)
        steps.append((features.given_back(beta)[0], float(intercept[0])))
        return False

    start = objective.join(*problem.null_model())
    _, result = LBFGS(TOL, MAX_ITER).minimize(Unscaled(objective), start, keep)
    penalties = penalties_along(steps, rows.X, expectations=("exact", *APPROXIMATIONS), dropout=DROPOUT)
    predictors = [rows.X @ coef + intercept for coef, intercept in steps]
    return {
        "objective": result.history.objective[1:].tolist(),
        "loss": [float(np.sum(Logistic.log_partition(eta) - rows.y * eta)) for eta in predictors],
        "confidence": [float(Logistic.mean(np.abs(eta)).mean()) for eta in predictors],
        **penalties,
    }


def fits(quick: bool) -> list[Fit]:
    """A path for each ridge."""
    n, seed = ROWS_QUICK if quick else ROWS, 0
    load: Callable[[], Rows] = partial(made_up_rows if quick else athr_rows, n, seed)
    parameters = {"rows": n, "dropout": DROPOUT, "tol": TOL, "max_iter": MAX_ITER, "metric": "identity"}
    data, more = ("made-up texts", {"words": WORDS, "length": LENGTH}) if quick else ("athr", {})
    return [
        Fit(
            data,
            f"λ = {l2:g}",
            seed,
            parameters | more | {"l2": l2},
            load,
            partial(path, l2=l2),
            1.0 if quick else 8.0,
        )
        for l2 in RIDGES
    ]


def collect(lines: list[Line]) -> list[ResultTable]:
    """The penalties at some steps of each path."""
    return [_steps(line) for line in lines]


def draw(lines: list[Line]) -> dict[str, list[Any]]:
    """The penalties and the errors of each path."""
    figures = {}
    for line in lines:
        axes = [fresh_axes(), fresh_axes()]
        _display(line).plot(axes)
        caption = (
            f"{line['data']}, ridge {line['method']}: the exact penalty and two approximations of it at the "
            "steps of training with the exact one; and the errors of the two."
        )
        figures[caption] = [ax.figure for ax in axes]
    return figures


def _steps(line: Line) -> ResultTable:
    result, display = line["result"], _display(line)
    last = len(display.exact)
    shown = [step for step in (2**k for k in range(20)) if step < last] + [last]
    rows = [
        [f"step {step}{', the last' if step == last else ''}"]
        + [f"{values[step - 1]:.2f}" for values in (display.exact, *display.approximations.values())]
        + [f"{100 * display.error(name)[step - 1]:+.1f}" for name in display.approximations]
        + [f"{result['loss'][step - 1]:.2f}", f"{result['confidence'][step - 1]:.3f}"]
        for step in shown
    ]
    names = list(display.approximations)
    header = ["", "exact", *names, *(f"{name}, % off" for name in names), "loss", "confidence"]
    where = f"{line['data']}, ridge {line['method']}"
    return ResultTable(
        f"{where}: penalties of {line['parameters']['rows']:,} rows while training", header, rows
    )


def _display(line: Line) -> PenaltyPathDisplay:
    result = line["result"]
    approximations = {name: result[name] for name in APPROXIMATIONS}
    return PenaltyPathDisplay(result["exact"], approximations, f"{line['data']}, {line['method']}")


FIGURE_1B = Experiment(
    title="Figure 1b: the exact and the quadratic penalty while training",
    summary="how near the quadratic penalty stays to the exact one along the path of a fit",
    data=("athr",),
    takes="20 seconds",
    takes_quick="3 seconds, no data set",
    protocol=PROTOCOL,
    fits=fits,
    collect=collect,
    draw=draw,
)
