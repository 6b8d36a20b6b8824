"""Tables and figures of the experiment on learning row by row, from its raw lines alone."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from dropglm.experiments.experiment import Line
from dropglm.experiments.lines import by, mean, percent, seeds
from dropglm.pages import ResultTable
from dropglm.plots import FisherDisplay, ProgressiveCurvesDisplay
from dropglm.plots.axes import COLOURS, fresh_axes

KNOWN = "well-specified"
SCORES = {"accuracy": "progressive accuracy", "log_loss": "progressive log loss"}
# The same in all figures.
COLOUR = dict(zip(("sgd", "adagrad", "dropout", "dropout, power ½", "arow"), COLOURS, strict=False))


def collect(lines: list[Line]) -> list[ResultTable]:
    """The ends of the curves by data set, what the rate changes, and how near the Fisher information is."""
    streams = [line for line in lines if line["data"] != KNOWN]
    tables = [_ends(data, mine) for data, mine in by("data", _default(streams)).items()]
    for score, title in SCORES.items():
        tables += _sensitivity(score, title, streams)
    known = [line for line in lines if line["data"] == KNOWN]
    return tables + ([_distances(known)] if known else [])


def draw(lines: list[Line]) -> dict[str, list[Any]]:
    """The curves of each data set, and the Fisher information."""
    figures = {}
    streams = _default(line for line in lines if line["data"] != KNOWN)
    for data, mine in by("data", streams).items():
        panels = [_curves(data, mine, score, title).plot().figure_ for score, title in SCORES.items()]
        figures[f"{data}: mean over {seeds(mine)}, one pass; bands are a standard deviation wide."] = panels
    known = [line for line in lines if line["data"] == KNOWN]
    if known:
        axes = [fresh_axes(), fresh_axes()]
        _approach(known).plot(axes)
        caption = (
            "well-specified: diag(G_t)/t of adagrad and diag(H_t)/t of dropout against the Fisher "
            f"information of each feature; mean over {seeds(known)}."
        )
        figures[caption] = [ax.figure for ax in axes]
    return figures


def _ends(data: str, lines: list[Line]) -> ResultTable:
    """A row for each rule: all rows, the second half of the pass, test rows."""
    n, d = lines[0]["result"]["t"][-1], lines[0]["result"]["features"]
    rows = []
    for name, mine in by("method", lines).items():
        results = [line["result"] for line in mine]
        ends = [result["accuracy"][-1] for result in results]
        tests = [result["test_accuracy"] for result in results if "test_accuracy" in result]
        spread = f"{100 * np.std(ends, ddof=1):.2f}" if len(ends) > 1 else "-"
        losses = _mean("log_loss", [result["log_loss"][-1] for result in results])
        late, test = (_mean("accuracy", values) for values in (map(_second_half, results), tests))
        rows.append([name, _mean("accuracy", ends), spread, late, test, losses])
    truths = [line["result"]["truth"] for line in lines if "truth" in line["result"]]
    if truths:
        accuracy, loss = (_mean(score, [truth[score] for truth in truths]) for score in SCORES)
        rows.append(["the truth", accuracy, "-", "-", "-", loss])
    title = f"{data}: accuracy in per cent, and log loss; {n:,} rows, {d:,} features, {seeds(lines)}"
    # Short headings: the table is to fit a phone.
    return ResultTable(title, ["rule", "all rows", "±", "2nd half", "test rows", "log loss"], rows)


def _second_half(result: dict[str, Any]) -> float:
    """Accuracy over the second half of the pass; the marks have n/2 among them."""
    t, accuracy = np.array(result["t"]), np.array(result["accuracy"])
    half = int(np.argmin(np.abs(t - t[-1] / 2)))
    return float((accuracy[-1] * t[-1] - accuracy[half] * t[half]) / (t[-1] - t[half]))


def _sensitivity(score: str, title: str, lines: list[Line]) -> list[ResultTable]:
    """At the end of the pass, by rate; rules that have but one are left out."""
    times = sorted({line["parameters"]["rate_times"] for line in lines})
    rows = []
    for data, of_data in by("data", lines).items():
        for name, mine in by("method", of_data).items():
            ends = [
                [line["result"][score][-1] for line in mine if line["parameters"]["rate_times"] == factor]
                for factor in times
            ]
            if all(ends):
                rows.append([f"{data}, {name}", *(_mean(score, values) for values in ends)])
    header = ["data, rule", *(f"rate × {factor:g}" for factor in times)]
    return (
        [
            ResultTable(
                f"What the rate changes: {title}{', per cent' if score == 'accuracy' else ''}", header, rows
            )
        ]
        if len(times) > 1 and rows
        else []
    )


def _distances(lines: list[Line]) -> ResultTable:
    display = _approach(lines)
    title = f"well-specified: relative error of G_t/t and H_t/t after {display.t[-1]:,} rows, {seeds(lines)}"
    rows = [
        [name, f"{display.mean_error(name)[-1]:.4f}", f"{display.max_error(name)[-1]:.4f}"]
        for name in display.estimates
    ]
    return ResultTable(title, ["rule", "mean over features", "largest"], rows)


def _curves(data: str, lines: list[Line], score: str, title: str) -> ProgressiveCurvesDisplay:
    rules = by("method", lines).items()
    curves = {name: [line["result"][score] for line in mine] for name, mine in rules}
    truths = [line["result"]["truth"][score] for line in lines if "truth" in line["result"]]
    best = float(np.mean(truths)) if truths else None
    return ProgressiveCurvesDisplay(lines[0]["result"]["t"], curves, title, data, best, COLOUR)


def _approach(lines: list[Line]) -> FisherDisplay:
    rules = by("method", lines).items()
    estimates = {name: [line["result"]["estimates"] for line in mine] for name, mine in rules}
    return FisherDisplay(lines[0]["result"]["t"], lines[0]["result"]["fisher"], estimates, COLOUR)


def _default(lines: Iterable[Line]) -> list[Line]:
    return [line for line in lines if line["parameters"]["rate_times"] == 1.0]


def _mean(score: str, values: Iterable[float]) -> str:
    return percent(values) if score == "accuracy" else mean(values)
