"""The time of a fit to IMDB's bigrams until the objective is within 1e-3 and 1e-4 of its minimum.

All libraries fit plain L2 logistic regression at C = 0.1, and dropglm also dropout 0.5 with l2 = 1. The gap
is relative, and to the minimum of a library's own objective. All of them are treated alike. The fewest
iterations that reach the gap are found first, or the largest tolerance for dropglm, whose steps before the
first iteration depend on it. Then each setting (precision, threads of BLAS, threads of the library) is timed
once, and the fastest is timed again: the fastest of three fits, which alternate with those of the others.

    DROPGLM_DATA=… python -m benchmarks.same_gap [NAME …]

compares with all other libraries, or with those whose names contain one of the given words.
"""

import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from benchmarks.rivals import RIVALS, C, Coefficients, Rival, Setting, objective
from benchmarks.text import imdb
from dropglm import LogisticRegression
from dropglm.experiments.texts import Split

GAPS = (1e-3, 1e-4)
ROUNDS = 3
HEADER = (
    "",
    "setting",
    "time",
    "time of dropglm's plain L2 / this time",
    "relative objective gap",
    "test accuracy",
)
PLAIN, DROPOUT = "dropglm, plain L2", "dropglm, dropout"
OURS: dict[str, dict[str, Any]] = {
    PLAIN: {"dropout": 0.0, "l2": 1.0 / C},
    DROPOUT: {"dropout": 0.5, "l2": 1.0},
}
EXACT = 1e-5  # tolerance of the fits that find the minimum; leaves a gap of about 1e-10
Rows = list[tuple[str, ...]]


class Fit(NamedTuple):
    """A fit: its time, the relative gap that it reached, and the model."""

    seconds: float
    gap: float
    model: Coefficients


class Solver(NamedTuple):
    """A library's solver on given data: one fit with a setting and a number of iterations."""

    name: str
    settings: tuple[Setting, ...]
    guess: int
    run: Callable[[Setting, int], Fit]


class Choice(NamedTuple):
    """A setting, and the fewest iterations with which it reaches a gap."""

    setting: Setting
    iterations: int
    fit: Fit


def our_solver(split: Split, name: str) -> Solver:
    """Return dropglm, in either precision and on one or two threads, with tolerances of 2^(-k/2)."""
    matrices = {dtype: sparse.csr_array(split.X, dtype=dtype) for dtype in ("float32", "float64")}
    ours: Callable[..., Any] = partial(LogisticRegression, **OURS[name])
    lowest = ours(tol=1e-7, max_iter=1000).fit(matrices["float64"], split.y).result_.objective

    def run(setting: Setting, k: int) -> Fit:
        model = ours(**dict(setting.options))
        if k:
            model.set_params(tol=2.0 ** (-k / 2))
        taken, fitted = _timed(model.fit, matrices[setting.dtype], split.y)
        found = Coefficients(fitted.coef_.ravel(), float(fitted.intercept_[0]))
        return Fit(taken, fitted.result_.objective / lowest - 1.0, found)

    settings = tuple(
        Setting(dtype, options=(("n_jobs", jobs),), words=f"{jobs} thread{'s' * (jobs > 1)}")
        for dtype in matrices
        for jobs in (2, 1)
    )
    return Solver(name, settings, 10, run)


def their_solvers(split: Split, names: Sequence[str] = ()) -> Iterator[Solver]:
    """Yield the solvers of the installed libraries, or of those whose names contain one of the words."""
    X, y = sparse.csr_array(split.X, dtype=np.float64), split.y
    lowest = cache(lambda intercept: lowest_objective(intercept, X, y))
    for rival in RIVALS:
        if names and not any(word in rival.name for word in names):
            continue
        module = rival.name.split()[0].replace("scikit-learn", "sklearn")
        if find_spec(module) is None:
            print(f"{rival.name} is not installed.", flush=True)
            continue
        yield Solver(rival.name, rival.settings, rival.guess, _runner(rival, X, y, lowest(rival.intercept)))


def _runner(rival: Rival, X: sparse.csr_array, y: np.ndarray, lowest: float) -> Callable[[Setting, int], Fit]:
    matrix = cache(lambda dtype: rival.matrix(X, dtype=dtype))

    def run(setting: Setting, iterations: int) -> Fit:
        given = matrix(setting.dtype)
        with threadpool_limits(setting.blas, "blas"):
            taken, model = _timed(rival.fit, given, y, iterations, **dict(setting.options))
        return Fit(taken, objective(rival.intercept, X, y, model) / lowest - 1.0, model)

    return run


def _timed(fit: Callable[..., Any], *arguments: Any, **named: Any) -> tuple[float, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the iterations are used up
        start = time.perf_counter()
        fitted = fit(*arguments, **named)
        return time.perf_counter() - start, fitted


def lowest_objective(intercept: str, X: sparse.csr_array, y: np.ndarray) -> float:
    """Return the minimum of plain L2 logistic regression with an intercept of that kind."""
    penalised = intercept == "penalised"
    columns = sparse.hstack([X, np.ones((X.shape[0], 1))], format="csr") if penalised else X
    plain = LogisticRegression(dropout=0.0, l2=1.0 / C, tol=EXACT, max_iter=2000, n_jobs=2)
    fitted = plain.set_params(fit_intercept=intercept == "free").fit(columns, y)
    coef = fitted.coef_.ravel()
    found = (
        Coefficients(coef[:-1], float(coef[-1]))
        if penalised
        else Coefficients(coef, float(fitted.intercept_[0]))
    )
    return objective(intercept, X, y, found)


def fewest_iterations(fit: Callable[[int], Fit], gap: float, guess: int, most: int = 1000) -> int | None:
    """Return the smallest number of iterations, up to ``most``, that reaches the gap, or None."""
    low, high = 0, guess  # low does not reach the gap
    while fit(high).gap > gap:
        low, high = high, high + max(1, high // 3)
        if high > most or (low > 4 * guess and fit(high).gap > 0.98 * fit(low).gap):
            return None
    while high - low > 1:
        # Convergence is about linear, so the number is likelier to be near a guess than half way down to 0.
        middle = (low + high) // 2 if low else max(1, 3 * high // 4)
        low, high = (low, middle) if fit(middle).gap <= gap else (middle, high)
    return high


def choices(solver: Solver) -> dict[float, Choice]:
    """Return the fastest setting of a solver for each gap that it reaches."""
    guesses: dict[Any, int] = {}
    found: dict[float, Choice] = {}
    seen: dict[tuple[Any, int], Fit] = {}
    slow: set[Setting] = set()
    for gap in GAPS:
        tried = []
        for setting in solver.settings:
            if setting in slow:
                continue

            def fit(iterations: int, setting: Setting = setting) -> Fit:
                key = setting, iterations
                if key not in seen:
                    seen[key] = solver.run(setting, iterations)
                return seen[key]

            # Precision and threads hardly change the iterations, so the next setting starts near them.
            key = gap, tuple(option for option in setting.options if option[0] != "n_jobs")
            guess = guesses.get(key, guesses.get((GAPS[0], key[1]), solver.guess))
            iterations = fewest_iterations(fit, gap, guess) if key not in guesses else _near(fit, gap, guess)
            if iterations is None:
                slow.add(setting)
                continue
            guesses[key] = iterations
            tried.append(Choice(setting, iterations, fit(iterations)))
            _say(solver.name, tried[-1], gap)
        if not tried:
            break
        fastest_fit = min(one.fit.seconds for one in tried)
        slow |= {one.setting for one in tried if one.fit.seconds > 1.5 * fastest_fit}
        # Close ones are timed again.
        again = [
            one._replace(fit=min(one.fit, solver.run(one.setting, one.iterations)))
            for one in tried
            if one.setting not in slow
        ]
        found[gap] = min(again, key=lambda choice: choice.fit.seconds)
    return found


def _near(fit: Callable[[int], Fit], gap: float, guess: int) -> int | None:
    """Return a number of iterations from ``guess`` on that reaches the gap."""
    for _ in range(8):
        if fit(guess).gap <= gap:
            return guess
        guess += max(1, guess // 20)
    return None


def _say(name: str, choice: Choice, gap: float) -> None:
    print(
        f"{name}, gap {gap:.0e}: {choice.setting}, {choice.iterations} iterations, "
        f"{choice.fit.seconds:.2f} s, gap {choice.fit.gap:.1e}",
        flush=True,
    )


def fastest(solvers: Mapping[str, Solver], chosen: Mapping[str, Choice], gap: float) -> dict[str, Fit]:
    """Return the fastest of alternating fits that reach the gap, by name."""
    fits: dict[str, list[Fit]] = {name: [] for name in chosen}
    for _ in range(ROUNDS):
        for name, (setting, iterations, _) in chosen.items():
            fits[name].append(solvers[name].run(setting, iterations))
    # Fits on several threads may differ from run to run.
    reached = {name: [fit for fit in runs if fit.gap <= gap] or runs for name, runs in fits.items()}
    return {name: min(runs, key=lambda fit: fit.seconds) for name, runs in reached.items()}


def tables(split: Split, names: Sequence[str] = ()) -> Iterator[tuple[str, Rows]]:
    """Yield a title and rows for each gap."""
    seen = split.without_unseen()
    with threadpool_limits(1, "blas"):
        all_of_them = (*(our_solver(seen, name) for name in OURS), *their_solvers(seen, names))
        solvers = {solver.name: solver for solver in all_of_them}
        best = {name: choices(solver) for name, solver in solvers.items()}
    for gap in GAPS:
        fits = fastest(solvers, {name: found[gap] for name, found in best.items() if gap in found}, gap)
        settings = {name: str(best[name][gap].setting) for name in fits}
        for name in OURS if gap == GAPS[-1] else ():
            runs = [solvers[name].run(best[name][gap].setting, 0) for _ in range(ROUNDS)]
            default = f"{name}, default tolerance"
            fits[default], settings[default] = min(runs, key=lambda fit: fit.seconds), settings[name]
        rows: Rows = [
            (
                name,
                settings[name],
                f"{fit.seconds:.2f} s",
                f"**{fits[PLAIN].seconds / fit.seconds:.2f}**",
                f"{fit.gap:.1e}" if fit.gap > 1e-7 else "below 1e-7",
                f"{100 * _accuracy(fit.model, seen):.2f}",
            )
            for name, fit in sorted(fits.items(), key=lambda item: item[1].seconds)
        ]
        missed: Rows = [
            (name, "", "", "", "not reached", "") for name, found in best.items() if gap not in found
        ]
        yield f"to a relative objective gap of {gap:.0e}", rows + missed


def _accuracy(model: Coefficients, split: Split) -> float:
    return float(np.mean((split.X_test @ model.coef + model.intercept > 0) == split.y_test))


if __name__ == "__main__":
    for title, rows in tables(imdb(2), sys.argv[1:]):
        print(title)
        for row in (HEADER, *rows):
            print("  " + "".join(f"{cell:<34}" for cell in row))
