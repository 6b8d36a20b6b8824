"""The fits of a cross-validation.

All folds share the design of the whole X: a fold is a weight of 0 for its held-out rows. So no fold copies X,
and all threads read the same memory.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple, Self

import numpy as np

from dropglm.estimators.grid import Candidate
from dropglm.estimators.held_out_rows import HeldOutRows
from dropglm.estimators.logistic import targets_of
from dropglm.estimators.problem import Problem
from dropglm.estimators.validation import TrainingData
from dropglm.families import Logistic, Multinomial
from dropglm.objective import Block, Coefficients, Labels, mean_row
from dropglm.penalties import Penalty
from dropglm.solvers import LBFGS, Status


class Fit(NamedTuple):
    """One fit of a candidate: its coefficients, the predictors of its held-out rows, and how it went."""

    coefficients: Coefficients | None
    eta: np.ndarray
    seconds: float
    n_iter: int
    converged: bool

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the fit of all classes, given those of each class against the rest."""
        if len(parts) == 1:
            return parts[0]
        coefficients = [part.coefficients for part in parts if part.coefficients is not None]
        return cls(
            (np.hstack([beta for beta, _ in coefficients]), np.hstack([b for _, b in coefficients]))
            if coefficients
            else None,
            np.hstack([part.eta for part in parts]),
            sum(part.seconds for part in parts),
            sum(part.n_iter for part in parts),
            all(part.converged for part in parts),
        )


class Job(NamedTuple):
    """Fits that follow each other: those of some candidates of a path, to one fold, for one problem."""

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
        earlier: Callable[[int, int], Coefficients | None] = lambda number, fold: None,
    ) -> dict[tuple[int, int], Fit]:
        """Return the fits of the candidates of these numbers to these folds, by number and fold.

        Along a path each fit starts from previous ones. Each thread works on one path of one fold, for one
        class if each is fitted against the rest; spare threads share the loops over the rows. ``earlier``
        returns the coefficients of a candidate that was fitted before to a fold, if they were kept.
        """
        paths: dict[int, list[int]] = {}
        for number in numbers:
            paths.setdefault(grid[number].path, []).append(number)
        in_order = sorted(paths.values(), key=len, reverse=True)
        jobs = [Job(fold, path, k) for path, fold, k in product(in_order, folds, range(len(self.targets)))]
        self._prepare({grid[path[0]].l2_weights.left_out for path in in_order}, folds)
        parts: dict[tuple[int, int, int], Fit] = {}

        def follow(job: Job) -> None:
            path = [grid[number] for number in job.numbers]
            after = path[0].after
            found = None if after is None else earlier(after, job.fold)
            fits = self._follow(path, job, solver, None if found is None else self._of_problem(found, job))
            for number, fit in zip(job.numbers, fits, strict=True):
                parts[number, job.fold, job.problem] = fit
                if job.problem == 0:
                    on_fit()

        self.features.each(follow, jobs)
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

    def _of_problem(self, coefficients: Coefficients, job: Job) -> Coefficients:
        """Return the coefficients of one problem, given those of all."""
        if len(self.targets) == 1:
            return coefficients
        beta, intercept = coefficients
        own = slice(job.problem, job.problem + 1)
        return np.ascontiguousarray(beta[:, own]), intercept[own]

    def _follow(
        self, path: list[Candidate], job: Job, solver: LBFGS, first: Coefficients | None
    ) -> Iterator[Fit]:
        """Yield the fits of the candidates along a path; the first one starts from ``first``."""
        # Naive-Bayes weights depend on the labels: on those of the fold's own rows only.
        rule = path[0].l2_weights
        features = self.features.without(rule.left_out)
        problem = Problem(
            features,
            self.family,
            self.targets[job.problem],
            self.weights(job.fold),
            self.data.unlabeled_weights,
            self.fit_intercept,
            rule,
            labels_first=True,
            mean=self._means[job.fold, rule.left_out],
        )
        starts = Starts(first)
        for candidate in path:
            begin = time.perf_counter()
            l2, discount = candidate.params["l2"], candidate.params["discount"]
            start = starts.of(candidate.penalty, l2)
            solver = replace(solver, threads=features.threads)
            beta, intercept, result = problem.solve(candidate.penalty, l2, discount, solver, start)
            starts.add(candidate.penalty, l2, (beta, intercept))
            eta = self.held_out.dot(job.fold, beta, rule.left_out) + intercept
            yield Fit(
                (beta, intercept) if self.keeps(candidate) else None,
                eta,
                time.perf_counter() - begin,
                result.n_iter,
                result.status == Status.CONVERGED,
            )


class Starts:
    """Where the fits along a path start: near the solutions of fits before them.

    The path goes through one noise after the other, and for each from strong to weak l2.

    Parameters
    ----------
    first : Coefficients or None
        Where the first fit starts; None if nothing is known.
    """

    def __init__(self, first: Coefficients | None = None) -> None:
        self._first = first
        self._penalty: Penalty | None = None
        self._here: dict[float, Coefficients] = {}  # solutions with the same noise, by l2
        self._before: dict[float, Coefficients] = {}  # with the previous noise

    def of(self, penalty: Penalty | None, l2: float) -> Coefficients | None:
        """Return the start of the next fit, or None if nothing is known."""
        new = penalty is not self._penalty
        here, before = ({}, self._here) if new else (self._here, self._before)
        if not here:
            # The strongest l2 that was tried with the previous noise.
            return next(iter(before.values()), self._first)
        last, solution = next(reversed(here.items()))
        if l2 not in before or last not in before:
            return solution
        # A weaker l2 changes the solution by about as much as it did with the previous noise. This takes
        # three quarters to four fifths of the iterations from the solution itself (IMDB's bigrams).
        (beta, b), (after, b_after), (earlier, b_earlier) = solution, before[l2], before[last]
        return beta + (after - earlier), b + (b_after - b_earlier)

    def add(self, penalty: Penalty | None, l2: float, solution: Coefficients) -> None:
        """Add the solution of the last fit."""
        if penalty is not self._penalty:
            self._penalty, self._before, self._here = penalty, self._here, {}
        self._here[l2] = solution
