"""Level curves of the plain and of the Fisher-scaled ridge (the paper's Figure A.2).

    ½ (β - β̂)ᵀ I (β - β̂) + ½ λ c ‖β‖²     and     ½ (β - β̂)ᵀ I (β - β̂) + ½ λ βᵀ diag(I) β

I is the Fisher information at the maximum-likelihood estimate β̂, and c the mean of its diagonal. The paper
says that the second ridge takes the relative importance of each axis from the curvature of the likelihood,
and that dropout training is comparable to it: at δ = ½ the quadratic dropout penalty is ½ βᵀ diag(XᵀV(β)X) β,
λ = 1.
"""

from functools import partial
from typing import Any

import numpy as np

from dropglm.estimators import LogisticRegression
from dropglm.experiments.experiment import Experiment, Fit, Line
from dropglm.families import Logistic
from dropglm.pages import ResultTable
from dropglm.plots import RidgeContoursDisplay
from dropglm.plots.axes import fresh_axes
from dropglm.plots.ridge_contours import fisher_information

ROWS = 1000
COEF = (1.5, 1.0)
MIX = ((0.4, 0.0), (0.2, 1.5))  # x = z · MIX: two features of different scale that go together
DROPOUT = 0.5
STRENGTH = DROPOUT / (1.0 - DROPOUT)  # λ

PROTOCOL = (
    f"{ROWS:,} rows with two features, x = z M with z standard normal and M = [[0.4, 0], [0.2, 1.5]], and "
    f"labels from a logistic model with β = {COEF}, without an intercept. The likelihood is drawn as its "
    "second-order expansion at the maximum-likelihood estimate. Both ridges have the same strength on "
    f"average over the two axes, and the strength is that of dropout with δ = {DROPOUT:g}. The table also "
    "has the optimum of dropout training itself, the library's default penalty, on the likelihood itself. "
    "Of β₁ and of β₂ is what is left of each coefficient, relative to maximum likelihood; the distance is "
    "Euclidean. The paper's picture is a sketch without numbers; the data are ours."
)


def rows(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Features (ROWS, 2) and labels (ROWS,)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(ROWS, 2)) @ np.array(MIX)
    return X, Logistic.sample(X @ np.array(COEF), rng)


def optima(data: tuple[np.ndarray, np.ndarray]) -> dict[str, Any]:
    """Information and maximum-likelihood estimate, of which all is drawn, and the optimum of dropout."""
    X, y = data
    settings: dict[str, Any] = {"l2": 0.0, "fit_intercept": False, "tol": 1e-8}
    peak = LogisticRegression(dropout=0.0, **settings).fit(X, y).coef_[0]
    dropout = LogisticRegression(dropout=DROPOUT, **settings).fit(X, y).coef_[0]
    return {
        "information": fisher_information(X, Logistic.mean(X @ peak)).tolist(),
        "peak": peak.tolist(),
        "dropout": dropout.tolist(),
    }


def fits(quick: bool) -> list[Fit]:
    """One, the same for a quick run."""
    parameters = {"rows": ROWS, "coef": list(COEF), "mix": [list(row) for row in MIX], "dropout": DROPOUT}
    return [Fit("two features", "ridges", 0, parameters | {"strength": STRENGTH}, partial(rows, 0), optima)]


def collect(lines: list[Line]) -> list[ResultTable]:
    """Where each ridge pulls the estimate."""
    return [_pulled(line) for line in lines]


def draw(lines: list[Line]) -> dict[str, list[Any]]:
    """The level curves of both ridges."""
    figures = {}
    for line in lines:
        axes = [fresh_axes(), fresh_axes()]
        _display(line).plot(axes)
        caption = (
            "Level curves of the likelihood (solid) and of two ridges (dashed), with the optimum of their "
            "sum. The plain ridge ignores the scale of the features; the other takes it from the likelihood."
        )
        figures[caption] = [ax.figure for ax in axes]
    return figures


def _pulled(line: Line) -> ResultTable:
    display = _display(line)
    peak, (plain, scaled) = display.peak, display.optima
    found = {
        "maximum likelihood": peak,
        "plain ridge ‖β‖²": plain,
        "Fisher-scaled ridge βᵀ diag(I) β": scaled,
        f"dropout, δ = {line['parameters']['dropout']:g}": np.array(line["result"]["dropout"]),
    }
    return ResultTable(
        "Two coefficients under two ridges and under dropout",
        ["", "β₁", "β₂", "of β₁", "of β₂", "distance"],
        [
            [name, *(f"{number:.3f}" for number in (*beta, *(beta / peak), np.linalg.norm(beta - peak)))]
            for name, beta in found.items()
        ],
    )


def _display(line: Line) -> RidgeContoursDisplay:
    result = line["result"]
    information, peak = (np.array(result[name]) for name in ("information", "peak"))
    return RidgeContoursDisplay(information, peak, line["parameters"]["strength"])


FIGURE_A2 = Experiment(
    title="Figure A.2: the plain and the Fisher-scaled ridge",
    summary="dropout acts like a ridge that is scaled by the Fisher information",
    data=(),
    takes="2 seconds",
    takes_quick="2 seconds",
    protocol=PROTOCOL,
    fits=fits,
    collect=collect,
    draw=draw,
)
