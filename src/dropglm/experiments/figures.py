"""The paper's figures of the penalty: Figures 1a, 1b, A.1 and A.2.

Each is an experiment whose lines of raw results are drawn by one display of ``dropglm.plots`` each.
"""

from abc import abstractmethod
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from dropglm.core.families import Logistic
from dropglm.datasets import load_dataset
from dropglm.experiments.experiment import Experiment, PlannedData, PlannedFit
from dropglm.experiments.plain_lbfgs import train_with_plain_lbfgs
from dropglm.experiments.results import Lines, ResultLine, draw_panels
from dropglm.experiments.texts import Load
from dropglm.linear import LogisticRegression
from dropglm.plots import LossExpansionDisplay, PenaltyCurvesDisplay, PenaltyPathDisplay, RidgeContoursDisplay
from dropglm.plots.pages import ResultTable
from dropglm.plots.penalties import expanded_loss, fisher_information, penalties_along, row_penalties

APPROXIMATIONS = ("quadratic", "gaussian")
ROUNDING = 1e-9  # the curves touch where they are expanded, up to rounding
CoefficientPath = list[tuple[np.ndarray, float]]  # coefficients and intercept after each step


class FeaturesAndLabels(NamedTuple):
    """Features (n, d) and labels (n,)."""

    X: Any
    y: np.ndarray


class Figure(Experiment):
    """A figure of the paper: a table and a display with some panels for each line of raw results.

    Attributes
    ----------
    caption : str
        What is drawn; formatted with the line.
    panels : int
        Number of panels of the display.
    """

    caption: str
    panels = 1

    @abstractmethod
    def table(self, line: ResultLine) -> ResultTable:
        """Return the table of a line."""

    @abstractmethod
    def display(self, line: ResultLine) -> Any:
        """Return the display of a line."""

    def tabulate(self, lines: Lines) -> list[ResultTable]:
        """Return a table for each line."""
        return [self.table(line) for line in lines]

    def draw(self, lines: Lines) -> dict[str, list[Any]]:
        """Draw the panels of each line."""
        return {
            self.caption.format(line=line): draw_panels(self.display(line), self.panels) for line in lines
        }


@dataclass(frozen=True)
class Figure1a(Figure):
    """True and quadratic penalty of one row under Gaussian noise.

        R(η, σ) = E A(N(η, σ²)) - A(η),     R^q(η, σ) = ½ A''(η) σ²,     A(η) = log(1 + e^η)

    According to the paper, R^q is generally very accurate; it is too large for p = A'(η) near ½ and too small
    for very confident predictions. ``shown_levels`` are the noise levels σ of the table.
    """

    probabilities: tuple[float, ...] = (0.5, 0.73, 0.82, 0.88, 0.95)
    levels: tuple[float, ...] = tuple(k / 40 for k in range(61))  # up to 1.5
    shown_levels: tuple[float, ...] = (0.25, 0.5, 1.0, 1.5)

    title = "Figure 1a: the true and the quadratic penalty under Gaussian noise"
    summary = "how close the quadratic penalty of a row is to the true one, by confidence and noise"
    takes = takes_quick = "1 second"
    caption = (
        "Penalty of one row against the noise level σ, by predicted probability p: true (solid) and "
        "quadratic (dashed)."
    )
    protocol = (
        "One row of a logistic model has natural parameter η and predicted probability p; Gaussian noise "
        "with standard deviation σ is added to η. The true penalty is the expectation of A over the "
        "noise minus A(η), in closed form with an error of at most 8.2e-9; the quadratic penalty is "
        "½ p (1 - p) σ². Nothing is fitted and nothing is random. The paper does not state the values of "
        "p and σ in its figure, so these are our choice."
    )

    def fits(self, quick: bool) -> list[PlannedFit]:
        """Return one fit, the same for a quick run."""
        parameters = {"probabilities": list(self.probabilities), "levels": list(self.levels)}
        return [PlannedFit("one row", "true and quadratic", 0, parameters, lambda: None, self._curves)]

    def _curves(self, data: None) -> dict[str, Any]:
        true, quadratic = row_penalties(self.probabilities, self.levels)
        return {"true": true.tolist(), "quadratic": quadratic.tolist()}

    def display(self, line: ResultLine) -> PenaltyCurvesDisplay:
        """Return both penalties against the noise level."""
        parameters, result = line["parameters"], line["result"]
        arrays = parameters["levels"], parameters["probabilities"], result["true"], result["quadratic"]
        return PenaltyCurvesDisplay(*map(np.array, arrays))

    def table(self, line: ResultLine) -> ResultTable:
        """Return the quadratic penalty as a multiple of the true one."""
        display = self.display(line)
        # For each shown level, the largest stored level that is not above it.
        columns = np.searchsorted(display.noise_levels, self.shown_levels, side="right") - 1
        rows = [
            [
                f"p = {p:g}",
                *(f"{ratio:.3f}" for ratio in display.quadratic[k, columns] / display.true[k, columns]),
            ]
            for k, p in enumerate(display.probabilities)
        ]
        header = ["prediction", *(f"σ = {display.noise_levels[k]:g}" for k in columns)]
        return ResultTable("The quadratic penalty as a multiple of the true penalty", header, rows)


@lru_cache(maxsize=1)
def athr_rows(load: Load, n: int, seed: int) -> FeaturesAndLabels:
    """Draw documents of AthR at random."""
    data = load("athr")
    drawn = np.random.default_rng(seed).permutation(len(data.y))[:n]
    return FeaturesAndLabels(data.X[drawn].astype(np.float64), data.y[drawn])


def synthetic_rows(n: int, seed: int, *, words: int = 400, length: int = 20) -> FeaturesAndLabels:
    """Draw rows that resemble short texts: binary, with the k-th word's frequency proportional to 1/k.

    Examples
    --------
    >>> X, y = synthetic_rows(100, 0)
    >>> X.shape, int(X.sum(axis=1).max()) <= 20
    ((100, 400), True)
    """
    rng = np.random.default_rng(seed)
    frequency = 1.0 / np.arange(1, words + 1)
    drawn = rng.choice(words, size=(n, length), p=frequency / frequency.sum())
    X = np.zeros((n, words))
    np.put_along_axis(X, drawn, 1.0, axis=1)
    return FeaturesAndLabels(sparse.csr_array(X), Logistic.sample(X @ rng.normal(size=words), rng))


def training_path(rows: FeaturesAndLabels, **settings: Any) -> tuple[CoefficientPath, list[float]]:
    """Train with exact dropout, and return the path of the coefficients and the objective at each step.

    The settings are those of ``train_with_plain_lbfgs``.
    """
    path: CoefficientPath = []

    def record(coef: np.ndarray, intercept: float, gradient: np.ndarray) -> bool:
        path.append((coef, intercept))
        return False

    _, result = train_with_plain_lbfgs(rows.X, rows.y, record, expectation="exact", **settings)
    return path, result.history.objective[1:].tolist()


def measure_path(path: CoefficientPath, rows: FeaturesAndLabels, *, dropout: float) -> dict[str, list[float]]:
    """Return the penalties, the loss and the mean confidence after each step."""
    penalties = penalties_along(path, rows.X, expectations=("exact", *APPROXIMATIONS), dropout=dropout)
    predictors = [rows.X @ coef + intercept for coef, intercept in path]
    return {
        "loss": [float(np.sum(Logistic.log_partition(eta) - rows.y * eta)) for eta in predictors],
        "confidence": [float(Logistic.mean(np.abs(eta)).mean()) for eta in predictors],
        **penalties,
    }


@dataclass(frozen=True)
class Figure1b(Figure):
    """Exact and quadratic dropout penalty during training.

        minimise  Σ_i loss_i + R(β) + ½λ‖β‖²
        R(β) = Σ_i E A(η̃_i) - A(η_i),     R^q(β) = ½ Σ_i A''(η_i) Var η̃_i

    The model is trained with the exact penalty R; R^q and the Gaussian approximation of R are computed at
    each step. According to the paper, R^q is accurate most of the way and deteriorates only slightly as the
    model converges to highly confident predictions. The two l2 are the largest that the paper's authors used,
    and the library's default.
    """

    l2: tuple[float, ...] = (0.01, 1.0)
    rows: int = 1000
    quick_rows: int = 150
    dropout: float = 0.5
    tol: float = 1e-4
    max_iter: int = 150
    load: Load = load_dataset

    panels = 2
    title = "Figure 1b: the exact and the quadratic penalty during training"
    summary = "how close the quadratic penalty stays to the exact one along the path of a fit"
    data = ("athr",)
    takes, takes_quick = "20 seconds", "3 seconds, no data set"
    caption = (
        "{line[data]}, ridge {line[method]}: the exact penalty and two approximations at each "
        "step of training with the exact penalty, and the errors of the two."
    )

    @property
    def protocol(self) -> str:
        """What was done."""
        return (
            "Logistic regression with an intercept, trained with the exact dropout penalty, δ = "
            f"{self.dropout:g}, from β = 0 by L-BFGS that starts from a multiple of the identity; with the "
            "library's own preconditioner the first step would already get most of the way. The ridge λ is "
            "needed because words that occur in only one class have no finite weight without it. After each "
            "step the exact penalty and two approximations of it are computed: the paper's quadratic "
            "penalty, and the library's default, which treats the noise of a row's predictor as Gaussian. "
            "Errors are relative to the exact penalty. Confidence is the mean of max(p, 1 - p). athr: "
            f"{self.rows:,} documents drawn at random, 22,178 words. A quick run uses synthetic texts "
            "instead."
        )

    def fits(self, quick: bool) -> list[PlannedFit]:
        """Return one fit per ridge."""
        n, seed = self.quick_rows if quick else self.rows, 0
        load = partial(synthetic_rows, n, seed) if quick else partial(athr_rows, self.load, n, seed)
        solver = {"tol": self.tol, "max_iter": self.max_iter, "metric": "identity"}
        parameters = {"rows": n, "dropout": self.dropout} | solver
        data = PlannedData("synthetic texts" if quick else "athr", seed, parameters, load)
        cost = 1.0 if quick else 8.0
        return [data.fit(f"λ = {l2:g}", partial(self._measure, l2=l2), cost, l2=l2) for l2 in self.l2]

    def display(self, line: ResultLine) -> PenaltyPathDisplay:
        """Return the penalties and the relative errors of a path."""
        result = line["result"]
        approximations = {name: result[name] for name in APPROXIMATIONS}
        return PenaltyPathDisplay(result["exact"], approximations, f"{line['data']}, {line['method']}")

    def table(self, line: ResultLine) -> ResultTable:
        """Return the penalties at some steps of a path."""
        result, display = line["result"], self.display(line)
        last = len(display.exact)
        shown = [step for step in (2**k for k in range(20)) if step < last] + [last]
        rows = [
            [f"step {step}{', the last' if step == last else ''}"]
            + [f"{values[step - 1]:.2f}" for values in (display.exact, *display.approximations.values())]
            + [f"{100 * display.error(name)[step - 1]:+.1f}" for name in display.approximations]
            + [f"{result['loss'][step - 1]:.2f}", f"{result['confidence'][step - 1]:.3f}"]
            for step in shown
        ]
        names = list(display.approximations)
        header = ["", "exact", *names, *(f"{name}, % error" for name in names), "loss", "confidence"]
        where = f"{line['data']}, ridge {line['method']}"
        title = f"{where}: penalties summed over {line['parameters']['rows']:,} rows, during training"
        return ResultTable(title, header, rows)

    def _measure(self, rows: FeaturesAndLabels, *, l2: float) -> dict[str, list[float]]:
        settings = {"dropout": self.dropout, "tol": self.tol, "max_iter": self.max_iter}
        path, objective = training_path(rows, l2=l2, **settings)
        return {"objective": objective} | measure_path(path, rows, dropout=self.dropout)


@dataclass(frozen=True)
class FigureA1(Figure):
    """Second-order expansions of the logistic loss.

        A(η_0) + A'(η_0)(η - η_0) + ½ A''(η_0)(η - η_0)²     against     A(η) = log(1 + e^η)

    According to the paper, the expansion at p = A'(η_0) = ½ is always above the loss, while those at p = 0.05
    and 0.95 are below it over a large range. That is why the quadratic penalty is too large for uncertain
    rows and too small for confident ones. Fields are the probabilities at which the loss is expanded, and the
    grid of η.
    """

    probabilities: tuple[float, ...] = (0.05, 0.5, 0.95)
    eta: tuple[float, ...] = tuple(k / 10 for k in range(-60, 61))

    title = "Figure A.1: quadratic approximations of the logistic loss"
    summary = "why the quadratic penalty is too large for uncertain rows and too small for confident ones"
    takes = takes_quick = "1 second"
    caption = "Log-partition of the logistic model (solid) and its expansions at three predictions (dashed)."

    @property
    def protocol(self) -> str:
        """What was done."""
        return (
            "A(η) = log(1 + e^η), the part of the logistic loss that does not depend on the label, and its "
            "second-order expansions at the η where the prediction is p. The table says on which share of a "
            f"grid of η from {self.eta[0]:g} to {self.eta[-1]:g} an expansion is above A or below it, and by "
            "how much at most. Nothing is fitted and nothing is random."
        )

    def fits(self, quick: bool) -> list[PlannedFit]:
        """Return one fit, the same for a quick run."""
        parameters = {"probabilities": list(self.probabilities), "eta": list(self.eta)}
        return [
            PlannedFit("the logistic loss", "second order", 0, parameters, lambda: None, self._expansions)
        ]

    def display(self, line: ResultLine) -> LossExpansionDisplay:
        """Return the loss and its expansions."""
        parameters, result = line["parameters"], line["result"]
        arrays = parameters["eta"], result["loss"], parameters["probabilities"], result["expansions"]
        return LossExpansionDisplay(*map(np.array, arrays))

    def table(self, line: ResultLine) -> ResultTable:
        """Return how often, and by how much, each expansion is above and below the loss."""
        display = self.display(line)
        rows = [
            [
                f"expanded at p = {p:g}",
                f"{100 * np.mean(gap > ROUNDING):.1f}",
                f"{100 * np.mean(gap < -ROUNDING):.1f}",
                f"{max(0.0, gap.max()):.3f}",
                f"{max(0.0, -gap.min()):.3f}",
            ]
            for p, gap in zip(display.probabilities, display.expansions - display.loss, strict=True)
        ]
        low, high = display.eta[0], display.eta[-1]
        header = ["", "above, % of η", "below, % of η", "above by at most", "below by at most"]
        title = f"Expansions of the logistic loss compared with the loss itself, η from {low:g} to {high:g}"
        return ResultTable(title, header, rows)

    def _expansions(self, data: None) -> dict[str, Any]:
        loss, expansions = expanded_loss(self.probabilities, self.eta)
        return {"loss": loss.tolist(), "expansions": expansions.tolist()}


@dataclass(frozen=True)
class FigureA2(Figure):
    """Level curves of the plain and of the Fisher-scaled ridge penalty.

        ½ (β - β̂)ᵀ I (β - β̂) + ½ λ c ‖β‖²     and     ½ (β - β̂)ᵀ I (β - β̂) + ½ λ βᵀ diag(I) β

    I is the Fisher information at the maximum-likelihood estimate β̂, and c the mean of its diagonal.
    According to the paper, the second penalty weights each axis by the curvature of the likelihood, and
    dropout training is comparable to it: at δ = ½ the quadratic dropout penalty is ½ βᵀ diag(XᵀV(β)X) β, so
    λ = 1. The data, x = z · mix, has two correlated features on different scales.
    """

    rows: int = 1000
    coef: tuple[float, float] = (1.5, 1.0)
    mix: tuple[tuple[float, float], ...] = ((0.4, 0.0), (0.2, 1.5))
    dropout: float = 0.5

    panels = 2
    title = "Figure A.2: the plain and the Fisher-scaled ridge penalty"
    summary = "dropout acts like a ridge penalty that is scaled by the Fisher information"
    takes = takes_quick = "2 seconds"
    caption = (
        "Level curves of the likelihood (solid) and of two ridge penalties (dashed), with the "
        "optimum of their sum. The plain ridge ignores the scale of the features; the other one "
        "takes it from the likelihood."
    )

    @property
    def strength(self) -> float:
        """λ = δ/(1-δ)."""
        return self.dropout / (1.0 - self.dropout)

    @property
    def protocol(self) -> str:
        """What was done."""
        return (
            f"{self.rows:,} rows with two features, x = z M with z standard normal and M = "
            f"{[list(row) for row in self.mix]}, and labels from a logistic model with β = {self.coef} and "
            "no intercept. The likelihood is drawn as its second-order expansion at the maximum-likelihood "
            "estimate. Both ridge penalties have the same average strength over the two axes, equal to that "
            f"of dropout with δ = {self.dropout:g}. The table also has the optimum of dropout training "
            "itself (the library's default penalty, with the likelihood, not its expansion). The columns β₁ "
            "left and β₂ left are the coefficients divided by their maximum-likelihood estimates; the "
            "distance is Euclidean. The paper's figure is a sketch without numbers; the data are ours."
        )

    def draw_rows(self, seed: int = 0) -> FeaturesAndLabels:
        """Draw the data."""
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(self.rows, 2)) @ np.array(self.mix)
        return FeaturesAndLabels(X, Logistic.sample(X @ np.array(self.coef), rng))

    def fits(self, quick: bool) -> list[PlannedFit]:
        """Return one fit, the same for a quick run."""
        parameters = {"rows": self.rows, "coef": list(self.coef), "mix": [list(row) for row in self.mix]}
        parameters |= {"dropout": self.dropout, "strength": self.strength}
        return [PlannedFit("two features", "ridges", 0, parameters, self.draw_rows, self._optima)]

    def display(self, line: ResultLine) -> RidgeContoursDisplay:
        """Return the level curves of both ridge penalties."""
        result = line["result"]
        return RidgeContoursDisplay(result["information"], result["peak"], line["parameters"]["strength"])

    def table(self, line: ResultLine) -> ResultTable:
        """Return the optimum under each penalty."""
        display = self.display(line)
        peak, (plain, scaled) = display.peak, display.optima
        optima = {
            "maximum likelihood": peak,
            "plain ridge ‖β‖²": plain,
            "Fisher-scaled ridge βᵀ diag(I) β": scaled,
            f"dropout, δ = {line['parameters']['dropout']:g}": np.array(line["result"]["dropout"]),
        }
        return ResultTable(
            "Two coefficients under two ridge penalties and under dropout",
            ["", "β₁", "β₂", "β₁ left", "β₂ left", "distance"],
            [
                [name, *(f"{number:.3f}" for number in (*beta, *(beta / peak), np.linalg.norm(beta - peak)))]
                for name, beta in optima.items()
            ],
        )

    def _optima(self, data: FeaturesAndLabels) -> dict[str, Any]:
        """Return the Fisher information, the maximum-likelihood estimate and the optimum of dropout."""
        X, y = data
        settings: dict[str, Any] = {"l2": 0.0, "fit_intercept": False, "tol": 1e-8}
        peak = LogisticRegression(dropout=0.0, **settings).fit(X, y).coef_[0]
        dropout = LogisticRegression(dropout=self.dropout, **settings).fit(X, y).coef_[0]
        return {
            "information": fisher_information(X, Logistic.mean(X @ peak)).tolist(),
            "peak": peak.tolist(),
            "dropout": dropout.tolist(),
        }
