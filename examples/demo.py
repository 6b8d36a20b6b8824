"""Texts with few labels, dropout against ridge, what noise adds: tables in the terminal, a page of pictures.

Which package is a docstring from, with 300 labels and without more of them; the paper's simulation study, in
fewer runs; then rows like short texts, made on the spot (few
of 2,000 words each, frequent words in many rows), on which the penalty is computed by every method that the
library has and a model is tuned and trained; then three of the paper's figures on what the quadratic method
gets right and wrong. Writes ``demo/index.html``.
"""

import time
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from dropout_training import study
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression as Theirs

from dropglm import LogisticRegressionCV, TextClassifier, load_dataset, noising_penalty
from dropglm.pages import Table, figure, page
from dropglm.plots import (
    ConvergenceDisplay,
    CVSurfaceDisplay,
    LossExpansionDisplay,
    NgramWeightsDisplay,
    PenaltyCurvesDisplay,
    RidgeContoursDisplay,
)
from dropglm.plots.axes import fresh_axes

OUT = Path("demo/index.html")
ROWS, WORDS, LENGTH = 500, 2000, 40
RUNS = 20


def texts(rng: np.random.Generator) -> sparse.csr_array:
    """Which words each row has: 40 draws with replacement, the k-th word's frequency proportional to 1/k."""
    frequency = 1.0 / np.arange(1, WORDS + 1)
    words = rng.choice(WORDS, size=(ROWS, LENGTH), p=frequency / frequency.sum())
    X = np.zeros((ROWS, WORDS))
    np.put_along_axis(X, words, 1.0, axis=1)
    return sparse.csr_array(X)


def docstrings() -> tuple[Table, dict[str, list[Any]]]:
    """Docstrings and their packages: few labels, more texts without any, what the last model has learnt."""
    names = (
        "scikit-learn's LogisticRegression",
        "TextClassifier",
        "TextClassifier, 3,700 more texts without labels",
    )
    scores: dict[str, list[float]] = {name: [] for name in names}
    for seed in range(3):
        data: Any = load_dataset("docstrings", random_state=seed)
        words = CountVectorizer(ngram_range=(1, 2), min_df=2, binary=True).fit(data.texts)
        plain = Theirs(max_iter=1000).fit(words.transform(data.texts), data.y)
        scores[names[0]].append(plain.score(words.transform(data.texts_test), data.y_test))
        for name, more in zip(names[1:], (None, data.unlabeled), strict=True):
            model = TextClassifier(tune=False, n_jobs=-1)
            model.fit(data.texts, data.y, unlabeled=more)
            scores[name].append(model.score(data.texts_test, data.y_test))
    rows = [[name, *(f"{score:.3f}" for score in row), f"{np.mean(row):.3f}"] for name, row in scores.items()]
    table = Table(
        "Which package is a docstring from? Bigrams, 300 texts with labels, 1,000 to test, at defaults",
        ["model", "seed 0", "seed 1", "seed 2", "mean"],
        rows,
    )
    bars = [NgramWeightsDisplay.from_estimator(model, label, 10).plot().figure_ for label in model.classes_]
    return table, {"What the last of these models has learnt: the n-grams that speak for each package.": bars}


def simulation(rng: np.random.Generator) -> Table:
    """The paper's simulation study: accuracy where useful features are active, and over all rows."""
    rows = [
        [name, *(f"{mean:.3f}" for mean in scores.mean(axis=0))] for name, scores in study(RUNS, rng).items()
    ]
    rows += [["the paper, L2", "0.66", "0.53"], ["the paper, dropout", "0.73", "0.55"]]
    title = f"Simulation of rare but useful features, 75 training rows, {RUNS} runs (the paper: 100)"
    return Table(title, ["method", "active rows", "all rows"], rows)


def training(X: sparse.csr_array, coef: np.ndarray, rng: np.random.Generator) -> dict[str, list[Any]]:
    """A model tuned on half of the rows, the other half without labels, in two pictures."""
    y = rng.random(ROWS) < 1.0 / (1.0 + np.exp(-(X @ coef)))
    half = ROWS // 2
    model = LogisticRegressionCV(scoring="neg_log_loss").fit(X[:half], y[:half], X_unlabeled=X[half:])
    panels = [fresh_axes(), fresh_axes()]
    ConvergenceDisplay.from_estimator(model).plot(axes=panels)
    return {
        "A model that tuned itself on half of the rows, the other half without labels: score by dropout and "
        "l2, the choice framed.": [CVSurfaceDisplay.from_estimator(model).plot().figure_],
        "Its last fit, iteration by iteration.": [panel.figure for panel in panels],
    }


def methods(X: sparse.csr_array, coef: np.ndarray) -> Table:
    """The penalty by every method, at several dropout rates."""
    rates = (0.1, 0.5, 0.9)
    rows = []
    for kind in ("exact", "gaussian", "quadratic", "monte_carlo"):
        settings: dict[str, Any] = {"kind": kind, "random_state": 0, "n_samples": 200}
        noising_penalty(coef, X[:1], dropout=0.5, **settings)  # compiles, or loads what was compiled
        start = time.perf_counter()
        values = [noising_penalty(coef, X, dropout=rate, **settings) for rate in rates]
        milliseconds = 1e3 * (time.perf_counter() - start) / len(rates)
        name = "monte_carlo, 200 copies" if kind == "monte_carlo" else kind
        rows.append([name, *(f"{value:.4f}" for value in values), f"{milliseconds:.1f}"])
    header = ["method", *(f"δ = {rate}" for rate in rates), "ms"]
    return Table(f"Noising penalty of {ROWS} rows, logistic family, dropout δ", header, rows)


def forms(rng: np.random.Generator) -> Table:
    """The paper's table of penalty forms, each entry against its formula written out."""
    X = rng.normal(size=(60, 5))
    X /= np.sqrt((X**2).sum(axis=0))
    beta = rng.normal(size=5)
    eta = X @ beta
    p = 1.0 / (1.0 + np.exp(-eta))
    curvature = {"linear": np.ones(60), "logistic": p * (1.0 - p), "poisson": np.exp(eta)}
    rows = []
    noises: dict[str, dict[str, Any]] = {"additive noise": {"noise_std": 1.0}, "dropout": {"dropout": 0.5}}
    for label, noise in noises.items():
        for family, V in curvature.items():
            weight = V @ X**2 if "dropout" in noise else np.full(5, V.sum())
            formula = 0.5 * weight @ beta**2
            value = noising_penalty(beta, X, family=family, kind="quadratic", **noise)
            rows.append([label, family, f"{value:.6f}", f"{formula:.6f}", f"{abs(value / formula - 1):.0e}"])
    return Table(
        "Forms of the quadratic penalty (the paper's Table 2)",
        ["noise", "family", "library", "formula", "gap"],
        rows,
    )


def pictures(rng: np.random.Generator) -> dict[str, list[Any]]:
    """The three figures, by caption."""
    X = rng.normal(size=(400, 2)) @ np.array([[0.4, 0.0], [0.5, 1.5]])
    coef = np.array([1.5, 1.0])
    p = 1.0 / (1.0 + np.exp(-X @ coef))
    panels = [fresh_axes(), fresh_axes()]
    RidgeContoursDisplay.from_predictions(X, p, coef).plot(axes=panels)
    return {
        "The true penalty (solid) and the quadratic one (dashed) against the noise level, by the row's "
        "predicted probability p. The quadratic is too large at p = ½ and too small for confident rows "
        "(Figure 1a).": [PenaltyCurvesDisplay.from_probabilities().plot().figure_],
        "Why: the expansion of the log-partition at p = ½ stays above it, those at p = 0.05 and 0.95 fall "
        "far below it on their other side (Figure A.1).": [
            LossExpansionDisplay.from_probabilities().plot().figure_
        ],
        "Level curves of a likelihood (solid) and of two ridges (dashed). The plain ridge ignores the "
        "features' scales; the Fisher-scaled one, which dropout comes close to, takes them from the "
        "likelihood (Figure A.2).": [panel.figure for panel in panels],
    }


def main() -> None:
    rng = np.random.default_rng(0)
    X, coef = texts(rng), rng.normal(scale=0.5, size=WORDS)
    mpl.use("svg")
    text_table, learnt = docstrings()
    tables = [text_table, simulation(rng), methods(X, coef), forms(rng)]
    for table in tables:
        print(f"\n{table.plain()}")
    OUT.parent.mkdir(exist_ok=True)
    figures = learnt | pictures(rng) | training(X, coef, rng)
    blocks = [table.html() for table in tables] + [figure(*captioned) for captioned in figures.items()]
    OUT.write_text(page("dropglm: dropout without sampling", blocks), encoding="utf-8")
    print(f"\nThe same with pictures: {OUT}")


if __name__ == "__main__":
    main()
