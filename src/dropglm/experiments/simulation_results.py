"""Tables and figures of the simulation study, from its raw lines alone."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dropglm.experiments.experiment import Comparison, Line
from dropglm.experiments.lines import by, error, results
from dropglm.pages import ResultTable
from dropglm.plots.axes import INK, colours_of, fresh_axes

RIDGE, TRUTH = "ridge, λ = 32", "the truth"
EARLY, LATE, GAUSSIAN = "quadratic, stopped early", "quadratic, not stopped", "gaussian"
SCORES = {"active": "active rows", "all": "all rows"}
# The paper's table: L2 and dropout over active rows, and over all; and what stands beside which.
PAPER = {"ridge": {"active": 0.66, "all": 0.53}, "dropout": {"active": 0.73, "all": 0.55}}
BESIDE = {RIDGE: "ridge", EARLY: "dropout", LATE: "dropout", GAUSSIAN: "dropout"}


def collect(lines: list[Line]) -> list[ResultTable]:
    """Accuracy and gain over ridge beside the paper's, over active and over all rows; log loss and sizes."""
    found = by("method", lines)
    return [*(_accuracy(found, score) for score in SCORES), _sizes(found)]


def draw(lines: list[Line]) -> dict[str, list[Any]]:
    """The gain of every run, and the sizes of useful and of nuisance coefficients."""
    found = by("method", lines)
    dropouts = [name for name in found if BESIDE.get(name) == "dropout"]
    colours = colours_of(dropouts)
    gains, sizes = fresh_axes(), fresh_axes()
    for name in dropouts:
        gain = np.sort(_gain(found, name, "active"))
        share = (np.arange(len(gain)) + 0.5) / len(gain)
        gains.step(gain, share, where="mid", color=colours[name], label=name)
    gains.axvline(0.0, color=INK, linewidth=1)
    gains.set(
        xlabel="gain over ridge in a run, active rows", ylabel="share of runs below", title="Gain over ridge"
    )
    markers = ("o", "+", "x", "^", "s", "v", "1", "2")
    for k, name in enumerate(name for name in found if name != TRUTH):
        place = [results(f"{kind}_size", found[name]) for kind in ("nuisance", "useful")]
        sizes.plot(
            *place,
            markers[k % len(markers)],
            color=colours.get(name, INK),
            label=name,
            markerfacecolor="none",
        )
    ends = sizes.get_xlim()
    sizes.plot(ends, ends, color=INK, linewidth=1)
    sizes.set(
        xlabel="mean |β| of nuisance features",
        ylabel="mean |β| of useful features",
        xscale="log",
        yscale="log",
        title="Coefficients, a point for each run",
    )
    for ax in (gains, sizes):
        if not ax.get_legend_handles_labels()[0]:  # a run that was stopped half-way
            continue
        ax.figure.legend(loc="outside lower center", ncols=2, frameon=False)
    caption = (
        "Left: the gain in accuracy over ridge, on the same rows, sorted over the runs. Right: how large the "
        "coefficients of useful and of nuisance features become; above the line the useful ones are larger."
    )
    return {caption: [gains.figure, sizes.figure]}


def compare(lines: list[Line]) -> list[Comparison]:
    """The paper's ridge and surrogate, and the library's dropout, with the gains over ridge."""
    found = by("method", lines)
    compared = []
    for score, rows in SCORES.items():
        gain = PAPER["dropout"][score] - PAPER["ridge"][score]
        told = [(f"{rows}: {RIDGE}", PAPER["ridge"][score], results(score, found.get(RIDGE, [])))]
        for name in (EARLY, GAUSSIAN):
            values = results(score, found.get(name, []))
            told.append((f"{rows}: {name}", PAPER["dropout"][score], values))
            told.append((f"{rows}: gain of {name}", gain, _gain(found, name, score)))
        for what, paper, values in told:
            if values:
                compared.append(Comparison(what, paper, float(np.mean(values)), error(values)))
    return compared


def _accuracy(found: dict[str, list[Line]], score: str) -> ResultTable:
    """Ours, the paper's and the gap; the mean gain over ridge, run by run, and the paper's."""
    rows = []
    for name, mine in found.items():
        values, gain, kind = results(score, mine), _gain(found, name, score), BESIDE.get(name)
        ours = [f"{np.mean(values):.3f}", _standard_error(values)]
        papers, gap, gains, papers_gain = "-", "-", ["-", "-"], "-"
        if kind is not None:
            papers, gap = f"{PAPER[kind][score]:.2f}", f"{np.mean(values) - PAPER[kind][score]:+.3f}"
        if name != RIDGE and gain:
            gains = [f"{np.mean(gain):+.3f}", _standard_error(gain)]
        if kind == "dropout":
            papers_gain = f"{PAPER['dropout'][score] - PAPER['ridge'][score]:+.2f}"
        rows.append([name, *ours, papers, gap, *gains, papers_gain])
    runs = len(next(iter(found.values())))
    header = ["method", "ours", "±", "paper", "gap", "gain", "±", "paper's gain"]
    return ResultTable(f"Accuracy over {SCORES[score]}, {runs} runs, and gain over ridge", header, rows)


def _sizes(found: dict[str, list[Line]]) -> ResultTable:
    """Medians over runs: in some, coefficients that nothing holds grow without bound."""
    rows = []
    for name, mine in found.items():
        useful, nuisance = (np.array(results(f"{kind}_size", mine)) for kind in ("useful", "nuisance"))
        ratio = f"{np.median(useful / nuisance):.2f}" if nuisance.all() else "-"
        sizes = [f"{np.median(useful):.4f}", f"{np.median(nuisance):.4f}", ratio]
        rows.append([name, *sizes, f"{np.median(results('log_loss', mine)):.3f}"])
    header = ["method", "useful", "nuisance", "ratio", "log loss"]
    return ResultTable(
        "Mean size of useful and of nuisance coefficients, and log loss; medians over runs", header, rows
    )


def _gain(found: dict[str, list[Line]], name: str, score: str) -> list[float]:
    """Of each run over ridge in the same run; a run that either lacks is left out."""
    ridge = {line["seed"]: line["result"][score] for line in found.get(RIDGE, [])}
    mine = found.get(name, [])
    return [line["result"][score] - ridge[line["seed"]] for line in mine if line["seed"] in ridge]


def _standard_error(values: Sequence[float]) -> str:
    value = error(values)
    return "-" if value is None else f"{value:.3f}"
