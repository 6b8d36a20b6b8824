"""True and quadratic penalty of one row under Gaussian noise (the paper's Figure 1a).

    R(η, σ) = E A(N(η, σ²)) - A(η),     R^q(η, σ) = ½ A''(η) σ²,     A(η) = log(1 + e^η)

According to the paper, R^q is generally very accurate; it is too large for p = A'(η) near ½ and too small for
very confident predictions.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dropglm.experiments.experiment import Experiment, Fit, Line
from dropglm.pages import ResultTable
from dropglm.plots import PenaltyCurvesDisplay
from dropglm.plots.penalty_curves import row_penalties


@dataclass(frozen=True)
class Figure1a(Experiment):
    """The experiment; ``shown_levels`` are the noise levels σ of the table."""

    probabilities: tuple[float, ...] = (0.5, 0.73, 0.82, 0.88, 0.95)
    levels: tuple[float, ...] = tuple(k / 40 for k in range(61))  # up to 1.5
    shown_levels: tuple[float, ...] = (0.25, 0.5, 1.0, 1.5)

    title = "Figure 1a: the true and the quadratic penalty under Gaussian noise"
    summary = "how close the quadratic penalty of a row is to the true one, by confidence and noise"
    takes = takes_quick = "1 second"

    @property
    def protocol(self) -> str:
        """What was done."""
        return (
            "One row of a logistic model has natural parameter η and predicted probability p; Gaussian noise "
            "with standard deviation σ is added to η. The true penalty is the expectation of A over the "
            "noise minus A(η), in closed form with an error of at most 8.2e-9; the quadratic penalty is "
            "½ p (1 - p) σ². Nothing is fitted and nothing is random. The paper does not state the values of "
            "p and σ in its figure, so these are our choice."
        )

    def fits(self, quick: bool) -> list[Fit]:
        """Return one fit, the same for a quick run."""
        parameters = {"probabilities": list(self.probabilities), "levels": list(self.levels)}
        return [Fit("one row", "true and quadratic", 0, parameters, lambda: None, self._curves)]

    def tabulate(self, lines: list[Line]) -> list[ResultTable]:
        """Return the quadratic penalty as a multiple of the true one."""
        return [self._ratios(line) for line in lines]

    def draw(self, lines: list[Line]) -> dict[str, list[Any]]:
        """Draw both penalties against the noise level."""
        caption = (
            "Penalty of one row against the noise level σ, by predicted probability p: true (solid) and "
            "quadratic (dashed)."
        )
        return {caption: [_display(line).plot().figure_ for line in lines]}

    def _curves(self, data: None) -> dict[str, Any]:
        true, quadratic = row_penalties(self.probabilities, self.levels)
        return {"true": true.tolist(), "quadratic": quadratic.tolist()}

    def _ratios(self, line: Line) -> ResultTable:
        display = _display(line)
        # For each shown level, the largest stored level that is not above it.
        columns = np.searchsorted(display.noise_levels, self.shown_levels, side="right") - 1
        rows = [
            [
                f"p = {p:g}",
                *(f"{ratio:.3f}" for ratio in display.quadratic[k, columns] / display.true[k, columns]),
            ]
            for k, p in enumerate(display.probabilities)
        ]
        header = ["prediction", *(f"σ = {display.noise_levels[k]:g}" for k in columns)]
        return ResultTable("The quadratic penalty as a multiple of the true penalty", header, rows)


def _display(line: Line) -> PenaltyCurvesDisplay:
    parameters, result = line["parameters"], line["result"]
    return PenaltyCurvesDisplay(
        *map(
            np.array, (parameters["levels"], parameters["probabilities"], result["true"], result["quadratic"])
        )
    )
