"""The search through a grid: candidates are fitted to the folds and scored, and hopeless ones drop out."""

from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import numpy as np

from dropglm.dependencies import each_in_teams
from dropglm.estimators.blend import Blend
from dropglm.estimators.fold_fits import Fit, FoldFits
from dropglm.estimators.grid import Candidate
from dropglm.estimators.held_out import HeldOut
from dropglm.estimators.race import Race
from dropglm.estimators.rounds import Member, Rounds
from dropglm.objective import Coefficients
from dropglm.progress import Progress
from dropglm.solvers import LBFGS

# A search needs scores, not digits: with this tolerance the accuracies of IMDB's bigrams changed by at most
# 0.0005, and the fits took three quarters of the iterations that 1e-2 takes.
SEARCH_TOL = 3e-2


class Outcome(NamedTuple):
    """The results of a candidate: its fits, how they are blended, and the scores by fold.

    A candidate that has dropped out has fits to the first folds only; its scores of the others are NaN.
    """

    fits: tuple[Fit, ...]
    blend: Blend
    eta: np.ndarray  # blended predictors of the held-out rows of these folds
    scores: np.ndarray
    row_scores: np.ndarray | None = None  # of the same rows, if the score is a mean over rows

    def without_coefficients(self) -> Self:
        """Return the outcome without the coefficients of its fits, which need memory."""
        return self._replace(fits=tuple(fit._replace(by_problem=()) for fit in self.fits))


class Search:
    """The candidates so far, and their outcomes.

    Parameters
    ----------
    fits : FoldFits
    held_out : HeldOut
    race : Race or None
        None if every candidate is fitted to all folds.

    Attributes
    ----------
    grid : list of Candidate
    outcomes : list of Outcome
    """

    def __init__(self, fits: FoldFits, held_out: HeldOut, race: Race | None) -> None:
        self.fits = fits
        self.held_out = held_out
        self.race = race
        self.grid: list[Candidate] = []
        self.outcomes: list[Outcome] = []

    def run(self, candidates: list[Candidate], *, tol: float, max_iter: int, shown: bool) -> None:
        """Fit and score more candidates; those that are clearly worse than the best so far drop out."""
        first, folds, threads = len(self.grid), len(self.fits.folds), self.fits.features.threads
        # Without a step, candidates that are close to each other would have the same score.
        solver = LBFGS(max(tol, SEARCH_TOL), max_iter, min_iter=1)
        self.grid += candidates
        self.outcomes += [Outcome((), Blend(), np.empty((0, 1)), np.full(folds, np.nan))] * len(candidates)
        alive = list(range(first, len(self.grid)))
        with Progress("fits", len(candidates) * folds, shown=shown) as progress:
            done = 0
            while alive and done < folds:
                stage = range(done, self._stop_after(done, alive))
                found = self.fits.run(self.grid, alive, stage, solver, progress.advance, self._coefficients)
                fits = [(*self.outcomes[k].fits, *(found[k, fold] for fold in stage)) for k in alive]
                self.held_out.prepare(stage.stop)
                outcomes = each_in_teams(self._outcome, list(zip(alive, fits, strict=True)), threads)
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
        return all(len(outcome.fits) < len(self.fits.folds) for outcome in self.outcomes)

    def _stop_after(self, done: int, alive: list[int]) -> int:
        """Return the number of folds after the next stage; all of them if no one can drop out."""
        folds = len(self.fits.folds)
        if self.race is None:
            return folds
        finished = any(len(outcome.fits) == folds for outcome in self.outcomes)
        if len(alive) == 1 and not finished and self.race.rival is None:
            return folds
        return next(stop for stop in self.race.stops if stop > done)

    def _outcome(self, item: tuple[int, tuple[Fit, ...]]) -> Outcome:
        """Blend the held-out predictors of a candidate, and score them."""
        number, fits = item
        eta = np.concatenate([fit.eta for fit in fits])
        blend, eta = self.held_out.blend(eta, self.grid[number].l2_weights)
        return Outcome(fits, blend, eta, self.held_out.scores(eta), self.held_out.row_scores(eta))

    def predict(self, X: Any, number: int) -> list[np.ndarray]:
        """Return the blended predictors of further rows X by the fit of a candidate to every fold."""
        features, held_out = self.fits.features, self.held_out
        blend, kept = self.outcomes[number].blend, features.without(self.grid[number].l2_weights.left_out)

        def one(item: tuple[int, Fit]) -> np.ndarray:
            fold, fit = item
            beta, intercept = fit.coefficients
            r = held_out.naive_bayes_ratios(self.fits.weights(fold)) if held_out.naive_bayes else None
            coef = blend(kept.expand(beta), None if r is None else features.expand(r))
            return X @ np.ascontiguousarray(coef.T, X.dtype) + blend.scale * intercept

        return features.each(one, list(enumerate(self.outcomes[number].fits)))

    def rounds(self) -> Rounds:
        """Return the rounds that follow a search with unlabelled rows."""
        data, held_out = self.fits.data, self.held_out
        assert data.unlabeled_weights is not None
        folds = [Member(fold.times * data.weights, fold.test) for fold in self.fits.folds]
        return Rounds(
            data.X,
            data.X_unlabeled,
            data.y,
            len(data.classes),
            [*folds, Member(data.weights, held_out.rows[:0])],
            data.unlabeled_weights,
            held_out.weights,
            self.fits.features.threads,
        )
