"""The true and the quadratic penalty of one row with normal noise (the paper's Figure 1a).

    R(η, σ) = E A(N(η, σ²)) - A(η),     R^q(η, σ) = ½ A''(η) σ²,     A(η) = log(1 + e^η)

The paper says that R^q is generally very accurate, too large for p = A'(η) near ½ and too small for very
confident predictions.
"""

from functools import partial
from typing import Any

import numpy as np

from dropglm.experiments.experiment import Experiment, Fit, Line
from dropglm.pages import ResultTable
from dropglm.plots import PenaltyCurvesDisplay
from dropglm.plots.penalty_curves import row_penalties

PROBABILITIES = (0.5, 0.73, 0.82, 0.88, 0.95)
LEVELS = tuple(k / 40 for k in range(61))  # σ, up to 1.5
TABLED = (0.25, 0.5, 1.0, 1.5)  # of these

PROTOCOL = (
    "One row of a logistic model has natural parameter η and is predicted with probability p; normal noise "
    "of standard deviation σ is added to η. The true penalty is the mean of A over the noise less A(η), "
    "in closed form to 8.2e-9; the quadratic one is ½ p (1 - p) σ². Nothing is fitted and nothing is drawn "
    "at random. The published picture names no values of p and σ in the text; these are ours."
)


def curves(probabilities: tuple[float, ...], levels: tuple[float, ...]) -> dict[str, Any]:
    """Both penalties for every p and σ.

    Examples
    --------
    >>> curves((0.5,), (0.0, 1.0))["quadratic"]
    [[0.0, 0.125]]
    """
    true, quadratic = row_penalties(probabilities, levels)
    return {"true": true.tolist(), "quadratic": quadratic.tolist()}


def fits(quick: bool) -> list[Fit]:
    """One, the same for a quick run."""
    parameters = {"probabilities": list(PROBABILITIES), "levels": list(LEVELS)}
    work = partial(curves, PROBABILITIES, LEVELS)
    return [Fit("one row", "true and quadratic", 0, parameters, lambda: None, lambda rows: work())]


def collect(lines: list[Line]) -> list[ResultTable]:
    """The quadratic penalty as a multiple of the true one."""
    return [_ratios(line) for line in lines]


def draw(lines: list[Line]) -> dict[str, list[Any]]:
    """The curves."""
    caption = (
        "Penalty of one row against the noise level σ, by its predicted probability p: true (solid) and "
        "quadratic (dashed)."
    )
    return {caption: [_display(line).plot().figure_ for line in lines]}


def _ratios(line: Line) -> ResultTable:
    display = _display(line)
    # The last level at or below each: a table needs no curve that has exactly these.
    columns = np.searchsorted(display.noise_levels, TABLED, side="right") - 1
    rows = [
        [
            f"p = {p:g}",
            *(f"{ratio:.3f}" for ratio in display.quadratic[k, columns] / display.true[k, columns]),
        ]
        for k, p in enumerate(display.probabilities)
    ]
    header = ["predicted", *(f"σ = {display.noise_levels[k]:g}" for k in columns)]
    return ResultTable("The quadratic penalty, as a multiple of the true one", header, rows)


def _display(line: Line) -> PenaltyCurvesDisplay:
    given, result = line["parameters"], line["result"]
    return PenaltyCurvesDisplay(
        *map(np.array, (given["levels"], given["probabilities"], result["true"], result["quadratic"]))
    )


FIGURE_1A = Experiment(
    title="Figure 1a: the true and the quadratic penalty, normal noise",
    summary="how near the quadratic penalty of a row is to the true one, by confidence and noise",
    data=(),
    takes="1 second",
    takes_quick="1 second",
    protocol=PROTOCOL,
    fits=fits,
    collect=collect,
    draw=draw,
)
