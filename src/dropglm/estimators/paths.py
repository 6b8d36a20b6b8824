"""The fits of a search, along paths of its grid: to every fold, for every class.

The same for rows in memory and for rows that are spread over partitions.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import count, product
from typing import Any, NamedTuple, Self

import numpy as np

from dropglm.estimators.features import AnyFeatures
from dropglm.estimators.grid import Candidate
from dropglm.estimators.l2_weights import L2Weights
from dropglm.estimators.stages import StagedProblem
from dropglm.estimators.starts import Solutions, starts_along
from dropglm.objective import Coefficients
from dropglm.solvers import LBFGS, Status


class Fit(NamedTuple):
    """One fit of a candidate: its coefficients, the predictors of its held-out rows, and how it went."""

    by_problem: tuple[Coefficients, ...]  # of each class against the rest, or of all; empty if not kept
    eta: tuple[Any, ...]  # of each class against the rest, or of all; as ``PathFits.predict`` returns them
    seconds: float
    n_iter: int
    converged: bool

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the fit of all classes, given those of each class against the rest."""
        return cls(
            tuple(own for part in parts for own in part.by_problem),
            tuple(eta for part in parts for eta in part.eta),
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


class PathFits(ABC):
    """What the fits to all folds share, wherever the rows are.

    Attributes
    ----------
    features : AnyFeatures
    fold_count : int
    problem_count : int
        Number of classes that are fitted against the rest; 1 for two classes or a joint model.
    keeps : callable
        Returns whether the fits of a candidate keep their coefficients.
    """

    features: AnyFeatures
    fold_count: int
    problem_count: int
    keeps: Callable[[Candidate], bool]

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
        jobs = [Job(fold, path, k) for path, fold, k in product(in_order, folds, range(self.problem_count))]
        self.prepare({grid[path[0]].l2_weights.left_out for path in in_order}, folds)
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

        self.each_when_ready(fit, needs)
        return {
            (number, fold): Fit.joined([parts[number, fold, k] for k in range(self.problem_count)])
            for path in in_order
            for number, fold in product(path, folds)
        }

    @abstractmethod
    def prepare(self, left_out: set[frozenset[int]], folds: range) -> None:
        """Compute what the problems of these folds share, for each set of blocks that are left out."""

    @abstractmethod
    def problem(self, rule: L2Weights, job: Job) -> StagedProblem:
        """Return what the fits of a job share, with these l2 weights."""

    @abstractmethod
    def predict(self, fold: int, rule: L2Weights, beta: np.ndarray, intercept: np.ndarray) -> Any:
        """Return the predictors of the held-out rows of a fold, or what they are computed from later."""

    @abstractmethod
    def each_when_ready(self, work: Callable[[int], None], needs: Sequence[Sequence[int]]) -> None:
        """Call ``work(k)`` for k = 0, 1, …, each after the calls for all of ``needs[k]``."""


class Path:
    """The fits of a job, each of which starts from previous ones.

    Parameters
    ----------
    fits : PathFits
    job : Job
    candidates : list of Candidate
        Those of the job.
    first : Coefficients or None
        Where the first fit starts; None if nothing is known.
    """

    def __init__(
        self, fits: PathFits, job: Job, candidates: list[Candidate], first: Coefficients | None
    ) -> None:
        self.fits = fits
        self.job = job
        self.candidates = candidates
        self.starts = starts_along([(one.penalty, one.params["l2"]) for one in candidates])
        self._solutions = Solutions(self.starts, first)
        self._finished = count(1)

    @cached_property
    def problem(self) -> StagedProblem:
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
        return Fit(
            ((beta, intercept),) if fits.keeps(candidate) else (),
            (fits.predict(self.job.fold, candidate.l2_weights, beta, intercept),),
            time.perf_counter() - begin,
            result.n_iter,
            result.status == Status.CONVERGED,
        )
