"""Tables and figures of the experiment on docstrings, from its raw lines alone."""

from typing import Any

import numpy as np

from dropglm.experiments.experiment import Line
from dropglm.experiments.lines import by, error, percent, results, seeds, standard_error
from dropglm.pages import ResultTable
from dropglm.plots.axes import INK, colours_of, fresh_axes

BASE, DROPOUT, MORE = "L2", "dropout", "dropout + unlabelled"
STYLES = {"defaults": "--", "tuned": "-"}


def collect(lines: list[Line]) -> list[ResultTable]:
    """Accuracy by the number of labels, the gain over L2, and that of texts without labels alone."""
    counts = _counts(lines)
    found = by("method", lines)
    header = [column for count in counts for column in (f"{count} labels", "±")]
    accuracy = [
        [name, *(cell for count in counts for cell in _cells(results("accuracy", _with(count, mine))))]
        for name, mine in found.items()
    ]

    def gains(base: str, methods: tuple[str, ...]) -> list[list[str]]:
        return [
            [name, *(cell for count in counts for cell in _gain_cells(_gains(count, found, name, base)))]
            for name in found
            if _method(name) in methods
        ]

    fewest, most = (extreme(results("unlabeled", lines)) for extreme in (min, max))
    title = f"Accuracy in per cent, {seeds(lines)}; {fewest:,} to {most:,} texts without labels"
    return [
        ResultTable(title, ["method", *header], accuracy),
        ResultTable(
            "Gain over L2 on the same texts, in points", ["method", *header], gains(BASE, (DROPOUT, MORE))
        ),
        ResultTable(
            "Gain of unlabelled texts over dropout without them", ["method", *header], gains(DROPOUT, (MORE,))
        ),
    ]


def draw(lines: list[Line]) -> dict[str, list[Any]]:
    """Accuracy against the number of labels, for each method at its defaults and tuned."""
    found = by("method", lines)
    colours = colours_of(dict.fromkeys(map(_method, found)))
    ax = fresh_axes()
    for name, mine in found.items():
        counts = _counts(mine)
        groups = [results("accuracy", _with(count, mine)) for count in counts]
        bars = [error(values) or 0.0 for values in groups]
        style = {"color": colours[_method(name)], "linestyle": STYLES[_setting(name)], "capsize": 2}
        ax.errorbar(counts, [np.mean(values) for values in groups], bars, **style)
    for name, colour in colours.items():
        ax.plot([], [], color=colour, label=name)
    for name, line in STYLES.items():
        ax.plot([], [], color=INK, linestyle=line, label=name)
    ticks = _counts(lines)
    ax.set(xscale="log", xlabel="texts with labels", ylabel="accuracy", title="Which package?")
    ax.set_xticks(ticks, [str(count) for count in ticks])
    ax.minorticks_off()
    ax.legend(loc="lower right", frameon=False)
    return {f"Accuracy on test texts, mean over {seeds(lines)}; bars are standard errors.": [ax.figure]}


def _counts(lines: list[Line]) -> list[int]:
    return sorted({line["parameters"]["labels"] for line in lines})


def _with(count: int, lines: list[Line]) -> list[Line]:
    return [line for line in lines if line["parameters"]["labels"] == count]


def _method(name: str) -> str:
    return name.rpartition(", ")[0]


def _setting(name: str) -> str:
    return name.rpartition(", ")[2]


def _gains(count: int, found: dict[str, list[Line]], name: str, base: str) -> list[float]:
    """Over the base with the same setting, seed by seed."""
    others = _with(count, found.get(f"{base}, {_setting(name)}", []))
    before = {line["seed"]: line["result"]["accuracy"] for line in others}
    return [
        line["result"]["accuracy"] - before[line["seed"]]
        for line in _with(count, found[name])
        if line["seed"] in before
    ]


def _cells(values: list[float]) -> list[str]:
    return [percent(values), standard_error(values)]


def _gain_cells(gains: list[float]) -> list[str]:
    return [f"{100 * np.mean(gains):+.2f}" if gains else "-", standard_error(gains)]
