"""Second-order expansions of the logistic loss (the paper's Figure A.1).

    A(η_0) + A'(η_0)(η - η_0) + ½ A''(η_0)(η - η_0)²     against     A(η) = log(1 + e^η)

The paper says that the expansion at p = A'(η_0) = ½ is always above the loss, while those at p = 0.05 and
0.95 are below it over a large range. That is why the quadratic penalty is too large for uncertain rows and
too small for confident ones.
"""

from functools import partial
from typing import Any

import numpy as np

from dropglm.experiments.experiment import Experiment, Fit, Line
from dropglm.pages import ResultTable
from dropglm.plots import LossExpansionDisplay
from dropglm.plots.loss_expansion import expanded_loss

PROBABILITIES = (0.05, 0.5, 0.95)
ETA = tuple(k / 10 for k in range(-60, 61))

PROTOCOL = (
    "A(η) = log(1 + e^η), the part of the logistic loss that does not depend on the label, and its "
    "second-order expansions where the prediction is p. The table counts over a grid of η from -6 to 6: in "
    "which share of it an expansion lies above A or below it, and by how much at most. Nothing is fitted "
    "and nothing is drawn at random."
)


def expansions(probabilities: tuple[float, ...], eta: tuple[float, ...]) -> dict[str, Any]:
    """A and its expansions over the grid.

    Examples
    --------
    >>> expansions((0.5,), (0.0, 2.0))["expansions"]
    [[0.693, 2.193]]
    """
    loss, expansions = expanded_loss(probabilities, eta)
    return {"loss": loss.tolist(), "expansions": expansions.tolist()}


def fits(quick: bool) -> list[Fit]:
    """One, the same for a quick run."""
    parameters = {"probabilities": list(PROBABILITIES), "eta": list(ETA)}
    work = partial(expansions, PROBABILITIES, ETA)
    return [Fit("the logistic loss", "second order", 0, parameters, lambda: None, lambda rows: work())]


def collect(lines: list[Line]) -> list[ResultTable]:
    """Where each expansion lies above the loss and where below it."""
    return [_sides(line) for line in lines]


def draw(lines: list[Line]) -> dict[str, list[Any]]:
    """The loss and its expansions."""
    caption = (
        "The log-partition of the logistic model (solid) and its expansions at three predictions (dashed)."
    )
    return {caption: [_display(line).plot().figure_ for line in lines]}


def _sides(line: Line) -> ResultTable:
    display = _display(line)
    above = display.expansions - display.loss
    tiny = 1e-9  # they touch where they are expanded, but for rounding
    rows = [
        [
            f"expanded at p = {p:g}",
            f"{100 * np.mean(gap > tiny):.1f}",
            f"{100 * np.mean(gap < -tiny):.1f}",
            f"{max(0.0, gap.max()):.3f}",
            f"{max(0.0, -gap.min()):.3f}",
        ]
        for p, gap in zip(display.probabilities, above, strict=True)
    ]
    low, high = display.eta[0], display.eta[-1]
    header = ["", "above, % of η", "below, % of η", "above by at most", "below by at most"]
    return ResultTable(
        f"Expansions of the logistic loss against the loss itself, η from {low:g} to {high:g}", header, rows
    )


def _display(line: Line) -> LossExpansionDisplay:
    given, result = line["parameters"], line["result"]
    return LossExpansionDisplay(
        *map(np.array, (given["eta"], result["loss"], given["probabilities"], result["expansions"]))
    )


FIGURE_A1 = Experiment(
    title="Figure A.1: quadratic approximations of the logistic loss",
    summary="why the quadratic penalty is too large for uncertain rows and too small for confident ones",
    data=(),
    takes="1 second",
    takes_quick="1 second",
    protocol=PROTOCOL,
    fits=fits,
    collect=collect,
    draw=draw,
)
