"""The fits of a search along paths of its grid: to every fold, for every class.

A path goes through one noise after the other, and for each from strong to weak l2. A fit starts near the
solutions of fits before it and waits only for these, so several fits of a path can run at the same time: with
the second noise, the first l2 needs the solution with the first noise, not those with weaker l2.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import count, product
from threading import Lock
from typing import Any, NamedTuple, Self

import numpy as np

from dropglm.core.l2_weights import L2Weights
from dropglm.core.objective import Coefficients
from dropglm.core.penalties import Penalty
from dropglm.core.problem import Problem, Task
from dropglm.core.solvers import LBFGS, Status


class Candidate(NamedTuple):
    """A point of the grid: its values, and the objects that they stand for."""

    params: dict[str, Any]  # dropout, noise_std, l2, l2_weights, discount
    penalty: Penalty | None
    l2_weights: L2Weights
    path: int  # candidates of the same path differ only in dropout, noise_std and l2
    noise_strength: float
    starts_from: int | None = None  # number of the candidate from whose fits the first fits of a path start


class FoldFit(NamedTuple):
    """One fit of a candidate: its coefficients, the predictors of its held-out rows, and how it went."""

    by_problem: tuple[Coefficients, ...]  # of each class against the rest, or of all; empty if not kept
    eta: np.ndarray  # (n, K), or (n, 1) for two classes
    seconds: float
    n_iter: int
    converged: bool

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the fit of all classes, given those of each class against the rest."""
        return cls(
            tuple(own for part in parts for own in part.by_problem),
            parts[0].eta if len(parts) == 1 else np.hstack([part.eta for part in parts]),
            sum(part.seconds for part in parts),
            sum(part.n_iter for part in parts),
            all(part.converged for part in parts),
        )

    @property
    def coefficients(self) -> Coefficients:
        """β of shape (d, K) and the intercepts of all classes, if they were kept."""
        betas, intercepts = zip(*self.by_problem, strict=True)
        return np.hstack(betas), np.hstack(intercepts)


class WantedFits(NamedTuple):
    """The fits of candidates to folds that a search wants."""

    grid: Sequence[Candidate]
    numbers: Sequence[int]  # of the candidates
    folds: range
    solver: LBFGS
    keeps: Callable[[Candidate], bool]  # whether the fits of a candidate keep their coefficients
    on_fit: Callable[[float], None]  # called with the part of a candidate's fit to a fold that is done
    # Returns the coefficients of a candidate that was fitted before to a fold, if they were kept.
    earlier: Callable[[int, int], tuple[Coefficients, ...]]


def fit_along_paths(rows: Any, wanted: WantedFits) -> dict[tuple[int, int], FoldFit]:
    """Return the fits to ``TrainingRows`` by number of the candidate and fold.

    Along a path each fit starts from previous ones, as soon as these are done. Fits of different paths, folds
    and classes, if each is fitted against the rest, do not depend on each other.
    """
    grid, numbers, folds = wanted.grid, wanted.numbers, wanted.folds
    paths: dict[int, list[int]] = {}
    for number in numbers:
        paths.setdefault(grid[number].path, []).append(number)
    in_order = sorted(paths.values(), key=len, reverse=True)
    problems = range(len(rows.targets))
    rows.prepare_folds({grid[path[0]].l2_weights.left_out for path in in_order}, folds)

    steps: list[tuple[FitPath, int, int]] = []
    needs: list[list[int]] = []
    for members, fold, k in product(in_order, folds, problems):
        candidates = [grid[number] for number in members]
        after = candidates[0].starts_from
        known = () if after is None else wanted.earlier(after, fold)
        path = FitPath(rows, candidates, fold, k, known[k] if known else None)
        needs += [[len(steps) + place for place in start.needs] for start in path.starts]
        steps += [(path, place, number) for place, number in enumerate(members)]
    parts: dict[tuple[int, int, int], FoldFit] = {}

    def fit(step: int) -> None:
        path, place, number = steps[step]
        parts[number, path.fold, path.problem_number] = path.fit(place, wanted.solver, wanted.keeps)
        wanted.on_fit(1.0 / len(problems))

    rows.features.each_when_ready(fit, needs)
    etas = rows.collect_predictors([part.eta for part in parts.values()])
    answered = {key: part._replace(eta=eta) for (key, part), eta in zip(parts.items(), etas, strict=True)}
    return {
        (number, fold): FoldFit.joined([answered[number, fold, k] for k in problems])
        for number, fold in product(numbers, folds)
    }


class FitPath:
    """The fits of the candidates of a path to one fold, each of which starts from previous ones.

    Parameters
    ----------
    rows : TrainingRows
    candidates : list of Candidate
    fold : int
    problem_number : int
        That of the class against the rest; 0 if all classes are one problem.
    first : Coefficients or None
        Where the first fit starts; None if nothing is known.
    """

    def __init__(
        self,
        rows: Any,
        candidates: list[Candidate],
        fold: int,
        problem_number: int,
        first: Coefficients | None,
    ) -> None:
        self.rows, self.candidates = rows, candidates
        self.fold, self.problem_number = fold, problem_number
        self.starts = starts_along([(one.penalty, one.params["l2"]) for one in candidates])
        self._solutions = Solutions(self.starts, first)
        self._finished = count(1)

    @cached_property
    def problem(self) -> Problem:
        """What the fits share; the first one, for which all others wait, computes it."""
        return self.rows.problem(self.candidates[0].l2_weights, self.problem_number, self.fold)

    def fit(self, place: int, solver: LBFGS, keeps: Callable[[Candidate], bool]) -> FoldFit:
        """Fit the candidate at a place of the path."""
        candidate, begin = self.candidates[place], time.perf_counter()
        l2, discount = candidate.params["l2"], candidate.params["discount"]
        solver = replace(solver, threads=self.rows.features.threads)
        start = self._solutions.start_of(place)
        if self.problem.has_dual_steps(candidate.penalty, l2, discount):
            start = None  # dual steps are faster from nothing than L-BFGS from there
        beta, intercept, result = Task(self.problem, candidate.penalty, l2, discount, start).solve(solver)
        self._solutions.add(place, (beta, intercept))
        if next(self._finished) == len(self.candidates):
            del self.problem  # its l2 weights need memory
        left_out = candidate.l2_weights.left_out
        return FoldFit(
            ((beta, intercept),) if keeps(candidate) else (),
            self.rows.held_out_predictors(self.fold, beta, intercept, left_out),
            time.perf_counter() - begin,
            result.n_iter,
            result.status == Status.CONVERGED,
        )


class Start(NamedTuple):
    """The fits that a fit starts from, by their places in the path; None if nothing is known.

    A weaker l2 changes the solution by about as much as it did with the previous noise, so the start is the
    solution of ``near`` plus the change between two others. This takes three quarters to four fifths of the
    iterations from the solution itself (IMDB's bigrams).
    """

    near: int | None = None
    change: tuple[int, int] | None = None  # from the first to the second

    @property
    def needs(self) -> tuple[int, ...]:
        """The places of all fits whose solutions are needed."""
        return () if self.near is None else (self.near, *(self.change or ()))


def starts_along(path: Sequence[tuple[Any, float]]) -> list[Start]:
    """Return where each fit of a path starts, given the noise, or its penalty, and l2 of each.

    Examples
    --------
    >>> for start in starts_along([("much", 3.0), ("much", 1.0), ("little", 3.0), ("little", 1.0)]):
    ...     print(start)
    Start(near=None, change=None)
    Start(near=0, change=None)
    Start(near=0, change=None)
    Start(near=2, change=(0, 1))
    """
    starts, noise = [], None
    here: dict[float, int] = {}  # places with the same noise, by l2
    before: dict[float, int] = {}  # with the previous noise
    for place, (own, l2) in enumerate(path):
        if own is not noise:
            noise, before, here = own, here, {}
        if here:
            last, near = next(reversed(here.items()))
            known = l2 in before and last in before
            starts.append(Start(near, (before[last], before[l2]) if known else None))
        else:
            # The same l2 with the previous noise, or else the strongest.
            starts.append(Start(before.get(l2, next(iter(before.values()), None))))
        here[l2] = place
    return starts


class Solutions:
    """The solutions along a path, each kept until the last fit that needs it has started.

    Parameters
    ----------
    starts : list of Start
    first : Coefficients or None
        Where the first fit starts; None if nothing is known.
    """

    def __init__(self, starts: list[Start], first: Coefficients | None = None) -> None:
        self._starts = starts
        self._first = first
        self._found: dict[int, Coefficients] = {}
        self._users = [0] * len(starts)  # fits that still need the solution at each place
        for start in starts:
            for place in start.needs:
                self._users[place] += 1
        self._lock = Lock()

    def start_of(self, place: int) -> Coefficients | None:
        """Return the start of the fit at a place of the path, or None if nothing is known."""
        near, change = self._starts[place]
        if near is None:
            return self._first
        solution = self._found[near]
        if change is not None:
            (beta, b), (earlier, b_earlier), (after, b_after) = solution, *(self._found[k] for k in change)
            solution = beta + (after - earlier), b + (b_after - b_earlier)
        with self._lock:
            for used in self._starts[place].needs:
                self._users[used] -= 1
                if not self._users[used]:
                    del self._found[used]
        return solution

    def add(self, place: int, solution: Coefficients) -> None:
        """Add the solution at a place, if a fit needs it."""
        with self._lock:
            if self._users[place]:
                self._found[place] = solution
