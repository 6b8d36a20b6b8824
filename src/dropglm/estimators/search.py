"""The search through a grid: candidates are fitted to the folds and scored, and hopeless ones drop out."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from dropglm.estimators.blend import Blend
from dropglm.estimators.grid import Candidate
from dropglm.estimators.outcome import Outcome
from dropglm.estimators.paths import Fit, PathFits
from dropglm.objective import Coefficients
from dropglm.progress import Progress
from dropglm.solvers import LBFGS

# A search needs scores, not digits: with this tolerance the accuracies of IMDB's bigrams changed by at most
# 0.0005, and the fits took three quarters of the iterations that 1e-2 takes.
SEARCH_TOL = 3e-2


class Judge(Protocol):
    """What scores the candidates by their predictors of held-out rows."""

    def prepare(self, stop: int) -> None:
        """Prepare the held-out rows of the first folds."""

    def outcomes(self, items: Sequence[tuple[Candidate, tuple[Fit, ...]]]) -> list[Outcome]:
        """Return the outcomes of candidates, given their fits to the first folds."""

    def accuracy(self, outcome: Outcome, folds: int) -> float:
        """Return the share of the held-out rows of the first folds that a candidate predicts correctly."""


class AnyRace(Protocol):
    """Decides which candidates are fitted to further folds; see ``Race``."""

    stops: list[int]
    rival: np.ndarray | None

    def survivors(self, alive: Sequence[int], row_scores: Sequence[Any]) -> list[int]:
        """Return the candidates that may still become the best."""


Fits = TypeVar("Fits", bound=PathFits)
Held = TypeVar("Held", bound=Judge)


class Search(Generic[Fits, Held]):
    """The candidates so far, and their outcomes.

    Parameters
    ----------
    fits : PathFits
    held_out : Judge
    race : AnyRace or None
        None if every candidate is fitted to all folds.
    solver : LBFGS
        That of a fit to all rows; fits of the search may be less precise.

    Attributes
    ----------
    grid : list of Candidate
    outcomes : list of Outcome
    """

    def __init__(self, fits: Fits, held_out: Held, race: AnyRace | None, solver: LBFGS) -> None:
        self.fits = fits
        self.held_out = held_out
        self.race = race
        self.solver = solver
        self.grid: list[Candidate] = []
        self.outcomes: list[Outcome] = []

    def run(self, candidates: list[Candidate], *, shown: bool) -> None:
        """Fit and score more candidates; those that are clearly worse than the best so far drop out."""
        first, folds = len(self.grid), self.fits.fold_count
        # Without a step, candidates that are close to each other would have the same score.
        rough = replace(self.solver, tol=max(self.solver.tol, SEARCH_TOL), min_iter=1)
        self.grid += candidates
        self.outcomes += [Outcome((), Blend(), np.empty((0, 1)), np.full(folds, np.nan))] * len(candidates)
        alive = list(range(first, len(self.grid)))
        with Progress("fits", len(candidates) * folds, shown=shown) as progress:
            done = 0
            while alive and done < folds:
                stage = range(done, self._stop_after(done, alive))
                found = self.fits.run(self.grid, alive, stage, rough, progress.advance, self._coefficients)
                fits = [(*self.outcomes[k].fits, *(found[k, fold] for fold in stage)) for k in alive]
                self.held_out.prepare(stage.stop)
                outcomes = self.held_out.outcomes(
                    [(self.grid[k], own) for k, own in zip(alive, fits, strict=True)]
                )
                for number, outcome in zip(alive, outcomes, strict=True):
                    self.outcomes[number] = outcome
                done = stage.stop
                if self.race is not None and done < folds:
                    remaining = self.race.survivors(alive, [one.row_scores for one in self.outcomes])
                    progress.leave_out((len(alive) - len(remaining)) * (folds - done))
                    self.release(set(alive).difference(remaining))
                    alive = remaining

    def release(self, numbers: Iterable[int]) -> None:
        """Discard the coefficients of these candidates, whose memory may be as large as that of the rows."""
        for number in numbers:
            self.outcomes[number] = self.outcomes[number].without_coefficients()

    def _coefficients(self, number: int, fold: int) -> tuple[Coefficients, ...]:
        return self.outcomes[number].fits[fold].by_problem

    @property
    def all_dropped_out(self) -> bool:
        """Whether no candidate was fitted to all folds, since a rival was better."""
        return all(len(outcome.fits) < self.fits.fold_count for outcome in self.outcomes)

    def _stop_after(self, done: int, alive: list[int]) -> int:
        """Return the number of folds after the next stage; all of them if no one can drop out."""
        folds = self.fits.fold_count
        if self.race is None:
            return folds
        finished = any(len(outcome.fits) == folds for outcome in self.outcomes)
        if len(alive) == 1 and not finished and self.race.rival is None:
            return folds
        return next(stop for stop in self.race.stops if stop > done)
