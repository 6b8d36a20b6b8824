"""Exact and quadratic dropout penalty during training (the paper's Figure 1b).

    minimise  Σ_i loss_i + R(β) + ½λ‖β‖²
    R(β) = Σ_i E A(η̃_i) - A(η_i),     R^q(β) = ½ Σ_i A''(η_i) Var η̃_i

The model is trained with the exact penalty R; R^q and the Gaussian approximation of R are computed at each
step. According to the paper, R^q is accurate most of the way and deteriorates only slightly as the model
converges to highly confident predictions.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from dropglm.datasets import load_dataset
from dropglm.experiments.experiment import Experiment, Fit, Line
from dropglm.experiments.plain_lbfgs import train_with_plain_lbfgs
from dropglm.families import Logistic
from dropglm.pages import ResultTable
from dropglm.plots import PenaltyPathDisplay
from dropglm.plots.axes import fresh_axes
from dropglm.plots.penalty_path import penalties_along

APPROXIMATIONS = ("quadratic", "gaussian")
Path = list[tuple[np.ndarray, float]]  # coefficients and intercept after each step


class TrainingData(NamedTuple):
    """Features (n, d) and labels (n,)."""

    X: Any
    y: np.ndarray


@lru_cache(maxsize=1)
def athr_rows(load: Callable[[str], Any], n: int, seed: int) -> TrainingData:
    """Draw documents of AthR at random."""
    data = load("athr")
    drawn = np.random.default_rng(seed).permutation(len(data.y))[:n]
    return TrainingData(data.X[drawn].astype(np.float64), data.y[drawn])


def synthetic_rows(n: int, seed: int, *, words: int = 400, length: int = 20) -> TrainingData:
    """Draw rows that resemble short texts: binary, with the k-th word's frequency proportional to 1/k.

    Examples
    --------
    >>> X, y = synthetic_rows(100, 0)
    >>> X.shape, int(X.sum(axis=1).max()) <= 20
    ((100, 400), True)
    """
    rng = np.random.default_rng(seed)
    frequency = 1.0 / np.arange(1, words + 1)
    drawn = rng.choice(words, size=(n, length), p=frequency / frequency.sum())
    X = np.zeros((n, words))
    np.put_along_axis(X, drawn, 1.0, axis=1)
    return TrainingData(sparse.csr_array(X), Logistic.sample(X @ rng.normal(size=words), rng))


def training_path(
    rows: TrainingData, *, dropout: float, l2: float, tol: float, max_iter: int
) -> tuple[Path, list[float]]:
    """Train with exact dropout, and return the path of the coefficients and the objective at each step."""
    path: Path = []

    def record(coef: np.ndarray, intercept: float, gradient: np.ndarray) -> bool:
        path.append((coef, intercept))
        return False

    settings: dict[str, Any] = {"dropout": dropout, "l2": l2, "tol": tol, "max_iter": max_iter}
    _, result = train_with_plain_lbfgs(rows.X, rows.y, record, expectation="exact", **settings)
    return path, result.history.objective[1:].tolist()


def measure_path(path: Path, rows: TrainingData, *, dropout: float) -> dict[str, list[float]]:
    """Return the penalties, the loss and the mean confidence after each step."""
    penalties = penalties_along(path, rows.X, expectations=("exact", *APPROXIMATIONS), dropout=dropout)
    predictors = [rows.X @ coef + intercept for coef, intercept in path]
    return {
        "loss": [float(np.sum(Logistic.log_partition(eta) - rows.y * eta)) for eta in predictors],
        "confidence": [float(Logistic.mean(np.abs(eta)).mean()) for eta in predictors],
        **penalties,
    }


@dataclass(frozen=True)
class Figure1b(Experiment):
    """The experiment; the two l2 are the largest that the paper's authors used, and the library's default."""

    l2: tuple[float, ...] = (0.01, 1.0)
    rows: int = 1000
    quick_rows: int = 150
    dropout: float = 0.5
    tol: float = 1e-4
    max_iter: int = 150
    load: Callable[[str], Any] = load_dataset

    title = "Figure 1b: the exact and the quadratic penalty during training"
    summary = "how close the quadratic penalty stays to the exact one along the path of a fit"
    data = ("athr",)
    takes, takes_quick = "20 seconds", "3 seconds, no data set"

    @property
    def protocol(self) -> str:
        """What was done."""
        return (
            "Logistic regression with an intercept, trained with the exact dropout penalty, δ = "
            f"{self.dropout:g}, from β = 0 by L-BFGS that starts from a multiple of the identity; with the "
            "library's own preconditioner the first step would already get most of the way. The ridge λ is "
            "needed because words that occur in only one class have no finite weight without it. After each "
            "step the exact penalty and two approximations of it are computed: the paper's quadratic "
            "penalty, and the library's default, which treats the noise of a row's predictor as Gaussian. "
            "Errors are relative to the exact penalty. Confidence is the mean of max(p, 1 - p). athr: "
            f"{self.rows:,} documents drawn at random, 22,178 words. A quick run uses synthetic texts "
            "instead."
        )

    def fits(self, quick: bool) -> list[Fit]:
        """Return one fit per ridge."""
        n, seed = self.quick_rows if quick else self.rows, 0
        load: Callable[[], TrainingData] = (
            partial(synthetic_rows, n, seed) if quick else partial(athr_rows, self.load, n, seed)
        )
        solver = {"tol": self.tol, "max_iter": self.max_iter, "metric": "identity"}
        parameters = {"rows": n, "dropout": self.dropout} | solver
        return [
            Fit(
                "synthetic texts" if quick else "athr",
                f"λ = {l2:g}",
                seed,
                parameters | {"l2": l2},
                load,
                partial(self._measure, l2=l2),
                1.0 if quick else 8.0,
            )
            for l2 in self.l2
        ]

    def tabulate(self, lines: list[Line]) -> list[ResultTable]:
        """Return the penalties at some steps of each path."""
        return [_steps(line) for line in lines]

    def draw(self, lines: list[Line]) -> dict[str, list[Any]]:
        """Draw the penalties and the relative errors of each path."""
        figures = {}
        for line in lines:
            axes = [fresh_axes(), fresh_axes()]
            _display(line).plot(axes)
            caption = (
                f"{line['data']}, ridge {line['method']}: the exact penalty and two approximations at each "
                "step of training with the exact penalty, and the errors of the two."
            )
            figures[caption] = [ax.figure for ax in axes]
        return figures

    def _measure(self, rows: TrainingData, *, l2: float) -> dict[str, list[float]]:
        settings: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter}
        path, objective = training_path(rows, dropout=self.dropout, l2=l2, **settings)
        return {"objective": objective} | measure_path(path, rows, dropout=self.dropout)


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
    header = ["", "exact", *names, *(f"{name}, % error" for name in names), "loss", "confidence"]
    where = f"{line['data']}, ridge {line['method']}"
    title = f"{where}: penalties summed over {line['parameters']['rows']:,} rows, during training"
    return ResultTable(title, header, rows)


def _display(line: Line) -> PenaltyPathDisplay:
    result = line["result"]
    approximations = {name: result[name] for name in APPROXIMATIONS}
    return PenaltyPathDisplay(result["exact"], approximations, f"{line['data']}, {line['method']}")
