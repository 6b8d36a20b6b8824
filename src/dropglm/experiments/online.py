"""Online learning: dropout descent, AdaGrad, SGD and AROW (the paper's section on online learning).

According to the paper, dropout descent, A_t = diag(H_t), is closely related to AdaGrad, A_t = diag(G_t)^½: on
well-specified data H_t / t and G_t / t both converge to the Fisher information. Both should learn rare
features sooner than SGD.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from dropglm.core.families import Logistic
from dropglm.core.online import RULES
from dropglm.datasets import load_dataset
from dropglm.datasets.simulation import ACTIVE_GROUPS, SIGNAL, USEFUL
from dropglm.experiments.experiment import Experiment, PlannedData, PlannedFit
from dropglm.experiments.results import NUMBER, PERCENT, Lines, draw_panels
from dropglm.linear import OnlineLogisticRegression
from dropglm.plots import FisherDisplay, ProgressiveCurvesDisplay
from dropglm.plots.pages import COLORS, ResultTable
from dropglm.text import NgramVectorizer

MODELS: dict[str, dict[str, Any]] = {
    "sgd": {"rule": "sgd"},
    "adagrad": {"rule": "adagrad"},
    "dropout": {"rule": "dropout", "power": 1.0},
    "dropout, power ½": {"rule": "dropout", "power": 0.5},
    "arow": {"rule": "arow"},
}
COLOUR = dict(zip(MODELS, COLORS, strict=False))  # the same in all figures
TEXTS = {"imdb": 25_000, "rt": 10_662}  # rows
WELL_SPECIFIED = "well-specified"
NGRAMS, MIN_DF = (1, 2), 2
FIRST_CHECKPOINT = 50  # rows
SCORES = {"accuracy": "progressive accuracy", "log_loss": "progressive log loss"}
UNITS = {"accuracy": PERCENT, "log_loss": NUMBER}

# The known model: normal features of scale s, and words of frequency p and value v.
NODES = 100
INTERCEPT = -0.5
SCALE = np.geomspace(0.1, 2.0, 10)  # s
BETA_NORMAL = np.where(np.arange(10) % 2, -0.4, 0.4) / np.sqrt(SCALE)
FREQUENCY = np.geomspace(0.005, 0.2, 10)  # p
VALUE = np.tile([0.5, 1.0, 2.0, 1.0, 0.5], 2)  # v
BETA_WORD = np.tile([1.5, -1.0, 0.75, -0.5, -1.0], 2)


class OnlineSize(NamedTuple):
    """Size of a run: seeds, training rows of both synthetic data sets, and seconds per fit with its data."""

    seeds: int
    simulated: int
    well_specified: int
    cost: float


FULL = OnlineSize(seeds=10, simulated=1 << 15, well_specified=1 << 20, cost=0.3)
QUICK = OnlineSize(seeds=3, simulated=1 << 11, well_specified=1 << 15, cost=0.1)


class StreamData(NamedTuple):
    """Rows to learn from; test rows if there are any, and the true predictors if they are known."""

    X: Any
    y: np.ndarray
    X_test: Any = None
    y_test: np.ndarray | None = None
    eta: np.ndarray | None = None


# Fits are ordered by seed: texts are kept for all seeds, synthetic rows (about 300 MB) for one seed only.
@lru_cache(maxsize=len(TEXTS))
def text_rows(load: Callable[..., Any], name: str) -> StreamData:
    """Return the n-grams of a text data set."""
    data = load(name)
    words = NgramVectorizer(NGRAMS, min_df=MIN_DF, n_jobs=-1)
    X = words.fit_transform(data.texts)
    if data.texts_test is None:
        return StreamData(X, data.y)
    return StreamData(X, data.y, words.transform(data.texts_test), data.y_test)


@lru_cache(maxsize=1)
def simulated_rows(load: Callable[..., Any], n: int, n_test: int, seed: int) -> StreamData:
    """Return rows of the paper's simulation; groups take turns, so the last rows can serve as test rows."""
    data = load("simulation", n_rows=n + n_test, random_state=seed)
    eta = SIGNAL * data.X[:n, : ACTIVE_GROUPS * USEFUL].sum(axis=1)
    return StreamData(data.X[:n], data.y[:n], data.X[n:], data.y[n:], eta)


@lru_cache(maxsize=1)
def well_specified_rows(n: int, seed: int) -> StreamData:
    """Draw rows of a known logistic model whose Fisher information can be computed.

    Half of the features are normal, x_j = s_j z_j, with very different scales. The others are words: a row
    has at most one of them, word k with probability p_k, and its feature then has the value v_k.

    Returns
    -------
    StreamData
        Features (n, 20), the normal ones first, and labels (n,).

    Examples
    --------
    >>> X = well_specified_rows(1000, 0).X
    >>> X.shape, int((X[:, 10:] != 0).sum(axis=1).max())
    ((1000, 20), 1)
    """
    rng = np.random.default_rng(seed)
    X = np.zeros((n, len(SCALE) + len(FREQUENCY)))
    X[:, : len(SCALE)] = SCALE * rng.normal(size=(n, len(SCALE)))
    no_word = 1.0 - FREQUENCY.sum()
    word = rng.choice(len(FREQUENCY) + 1, size=n, p=[*FREQUENCY, no_word])
    has_word = np.flatnonzero(word < len(FREQUENCY))
    X[has_word, len(SCALE) + word[has_word]] = VALUE[word[has_word]]
    eta = INTERCEPT + X @ np.concatenate([BETA_NORMAL, BETA_WORD])
    return StreamData(X, Logistic.sample(eta, rng).astype(np.int64))


def fisher_diagonal() -> np.ndarray:
    """Return the diagonal of E A''(η) x xᵀ for the rows of the known model, shape (20,).

    With m_k = b + v_k β_k (m_0 = b without a word) and σ² = Σ s_j² β_j² over the normal features, η given
    word k is N(m_k, σ²), so that

        E A''(η) x_k²  =  p_k v_k² E A''(m_k + σ z)
        E A''(η) x_j²  =  Σ_k p_k E A''(m_k + σ z) (c_j² z² + s_j² - c_j²),     c_j = s_j² β_j / σ

    are integrals over one standard normal z, which Gauss-Hermite quadrature computes to rounding error.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    weights = weights / weights.sum()
    sigma = np.sqrt(np.sum((SCALE * BETA_NORMAL) ** 2))
    m = INTERCEPT + np.append(VALUE * BETA_WORD, 0.0)
    p = np.append(FREQUENCY, 1.0 - FREQUENCY.sum())
    curvature = Logistic.variance(m[:, None] + sigma * nodes) * weights
    words = FREQUENCY * VALUE**2 * curvature[:-1].sum(axis=1)
    mean_curvature, mean_of_squares = p @ curvature.sum(axis=1), p @ (curvature @ nodes**2)
    c2 = (SCALE**2 * BETA_NORMAL / sigma) ** 2
    return np.concatenate([c2 * mean_of_squares + (SCALE**2 - c2) * mean_curvature, words])


def checkpoints(n: int) -> list[int]:
    """Return the numbers of rows at which curves have points: n, and four per halving before it.

    Examples
    --------
    >>> checkpoints(200)
    [50, 59, 71, 84, 100, 119, 141, 168, 200]
    """
    numbers = n * 2.0 ** (-0.25 * np.arange(4 * 60))
    return sorted({round(t) for t in numbers if t >= min(FIRST_CHECKPOINT, n)})


def one_pass(
    rows: StreamData, order: np.ndarray, model: dict[str, Any], record: Callable[[Any], Any]
) -> tuple[OnlineLogisticRegression, list[Any]]:
    """Return the model after one pass, and what ``record`` returned at each checkpoint."""
    learner, records, start = OnlineLogisticRegression(**model), [], 0
    for stop in checkpoints(len(order)):
        part = order[start:stop]
        learner.partial_fit(rows.X[part], rows.y[part], classes=[0, 1])
        records.append(record(learner))
        start = stop
    return learner, records


def progressive_curves(rows: StreamData, *, model: dict[str, Any], seed: int) -> dict[str, Any]:
    """Return progressive accuracy and log loss of a rule, and its accuracy on test rows after the pass."""
    order = np.random.default_rng(seed).permutation(len(rows.y))
    learner, records = one_pass(
        rows, order, model, lambda m: (m.t_, m.progressive_accuracy_, m.progressive_log_loss_)
    )
    t, accuracy, log_loss = (list(column) for column in zip(*records, strict=True))
    result = {"t": t, "accuracy": accuracy, "log_loss": log_loss, "features": rows.X.shape[1]}
    if rows.X_test is not None:
        result["test_accuracy"] = float(np.mean(learner.predict(rows.X_test) == rows.y_test))
    if rows.eta is not None:
        loss = Logistic.log_partition(rows.eta) - rows.y * rows.eta
        correct = (rows.eta > 0) == rows.y
        result["truth"] = {"accuracy": float(correct.mean()), "log_loss": float(loss.mean())}
    return result


def fisher_estimates(rows: StreamData, *, model: dict[str, Any]) -> dict[str, Any]:
    """Return the sums that a rule divides its steps by, divided by t, at each checkpoint."""
    order = np.arange(len(rows.y))
    _, records = one_pass(rows, order, model, lambda m: (m.t_, (m.sums_[0] / m.t_).tolist()))
    t, estimates = (list(column) for column in zip(*records, strict=True))
    return {"t": t, "estimates": estimates, "fisher": fisher_diagonal().tolist()}


@dataclass(frozen=True)
class Online(Experiment):
    """The experiment; ``rate_factors`` multiply the default learning rate of each rule."""

    full: OnlineSize = FULL
    quick: OnlineSize = QUICK
    simulated_test: int = 5_000
    rate_factors: tuple[float, ...] = (0.25, 1.0, 4.0)
    load: Callable[..., Any] = load_dataset

    title = "Online learning: dropout descent, AdaGrad, SGD and AROW"
    summary = "progressive accuracy of online rules; convergence of G_t/t and H_t/t to the Fisher information"
    data = tuple(TEXTS)
    takes, takes_quick = "3 minutes", "10 seconds, no data set"

    @property
    def protocol(self) -> str:
        """What was done."""
        return (
            "One pass over the rows in random order; each row is predicted and then learnt from. "
            "Progressive accuracy and log loss are those of these predictions, over all rows so far; 2nd "
            "half is the accuracy in the second half of the pass. A seed is an order, the same for all "
            "rules (and new rows in the simulation); ± is the standard deviation over seeds. Learning rates "
            "are the library's defaults, which were chosen by progressive scores on training rows, those of "
            "imdb and rt among them, and never on test rows. The log loss of arow treats its margin as a "
            "logistic predictor, which it is not designed to be. imdb: the labelled training reviews, and "
            "its test reviews after the pass. rt: all sentences. Features of both: the presence of unigrams "
            "and bigrams that occur in at least two training texts, so the vocabulary, but no label, is "
            f"known beforehand. simulation: 50 rare useful features, 1,000 of noise, {self.simulated_test:,} "
            "more rows for testing; the true model is the one that generated the labels. well-specified: 20 "
            "features of different scale and frequency, with labels from a known logistic model whose "
            "Fisher information is computed by quadrature."
        )

    def fits(self, quick: bool) -> list[PlannedFit]:
        """Return all fits, ordered by seed so that the time left is known after the first."""
        size, fits = self.quick if quick else self.full, []
        for seed in range(size.seeds):
            n, n_test = size.simulated, self.simulated_test
            simulated = partial(simulated_rows, self.load, n, n_test, seed)
            sources = [PlannedData("simulation", seed, {"rows": n, "test_rows": n_test}, simulated)]
            for data, rows in () if quick else TEXTS.items():
                settings = {"rows": rows, "ngrams": list(NGRAMS), "min_df": MIN_DF}
                sources.append(PlannedData(data, seed, settings, partial(text_rows, self.load, data)))
            curves = partial(progressive_curves, seed=seed)
            for source, name in product(sources, MODELS):
                factors = self.rate_factors if name != "arow" else (1.0,)
                fits += [_fit(source, name, factor, curves, size.cost) for factor in factors]
            load = partial(well_specified_rows, size.well_specified, seed)
            known = PlannedData(WELL_SPECIFIED, seed, {"rows": size.well_specified}, load)
            rules = ("adagrad", "dropout", "dropout, power ½")
            fits += [_fit(known, name, 1.0, fisher_estimates, size.cost) for name in rules]
        return fits

    def tabulate(self, lines: Lines) -> list[ResultTable]:
        """Return final scores by data set, the effect of the learning rate, and the Fisher errors."""
        streams, known = _split(lines)
        default = streams.where(rate_factor=1.0)
        tables = [_final_scores(data, group) for data, group in default.by("data").items()]
        for score in SCORES:
            tables += _rate_effect(score, streams)
        return tables + ([_fisher_errors(known)] if known else [])

    def draw(self, lines: Lines) -> dict[str, list[Any]]:
        """Draw the curves of each data set, and the convergence to the Fisher information."""
        streams, known = _split(lines)
        figures = {}
        for data, group in streams.where(rate_factor=1.0).by("data").items():
            caption = f"{data}: mean over {group.count_seeds()}, one pass; bands show one standard deviation."
            figures[caption] = [_curves(data, group, score).plot().figure_ for score in SCORES]
        if known:
            caption = (
                "well-specified: diag(G_t)/t of adagrad and diag(H_t)/t of dropout compared with the Fisher "
                f"information of each feature; mean over {known.count_seeds()}."
            )
            figures[caption] = draw_panels(_fisher_display(known))
        return figures


def _fit(data: PlannedData, name: str, factor: float, measure: Callable[..., Any], cost: float) -> PlannedFit:
    """One pass of a rule, whose result also depends on the current defaults."""
    defaults = RULES[MODELS[name]["rule"]]._field_defaults
    model = MODELS[name] | {"rate": factor * defaults["rate"]}
    parameters = {"rate_factor": factor, "settings": defaults | model, "first_checkpoint": FIRST_CHECKPOINT}
    return data.fit(name, partial(measure, model=model), cost, **parameters)


def _split(lines: Lines) -> tuple[Lines, Lines]:
    """Lines with progressive curves, and lines with estimates of the Fisher information."""
    streams = Lines(line for line in lines if line["data"] != WELL_SPECIFIED)
    return streams, lines.where(data=WELL_SPECIFIED)


def _final_scores(data: str, lines: Lines) -> ResultTable:
    """One row per rule: all rows, the second half of the pass, test rows."""
    n, d = lines[0]["result"]["t"][-1], lines[0]["result"]["features"]
    rows = []
    for name, group in lines.by("method").items():
        results = [line["result"] for line in group]
        final = [result["accuracy"][-1] for result in results]
        spread = PERCENT.cell(float(np.std(final, ddof=1))) if len(final) > 1 else "-"
        second_half, test = map(_second_half, results), group.values("test_accuracy")
        losses = [result["log_loss"][-1] for result in results]
        accuracies = [PERCENT.mean(final), spread, PERCENT.mean(second_half), PERCENT.mean(test)]
        rows.append([name, *accuracies, NUMBER.mean(losses)])
    truths = [line["result"]["truth"] for line in lines if "truth" in line["result"]]
    if truths:
        accuracy, loss = (unit.mean(truth[score] for truth in truths) for score, unit in UNITS.items())
        rows.append(["true model", accuracy, "-", "-", "-", loss])
    title = f"{data}: accuracy in per cent, and log loss; {n:,} rows, {d:,} features, {lines.count_seeds()}"
    # Short column names, so that the table fits on a phone.
    return ResultTable(title, ["rule", "all rows", "±", "2nd half", "test rows", "log loss"], rows)


def _second_half(result: dict[str, Any]) -> float:
    """Accuracy in the second half of the pass; n/2 is one of the checkpoints."""
    t, accuracy = np.array(result["t"]), np.array(result["accuracy"])
    half = int(np.argmin(np.abs(t - t[-1] / 2)))
    return float((accuracy[-1] * t[-1] - accuracy[half] * t[half]) / (t[-1] - t[half]))


def _rate_effect(score: str, lines: Lines) -> list[ResultTable]:
    """Final scores by learning rate, for rules with more than one rate."""
    factors = sorted(lines.by("rate_factor"))
    rows = []
    for data, of_data in lines.by("data").items():
        for name, group in of_data.by("method").items():
            rates = [group.where(rate_factor=factor) for factor in factors]
            final = [[line["result"][score][-1] for line in rate] for rate in rates]
            if all(final):
                rows.append([f"{data}, {name}", *map(UNITS[score].mean, final)])
    if len(factors) == 1 or not rows:
        return []
    title = f"Effect of the learning rate: {SCORES[score]}{', per cent' if score == 'accuracy' else ''}"
    return [ResultTable(title, ["data, rule", *(f"rate × {factor:g}" for factor in factors)], rows)]


def _fisher_errors(lines: Lines) -> ResultTable:
    display = _fisher_display(lines)
    title = (
        f"well-specified: relative error of G_t/t and H_t/t after {display.t[-1]:,} rows, "
        f"{lines.count_seeds()}"
    )
    rows = [
        [name, f"{display.mean_error(name)[-1]:.4f}", f"{display.max_error(name)[-1]:.4f}"]
        for name in display.estimates
    ]
    return ResultTable(title, ["rule", "mean over features", "largest"], rows)


def _curves(data: str, lines: Lines, score: str) -> ProgressiveCurvesDisplay:
    rules = lines.by("method").items()
    curves = {name: [line["result"][score] for line in group] for name, group in rules}
    truths = [line["result"]["truth"][score] for line in lines if "truth" in line["result"]]
    best = float(np.mean(truths)) if truths else None
    return ProgressiveCurvesDisplay(lines[0]["result"]["t"], curves, SCORES[score], data, best, COLOUR)


def _fisher_display(lines: Lines) -> FisherDisplay:
    rules = lines.by("method").items()
    estimates = {name: [line["result"]["estimates"] for line in group] for name, group in rules}
    return FisherDisplay(lines[0]["result"]["t"], lines[0]["result"]["fisher"], estimates, COLOUR)
