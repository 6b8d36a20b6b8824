"""Dropout compared with ridge when useful features are rare (the paper's simulation study).

There are 50 useful features, each active in 4 % of the rows, and 1,000 nuisance features that are always
active. The ridge penalty ½λ‖β‖² shrinks all of them alike. The dropout penalty, to second order

    R^q(β) = ½ δ/(1-δ) Σ_i p_i (1 - p_i) Σ_j x_ij² β_j²,

charges a useful feature only in the rows where it is active, and less the more confident their predictions
are. The paper reports accuracies of 0.66 (ridge) and 0.73 (dropout) on rows with useful features, and 0.53
and 0.55 on all rows.
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from dropglm.core.families import Logistic
from dropglm.datasets.simulation import ACTIVE_GROUPS, GROUPS, SIGNAL, USEFUL, simulated
from dropglm.experiments.experiment import Comparison, Experiment, PlannedData, PlannedFit
from dropglm.experiments.plain_lbfgs import train_with_plain_lbfgs
from dropglm.experiments.results import NUMBER, POINTS, Groups, Lines, mean_of
from dropglm.linear import LogisticRegression
from dropglm.plots.pages import INK, ResultTable, colors_of, fresh_axes

TRAIN, TEST = 75, 2000
L2, DROPOUT = 32.0, 0.9  # the paper's
SMALL_GRADIENT = 2e-2  # largest entry of the gradient at which the paper's authors stopped

RIDGE, TRUTH = "ridge, λ = 32", "true model"
EARLY, LATE, GAUSSIAN = "quadratic, stopped early", "quadratic, not stopped", "gaussian"
SCORES = {"active": "active rows", "all": "all rows"}
PAPER = {"ridge": {"active": 0.66, "all": 0.53}, "dropout": {"active": 0.73, "all": 0.55}}
PAPER["gain"] = {score: PAPER["dropout"][score] - PAPER["ridge"][score] for score in SCORES}
COUNTERPART = {RIDGE: "ridge", EARLY: "dropout", LATE: "dropout", GAUSSIAN: "dropout"}  # in the paper
MARKERS = ("o", "+", "x", "^", "s", "v", "1", "2")


class SimulatedRun(NamedTuple):
    """Training and test rows of one run; ``active`` marks the test rows that have useful features."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    active: np.ndarray


def simulate_run(rng: np.random.Generator) -> SimulatedRun:
    """Draw the rows of one run.

    Examples
    --------
    >>> rows = simulate_run(np.random.default_rng(0))
    >>> rows.X.shape, rows.X_test.shape
    ((75, 1050), (2000, 1050))
    """
    X, y = simulated(np.arange(TRAIN) % GROUPS, rng)
    groups = rng.integers(GROUPS, size=TEST)
    return SimulatedRun(X, y, *simulated(groups, rng), groups < ACTIVE_GROUPS)


# Fits are ordered by run, so it is enough to keep one.
@lru_cache(maxsize=1)
def numbered_run(number: int) -> SimulatedRun:
    """Return the rows of the run with that number, the same for all methods."""
    return simulate_run(np.random.default_rng(number))


def fit_estimator(rows: SimulatedRun, **settings: Any) -> np.ndarray:
    """Return the coefficients of the library's estimator, converged or not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return LogisticRegression(fit_intercept=False, **settings).fit(rows.X, rows.y).coef_[0]


def fit_stopped_early(rows: SimulatedRun, *, largest_gradient: float, **settings: Any) -> np.ndarray:
    """Return the coefficients where no entry of the gradient is larger than that for the first time."""

    def small(coef: np.ndarray, intercept: float, gradient: np.ndarray) -> bool:
        return bool(np.abs(gradient).max() <= largest_gradient)

    return train_with_plain_lbfgs(rows.X, rows.y, small, fit_intercept=False, tol=0.0, **settings)[0]


def true_coefficients(rows: SimulatedRun) -> np.ndarray:
    """Return the coefficients of the model that generated the labels."""
    return np.where(np.arange(rows.X.shape[1]) < ACTIVE_GROUPS * USEFUL, SIGNAL, 0.0)


def score_on_simulation(
    rows: SimulatedRun, *, method: Callable[..., np.ndarray], settings: Mapping[str, Any]
) -> dict[str, float]:
    """Return accuracy and log loss on test rows, and the mean size of useful and nuisance coefficients."""
    coef = method(rows, **settings)
    eta = rows.X_test @ coef
    correct = (eta > 0) == rows.y_test
    size, useful = np.abs(coef), ACTIVE_GROUPS * USEFUL
    return {
        "active": float(correct[rows.active].mean()),
        "all": float(correct.mean()),
        "log_loss": float(np.mean(Logistic.log_partition(eta) - rows.y_test * eta)),
        "useful_size": float(size[:useful].mean()),
        "nuisance_size": float(size[useful:].mean()),
    }


@dataclass(frozen=True)
class Simulation(Experiment):
    """The experiment; ``other_l2`` are weaker and stronger ridge penalties than the paper's."""

    runs: int = 100
    quick_runs: int = 10
    other_l2: tuple[float, ...] = (0.32, 3.2, 320.0, 3200.0)
    max_iter: int = 200

    title = "Simulation: dropout compared with ridge when useful features are rare"
    summary = "accuracy with 50 rare useful features among 1,000 of noise, compared with the paper's"
    takes, takes_quick = "1 minute", "8 seconds"

    @property
    def protocol(self) -> str:
        """What was done."""
        return (
            f"Each run has {TRAIN} training rows, whose groups take turns, and {TEST:,} test rows, whose "
            "groups are drawn at random; there is no intercept. A row is active if it has useful features. "
            f"Ridge uses the paper's λ = {L2:g}; dropout uses the paper's δ = {DROPOUT:g} and no ridge. "
            "Weaker and stronger ridge penalties show whether that λ is the best one. Quadratic is the "
            "paper's surrogate, once stopped as its authors did (plain L-BFGS from β = 0 until no entry of "
            f"the gradient is above {SMALL_GRADIENT:g}) and once after at most {self.max_iter} iterations of "
            "the library's solver: its objective has no minimum if the rows are separable, as they are "
            "here. Gaussian is the library's default, whose objective is convex; it is run to convergence. "
            "Exact dropout is not included because its objective has no minimum either: it does not "
            "penalise a feature whose sign always agrees with the label, and each useful feature is active "
            "in only three training rows. The true model is the one that generated the labels; it can only "
            "guess in rows without useful features. ± is the standard error over runs. Gains are over ridge "
            "with the paper's λ, on the same rows. The size of a coefficient is its absolute value."
        )

    def methods(self) -> dict[str, tuple[Callable[..., np.ndarray], dict[str, Any]]]:
        """Return the function and the settings of each method."""
        quadratic = {"dropout": DROPOUT, "expectation": "quadratic"}
        converged = {"l2": 0.0, "tol": 1e-4, "max_iter": self.max_iter}
        ridge = {f"ridge, λ = {l2:g}": l2 for l2 in (L2, *self.other_l2)}
        return {
            **{name: (fit_estimator, converged | {"dropout": 0.0, "l2": l2}) for name, l2 in ridge.items()},
            EARLY: (
                fit_stopped_early,
                quadratic | {"largest_gradient": SMALL_GRADIENT, "max_iter": self.max_iter},
            ),
            LATE: (fit_estimator, converged | quadratic),
            GAUSSIAN: (fit_estimator, converged | {"dropout": DROPOUT, "expectation": "gaussian"}),
            TRUTH: (true_coefficients, {}),
        }

    def fits(self, quick: bool) -> list[PlannedFit]:
        """Return all methods, run by run."""
        groups = {"groups": GROUPS, "active_groups": ACTIVE_GROUPS, "useful": USEFUL}
        rows = {"rows": TRAIN, "test_rows": TEST, "signal": SIGNAL} | groups
        fits = []
        for run in range(self.quick_runs if quick else self.runs):
            data = PlannedData("simulation", run, rows, partial(numbered_run, run))
            for name, (method, settings) in self.methods().items():
                measure = partial(score_on_simulation, method=method, settings=settings)
                fits.append(data.fit(name, measure, 0.1, settings=settings))
        return fits

    def tabulate(self, lines: Lines) -> list[ResultTable]:
        """Return accuracy and gain over ridge on active and on all rows, and the sizes of coefficients."""
        return [*(_accuracy_table(lines, score) for score in SCORES), _size_table(lines.by("method"))]

    def draw(self, lines: Lines) -> dict[str, list[Any]]:
        """Draw the gain of every run, and the sizes of useful and nuisance coefficients."""
        methods = lines.by("method")
        colours = colors_of([name for name in methods if COUNTERPART.get(name) == "dropout"])
        gains, sizes = _draw_gains(_over_ridge(lines), colours), _draw_sizes(methods, colours)
        for ax in (gains, sizes):
            if ax.get_legend_handles_labels()[0]:  # an incomplete run may have nothing to show
                ax.figure.legend(loc="outside lower center", ncols=2, frameon=False)
        caption = (
            "Left: gain in accuracy over ridge on the same rows, sorted over runs. Right: mean size of the "
            "coefficients of useful and of nuisance features; above the line the useful ones are larger."
        )
        return {caption: [gains.figure, sizes.figure]}

    def compare(self, lines: Lines) -> list[Comparison]:
        """Compare ridge, the paper's surrogate and the library's dropout, and the gains over ridge."""
        gains, found = _over_ridge(lines), [(RIDGE, "ridge", lines.where(method=RIDGE))]
        for name in (EARLY, GAUSSIAN):
            found.append((name, "dropout", lines.where(method=name)))
            found.append((f"gain of {name}", "gain", gains.where(method=name)))
        return [
            Comparison(f"{rows}: {what}", PAPER[paper][score], *mean)
            for score, rows in SCORES.items()
            for what, paper, ours in found
            if (mean := mean_of(ours.values(score)))
        ]


def _over_ridge(lines: Lines) -> Lines:
    """Gains over ridge in the runs that have results for both."""
    return lines.minus(lines.where(method=RIDGE))


def _draw_gains(gains: Lines, colours: Mapping[str, str]) -> Any:
    ax = fresh_axes()
    for name, colour in colours.items():
        gain = np.sort(gains.where(method=name).values("active"))
        share = (np.arange(len(gain)) + 0.5) / len(gain)
        ax.step(gain, share, where="mid", color=colour, label=name)
    ax.axvline(0.0, color=INK, linewidth=1)
    ax.set(
        xlabel="gain over ridge in a run, active rows", ylabel="share of runs below", title="Gain over ridge"
    )
    return ax


def _draw_sizes(methods: Groups, colours: Mapping[str, str]) -> Any:
    ax = fresh_axes()
    for k, name in enumerate(name for name in methods if name != TRUTH):
        sizes = [methods[name].values(f"{kind}_size") for kind in ("nuisance", "useful")]
        style = {"color": colours.get(name, INK), "markerfacecolor": "none", "label": name}
        ax.plot(*sizes, MARKERS[k % len(MARKERS)], **style)
    limits = ax.get_xlim()
    ax.plot(limits, limits, color=INK, linewidth=1)
    ax.set(
        xlabel="mean |β| of nuisance features",
        ylabel="mean |β| of useful features",
        xscale="log",
        yscale="log",
        title="Coefficients, one point per run",
    )
    return ax


def _accuracy_table(lines: Lines, score: str) -> ResultTable:
    """Our accuracy, the paper's and the gap; our mean gain over ridge and the paper's."""
    rows, methods, gains = [], lines.by("method"), _over_ridge(lines)
    for name, own in methods.items():
        accuracies = own.values(score)
        counterpart = COUNTERPART.get(name)
        paper = PAPER[counterpart][score] if counterpart else None
        gap = None if paper is None else float(np.mean(accuracies)) - paper
        ours = [*NUMBER.cells(accuracies), POINTS.cell(paper), NUMBER.cell(gap, "+")]
        gain = [] if name == RIDGE else gains.where(method=name).values(score)
        papers_gain = PAPER["gain"][score] if counterpart == "dropout" else None
        rows.append([name, *ours, *NUMBER.cells(gain, "+"), POINTS.cell(papers_gain, "+")])
    runs = len(next(iter(methods.values())))
    header = ["method", "ours", "±", "paper", "gap", "gain", "±", "paper's gain"]
    return ResultTable(f"Accuracy on {SCORES[score]}, {runs} runs, and gain over ridge", header, rows)


def _size_table(methods: Groups) -> ResultTable:
    """Medians over runs, because in some runs coefficients without a penalty grow without bound."""
    rows = []
    for name, lines in methods.items():
        useful, nuisance = (np.array(lines.values(f"{kind}_size")) for kind in ("useful", "nuisance"))
        ratio = f"{np.median(useful / nuisance):.2f}" if nuisance.all() else "-"
        sizes = [f"{np.median(useful):.4f}", f"{np.median(nuisance):.4f}", ratio]
        rows.append([name, *sizes, f"{np.median(lines.values('log_loss')):.3f}"])
    header = ["method", "useful", "nuisance", "ratio", "log loss"]
    title = "Mean size of useful and of nuisance coefficients, and log loss; medians over runs"
    return ResultTable(title, header, rows)
