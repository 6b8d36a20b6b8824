"""The form of each penalty (the paper's table of regularisation schemes).

With Σ_i x_ij² = 1 for every feature and V = diag(A''(η_i)), the paper gives, up to a constant,

                     linear     logistic                          any GLM
    ridge            ‖β‖²       ‖β‖²                              ‖β‖²
    additive noise   ‖β‖²       ‖β‖² Σ_i p_i (1 - p_i)            ‖β‖² tr V
    dropout          ‖β‖²       Σ_ij p_i (1 - p_i) x_ij² β_j²     βᵀ diag(XᵀVX) β

The constants are ½λ, ½σ² and ½δ/(1-δ); for the linear family tr V is n. The forms are those of the
second-order expansion, which for the linear family equals the expectation itself.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from dropglm.core.families import FAMILIES
from dropglm.core.features import Features
from dropglm.core.problem import Problem
from dropglm.core.settings import noising_penalty
from dropglm.experiments.experiment import Experiment, PlannedData, PlannedFit
from dropglm.experiments.results import Lines, ResultLine
from dropglm.plots.pages import ResultTable

ROWS, FEATURES = 60, 6
DROPOUT = 0.5
ODDS = DROPOUT / (1.0 - DROPOUT)
# All three penalties get the constant ½ here, so that they agree for the linear family.
L2, NOISE_STD = ODDS, float(np.sqrt(ODDS / ROWS))
NODES = 80  # of the quadrature over Gaussian noise; for the larger coefficients 60 give the same 10 digits
NOISES: dict[str, dict[str, Any]] = {
    "ridge": {"l2": L2},
    "additive noise": {"noise_std": NOISE_STD},
    "dropout": {"dropout": DROPOUT},
}

# The formulas and expectations are written in plain NumPy and use nothing of the library, which they test.
A: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "linear": lambda eta: 0.5 * eta**2,
    "logistic": lambda eta: np.logaddexp(0.0, eta),
    "poisson": np.exp,
}
V: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "linear": np.ones_like,
    "logistic": lambda eta: np.exp(eta) / (1.0 + np.exp(eta)) ** 2,
    "poisson": np.exp,
}
# The constant of each noise, which the paper omits.
CONSTANTS = {"ridge": 0.5 * L2, "additive noise": 0.5 * NOISE_STD**2, "dropout": 0.5 * ODDS}
# Each form as text, and as a function of the constant, X, β and A''(η).
Form = Callable[[float, np.ndarray, np.ndarray, np.ndarray], Any]
RIDGE: tuple[str, Form] = "½λ ‖β‖²", lambda c, X, b, v: c * (b @ b)
FORMS: dict[tuple[str, str], tuple[str, Form]] = {
    **{("ridge", family): RIDGE for family in A},
    ("additive noise", "linear"): ("½σ² n ‖β‖²", lambda c, X, b, v: c * len(X) * (b @ b)),
    ("additive noise", "logistic"): ("½σ² ‖β‖² Σ p (1 - p)", lambda c, X, b, v: c * (b @ b) * v.sum()),
    ("additive noise", "poisson"): ("½σ² ‖β‖² tr V", lambda c, X, b, v: c * (b @ b) * np.trace(np.diag(v))),
    ("dropout", "linear"): ("½δ/(1-δ) ‖β‖²", RIDGE[1]),
    ("dropout", "logistic"): (
        "½δ/(1-δ) Σ p (1 - p) x² β²",
        lambda c, X, b, v: c * np.sum(v[:, None] * X**2 * b**2),
    ),
    ("dropout", "poisson"): (
        "½δ/(1-δ) βᵀ diag(XᵀVX) β",
        lambda c, X, b, v: c * b @ np.diag(np.diag(X.T @ np.diag(v) @ X)) @ b,
    ),
}


def dropout_predictors(X: np.ndarray, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the predictors under every dropout mask, (n, 2^d), and the probability of each mask."""
    masks = np.array(list(product((0.0, 1.0), repeat=len(beta))))
    probability = np.prod(np.where(masks > 0, 1.0 - DROPOUT, DROPOUT), axis=1)
    return (X * beta) @ masks.T / (1.0 - DROPOUT), probability


def additive_predictors(X: np.ndarray, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the predictors at the nodes of a quadrature over Gaussian noise, and the weight of each node."""
    z, weights = np.polynomial.hermite_e.hermegauss(NODES)
    return (X @ beta)[:, None] + NOISE_STD * np.linalg.norm(beta) * z, weights / weights.sum()


NOISED_PREDICTORS = {"additive noise": additive_predictors, "dropout": dropout_predictors}

Data = tuple[np.ndarray, np.ndarray]  # design (n, d) and coefficients (d,)


def normalised_design(size: float, seed: int) -> Data:
    """Draw a design with Σ_i x_ij² = 1, and coefficients with that standard deviation."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(ROWS, FEATURES))
    return X / np.sqrt((X**2).sum(axis=0)), size * rng.normal(size=FEATURES)


def library_ridge(X: np.ndarray, beta: np.ndarray, family: str, l2: float) -> float:
    """Return what the ridge penalty adds to the objective of a fit; the labels cancel."""
    problem = Problem(
        Features(X), FAMILIES[family], np.zeros((len(X), 1)), np.ones(len(X)), fit_intercept=False
    )
    point = problem.features.select(beta[None, :]), np.zeros(1)
    penalised, plain = (
        problem.objective(None, np.full((len(beta), 1), strength), 0.0) for strength in (l2, 0.0)
    )
    return float(penalised.at(penalised.join(*point)).value - plain.at(plain.join(*point)).value)


def compute_entry(data: Data, *, family: str, noise: str) -> dict[str, float]:
    """Compute one entry of the table in every way."""
    X, beta = data
    eta = X @ beta
    formula = float(FORMS[noise, family][1](CONSTANTS[noise], X, beta, V[family](eta)))
    if noise not in NOISED_PREDICTORS:
        return {"library": library_ridge(X, beta, family, L2), "formula": formula}
    quadratic, exact = (
        noising_penalty(beta, X, family=family, expectation=expectation, **NOISES[noise])
        for expectation in ("quadratic", "exact")
    )
    noised, probability = NOISED_PREDICTORS[noise](X, beta)
    enumerated = float(np.sum(A[family](noised) @ probability - A[family](eta)))
    return {"library": quadratic, "formula": formula, "exact": exact, "enumerated": enumerated}


@dataclass(frozen=True)
class TableOfForms(Experiment):
    """The experiment; ``sizes`` are standard deviations of the coefficients."""

    sizes: tuple[float, ...] = (1.0, 4.0)

    title = "The form of each penalty"
    summary = "ridge, additive noise and dropout in three families: formulas compared with the library"
    takes = takes_quick = "2 seconds"
    protocol = (
        f"{ROWS} rows with {FEATURES} normal features, each scaled to Σ x² = 1, and normal coefficients "
        "of two sizes. The column library is the library's quadratic penalty; for the ridge it is what "
        "l2 adds to the objective. The column formula is the paper's form written in NumPy, with the "
        f"constant that the paper omits; the Poisson family is the example of a general GLM. λ = {L2:g}, "
        f"σ² = 1/{ROWS} and δ = {DROPOUT:g} give all three penalties the same constant. True is the "
        "expectation itself, from the library's exact penalty. It is compared with a sum over all masks "
        f"of a row (dropout) or a quadrature with {NODES} nodes (additive noise). The last column is the "
        "form as a multiple of the true penalty; the ridge is left out because it is not an expectation "
        "over noise. All gaps are relative."
    )

    def fits(self, quick: bool) -> list[PlannedFit]:
        """Return all entries for all sizes, the same for a quick run."""
        fits = []
        for size in self.sizes:
            parameters = {"rows": ROWS, "features": FEATURES, "size": size, "nodes": NODES}
            data = PlannedData("normalised design", 0, parameters, partial(normalised_design, size, 0))
            for noise, family in product(NOISES, A):
                measure = partial(compute_entry, family=family, noise=noise)
                fits.append(data.fit(noise, measure, 0.1, family=family, **NOISES[noise]))
        return fits

    def tabulate(self, lines: Lines) -> list[ResultTable]:
        """Return for each size the forms, and how close they are to the expectation."""
        tables = []
        for size, of_size in lines.by("size").items():
            tables += [_forms(size, of_size), _true_penalties(size, of_size)]
        return tables


def _forms(size: float, lines: Lines) -> ResultTable:
    ways = ("library", "formula")
    rows = [
        [_name(line), *(f"{line['result'][way]:.6f}" for way in ways), _gap(line["result"], *ways)]
        for line in lines
    ]
    title = f"Forms of the penalties on a normalised design, coefficients of size {size:g}"
    return ResultTable(title, ["form", "library", "formula", "gap"], rows)


def _true_penalties(size: float, lines: Lines) -> ResultTable:
    """Table of the forms that approximate an expectation over noise."""
    rows = []
    for line in lines:
        result = line["result"]
        if "exact" in result:
            gap, ratio = _gap(result, "exact", "enumerated"), result["library"] / result["enumerated"]
            rows.append([_name(line), f"{result['exact']:.6f}", gap, f"{ratio:.3f}"])
    title = f"The forms compared with the expectation, coefficients of size {size:g}"
    return ResultTable(title, ["form", "true", "gap to sum", "form / true"], rows)


def _name(line: ResultLine) -> str:
    method, family = line["method"], line["parameters"]["family"]
    return f"{method}, {family}: {FORMS[method, family][0]}"


def _gap(result: dict[str, float], one: str, other: str) -> str:
    return f"{abs(result[one] / result[other] - 1.0):.0e}"
