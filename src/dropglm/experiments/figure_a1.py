"""Second-order expansions of the logistic loss (the paper's Figure A.1).

    A(η_0) + A'(η_0)(η - η_0) + ½ A''(η_0)(η - η_0)²     against     A(η) = log(1 + e^η)

According to the paper, the expansion at p = A'(η_0) = ½ is always above the loss, while those at p = 0.05 and
0.95 are below it over a large range. That is why the quadratic penalty is too large for uncertain rows and
too small for confident ones.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dropglm.experiments.experiment import Experiment, Fit, Line
from dropglm.pages import ResultTable
from dropglm.plots import LossExpansionDisplay
from dropglm.plots.loss_expansion import expanded_loss

ROUNDING = 1e-9  # the curves touch where they are expanded, up to rounding


@dataclass(frozen=True)
class FigureA1(Experiment):
    """The experiment: probabilities at which the loss is expanded, and the grid of η."""

    probabilities: tuple[float, ...] = (0.05, 0.5, 0.95)
    eta: tuple[float, ...] = tuple(k / 10 for k in range(-60, 61))

    title = "Figure A.1: quadratic approximations of the logistic loss"
    summary = "why the quadratic penalty is too large for uncertain rows and too small for confident ones"
    takes = takes_quick = "1 second"

    @property
    def protocol(self) -> str:
        """What was done."""
        return (
            "A(η) = log(1 + e^η), the part of the logistic loss that does not depend on the label, and its "
            "second-order expansions at the η where the prediction is p. The table says on which share of a "
            f"grid of η from {self.eta[0]:g} to {self.eta[-1]:g} an expansion is above A or below it, and by "
            "how much at most. Nothing is fitted and nothing is random."
        )

    def fits(self, quick: bool) -> list[Fit]:
        """Return one fit, the same for a quick run."""
        parameters = {"probabilities": list(self.probabilities), "eta": list(self.eta)}
        return [Fit("the logistic loss", "second order", 0, parameters, lambda: None, self._expansions)]

    def tabulate(self, lines: list[Line]) -> list[ResultTable]:
        """Return how often, and by how much, each expansion is above and below the loss."""
        return [_above_and_below(line) for line in lines]

    def draw(self, lines: list[Line]) -> dict[str, list[Any]]:
        """Draw the loss and its expansions."""
        caption = (
            "Log-partition of the logistic model (solid) and its expansions at three predictions (dashed)."
        )
        return {caption: [_display(line).plot().figure_ for line in lines]}

    def _expansions(self, data: None) -> dict[str, Any]:
        loss, expansions = expanded_loss(self.probabilities, self.eta)
        return {"loss": loss.tolist(), "expansions": expansions.tolist()}


def _above_and_below(line: Line) -> ResultTable:
    display = _display(line)
    rows = [
        [
            f"expanded at p = {p:g}",
            f"{100 * np.mean(gap > ROUNDING):.1f}",
            f"{100 * np.mean(gap < -ROUNDING):.1f}",
            f"{max(0.0, gap.max()):.3f}",
            f"{max(0.0, -gap.min()):.3f}",
        ]
        for p, gap in zip(display.probabilities, display.expansions - display.loss, strict=True)
    ]
    low, high = display.eta[0], display.eta[-1]
    header = ["", "above, % of η", "below, % of η", "above by at most", "below by at most"]
    title = f"Expansions of the logistic loss compared with the loss itself, η from {low:g} to {high:g}"
    return ResultTable(title, header, rows)


def _display(line: Line) -> LossExpansionDisplay:
    parameters, result = line["parameters"], line["result"]
    return LossExpansionDisplay(
        *map(np.array, (parameters["eta"], result["loss"], parameters["probabilities"], result["expansions"]))
    )
