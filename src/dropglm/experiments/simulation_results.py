"""Tables and figures of the simulation study, from its raw lines alone."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dropglm.experiments.experiment import Line
from dropglm.experiments.lines import by, results
from dropglm.pages import Table
from dropglm.plots.axes import INK, colours_of, fresh_axes

TRUTH = "the truth"
SCORES = {"active": "active rows", "all": "all rows"}
# The paper's table: L2 and dropout over active rows, and over all.
PAPER = {"ridge": {"active": 0.66, "all": 0.53}, "dropout": {"active": 0.73, "all": 0.55}}


def collect(lines: list[Line]) -> list[Table]:
    """Accuracy beside the paper's, gains over ridge beside the paper's, and the sizes of the coefficients."""
    if not lines:
        return []
    found = by("method", lines)
    return [_accuracy(found), _gains(found), _sizes(found)]


def draw(lines: list[Line]) -> dict[str, list[Any]]:
    """The gain of every run, and the sizes of useful and of nuisance coefficients."""
    found = by("method", lines)
    dropouts = [name for name in list(found)[1:] if name != TRUTH]
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
    markers = ("o", "x", "^", "s", "+")
    for k, name in enumerate(name for name in found if name != TRUTH):
        place = [results(f"{kind}_size", found[name]) for kind in ("nuisance", "useful")]
        sizes.plot(*place, markers[k % 5], color=colours.get(name, INK), label=name, markerfacecolor="none")
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
        ax.figure.legend(loc="outside lower center", ncols=2, frameon=False)
    caption = (
        "Left: the gain in accuracy over ridge, on the same rows, sorted over the runs. Right: how large the "
        "coefficients of useful and of nuisance features become; above the line the useful ones are larger."
    )
    return {caption: [gains.figure, sizes.figure]}


def _accuracy(found: dict[str, list[Line]]) -> Table:
    """Ours, its standard error, the paper's and the gap, over active and over all rows."""
    rows = []
    for name, mine in found.items():
        paper = PAPER.get(_kind(name, found))
        cells = []
        for score in SCORES:
            values = results(score, mine)
            cells += [f"{np.mean(values):.3f}", _standard_error(values)]
            cells += (
                [f"{paper[score]:.2f}", f"{np.mean(values) - paper[score]:+.3f}"] if paper else ["-", "-"]
            )
        rows.append([name, *cells, f"{np.mean(results('log_loss', mine)):.3f}"])
    header = [column for score in SCORES.values() for column in (score, "±", "paper", "gap")]
    runs = len(next(iter(found.values())))
    return Table(f"Accuracy, mean of {runs} runs, and log loss", ["method", *header, "log loss"], rows)


def _gains(found: dict[str, list[Line]]) -> Table:
    """The mean of the differences from ridge, run by run."""
    rows = []
    for name in list(found)[1:]:
        cells = []
        for score in SCORES:
            gain = _gain(found, name, score)
            papers = f"{PAPER['dropout'][score] - PAPER['ridge'][score]:+.2f}" if name != TRUTH else "-"
            cells += [f"{np.mean(gain):+.3f}", _standard_error(gain), papers]
        rows.append([name, *cells])
    header = [column for score in SCORES.values() for column in (score, "±", "paper")]
    return Table("Gain in accuracy over ridge on the same rows", ["method", *header], rows)


def _sizes(found: dict[str, list[Line]]) -> Table:
    """Medians over runs: in some, coefficients that nothing holds grow without bound."""
    rows = []
    for name, mine in found.items():
        useful, nuisance = (np.array(results(f"{kind}_size", mine)) for kind in ("useful", "nuisance"))
        ratio = f"{np.median(useful / nuisance):.2f}" if nuisance.all() else "-"
        rows.append([name, f"{np.median(useful):.4f}", f"{np.median(nuisance):.4f}", ratio])
    header = ["method", "useful features", "nuisance features", "ratio"]
    return Table("Mean absolute coefficient, median over runs", header, rows)


def _kind(name: str, found: dict[str, list[Line]]) -> str:
    """Which of the paper's methods it stands beside: ridge comes first, the truth last."""
    return {next(iter(found)): "ridge", TRUTH: TRUTH}.get(name, "dropout")


def _gain(found: dict[str, list[Line]], name: str, score: str) -> np.ndarray:
    """Of each run over ridge in the same run; a run that either lacks is left out."""
    ridge = {line["seed"]: line["result"][score] for line in next(iter(found.values()))}
    return np.array(
        [line["result"][score] - ridge[line["seed"]] for line in found[name] if line["seed"] in ridge]
    )


def _standard_error(values: Sequence[float] | np.ndarray) -> str:
    return f"{np.std(values, ddof=1) / np.sqrt(len(values)):.3f}" if len(values) > 1 else "-"
