"""The fits of a cross-validation on a GPU: all candidates, folds and classes of a stage at once.

A fit does not start near others, as it does along the paths of a search on the CPU: waiting for them would
take longer than the iterations that it saves.
"""

import time
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

from dropglm.estimators.grid import Candidate
from dropglm.estimators.paths import Fit
from dropglm.estimators.stages import Task
from dropglm.estimators.together import fit_together
from dropglm.gpu_arrays import to_host
from dropglm.objective import Coefficients
from dropglm.solvers import LBFGS, Status


def fit_in_batches(
    rows: Any,
    grid: Sequence[Candidate],
    numbers: Sequence[int],
    folds: range,
    solver: LBFGS,
    keeps: Callable[[Candidate], bool],
    on_fit: Callable[[], None],
    earlier: Callable[[int, int], tuple[Coefficients, ...]],
) -> dict[tuple[int, int], Fit]:
    """Return the fits of candidates to folds; see ``TrainingRows.fit_candidates``."""
    rows.compute_means({grid[number].l2_weights.left_out for number in numbers}, folds)
    # Fits in one batch have the same blocks of features, and the same stages.
    batches: dict[Any, list[int]] = {}
    for number in numbers:
        rule = grid[number].l2_weights
        batches.setdefault((rule.left_out, rule.counts_unlabeled), []).append(number)
    parts: dict[tuple[int, int, int], Fit] = {}
    for members in batches.values():
        begin = time.perf_counter()
        keys = list(product(members, folds, range(len(rows.targets))))
        problems: dict[Any, Any] = {}
        tasks = []
        for number, fold, k in keys:
            candidate = grid[number]
            shared = id(candidate.l2_weights), fold, k
            if shared not in problems:
                problems[shared] = rows.problem(candidate.l2_weights, k, fold)
            settings = candidate.penalty, candidate.params["l2"], candidate.params["discount"]
            tasks.append(Task(problems[shared], *settings))
        fitted = fit_together(tasks, solver)
        seconds = (time.perf_counter() - begin) / len(keys)
        for (number, fold, k), (solution, eta) in zip(keys, fitted, strict=True):
            parts[number, fold, k] = Fit(
                ((to_host(solution.beta), solution.intercept),) if keeps(grid[number]) else (),
                eta[rows.folds[fold].test],  # predictors come with the fits
                seconds,
                solution.result.n_iter,
                solution.result.status == Status.CONVERGED,
            )
    fits = {}
    for number, fold in product(numbers, folds):
        fits[number, fold] = Fit.joined([parts[number, fold, k] for k in range(len(rows.targets))])
        on_fit()
    return fits
