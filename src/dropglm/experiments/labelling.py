"""Fewer labels: texts chosen by the model compared with texts drawn at random.

A simulated annotator, who answers from the true labels, labels up to 500 texts of six data sets. How many
labels does each way need for the accuracy that texts drawn at random have at 500, how often does the
interval of the estimated accuracy contain the true one, and are probabilities right?

Texts are labelled in batches of ten. The model is fitted again after each batch, and chooses the texts of the
next, except that a share of them is drawn at random. Each of those is predicted before it is labelled. Some
texts of the pool are never labelled: they measure the accuracy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice, product
from typing import Any, NamedTuple

import numpy as np

from dropglm.datasets import load_dataset
from dropglm.experiments.docstrings import DOCSTRINGS, versions_of
from dropglm.experiments.experiment import Experiment, PlannedData, PlannedFit
from dropglm.experiments.results import PERCENT, Lines, Unit, table
from dropglm.experiments.texts import MAX_TEST, Load, all_texts, hold_out
from dropglm.labelling import PoolModel, TextPool, choose_texts, estimate_accuracy
from dropglm.labelling.calibration import Calibration, right_among
from dropglm.labelling.output_files import calibrate_on_drawn, tuned_model
from dropglm.plots.pages import COLORS, ResultTable, fresh_axes

BATCH = 10


class Strategy(NamedTuple):
    """How texts are chosen.

    Attributes
    ----------
    random_share : float
        Share of the texts that are drawn at random; the model chooses the others.
    refit_every : int
        Number of labels between two fits.
    """

    random_share: float
    refit_every: int = BATCH


RANDOM, CHOSEN = "drawn at random", "chosen by the model, one in five at random"
STRATEGIES = {RANDOM: Strategy(random_share=1.0, refit_every=50), CHOSEN: Strategy(random_share=0.2)}
SETS = ("rt", "subj", "imdb8k", "news4", "news20", "docs")
MEASURED = (50, 100, 200, 500)
HONEST = (30, 60, 100, 200, 300, 500)  # numbers of labels at which probabilities are compared with accuracies
SUREST = 20  # texts of a class that are listed
EXPORTED = "the exported model"
EXPORTED_AT = (60, 200)  # numbers of labels, with the first seed
SUBSET_SEEDS = 2
SHOWN = (50, 100, 200, 300, 400, 500)
QUICK_TEXTS, QUICK_LABELS = 1200, 100
WHOLE_PERCENT = Unit(100.0, 0)


class Annotated(NamedTuple):
    """A pool of texts with their true labels."""

    pool: TextPool
    truth: np.ndarray


@lru_cache(maxsize=1)
def annotated(name: str, load: Load, most: int | None = None) -> Annotated:
    """Return the pool of a data set, or of its first texts."""
    texts, y = all_texts(name, load)
    return Annotated(TextPool(texts[:most].tolist(), n_jobs=1), np.asarray(y[:most]).astype(str))


def simulate(
    data: Annotated,
    *,
    strategy: Strategy,
    labels: int,
    measured: tuple[int, ...],
    seed: int,
    honest: tuple[int, ...] = (),
    exported: tuple[int, ...] = (),
) -> dict:
    """Label texts up to a number of labels, and return the accuracies on the way.

    Returns
    -------
    dict
        ``labels`` and ``accuracy``, of the texts that are never labelled, after every fit; ``estimates`` has
        for each number of labels in ``measured`` the accuracy for the texts that are left and for those that
        are never labelled, and the estimate with its interval. ``probabilities`` compares probabilities with
        accuracies at each number in ``honest``, and ``exported`` those of a tuned model.
    """
    test, rest = hold_out(len(data.truth), seed)  # test texts are never labelled
    rng, session = np.random.default_rng([seed, 1]), Session(data, test)
    waiting = rng.permutation(rest)  # in the order in which texts are drawn at random
    found: dict[str, Any] = {"labels": [], "accuracy": [], "estimates": {}}
    found |= {"probabilities": {}, "exported": {}}
    while len(session.labels) < labels:
        size = min(strategy.refit_every, labels - len(session.labels))
        drawn = round(strategy.random_share * size)
        for number in session.first_free(waiting, drawn):
            session.answer(number, at_random=True)
        for number in session.choose(size - drawn):
            session.answer(number, at_random=False)
        session.refit()
        n = len(session.labels)
        found["labels"].append(n)
        found["accuracy"].append(session.accuracy(test))
        if n in measured and session.outcomes:
            left = rest[[number not in session.labels for number in rest.tolist()]]
            found["estimates"][str(n)] = {
                "left": session.accuracy(left),
                "test": found["accuracy"][-1],
                **estimate_accuracy(session.outcomes)._asdict(),
            }
        if n in honest:
            found["probabilities"][str(n)] = session.probabilities(test)
        if n in exported:
            found["exported"][str(n)] = session.exported(test)
    return found


class Session:
    """The answers so far, and the model fitted to them."""

    def __init__(self, data: Annotated, never: np.ndarray) -> None:
        self.data = data
        self.labels: dict[int, str] = {}
        self.drawn: list[int] = []
        self.outcomes: list[bool] = []
        self.model: PoolModel = data.pool.fit({})
        self.is_copy = data.pool.copy_of != np.arange(len(data.pool))
        self.excluded = self.is_copy.copy()
        self.excluded[never] = True

    def first_free(self, waiting: np.ndarray, count: int) -> list[int]:
        """Return the first texts that have no label and are no copies."""
        free = (i for i in waiting.tolist() if not self.excluded[i] and i not in self.labels)
        return list(islice(free, count))

    def choose(self, count: int) -> list[int]:
        """Return the texts that the model chooses."""
        if not count:
            return []
        pool, found = self.data.pool, self.model.calibration or Calibration()
        p = found.undo(self.model.probabilities)
        return choose_texts(p, pool.latent, self.labels, size=count, excluded=self.excluded).tolist()

    def answer(self, number: int, *, at_random: bool) -> None:
        """Label a text."""
        truth = str(self.data.truth[number])
        if at_random and self.model.is_trained:
            self.outcomes.append(self.model.classes[self.model.predicted[number]] == truth)
        self.labels[number] = truth
        self.drawn += [number] * at_random

    def refit(self) -> None:
        """Fit the model to all labels, and calibrate it unless all of them were drawn at random."""
        drawn = None if len(self.drawn) == len(self.labels) else self.drawn
        self.model = self.data.pool.fit(self.labels, self.model, drawn)

    def probabilities(self, numbers: np.ndarray) -> dict[str, float]:
        """Return the mean probability of these texts and their accuracy, and what is said of the surest.

        ``surest`` is the share of right ones among the surest texts of each class, ``said`` the estimate,
        ``probability`` their mean probability and ``inside`` the share of classes whose number of right texts
        is in the interval. ``before`` is the mean probability without calibration.
        """
        model, truth, lists = self.model, self.data.truth, []
        found = model.calibration or Calibration()
        p = model.probabilities
        before = found.undo(p[numbers])
        free = ~self.is_copy
        free[list(self.labels)] = False
        others = np.flatnonzero(free)
        for k, name in enumerate(model.classes):
            few = others[np.argsort(-p[others, k], kind="stable")[:SUREST]]
            right, said = int((truth[few] == name).sum()), right_among(p[few, k].tolist(), found)
            inside = said.low <= right <= said.high
            lists.append((right / len(few), said.right / len(few), p[few, k].mean(), inside))
        surest, said_share, probability, inside_share = np.mean(lists, axis=0).tolist()
        return {
            "mean": float(p[numbers].max(axis=1).mean()),
            "before": float(before.max(axis=1).mean()),
            "accuracy": self.accuracy(numbers),
            "surest": surest,
            "said": said_share,
            "probability": probability,
            "inside": inside_share,
        }

    def exported(self, numbers: np.ndarray) -> dict[str, float]:
        """Return the mean probability of these texts and their accuracy, by a tuned model."""
        pool = self.data.pool
        model = tuned_model(pool.texts, self.labels, (), pool.copy_of.tolist(), n_jobs=1)
        texts = [pool.texts[number] for number in numbers]
        before = model.predict_proba(texts)
        rest = [text for number, text in enumerate(pool.texts) if number not in self.labels]
        calibrate_on_drawn(model, self.labels, self.drawn, rest)
        right = model.classes_[before.argmax(axis=1)] == self.data.truth[numbers]
        means = {"before": before, "mean": model.predict_proba(texts)}
        return {name: float(p.max(axis=1).mean()) for name, p in means.items()} | {
            "accuracy": float(right.mean())
        }

    def accuracy(self, numbers: np.ndarray) -> float:
        """Return the share of these texts that the model predicts correctly."""
        guesses = np.array(self.model.classes)[self.model.predicted[numbers]]
        return float(np.mean(guesses == self.data.truth[numbers]))


@dataclass(frozen=True)
class Labelling(Experiment):
    """The experiment."""

    sets: Sequence[str] = SETS
    labels: int = 500
    seeds: int = 10
    quick_seeds: int = 1
    load: Load = load_dataset

    title = "Labelling: texts chosen by the model compared with texts drawn at random"
    summary = "labels that a simulated annotator needs, and how often intervals contain the true accuracy"
    data = ("rt", "subj", "imdb", "20news")
    takes, takes_quick = "60 minutes, or 25 minutes with --subset", "20 seconds, no data set"

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
            "texts that are left, neither test texts nor labelled, and for the test texts. Where texts are "
            "chosen, probabilities are calibrated on those drawn at random; the mean probability of the "
            "test texts is that of their predicted classes, 'before' without calibration. The surest texts "
            f"of a class are the {SUREST} with its largest probability among all that have no label; the "
            "share of right ones that is said is the estimate of the page, without checks. Means are over "
            "the data sets, each the mean over its seeds and classes. The exported model is a TextClassifier "
            "tuned on the labels so far, with the first seed. A quick run has fewer texts and labels."
        )

    def fits(self, quick: bool) -> list[PlannedFit]:
        """Return one session per data set, seed and way of choosing."""
        return self._sessions(quick, self.quick_seeds if quick else self.seeds)

    def subset(self) -> list[PlannedFit]:
        """Return the sessions in which texts are chosen, with the first seeds."""
        fits = self._sessions(False, min(self.seeds, SUBSET_SEEDS))
        return [fit for fit in fits if fit.method != RANDOM]

    def _sessions(self, quick: bool, seeds: int) -> list[PlannedFit]:
        sets = (DOCSTRINGS,) if quick else self.sets
        labels, most = (QUICK_LABELS, QUICK_TEXTS) if quick else (self.labels, None)
        fits = []
        for name, seed in product(sets, range(seeds)):
            parameters = {"labels": labels, "texts": most} | versions_of(name)
            data = PlannedData(name, seed, parameters, partial(annotated, name, self.load, most))
            session = partial(simulate, seed=seed)
            for method, strategy in STRATEGIES.items():
                is_chosen = method == CHOSEN
                at = {"measured": MEASURED, "honest": HONEST} if is_chosen else {"measured": ()}
                measure = partial(session, strategy=strategy, labels=labels, **at)
                cost = cost_of(name, strategy, labels)
                more = {"strategy": strategy._asdict()} | ({"honest": [*HONEST]} if is_chosen else {})
                fits.append(data.fit(method, measure, cost, **more))
            if seed == 0:
                export = tuple(n for n in EXPORTED_AT if n <= labels)
                chosen = partial(session, strategy=STRATEGIES[CHOSEN], measured=())
                measure = partial(chosen, labels=max(export), exported=export)
                fits.append(data.fit(EXPORTED, measure, 60.0, exported=[*export]))
        return fits

    def tabulate(self, lines: Lines) -> list[ResultTable]:
        """Return labels needed, coverage of the intervals, and the curves."""
        sessions = lines.among(method=tuple(STRATEGIES))
        tables = [_needed(sessions), *_honest(lines), *_coverage(sessions), _accuracies(sessions)]
        return [each for each in tables if each.rows]

    def draw(self, lines: Lines) -> dict[str, list[Any]]:
        """Draw accuracy against labels, one figure per data set."""
        groups = lines.among(method=tuple(STRATEGIES)).by("data")
        caption = f"Accuracy of the test texts against the number of labels, mean over {lines.count_seeds()}."
        return {caption: [_figure(name, group) for name, group in groups.items()]}


def cost_of(name: str, strategy: Strategy, labels: int) -> float:
    """Return a rough running time in seconds."""
    classes = {"news20": 20, "news4": 4, "docs": 5}.get(name, 2)
    return labels / strategy.refit_every * 0.05 * classes


def mean_curve(lines: Lines) -> dict[int, float]:
    """Return the mean accuracy over the lines at each number of labels."""
    curves = [dict(zip(line["result"]["labels"], line["result"]["accuracy"], strict=True)) for line in lines]
    shared = sorted(set.intersection(*(set(curve) for curve in curves))) if curves else []
    return {n: float(np.mean([curve[n] for curve in curves])) for n in shared}


def labels_needed(curve: Mapping[int, float], accuracy: float) -> float | None:
    """Return after how many labels a curve first reaches an accuracy, between its points by a line.

    Examples
    --------
    >>> labels_needed({10: 0.5, 20: 0.75, 30: 1.0}, 0.875)
    25.0
    >>> labels_needed({10: 0.6, 20: 0.7}, 0.8)
    """
    points = sorted(curve.items())
    reached = next((k for k, (_, value) in enumerate(points) if value >= accuracy), None)
    if reached is None:
        return None
    (n0, before), (n1, after) = points[max(reached - 1, 0)], points[reached]
    return float(np.interp(accuracy, [before, after], [n0, n1]))


def _needed(lines: Lines) -> ResultTable:
    """Return the labels that each way needs for the accuracy of random texts at the end."""
    rows, shares = [], []
    for name, group in lines.by("data").items():
        curves = {method: mean_curve(own) for method, own in group.by("method").items()}
        if not (curves.get(RANDOM) and curves.get(CHOSEN)):
            continue
        end = max(curves[RANDOM])
        goal = curves[RANDOM][end]
        needed = labels_needed(curves[CHOSEN], goal)
        shares += [] if needed is None else [needed / end]
        seeds = len({line["seed"] for line in group})
        cells = ["more", "-"] if needed is None else [f"{needed:.0f}", f"{needed / end:.2f}"]
        rows.append([name, f"{seeds}", f"{100 * goal:.2f}", f"{end}", *cells])
    if len(rows) > 1 and len(shares) == len(rows):
        rows.append(["mean", "", "", "", "", f"{np.mean(shares):.2f}"])
    title = "Labels needed for the accuracy that texts drawn at random have at the end"
    return ResultTable(title, ["data", "seeds", "accuracy in per cent", RANDOM, CHOSEN, "share"], rows)


PROBABILITIES = "Mean probability of the test texts and their accuracy, in per cent"
SUREST_TITLE = f"The {SUREST} surest texts of each class: share of right ones in per cent, and what is said"


def _honest(lines: Lines) -> list[ResultTable]:
    """Return mean probabilities beside accuracies, of the page and of its export, and the surest texts."""
    page = {"accuracy": "accuracy", "mean probability": "mean", "before": "before"}
    surest = {
        "right": "surest",
        "said": "said",
        "mean probability": "probability",
        "in the interval": "inside",
    }
    return [
        _means(PROBABILITIES, lines.where(method=CHOSEN), "probabilities", page),
        _means(f"The exported model. {PROBABILITIES}", lines.where(method=EXPORTED), "exported", page),
        _means(SUREST_TITLE, lines.where(method=CHOSEN), "probabilities", surest),
    ]


def _means(title: str, lines: Lines, key: str, columns: Mapping[str, str]) -> ResultTable:
    """Return numbers by data set and number of labels, and their means over the data sets."""
    numbers = sorted({int(n) for line in lines for n in line["result"][key]})
    rows = []
    for n in numbers:
        found = {
            name: [
                np.mean([line["result"][key][str(n)][own] for line in group if str(n) in line["result"][key]])
                for own in columns.values()
            ]
            for name, group in lines.by("data").items()
        }
        every = {"mean": np.mean([*found.values()], axis=0)} if len(found) > 1 else {}
        rows += [[name, f"{n}", *map(PERCENT.cell, means)] for name, means in (found | every).items()]
    return ResultTable(title, ["data", "labels", *columns], rows)


def _coverage(lines: Lines) -> list[ResultTable]:
    """Return how often intervals contain the accuracy for the texts that are left, and for test texts."""
    estimates = Lines(
        line | {"parameters": {"labels": int(n)}, "result": estimate}
        for line in lines.where(method=CHOSEN)
        for n, estimate in line["result"]["estimates"].items()
    )
    rows, tables = estimates.by("data") | {"all": estimates} if estimates else {}, []
    for key, texts in (("left", "the texts that are left"), ("test", "the test texts")):
        title = f"Intervals that contain the accuracy for {texts}, in per cent, and half their mean width"
        cells = partial(_coverage_cells, key)
        tables.append(table(title, ["data", "±"], rows, estimates.counts(), cells))
    return tables


def _coverage_cells(key: str, lines: Lines) -> list[str]:
    """Return the share of intervals that contain an accuracy, and half their mean width."""
    estimates = [line["result"] for line in lines]
    inside = WHOLE_PERCENT.mean(one["low"] <= one[key] <= one["high"] for one in estimates)
    return [inside, WHOLE_PERCENT.mean((one["high"] - one["low"]) / 2 for one in estimates)]


def _accuracies(lines: Lines) -> ResultTable:
    """Return the mean accuracies by data set, way of choosing and number of labels."""
    rows = []
    for name, group in lines.by("data").items():
        for method, own in group.by("method").items():
            curve = mean_curve(own)
            rows.append([name, method, *(PERCENT.cell(curve.get(n)) for n in SHOWN)])
    header = ["data", "texts", *(f"{n} labels" for n in SHOWN)]
    return ResultTable(f"Accuracy in per cent, {lines.count_seeds()}", header, rows)


def _figure(name: str, lines: Lines) -> Any:
    """Return a figure with a curve for each way of choosing."""
    ax = fresh_axes()
    for (method, own), colour in zip(lines.by("method").items(), COLORS, strict=False):
        curve = mean_curve(own)
        ax.plot(list(curve), [100 * value for value in curve.values()], color=colour, label=method)
        if method == RANDOM and curve:
            ax.axhline(100 * curve[max(curve)], color=colour, linestyle=":", linewidth=1)
    ax.set(xlabel="labels", ylabel="accuracy in per cent", title=name)
    ax.legend(frameon=False, fontsize="small", loc="lower right")
    return ax.figure
