"""Learning row by row: dropout descent, AdaGrad, SGD and AROW (the paper's section on online learning).

The paper says that dropout descent, A_t = diag(H_t), is a cousin of AdaGrad, A_t = diag(G_t)^½: on
well-specified data H_t / t and G_t / t both approach the Fisher information. Both should learn rare features
sooner than SGD.
"""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from dropglm.datasets import load_dataset
from dropglm.datasets.simulation import ACTIVE_GROUPS, SIGNAL, USEFUL
from dropglm.estimators import OnlineLogisticRegression
from dropglm.experiments.experiment import Experiment, Fit
from dropglm.experiments.online_results import KNOWN, collect, draw
from dropglm.experiments.well_specified import fisher, well_specified
from dropglm.families import Logistic
from dropglm.online import RULES
from dropglm.text import NgramVectorizer

MODELS: dict[str, dict[str, Any]] = {
    "sgd": {"rule": "sgd"},
    "adagrad": {"rule": "adagrad"},
    "dropout": {"rule": "dropout", "power": 1.0},
    "dropout, power ½": {"rule": "dropout", "power": 0.5},
    "arow": {"rule": "arow"},
}
TIMES = (0.25, 1.0, 4.0)  # the default rate
SEEDS, SEEDS_QUICK = 10, 3
TEXTS = {"imdb": 25_000, "rt": 10_662}  # rows
SIMULATED, SIMULATED_QUICK, SIMULATED_TEST = 1 << 15, 1 << 11, 5_000
SPECIFIED, SPECIFIED_QUICK = 1 << 20, 1 << 15
NGRAMS, MIN_DF = (1, 2), 2
FIRST = 50  # rows, at least, before the first point of a curve
COST, COST_QUICK = 0.3, 0.1  # seconds a fit, with its share of the data's

PROTOCOL = (
    "One pass over the rows in random order; each row is predicted, then learnt from. Progressive accuracy "
    "and log loss are those of these predictions, over all rows so far; 2nd half is the accuracy over the "
    "second half of the pass. A seed is an order, the same for all rules (and new rows in the simulation); "
    "± is the standard deviation over seeds. Rates are the library's defaults, which were "
    "set by such progressive figures on training rows, those of imdb and rt among them, and never by test "
    "rows. "
    "The log loss of arow takes its margin for a logistic predictor, which it was not made to be. "
    "imdb: the labelled training reviews, and its test reviews after the pass. rt: all sentences. Features "
    "of both: which uni- and bigrams a text has, of those in at least two of the training texts; so the "
    "vocabulary, but no label, is known beforehand. simulation: 50 rare useful features, 1,000 of noise, "
    "5,000 further rows to test; the truth is the model that drew the labels. well-specified: 20 features "
    "of different scale and frequency, labels drawn from a known logistic model whose Fisher information is "
    "computed by quadrature."
)


class Rows(NamedTuple):
    """Rows to learn from, to test on if there are any, and the true predictors if they are known."""

    X: Any
    y: np.ndarray
    X_test: Any = None
    y_test: np.ndarray | None = None
    eta: np.ndarray | None = None


# Fits come seed by seed: texts stay for all of them, of made-up rows (some 300 MB) one seed's do.
@lru_cache(maxsize=len(TEXTS))
def text_rows(name: str) -> Rows:
    """N-grams of a data set of texts."""
    data: Any = load_dataset(name)
    words = NgramVectorizer(NGRAMS, min_df=MIN_DF, n_jobs=-1)
    X = words.fit_transform(data.texts)
    if data.texts_test is None:
        return Rows(X, data.y)
    return Rows(X, data.y, words.transform(data.texts_test), data.y_test)


@lru_cache(maxsize=1)
def simulated_rows(n: int, seed: int) -> Rows:
    """The paper's simulation; groups take turns, so that the last rows are like the others."""
    data = load_dataset("simulation", n_rows=n + SIMULATED_TEST, random_state=seed)
    eta = SIGNAL * data.X[:n, : ACTIVE_GROUPS * USEFUL].sum(axis=1)
    return Rows(data.X[:n], data.y[:n], data.X[n:], data.y[n:], eta)


@lru_cache(maxsize=1)
def known_rows(n: int, seed: int) -> Rows:
    """Rows whose model is known."""
    return Rows(*well_specified(n, seed))


def marks(n: int) -> list[int]:
    """Where curves have their points: n and back, four to each halving.

    Examples
    --------
    >>> marks(200)
    [50, 59, 71, 84, 100, 119, 141, 168, 200]
    """
    back = n * 2.0 ** (-0.25 * np.arange(4 * 60))
    return sorted({round(t) for t in back if t >= min(FIRST, n)})


def passed(rows: Rows, order: np.ndarray, model: dict[str, Any], see: Callable[[Any], Any]) -> Any:
    """The model after one pass, and what ``see`` saw of it at each mark."""
    learner, seen, start = OnlineLogisticRegression(**model), [], 0
    for stop in marks(len(order)):
        part = order[start:stop]
        learner.partial_fit(rows.X[part], rows.y[part], classes=[0, 1])
        seen.append(see(learner))
        start = stop
    return learner, seen


def stream(rows: Rows, *, model: dict[str, Any], seed: int) -> dict[str, Any]:
    """The progressive curves of a rule, and its accuracy on test rows after the pass."""
    order = np.random.default_rng(seed).permutation(len(rows.y))
    learner, seen = passed(
        rows, order, model, lambda m: (m.t_, m.progressive_accuracy_, m.progressive_log_loss_)
    )
    t, accuracy, log_loss = (list(column) for column in zip(*seen, strict=True))
    result = {"t": t, "accuracy": accuracy, "log_loss": log_loss, "features": rows.X.shape[1]}
    if rows.X_test is not None:
        result["test_accuracy"] = float(np.mean(learner.predict(rows.X_test) == rows.y_test))
    if rows.eta is not None:
        loss = Logistic.log_partition(rows.eta) - rows.y * rows.eta
        right = (rows.eta > 0) == rows.y
        result["truth"] = {"accuracy": float(right.mean()), "log_loss": float(loss.mean())}
    return result


def approach(rows: Rows, *, model: dict[str, Any]) -> dict[str, Any]:
    """What a rule scales its steps by, divided by t, at each mark."""
    order = np.arange(len(rows.y))
    _, seen = passed(rows, order, model, lambda m: (m.t_, (m.sums_[0] / m.t_).tolist()))
    t, estimates = (list(column) for column in zip(*seen, strict=True))
    return {"t": t, "estimates": estimates, "fisher": fisher().tolist()}


def fits(quick: bool) -> list[Fit]:
    """All fits, seed by seed, so that the time left is known after the first."""
    n, known = (SIMULATED_QUICK, SPECIFIED_QUICK) if quick else (SIMULATED, SPECIFIED)
    cost = COST_QUICK if quick else COST
    found = []
    for seed in range(SEEDS_QUICK if quick else SEEDS):
        sources: dict[str, tuple[dict[str, Any], Callable[[], Rows]]] = {
            "simulation": ({"rows": n, "test_rows": SIMULATED_TEST}, partial(simulated_rows, n, seed))
        }
        for data, rows in () if quick else TEXTS.items():
            settings = {"rows": rows, "ngrams": list(NGRAMS), "min_df": MIN_DF}
            sources[data] = settings, partial(text_rows, data)
        for data, (settings, load) in sources.items():
            for name in MODELS:
                for times in TIMES if name != "arow" else (1.0,):
                    model, parameters = _parameters(name, times, settings)
                    work = partial(stream, model=model, seed=seed)
                    found.append(Fit(data, name, seed, parameters, load, work, cost))
        for name in ("adagrad", "dropout", "dropout, power ½"):
            model, parameters = _parameters(name, 1.0, {"rows": known})
            load = partial(known_rows, known, seed)
            found.append(Fit(KNOWN, name, seed, parameters, load, partial(approach, model=model), cost))
    return found


def _parameters(name: str, times: float, settings: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The estimator's, and all that the result depends on: defaults too, since they may change one day."""
    defaults = RULES[MODELS[name]["rule"]]._field_defaults
    model = MODELS[name] | {"rate": times * defaults["rate"]}
    return model, {"rate_times": times, "settings": defaults | model, "marks_from": FIRST} | settings


ONLINE = Experiment(
    title="Learning row by row: dropout descent, AdaGrad, SGD and AROW",
    summary="progressive accuracy of online rules; G_t/t and H_t/t approach the Fisher information",
    data=tuple(TEXTS),
    takes="3 minutes",
    takes_quick="10 seconds, no data set",
    protocol=PROTOCOL,
    fits=fits,
    collect=collect,
    draw=draw,
)
