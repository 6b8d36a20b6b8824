"""The fits of a cross-validation.

All folds share the design of the whole X: a fold is a weight of 0 for its held-out rows. So no fold copies X,
and all threads read the same memory.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import count, product
from typing import NamedTuple, Self

import numpy as np

from dropglm.dependencies import each_when_ready
from dropglm.estimators.grid import Candidate
from dropglm.estimators.held_out_rows import HeldOutRows
from dropglm.estimators.l2_weights import L2Weights
from dropglm.estimators.logistic import targets_of
from dropglm.estimators.problem import Problem
from dropglm.estimators.starts import Solutions, starts_along
from dropglm.estimators.validation import TrainingData
from dropglm.families import Logistic, Multinomial
from dropglm.objective import Block, Coefficients, Labels, mean_row
from dropglm.solvers import LBFGS, Status


class Fit(NamedTuple):
    """One fit of a candidate: its coefficients, the predictors of its held-out rows, and how it went."""

    by_problem: tuple[Coefficients, ...]  # of each class against the rest, or of all; empty if not kept
    eta: np.ndarray
    seconds: float
    n_iter: int
    converged: bool

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the fit of all classes, given those of each class against the rest."""
        return cls(
            tuple(own for part in parts for own in part.by_problem),
            np.hstack([part.eta for part in parts]),
            sum(part.seconds for part in parts),
            sum(part.n_iter for part in parts),
            all(part.converged for part in parts),
        )

    @property
    def coefficients(self) -> Coefficients:
        """β of shape (d, K) and the intercepts of all classes, if they were kept."""
        betas, intercepts = zip(*self.by_problem, strict=True)
        return np.hstack(betas), np.hstack(intercepts)


class Job(NamedTuple):
    """Fits that share a problem: those of the candidates of a path, to one fold, for one class or all."""

    fold: int
    numbers: list[int]  # of the candidates
    problem: int


class FoldFits:
    """What the fits to all folds share.

    Parameters
    ----------
    data : TrainingData
        All labelled rows.
    held_out : HeldOutRows
    joint : bool
        Whether more than two classes are fitted in one multinomial model.
    fit_intercept : bool
    keeps : callable
        Returns whether the fits of a candidate keep their coefficients.
    """

    def __init__(
        self,
        data: TrainingData,
        held_out: HeldOutRows,
        *,
        joint: bool,
        fit_intercept: bool,
        keeps: Callable[[Candidate], bool],
    ) -> None:
        self.data = data
        self.held_out = held_out
        self.features = held_out.features
        self.folds = held_out.folds
        self.family = Multinomial if joint else Logistic
        self.fit_intercept = fit_intercept
        self.keeps = keeps
        self.targets = targets_of(data, joint=joint)
        self._means: dict[tuple[int, frozenset[int]], np.ndarray] = {}  # by fold and blocks left out

    def run(
        self,
        grid: Sequence[Candidate],
        numbers: Iterable[int],
        folds: range,
        solver: LBFGS,
        on_fit: Callable[[], None],
        earlier: Callable[[int, int], tuple[Coefficients, ...]] = lambda number, fold: (),
    ) -> dict[tuple[int, int], Fit]:
        """Return the fits of the candidates of these numbers to these folds, by number and fold.

        Along a path each fit starts from previous ones, as soon as these are done. Fits of different paths,
        folds and classes, if each is fitted against the rest, do not depend on each other. Spare threads
        share the loops over the rows. ``earlier`` returns the coefficients of a candidate that was fitted
        before to a fold, if they were kept.
        """
        paths: dict[int, list[int]] = {}
        for number in numbers:
            paths.setdefault(grid[number].path, []).append(number)
        in_order = sorted(paths.values(), key=len, reverse=True)
        jobs = [Job(fold, path, k) for path, fold, k in product(in_order, folds, range(len(self.targets)))]
        self._prepare({grid[path[0]].l2_weights.left_out for path in in_order}, folds)
        parts: dict[tuple[int, int, int], Fit] = {}

        steps: list[tuple[Path, int]] = []
        needs: list[list[int]] = []
        for job in jobs:
            candidates = [grid[number] for number in job.numbers]
            after = candidates[0].after
            known = () if after is None else earlier(after, job.fold)
            path = Path(self, job, candidates, known[job.problem] if known else None)
            needs += [[len(steps) + place for place in start.needs] for start in path.starts]
            steps += [(path, place) for place in range(len(candidates))]

        def fit(k: int) -> None:
            path, place = steps[k]
            number, fold, problem = path.job.numbers[place], path.job.fold, path.job.problem
            parts[number, fold, problem] = path.fit(place, solver)
            if problem == 0:
                on_fit()

        each_when_ready(fit, needs, self.features.threads)
        return {
            (number, fold): Fit.joined([parts[number, fold, k] for k in range(len(self.targets))])
            for path in in_order
            for number, fold in product(path, folds)
        }

    def _prepare(self, left_out: set[frozenset[int]], folds: range) -> None:
        """Compute the mean rows that the problems of all classes share, and store the held-out rows."""
        self.held_out.prepare(folds)
        for fold, blocks in product(folds, left_out):
            if (fold, blocks) not in self._means:
                design, weights = self.features.without(blocks).labeled, self.weights(fold)
                rows = Block(design, weights, Labels(self.targets[0], weights))
                self._means[fold, blocks] = mean_row([rows])

    def weights(self, fold: int) -> np.ndarray:
        """Return the weights of the rows in the fits to a fold."""
        return self.folds[fold].times * self.data.weights

    def problem(self, rule: L2Weights, job: Job) -> Problem:
        """Return what the fits of a job share, with these l2 weights."""
        # Naive-Bayes weights depend on the labels: on those of the fold's own rows only.
        return Problem(
            self.features.without(rule.left_out),
            self.family,
            self.targets[job.problem],
            self.weights(job.fold),
            self.data.unlabeled_weights,
            self.fit_intercept,
            rule,
            labels_first=True,
            mean=self._means[job.fold, rule.left_out],
            one_of_many=True,
        )


class Path:
    """The fits of a job, each of which starts from previous ones.

    Parameters
    ----------
    fits : FoldFits
    job : Job
    candidates : list of Candidate
        Those of the job.
    first : Coefficients or None
        Where the first fit starts; None if nothing is known.
    """

    def __init__(
        self, fits: FoldFits, job: Job, candidates: list[Candidate], first: Coefficients | None
    ) -> None:
        self.fits = fits
        self.job = job
        self.candidates = candidates
        self.starts = starts_along([(one.penalty, one.params["l2"]) for one in candidates])
        self._solutions = Solutions(self.starts, first)
        self._finished = count(1)

    @cached_property
    def problem(self) -> Problem:
        """What the fits share; the first one, for which all others wait, computes it."""
        return self.fits.problem(self.candidates[0].l2_weights, self.job)

    def fit(self, place: int, solver: LBFGS) -> Fit:
        """Fit the candidate at a place of the path."""
        candidate, fits, begin = self.candidates[place], self.fits, time.perf_counter()
        l2, discount = candidate.params["l2"], candidate.params["discount"]
        solver = replace(solver, threads=fits.features.threads)
        start = self._solutions.start_of(place)
        beta, intercept, result = self.problem.solve(candidate.penalty, l2, discount, solver, start)
        self._solutions.add(place, (beta, intercept))
        if next(self._finished) == len(self.candidates):
            del self.problem  # its l2 weights need memory
        eta = fits.held_out.dot(self.job.fold, beta, candidate.l2_weights.left_out) + intercept
        return Fit(
            ((beta, intercept),) if fits.keeps(candidate) else (),
            eta,
            time.perf_counter() - begin,
            result.n_iter,
            result.status == Status.CONVERGED,
        )
