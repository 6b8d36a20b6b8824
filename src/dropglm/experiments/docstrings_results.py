"""Tables and figures of the experiment on docstrings, from its raw lines alone."""

from typing import Any

import numpy as np

from dropglm.experiments.experiment import Line
from dropglm.experiments.lines import by, percent, results, seeds, standard_error
from dropglm.pages import Table
from dropglm.plots.axes import INK, colours_of, fresh_axes

BASE = "L2"
STYLES = {"defaults": "--", "tuned": "-"}


def collect(lines: list[Line]) -> list[Table]:
    """Accuracy by the number of labels, and the gain over L2."""
    if not lines:
        return []
    counts = _counts(lines)
    found = by("method", lines)
    header = [column for count in counts for column in (f"{count} labels", "±")]
    accuracy = [
        [name, *(cell for count in counts for cell in _cells(results("accuracy", _with(count, mine))))]
        for name, mine in found.items()
    ]
    gains = [
        [name, *(cell for count in counts for cell in _gain_cells(_gains(count, found, name)))]
        for name in found
        if _method(name) != BASE
    ]
    fewest, most = (extreme(results("unlabeled", lines)) for extreme in (min, max))
    title = f"Accuracy in per cent, {seeds(lines)}; {fewest:,} to {most:,} texts without labels"
    return [
        Table(title, ["method", *header], accuracy),
        Table("Gain over L2 on the same texts, in points", ["method", *header], gains),
    ]


def draw(lines: list[Line]) -> dict[str, list[Any]]:
    """Accuracy against the number of labels, for each method at its defaults and tuned."""
    found = by("method", lines)
    colours = colours_of(dict.fromkeys(map(_method, found)))
    ax = fresh_axes()
    for name, mine in found.items():
        counts = _counts(mine)
        groups = [results("accuracy", _with(count, mine)) for count in counts]
        bars = [
            np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0 for values in groups
        ]
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


def _gains(count: int, found: dict[str, list[Line]], name: str) -> list[float]:
    """Over L2 with the same setting, seed by seed."""
    base = _with(count, found.get(f"{BASE}, {_setting(name)}", []))
    before = {line["seed"]: line["result"]["accuracy"] for line in base}
    return [
        line["result"]["accuracy"] - before[line["seed"]]
        for line in _with(count, found[name])
        if line["seed"] in before
    ]


def _cells(values: list[float]) -> list[str]:
    return [percent(values), standard_error(values)]


def _gain_cells(gains: list[float]) -> list[str]:
    return [f"{100 * np.mean(gains):+.2f}" if gains else "-", standard_error(gains)]
