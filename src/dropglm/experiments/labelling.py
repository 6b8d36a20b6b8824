"""Fewer labels: texts chosen by the model compared with texts drawn at random.

A simulated annotator labels up to 500 texts of six data sets. How many labels does each way need for the
accuracy that texts drawn at random have at 500, and how often does the interval of the estimated accuracy
contain the true one?
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dropglm.datasets import load_dataset
from dropglm.experiments.docstrings import source_versions
from dropglm.experiments.experiment import Experiment, Fit, Line
from dropglm.experiments.few_labels_texts import MAX_TEST
from dropglm.experiments.raw_results import by, count_seeds
from dropglm.experiments.simulated_annotator import BATCH, Strategy, annotated, labels_needed, simulate
from dropglm.pages import ResultTable
from dropglm.plots.axes import COLORS, fresh_axes

RANDOM, CHOSEN = "drawn at random", "chosen by the model, one in five at random"
STRATEGIES = {RANDOM: Strategy(random_share=1.0, refit_every=50), CHOSEN: Strategy(random_share=0.2)}
SETS = {"rt": "rt", "subj": "subj", "imdb8k": "imdb", "news4": "20news", "news20": "20news", "docs": None}
DOCSTRINGS = "docs"  # the only set that needs no file
MEASURED = (50, 100, 200, 500)
SHOWN = (50, 100, 200, 300, 400, 500)
QUICK_TEXTS, QUICK_LABELS = 1200, 100


@dataclass(frozen=True)
class Labelling(Experiment):
    """The experiment."""

    sets: Sequence[str] = tuple(SETS)
    labels: int = 500
    seeds: int = 10
    quick_seeds: int = 1
    load: Callable[..., Any] = load_dataset

    title = "Labelling: texts chosen by the model compared with texts drawn at random"
    summary = "labels that a simulated annotator needs, and how often intervals contain the true accuracy"
    data = ("rt", "subj", "imdb", "20news")
    takes, takes_quick = "25 minutes", "10 seconds, no data set"

    @property
    def protocol(self) -> str:
        """What was done."""
        return (
            "A simulated annotator labels texts with their true labels. The data sets are rt and subj; "
            "imdb8k, 8,000 of IMDB's labelled reviews; news4, 7,000 messages of 20 newsgroups labelled "
            "by four top-level groups; news20, 8,000 messages labelled by all 20 groups; docs, "
            f"docstrings labelled by package. A third of the texts, at most {MAX_TEST:,}, are test "
            "texts: they are part of the pool, but never labelled. A seed is such a split, the same for "
            "both ways of choosing. The model is that of dropglm.labelling, with all texts of the pool "
            f"and with the same settings for both ways. '{CHOSEN.capitalize()}' labels batches of "
            f"{BATCH} texts, of which 2 are drawn at random, and fits the model after each; '{RANDOM}' "
            f"fits it after every {STRATEGIES[RANDOM].refit_every} labels. Accuracy is that of the test "
            "texts. The number of labels that a way needs is where its mean curve over seeds first "
            f"reaches the mean accuracy of texts drawn at random at {self.labels} labels. Estimates of "
            "accuracy rest on the texts drawn at random, each predicted before it was labelled. Their "
            "intervals, with a nominal coverage of 95 per cent, are compared with the accuracy for all "
            "texts that are left, neither test texts nor labelled, and for the test texts. A quick run "
            "has fewer texts and labels."
        )

    def fits(self, quick: bool) -> list[Fit]:
        """Return one session per data set, seed and way of choosing."""
        sets = (DOCSTRINGS,) if quick else self.sets
        labels, most = (QUICK_LABELS, QUICK_TEXTS) if quick else (self.labels, None)
        return [
            Fit(
                name,
                method,
                seed,
                {"labels": labels, "texts": most}
                | {"strategy": strategy._asdict()}
                | ({"of": source_versions()} if name == DOCSTRINGS else {}),
                partial(annotated, name, self.load, most),
                partial(
                    simulate,
                    strategy=strategy,
                    labels=labels,
                    measured=MEASURED if method == CHOSEN else (),
                    seed=seed,
                ),
                cost_of(name, strategy, labels),
            )
            for name in sets
            for seed in range(self.quick_seeds if quick else self.seeds)
            for method, strategy in STRATEGIES.items()
        ]

    def tabulate(self, lines: list[Line]) -> list[ResultTable]:
        """Return labels needed, coverage of the intervals, and the curves."""
        return [_needed(lines), *_coverage(lines), _accuracies(lines)]

    def draw(self, lines: list[Line]) -> dict[str, list[Any]]:
        """Draw accuracy against labels, one figure per data set."""
        groups = by("data", lines)
        caption = f"Accuracy of the test texts against the number of labels, mean over {count_seeds(lines)}."
        return {caption: [_figure(name, group) for name, group in groups.items()]}


def cost_of(name: str, strategy: Strategy, labels: int) -> float:
    """Return a rough running time in seconds."""
    classes = {"news20": 20, "news4": 4, "docs": 5}.get(name, 2)
    return labels / strategy.refit_every * 0.05 * classes


def mean_curve(lines: Sequence[Line]) -> dict[int, float]:
    """Return the mean accuracy over the lines at each number of labels."""
    curves = [dict(zip(line["result"]["labels"], line["result"]["accuracy"], strict=True)) for line in lines]
    shared = sorted(set.intersection(*(set(curve) for curve in curves))) if curves else []
    return {n: float(np.mean([curve[n] for curve in curves])) for n in shared}


def _needed(lines: list[Line]) -> ResultTable:
    """Return the labels that each way needs for the accuracy of random texts at the end."""
    rows, shares = [], []
    for name, group in by("data", lines).items():
        curves = {method: mean_curve(own) for method, own in by("method", group).items()}
        if not (curves.get(RANDOM) and curves.get(CHOSEN)):
            continue
        end = max(curves[RANDOM])
        goal = curves[RANDOM][end]
        needed = labels_needed(curves[CHOSEN], goal)
        shares.append(None if needed is None else needed / end)
        seeds = len({line["seed"] for line in group})
        cells = ["more", "-"] if needed is None else [f"{needed:.0f}", f"{needed / end:.2f}"]
        rows.append([name, f"{seeds}", f"{100 * goal:.2f}", f"{end}", *cells])
    found = [share for share in shares if share is not None]
    if len(rows) > 1 and len(found) == len(rows):
        rows.append(["mean", "", "", "", "", f"{np.mean(found):.2f}"])
    title = "Labels needed for the accuracy that texts drawn at random have at the end"
    return ResultTable(title, ["data", "seeds", "accuracy in per cent", RANDOM, CHOSEN, "share"], rows)


def _coverage(lines: list[Line]) -> list[ResultTable]:
    """Return how often intervals contain the accuracy for the texts that are left, and for test texts."""
    own = [line for line in lines if line["method"] == CHOSEN]
    counts = sorted({int(n) for line in own for n in line["result"]["estimates"]})
    header = ["data", *(cell for n in counts for cell in (f"{n} labels", "±"))]
    title = "Intervals that contain the accuracy for {}, in per cent, and half their mean width"
    groups = [*by("data", own).items(), ("all", own)] if counts else []
    return [
        ResultTable(
            title.format(texts),
            header,
            [
                [name, *(cell for n in counts for cell in _coverage_cells(n, key, group))]
                for name, group in groups
            ],
        )
        for key, texts in (("left", "the texts that are left"), ("test", "the test texts"))
    ]


def _coverage_cells(n: int, key: str, lines: Sequence[Line]) -> tuple[str, str]:
    """Return the share of intervals at n labels that contain an accuracy, and half their mean width."""
    found = [one for line in lines if (one := line["result"]["estimates"].get(str(n)))]
    if not found:
        return "-", "-"
    inside = np.mean([one["low"] <= one[key] <= one["high"] for one in found])
    return f"{100 * inside:.0f}", f"{50 * np.mean([one['high'] - one['low'] for one in found]):.0f}"


def _accuracies(lines: list[Line]) -> ResultTable:
    """Return the mean accuracies by data set, way of choosing and number of labels."""
    rows = []
    for name, group in by("data", lines).items():
        for method, own in by("method", group).items():
            curve = mean_curve(own)
            rows.append([name, method, *(f"{100 * curve[n]:.2f}" if n in curve else "-" for n in SHOWN)])
    header = ["data", "texts", *(f"{n} labels" for n in SHOWN)]
    return ResultTable(f"Accuracy in per cent, {count_seeds(lines)}", header, rows)


def _figure(name: str, lines: list[Line]) -> Any:
    """Return a figure with a curve for each way of choosing."""
    ax = fresh_axes()
    for (method, own), colour in zip(by("method", lines).items(), COLORS, strict=False):
        curve = mean_curve(own)
        ax.plot(list(curve), [100 * value for value in curve.values()], color=colour, label=method)
        if method == RANDOM and curve:
            ax.axhline(100 * curve[max(curve)], color=colour, linestyle=":", linewidth=1)
    ax.set(xlabel="labels", ylabel="accuracy in per cent", title=name)
    ax.legend(frameon=False, fontsize="small", loc="lower right")
    return ax.figure
