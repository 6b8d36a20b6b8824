"""The fits of a cross-validation on a GPU: all candidates, folds and classes of a stage at once.

A fit does not start near others, as it does along the paths of a search on the CPU: waiting for them would
take longer than the iterations that it saves.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any

from dropglm.estimators.features import AnyFeatures
from dropglm.estimators.fold_fits import FoldFits
from dropglm.estimators.grid import Candidate
from dropglm.estimators.paths import Fit, Job
from dropglm.estimators.stages import Task
from dropglm.estimators.together import fit_together
from dropglm.gpu_arrays import to_host
from dropglm.objective import Coefficients
from dropglm.solvers import LBFGS, Status


class DeviceFits(FoldFits):
    """The fits to rows on a GPU."""

    def run(
        self,
        grid: Sequence[Candidate],
        numbers: Iterable[int],
        folds: range,
        solver: LBFGS,
        on_fit: Callable[[], None],
        earlier: Callable[[int, int], tuple[Coefficients, ...]] = lambda number, fold: (),
    ) -> dict[tuple[int, int], Fit]:
        """Return the fits of the candidates of these numbers to these folds, by number and fold."""
        numbers = list(numbers)
        # Predictors of held-out rows come with the fits.
        self.prepare_means({grid[number].l2_weights.left_out for number in numbers}, folds)
        # Fits in one batch have the same blocks of features, and the same stages.
        batches: dict[Any, list[int]] = {}
        for number in numbers:
            rule = grid[number].l2_weights
            batches.setdefault((rule.left_out, rule.counts_unlabeled), []).append(number)
        parts: dict[tuple[int, int, int], Fit] = {}
        for members in batches.values():
            self._fit(grid, members, folds, solver, parts)
        fits = {}
        for number, fold in product(numbers, folds):
            fits[number, fold] = Fit.joined([parts[number, fold, k] for k in range(self.problem_count)])
            on_fit()
        return fits

    def _fit(
        self,
        grid: Sequence[Candidate],
        numbers: Sequence[int],
        folds: range,
        solver: LBFGS,
        parts: dict[tuple[int, int, int], Fit],
    ) -> None:
        """Fit candidates in one batch, and add their fits to ``parts``, by number, fold and problem."""
        begin = time.perf_counter()
        keys = list(product(numbers, folds, range(self.problem_count)))
        problems: dict[Any, Any] = {}
        tasks = []
        for number, fold, k in keys:
            candidate = grid[number]
            shared = id(candidate.l2_weights), fold, k
            if shared not in problems:
                problems[shared] = self.problem(candidate.l2_weights, Job(fold, [number], k))
            settings = candidate.penalty, candidate.params["l2"], candidate.params["discount"]
            tasks.append(Task(problems[shared], *settings))
        fitted = fit_together(tasks, solver)
        seconds = (time.perf_counter() - begin) / len(keys)
        for (number, fold, k), (solution, eta) in zip(keys, fitted, strict=True):
            keeps = self.keeps(grid[number])
            parts[number, fold, k] = Fit(
                ((to_host(solution.beta), solution.intercept),) if keeps else (),
                (eta[self.folds[fold].test],),
                seconds,
                solution.result.n_iter,
                solution.result.status == Status.CONVERGED,
            )


def fold_fits_class(features: AnyFeatures) -> type[FoldFits]:
    """Return the class of the fits of a cross-validation with these features."""
    return DeviceFits if features.solves_together else FoldFits
