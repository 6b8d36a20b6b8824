"""Level curves of the plain and of the Fisher-scaled ridge penalty (the paper's Figure A.2).

    ½ (β - β̂)ᵀ I (β - β̂) + ½ λ c ‖β‖²     and     ½ (β - β̂)ᵀ I (β - β̂) + ½ λ βᵀ diag(I) β

I is the Fisher information at the maximum-likelihood estimate β̂, and c the mean of its diagonal. According to
the paper, the second penalty weights each axis by the curvature of the likelihood, and dropout training is
comparable to it: at δ = ½ the quadratic dropout penalty is ½ βᵀ diag(XᵀV(β)X) β, so λ = 1.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dropglm.estimators import LogisticRegression
from dropglm.experiments.experiment import Experiment, Fit, Line
from dropglm.families import Logistic
from dropglm.pages import ResultTable
from dropglm.plots import RidgeContoursDisplay
from dropglm.plots.axes import fresh_axes
from dropglm.plots.ridge_contours import fisher_information

Data = tuple[np.ndarray, np.ndarray]  # features (n, 2) and labels (n,)


@dataclass(frozen=True)
class FigureA2(Experiment):
    """The experiment: x = z · mix has two correlated features on different scales."""

    rows: int = 1000
    coef: tuple[float, float] = (1.5, 1.0)
    mix: tuple[tuple[float, float], ...] = ((0.4, 0.0), (0.2, 1.5))
    dropout: float = 0.5

    title = "Figure A.2: the plain and the Fisher-scaled ridge penalty"
    summary = "dropout acts like a ridge penalty that is scaled by the Fisher information"
    takes = takes_quick = "2 seconds"

    @property
    def strength(self) -> float:
        """λ = δ/(1-δ)."""
        return self.dropout / (1.0 - self.dropout)

    @property
    def protocol(self) -> str:
        """What was done."""
        return (
            f"{self.rows:,} rows with two features, x = z M with z standard normal and M = "
            f"{[list(row) for row in self.mix]}, and labels from a logistic model with β = {self.coef} and "
            "no intercept. The likelihood is drawn as its second-order expansion at the maximum-likelihood "
            "estimate. Both ridge penalties have the same average strength over the two axes, equal to that "
            f"of dropout with δ = {self.dropout:g}. The table also has the optimum of dropout training "
            "itself (the library's default penalty, with the likelihood, not its expansion). The columns β₁ "
            "left and β₂ left are the coefficients divided by their maximum-likelihood estimates; the "
            "distance is Euclidean. The paper's figure is a sketch without numbers; the data are ours."
        )

    def draw_rows(self, seed: int = 0) -> Data:
        """Draw the data."""
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(self.rows, 2)) @ np.array(self.mix)
        return X, Logistic.sample(X @ np.array(self.coef), rng)

    def fits(self, quick: bool) -> list[Fit]:
        """Return one fit, the same for a quick run."""
        parameters = {"rows": self.rows, "coef": list(self.coef), "mix": [list(row) for row in self.mix]}
        parameters |= {"dropout": self.dropout, "strength": self.strength}
        return [Fit("two features", "ridges", 0, parameters, self.draw_rows, self._optima)]

    def tabulate(self, lines: list[Line]) -> list[ResultTable]:
        """Return the optimum under each penalty."""
        return [_optima_table(line) for line in lines]

    def draw(self, lines: list[Line]) -> dict[str, list[Any]]:
        """Draw the level curves of both ridge penalties."""
        figures = {}
        for line in lines:
            axes = [fresh_axes(), fresh_axes()]
            _display(line).plot(axes)
            caption = (
                "Level curves of the likelihood (solid) and of two ridge penalties (dashed), with the "
                "optimum of their sum. The plain ridge ignores the scale of the features; the other one "
                "takes it from the likelihood."
            )
            figures[caption] = [ax.figure for ax in axes]
        return figures

    def _optima(self, data: Data) -> dict[str, Any]:
        """Return the Fisher information, the maximum-likelihood estimate and the optimum of dropout."""
        X, y = data
        settings: dict[str, Any] = {"l2": 0.0, "fit_intercept": False, "tol": 1e-8}
        peak = LogisticRegression(dropout=0.0, **settings).fit(X, y).coef_[0]
        dropout = LogisticRegression(dropout=self.dropout, **settings).fit(X, y).coef_[0]
        return {
            "information": fisher_information(X, Logistic.mean(X @ peak)).tolist(),
            "peak": peak.tolist(),
            "dropout": dropout.tolist(),
        }


def _optima_table(line: Line) -> ResultTable:
    display = _display(line)
    peak, (plain, scaled) = display.peak, display.optima
    optima = {
        "maximum likelihood": peak,
        "plain ridge ‖β‖²": plain,
        "Fisher-scaled ridge βᵀ diag(I) β": scaled,
        f"dropout, δ = {line['parameters']['dropout']:g}": np.array(line["result"]["dropout"]),
    }
    return ResultTable(
        "Two coefficients under two ridge penalties and under dropout",
        ["", "β₁", "β₂", "β₁ left", "β₂ left", "distance"],
        [
            [name, *(f"{number:.3f}" for number in (*beta, *(beta / peak), np.linalg.norm(beta - peak)))]
            for name, beta in optima.items()
        ],
    )


def _display(line: Line) -> RidgeContoursDisplay:
    result = line["result"]
    information, peak = (np.array(result[name]) for name in ("information", "peak"))
    return RidgeContoursDisplay(information, peak, line["parameters"]["strength"])
