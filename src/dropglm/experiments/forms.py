"""The form of each penalty (the paper's table of regularisation schemes).

With Σ_i x_ij² = 1 for every feature and V = diag(A''(η_i)), the paper has, up to a constant,

                     linear     logistic                          any GLM
    ridge            ‖β‖²       ‖β‖²                              ‖β‖²
    additive noise   ‖β‖²       ‖β‖² Σ_i p_i (1 - p_i)            ‖β‖² tr V
    dropout          ‖β‖²       Σ_ij p_i (1 - p_i) x_ij² β_j²     βᵀ diag(XᵀVX) β

The constants are ½λ, ½σ² and ½δ/(1-δ); for the linear family tr V is n. The forms are those of the
second-order expansion, and for the linear family of the expectation itself.
"""

from functools import partial
from itertools import product
from typing import Any

import numpy as np

from dropglm.estimators.features import Features
from dropglm.estimators.problem import Problem
from dropglm.experiments.experiment import Experiment, Fit, Line
from dropglm.experiments.formulas import COUNTED, DROPOUT, FORMS, L2, NODES, NOISE_STD, ROWS, A, V
from dropglm.families import FAMILIES
from dropglm.noising import noising_penalty
from dropglm.pages import ResultTable

FEATURES = 6
SIZES = (1.0, 4.0)  # standard deviation of the coefficients
NOISES: dict[str, dict[str, Any]] = {
    "ridge": {"l2": L2},
    "additive noise": {"noise_std": NOISE_STD},
    "dropout": {"dropout": DROPOUT},
}

PROTOCOL = (
    f"{ROWS} rows with {FEATURES} normal features, each scaled to Σ x² = 1, and normal coefficients of two "
    "sizes. The library's value is its quadratic penalty; for the ridge it is what l2 adds to the "
    "objective. The formula is the paper's, written out with NumPy, with the constant that the paper leaves "
    f"out; the Poisson family stands for any GLM. λ = {L2:g}, σ² = 1/{ROWS} and δ = {DROPOUT:g} give all "
    "three the same constant. True is the expectation itself, by the library's exact penalty; counted is "
    f"the same over all masks of a row (dropout) or by quadrature with {NODES} nodes (additive noise). The "
    "last column has the form as a multiple of the truth; a ridge has no noise to take the mean of. Each "
    "gap is relative."
)

Rows = tuple[np.ndarray, np.ndarray]


def rows(size: float, seed: int) -> Rows:
    """A normalised design (n, d), and coefficients (d,) of that size."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(ROWS, FEATURES))
    return X / np.sqrt((X**2).sum(axis=0)), size * rng.normal(size=FEATURES)


def library_ridge(X: np.ndarray, beta: np.ndarray, family: str, l2: float) -> float:
    """What the ridge adds to the objective of a fit; labels cancel."""
    problem = Problem(
        Features(X), FAMILIES[family], np.zeros((len(X), 1)), np.ones(len(X)), fit_intercept=False
    )
    place = problem.features.taken(beta[None, :]), np.zeros(1)
    with_it, without = (
        problem.objective(None, np.full((len(beta), 1), strength), 0.0) for strength in (l2, 0.0)
    )
    return float(with_it.at(with_it.join(*place)).value - without.at(without.join(*place)).value)


def entry(data: Rows, *, family: str, noise: str) -> dict[str, float]:
    """One entry of the table in every way."""
    X, beta = data
    eta = X @ beta
    formula = float(FORMS[noise, family][1](X, beta, V[family](eta)))
    if noise not in COUNTED:
        return {"library": library_ridge(X, beta, family, L2), "formula": formula}
    library, exact = (
        noising_penalty(beta, X, family=family, expectation=expectation, **NOISES[noise])
        for expectation in ("quadratic", "exact")
    )
    noised, chance = COUNTED[noise](X, beta)
    counted = float(np.sum(A[family](noised) @ chance - A[family](eta)))
    return {"library": library, "formula": formula, "exact": exact, "counted": counted}


def fits(quick: bool) -> list[Fit]:
    """All entries at both sizes, the same for a quick run."""
    found = []
    for size, noise, family in product(SIZES, NOISES, A):
        parameters = {"rows": ROWS, "features": FEATURES, "size": size, "family": family, "nodes": NODES}
        work = partial(entry, family=family, noise=noise)
        load = partial(rows, size, 0)
        found.append(Fit("normalised design", noise, 0, parameters | NOISES[noise], load, work, 0.1))
    return found


def collect(lines: list[Line]) -> list[ResultTable]:
    """For each size of the coefficients, the forms, and how near they are to the expectation."""
    tables = []
    for size in dict.fromkeys(line["parameters"]["size"] for line in lines):
        mine = [line for line in lines if line["parameters"]["size"] == size]
        tables += [_forms(size, mine), _truths(size, mine)]
    return tables


def draw(lines: list[Line]) -> dict[str, list[Any]]:
    """Nothing: this is a table."""
    return {}


def _forms(size: float, lines: list[Line]) -> ResultTable:
    ways = ("library", "formula")
    rows = [
        [_name(line), *(f"{line['result'][way]:.6f}" for way in ways), _gap(line["result"], *ways)]
        for line in lines
    ]
    title = f"Forms of the penalties on a normalised design, coefficients of size {size:g}"
    return ResultTable(title, ["form", "library", "formula", "gap"], rows)


def _truths(size: float, lines: list[Line]) -> ResultTable:
    """For those that are the mean over a noise."""
    rows = []
    for line in lines:
        result = line["result"]
        if "exact" in result:
            gap, ratio = _gap(result, "exact", "counted"), result["library"] / result["counted"]
            rows.append([_name(line), f"{result['exact']:.6f}", gap, f"{ratio:.3f}"])
    title = f"The same against the expectation, coefficients of size {size:g}"
    return ResultTable(title, ["form", "true", "gap to counted", "form / true"], rows)


def _name(line: Line) -> str:
    method, family = line["method"], line["parameters"]["family"]
    return f"{method}, {family}: {FORMS[method, family][0]}"


def _gap(result: dict[str, float], one: str, other: str) -> str:
    return f"{abs(result[one] / result[other] - 1.0):.0e}"


TABLE_OF_FORMS = Experiment(
    title="The form of each penalty",
    summary="ridge, additive noise and dropout in three families: formulas against the library",
    data=(),
    takes="2 seconds",
    takes_quick="2 seconds",
    protocol=PROTOCOL,
    fits=fits,
    collect=collect,
    draw=draw,
)
