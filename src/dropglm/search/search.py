"""The search through a grid: from rows and settings with several values to the model with the best of them.

Candidates are fitted to the folds and scored, and hopeless ones drop out (``race``). The predictors of
held-out rows are first scaled and blended with naive Bayes (``held_out``, ``blend``). While the best l2 is at
the edge of the grid, values beyond it are tried. The best candidate is then fitted to all rows, and rounds of
naive Bayes that also count unlabelled rows may follow (``naive_bayes``). All of it sees the rows only through
``TrainingRows``, so it is the same for rows in memory, on a GPU and in partitions.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from math import inf
from numbers import Real
from typing import Any

import numpy as np

from dropglm.base import checks
from dropglm.base.blocks import PerBlock
from dropglm.base.errors import InputError, InputTypeError
from dropglm.base.gpu_arrays import like, to_host
from dropglm.base.progress import Progress, begin_stage
from dropglm.base.threads import each
from dropglm.core.families import Logistic, Multinomial
from dropglm.core.features import AnyFeatures
from dropglm.core.l2_weights import L2Weights, counts_unlabeled, l2_weights_from
from dropglm.core.noise import Noise
from dropglm.core.objective import Coefficients
from dropglm.core.penalties import Penalty
from dropglm.core.predictions import MULTILABEL
from dropglm.core.settings import expectation_from, noise_from, training_penalty
from dropglm.core.solvers import LBFGS
from dropglm.linear.convergence import warn_unless_all_converged
from dropglm.linear.logistic import LogisticRegression, fits_jointly
from dropglm.places.candidate_fits import Candidate, FoldFit, WantedFits
from dropglm.places.rows import TrainingRows
from dropglm.search.blend import Blend, Priors
from dropglm.search.held_out import CandidateResult, HeldOutRows, folds_from
from dropglm.search.naive_bayes import (
    DiscriminantRounds,
    NaiveBayesRounds,
    Predictor,
)
from dropglm.search.race import Race
from dropglm.search.scoring import row_scorer_of, scorer_from, standard_error, standard_error_of_rows

# Settings of which a search tries several values, besides l2_weights.
SETTINGS = ("dropout", "noise_std", "l2", "discount")
BY_BLOCK = ("dropout", "noise_std", "l2_weights")  # those with one value per block


def is_grid(name: str, value: Any) -> bool:
    """Return whether the value of this setting is a sequence of values; a vector of l2_weights is one value.

    Examples
    --------
    >>> is_grid("l2", [1.0, 2.0]), is_grid("l2_weights", [1.0, 2.0]), is_grid("l2_weights", ["uniform"])
    (True, False, True)
    >>> is_grid("dropout", PerBlock(0.5, 0.0)), is_grid("dropout", [PerBlock(0.5, 0.0), 0.5])
    (False, True)
    """
    if isinstance(value, str) or not np.iterable(value):
        return False
    single = (L2Weights, PerBlock)
    return name != "l2_weights" or any(np.iterable(one) or isinstance(one, single) for one in value)


def grids_of(estimator: Any, blocks: int | None) -> dict[str, list[Any]]:
    """Return the values of every setting but l2_weights, strong penalties first."""
    grids: dict[str, list[Any]] = {}
    for name in SETTINGS:
        given = getattr(estimator, name)
        values: list[Any] = list(given) if is_grid(name, given) else [given]
        if not values:
            raise InputError(f"{name} is an empty grid; give at least one value.")
        if name == "dropout":
            values.sort(key=lambda dropout: noise_from(dropout, 0.0, blocks).strength, reverse=True)
        elif name == "noise_std":
            values.sort(key=lambda std: noise_from(0.0, std, blocks).strength, reverse=True)
        else:
            for value in values:
                checks.not_negative(value, name)
            values.sort(reverse=True)
        grids[name] = values
    return grids


def l2_weights_grid(given: Any, features: AnyFeatures) -> list[Any]:
    """Return the values of l2_weights: a single name, number, array or PerBlock is a grid of one."""
    if isinstance(given, str):
        return _automatic(features) if given == "auto" else [given]
    if isinstance(given, (L2Weights, PerBlock, Real)):
        return [given]
    values: list[Any] = list(given) if np.iterable(given) else []
    if not values:
        raise InputTypeError(f"l2_weights must be a name, an array or a sequence of these, got {given!r}.")
    return values if is_grid("l2_weights", values) else [given]


def _automatic(features: AnyFeatures) -> list[Any]:
    """Return "uniform" and, if the features of some block are not negative, naive-Bayes weights for these."""
    by_block = ["uniform" if smallest < 0.0 else "naive_bayes" for smallest in features.smallest]
    if "naive_bayes" not in by_block:
        return ["uniform"]
    return ["uniform", by_block[0] if features.block_count is None else PerBlock(*by_block)]


def candidates_of(
    grids: dict[str, list[Any]],
    noises: Sequence[Noise],
    penalties: Sequence[Penalty | None],
    l2_weights: Sequence[Any],
    features: AnyFeatures,
) -> list[Candidate]:
    """Return all points of the grid: paths of constant l2_weights and discount, strong penalties first.

    ``noises`` and ``penalties`` are those of every dropout rate with every standard deviation.
    The discount has no effect without unlabelled rows, so only one is tried then.
    """
    discounts = grids["discount"] if features.some_unlabeled else grids["discount"][:1]
    rules = [l2_weights_from(value, features) for value in l2_weights]
    paths = product(zip(l2_weights, rules, strict=True), discounts)
    settings = product(grids["dropout"], grids["noise_std"])
    noisy = list(zip(settings, noises, penalties, strict=True))
    names = ("dropout", "noise_std", "l2", "l2_weights", "discount")
    return [
        Candidate(
            dict(zip(names, (dropout, std, l2, value, discount), strict=True)),
            penalty,
            rule,
            path,
            noise.strength,
        )
        for path, ((value, rule), discount) in enumerate(paths)
        for (dropout, std), noise, penalty in noisy
        for l2 in grids["l2"]
    ]


# For estimates of the time left: the share of the fits that a race leaves, 0.2 to 1 on nine sets of texts.
SURVIVING = 0.7

# A search needs scores, not digits: with this tolerance the accuracies of IMDB's bigrams changed by at most
# 0.0005, and the fits took three quarters of the iterations that 1e-2 takes.
SEARCH_TOL = 3e-2
# Where texts are blended with naive Bayes, less is enough: the test accuracy on seven sets changed by 0.00
# points on average and by at most 0.16 on one (three seeds), in 8 to 37 % less time.
STEPWISE_TOL = 1e-1


def search_settings(
    estimator: Any,
    rows: TrainingRows,
    *,
    rival: "Search | None" = None,
    priors: Priors | None = None,
    stepwise: bool = False,
    encoders: int = 0,
    columns: int = 0,
) -> "Search":
    """Fit the candidates of a LogisticRegressionCV to the folds, and choose one.

    Parameters
    ----------
    estimator : LogisticRegressionCV
        Whose settings are checked, except for its grids.
    rows : TrainingRows
    rival : Search, optional
        The search with other features of the same rows: candidates that lose to its best one drop out, if the
        folds are the same.
    priors : Priors, optional
        Those of the factors of the blend, where no embeddings are used; None means those for the number of
        blocks of a candidate.
    stepwise : bool
        Whether to choose one setting after the other instead of among all points of the grid, see ``STEPS``.
    encoders : int
        How many of the blocks, the last ones, are embeddings. They have rounds of discriminant analysis.
    columns : int
        How many of the blocks before these are columns of a table.

    Returns
    -------
    Search
    """
    begin_stage("Searching settings")
    # Check.
    data = rows.data
    method, grids = expectation_from(estimator.expectation), grids_of(estimator, rows.block_count)
    scorer_from(estimator.scoring, estimator)  # which checks it
    row_scorer = row_scorer_of(estimator.scoring)
    folds = folds_from(estimator.cv, data, every_class=row_scorer is None)

    # Build the grid.
    settings = product(grids["dropout"], grids["noise_std"])
    noises = [noise_from(dropout, std, rows.block_count) for dropout, std in settings]
    noisy = any(noise.parts for noise in noises)
    joint = fits_jointly(estimator.multi_class, data, method, noisy=noisy)
    family = Multinomial if joint else Logistic
    # One penalty per noise, so that its points share the copies where the penalty is sampled.
    penalties = [training_penalty(method, family, noise, estimator.random_state) for noise in noises]
    smallest = rows.smallest_unlabeled if estimator.rounds and estimator.naive_bayes else None
    if smallest is not None and smallest < 0.0:
        raise InputError("rounds needs non-negative features in X_unlabeled; use rounds=0.")
    rounds_follow = smallest is not None
    features = rows.prepare(
        family,
        noises,
        fit_intercept=estimator.fit_intercept,
        folds=folds,
        unlabeled=any(grids["discount"]) or counts_unlabeled(estimator.l2_weights),
        for_rounds=rounds_follow,
    )
    if estimator.naive_bayes and features.smallest[0] < 0.0:
        raise InputError("naive_bayes=True needs non-negative features; use naive_bayes=False.")
    l2_weights = l2_weights_grid(estimator.l2_weights, features)
    candidates = candidates_of(grids, noises, penalties, l2_weights, features)

    # Search.
    held_out, race = HeldOutRows(rows, estimator, priors, encoders), None
    if estimator.race and row_scorer is not None:
        race = Race(
            folds,
            held_out.score_weights,
            one_standard_error=estimator.one_standard_error,
            rival=None if rival is None else rival.row_scores_of(held_out.row_indices),
        )
    # Not ``rows.solver``: in partitions its curvature and memory save 7 % of the rounds, but rough fits then
    # take other steps than in memory, and a log loss was 0.191 there and 0.193 here.
    extension, solver = L2Extension(estimator, grids["l2"]), LBFGS(estimator.tol, estimator.max_iter)
    search = Search(rows, held_out, race, solver, extension, rounds_follow, stepwise, encoders, columns)
    if rival is not None and rival.encoders < encoders and rounds_follow:
        useless = search.useless_encoders(rival)
        search.agrees = len(useless) < encoders
        if search.agrees:
            candidates = [one for one in candidates if useless <= one.l2_weights.left_out]
    search.run(estimator, candidates, rival)
    rows.release_held_out()
    return search


# How clearly an encoder has to agree with the n-grams, see ``DiscriminantRounds.agreement``. On six sets with
# 100 labels or 8 per class (five splits), a useful encoder has at least 4.0, random numbers at most 2.1.
AGREES = 3.0
# How many standard errors of the difference embeddings have to gain if they agree with the n-grams, if they
# do not, or if no unlabelled texts can show it. In the same fits and on a seventh set, a useful encoder gains
# 0.2 points more with -0.5 than with 0.5 (100 labels) and 0.1 more (8 per class); random numbers never gain
# more than 1.8 standard errors. Without unlabelled texts, with 1 instead of 0.5, a useful one gains 0.3 and
# 1.5 points less, and random numbers cost 0.0 and 0.1 points instead of 0.4 and 0.2.
GAINS = {True: -0.5, False: 2.0, None: 0.5}

# Returns the points of a grid to try next, given the best candidate so far and the number of blocks, the last
# ones, whose settings are chosen block by block.
Step = Callable[[list[Candidate], Candidate, int], list[Candidate]]


@dataclass
class Search:
    """The candidates so far, their outcomes, and the best of them.

    Parameters
    ----------
    rows : TrainingRows
    held_out : HeldOutRows
    race : Race or None
        None if every candidate is fitted to all folds.
    solver : LBFGS
        That of a fit to all rows in memory, also for rows in partitions; fits of the search may be less
        precise.
    extension : L2Extension
        How far values of l2 beyond the grid are tried.
    rounds_follow : bool
        Whether rounds of naive Bayes follow, which need the coefficients of all fits.
    stepwise : bool
        Whether settings are chosen one after the other, and fits start from those of the best so far.
    encoders : int
        How many of the blocks, the last ones, are embeddings.
    columns : int
        How many of the blocks before these are columns of a table.
    agrees : bool or None
        Whether some encoders agree with the n-grams; None if no unlabelled rows can show that.

    Attributes
    ----------
    grid : list of Candidate
    outcomes : list of CandidateResult
    best : int or None
        Number of the best candidate; None if all of them lost to a rival.
    honest : ndarray
        Predictors of held-out rows by the final model, from blends that do not know a row's label; set by
        ``fit_best``.
    discriminant_rounds : list of Blend
        The rounds of discriminant analysis that were kept; set by ``fit_best``.
    """

    rows: TrainingRows
    held_out: HeldOutRows
    race: Race | None
    solver: LBFGS
    extension: "L2Extension"
    rounds_follow: bool
    stepwise: bool = False
    encoders: int = 0
    columns: int = 0
    agrees: bool | None = None
    grid: list[Candidate] = field(default_factory=list)
    outcomes: list[CandidateResult] = field(default_factory=list)
    best: int | None = None
    honest: np.ndarray = field(default_factory=partial(np.empty, (0, 1)))
    discriminant_rounds: list[Blend] = field(default_factory=list)

    @property
    def beside(self) -> int:
        """How many of the blocks, the last ones, have settings that are chosen block by block."""
        return self.columns + self.encoders

    @property
    def best_number(self) -> int:
        """Number of the best candidate, of a search without a rival."""
        assert self.best is not None
        return self.best

    @property
    def scores(self) -> np.ndarray:
        """The scores of all candidates by fold; NaN where a candidate was not fitted to a fold."""
        return np.array([outcome.scores for outcome in self.outcomes])

    @property
    def score(self) -> float:
        """The mean score of the best candidate, before any rounds; minus infinity if there is none."""
        return -np.inf if self.best is None else float(self.outcomes[self.best].scores.mean())

    def optimism(self) -> np.ndarray:
        """Return by how much the score of each fold is too good since its rows took part in the choice.

        It is the score of the best candidate minus that of the one that is best without the fold's rows.
        Scores that are not means over rows are left as they are, and so is that of a candidate that is
        preferred to the best: 0.
        """
        scores, folds = self.scores, self.rows.folds
        complete = [k for k, outcome in enumerate(self.outcomes) if len(outcome.fits) == len(folds)]
        by_row = [self.outcomes[k].row_scores for k in complete]
        preferred = self.best_number != int(np.nanargmax(scores.mean(axis=1)))
        if any(own is None for own in by_row) or len(folds) < 2 or preferred:
            return np.zeros(len(folds))
        weights = np.column_stack(self.held_out.fold_rows.weights_without)
        others = np.array(complete)[(np.array(by_row) @ weights).argmax(axis=0)]
        own = np.arange(len(folds))
        return scores[self.best_number, own] - scores[others, own]

    def honest_predictors(self, number: int) -> np.ndarray:
        """Return a candidate's predictors of held-out rows, from blends that do not know a row's label."""
        return self.held_out.honest_predictors(self.grid[number], self.outcomes[number].fits)

    def report(self, eta: np.ndarray) -> dict[str, Any]:
        """Return scores and probabilities of held-out rows with these predictors, as fitted attributes."""
        scores = self.held_out.scores(eta) - self.optimism()
        probabilities = self.held_out.probabilities(eta)
        return {
            "best_score_": float(scores.mean()),
            "best_scores_": scores,
            "cv_probabilities_": probabilities,
        }

    def near_best(self) -> list[Candidate]:
        """Return the candidates within one standard error of the best; all of them if there was no race."""
        if self.race is None or self.best is None:
            return self.grid
        fitted = [one.row_scores for one in self.outcomes]
        return [self.grid[k] for k in self.race.near(self.best, fitted)]

    def useless_encoders(self, rival: "Search") -> frozenset[int]:
        """Return the blocks of encoders that do not agree with a search without encoders.

        They say no more than random numbers. Held-out rows cannot show that: with few labels, the better of
        two searches is often the one with random numbers.
        """
        models = _fold_models(rival, rival.best_number)
        beta, b = (np.mean(parts, axis=0) for parts in zip(*models, strict=True))
        widths = self.rows.features.widths
        model = np.vstack([beta, np.zeros((sum(widths) - len(beta), beta.shape[1]), beta.dtype)]), b
        weights, folds = self.held_out.weights, self.held_out.fold_rows
        return frozenset(
            number
            for number in range(len(widths) - self.encoders, len(widths))
            if DiscriminantRounds(self.rows, weights, folds, number).agreement(model) < AGREES
        )

    def is_preferred(self, other: "Search") -> bool:
        """Return whether to use this search with encoders rather than one without.

        Its mean score has to be better by some standard errors of the difference, row by row, or may be worse
        if the encoders agree with the n-grams.
        """
        if self.best is None or other.best is None:
            return other.best is None and self.best is not None
        own, scores = self.outcomes[self.best].row_scores, other.row_scores_of(self.held_out.row_indices)
        if own is None or scores is None:
            return self.score > other.score
        weights = self.held_out.weights
        shares, n = weights / weights.sum(), weights.sum() ** 2 / np.sum(weights**2)
        independent = min(n, len(np.unique(self.held_out.row_indices)))
        error = standard_error_of_rows(own - scores, shares, independent=independent)
        return bool(shares @ (own - scores) > GAINS[self.agrees] * error)

    def row_scores_of(self, rows: np.ndarray) -> np.ndarray | None:
        """Return the scores of held-out rows by the best candidate, if these are its held-out rows."""
        if self.best is None or not np.array_equal(rows, self.held_out.row_indices):
            return None
        return self.outcomes[self.best].row_scores

    def run(self, estimator: Any, grid: list[Candidate], rival: "Search | None" = None) -> None:
        """Fit the candidates of a grid and those beyond its edge, and find the best.

        Steps begin near the best settings of a rival: a rival that is tuned would beat all others.
        """
        again = STEPS[:1] * (3 * self.columns)
        steps = iter([*again, *STEPS, *again] if self.stepwise else ())
        candidates = grid
        if self.stepwise:
            start = None
            if rival is not None and rival.best is not None and rival.encoders == self.encoders:
                start = rival.grid[rival.best]
            candidates = (
                with_middle_l2(grid, self.beside) if start is None else near(grid, start, self.beside)
            )
        while candidates:
            # Other kinds, after the first step, hardly matter; nor do other settings of columns.
            several = self.columns > 0 or len({repr(_kind(one)) for one in candidates}) > 1
            halve = self.best is not None and several
            self.fit_candidates(candidates, shown=bool(estimator.verbose), halve=halve)
            if all(len(outcome.fits) < len(self.rows.folds) for outcome in self.outcomes):
                break
            self.best = best_candidate(
                self.grid, self.scores, one_standard_error=estimator.one_standard_error
            )
            self.release(set(range(len(self.grid))).difference({self.best}))
            candidates = self._next_step(steps, grid)
            if candidates or not self.extension.extends:
                continue
            candidates = beyond_edge(self.grid, self.scores, self.best, self.extension.limits)
            if candidates:
                begin_stage("Searching beyond the grid")
        self.release(set(range(len(self.grid))).difference({self.best}))
        converged = [fit.converged for outcome in self.outcomes for fit in outcome.fits]
        warn_unless_all_converged(converged, estimator.max_iter)

    def _next_step(self, steps: Iterator[Step], grid: list[Candidate]) -> list[Candidate]:
        """Return the candidates of the next step that has new ones, near the best so far."""
        best = self.grid[self.best_number]
        tried = [one.params for one in self.grid]
        for step in steps:
            new = [one for one in step(grid, best, self.beside) if one.params not in tried]
            if new:
                same = [one.l2_weights.left_out == best.l2_weights.left_out for one in new]
                return [one._replace(starts_from=self.best) if all(same) else one for one in new]
        return []

    def fit_candidates(self, candidates: list[Candidate], *, shown: bool, halve: bool = False) -> None:
        """Fit and score more candidates; those that are clearly worse than the best so far drop out.

        If ``halve``, half of the candidates drop out after each stage.
        """
        first, folds = len(self.grid), len(self.rows.folds)
        # Without a step, candidates that are close to each other would have the same score.
        tol = STEPWISE_TOL if self.stepwise else SEARCH_TOL
        rough = replace(self.solver, tol=max(self.solver.tol, tol), min_iter=1)
        self.grid += candidates
        nothing = CandidateResult((), Blend(), np.empty((0, 1)), np.full(folds, np.nan))
        self.outcomes += [nothing] * len(candidates)
        alive = list(range(first, len(self.grid)))
        likely = SURVIVING if self.race is not None and len(self.race.stops) > 1 else 1.0
        with Progress("fits", len(candidates) * folds, shown=shown, likely=likely) as progress:
            done, fitted = 0, 0
            found: dict[tuple[int, int], FoldFit] = {}
            while alive and done < folds:
                stage = range(done, self._stop_after(done, alive, halve))
                if fitted < stage.stop:
                    # Threads without a fit take those of the next stage, which are unused if the race ends.
                    spare = self.rows.features.threads // (len(alive) * len(self.rows.targets))
                    now = range(fitted, min(max(stage.stop, fitted + spare), folds))
                    wanted = WantedFits(
                        self.grid, alive, now, rough, self._keeps, progress.advance, self._coefficients
                    )
                    found, fitted = found | self.rows.fit_candidates(wanted), now.stop
                fits = [(*self.outcomes[k].fits, *(found[k, fold] for fold in stage)) for k in alive]
                self.held_out.prepare(stage.stop)
                outcomes = self.held_out.outcomes(
                    [(self.grid[k], own) for k, own in zip(alive, fits, strict=True)]
                )
                for number, outcome in zip(alive, outcomes, strict=True):
                    self.outcomes[number] = outcome
                done = stage.stop
                if self.race is not None and done < folds:
                    scores = [one.row_scores for one in self.outcomes]
                    remaining = self.race.survivors(alive, scores, halve=halve)
                    progress.leave_out((len(alive) - len(remaining)) * (folds - fitted))
                    self.release(set(alive).difference(remaining))
                    alive = remaining

    def release(self, numbers: Iterable[int]) -> None:
        """Discard the coefficients of these candidates, whose memory may be as large as that of the rows."""
        for number in numbers:
            self.outcomes[number] = self.outcomes[number].without_coefficients()

    def _keeps(self, one: Candidate) -> bool:
        return self.rounds_follow or self.stepwise or self.extension.keeps(one)

    def _coefficients(self, number: int, fold: int) -> tuple[Coefficients, ...]:
        return self.outcomes[number].fits[fold].by_problem

    def _stop_after(self, done: int, alive: list[int], halve: bool) -> int:
        """Return the number of folds after the next stage; all of them if no one can drop out."""
        folds = len(self.rows.folds)
        if self.race is None:
            return folds
        finished = any(len(outcome.fits) == folds for outcome in self.outcomes)
        if len(alive) == 1 and not finished and self.race.rival is None:
            return folds
        stops = self.race.halving_stops if halve else self.race.stops
        return next(stop for stop in stops if stop > done)


def with_middle_l2(grid: list[Candidate], beside: int = 0) -> list[Candidate]:
    """Return the candidates with the middle l2, and the first noise with the first l2 weights, and so on.

    The first noise is the strongest one. The last blocks are used, with their first settings.
    """
    values = sorted({one.params["l2"] for one in grid})
    noises, rules = ({repr(_kind(one)[part]): None for one in grid} for part in (0, 1))
    pairs = list(zip(noises, rules, strict=False))
    middle = [one for one in grid if one.params["l2"] == values[len(values) // 2]]
    first = _of_beside(grid[0], beside)
    return [
        one for one in middle if tuple(map(repr, _kind(one))) in pairs and _of_beside(one, beside) == first
    ]


def near(grid: list[Candidate], rival: Candidate, beside: int = 0) -> list[Candidate]:
    """Return the candidates with the noise and l2 weights of a rival, and with its l2 or one beside it."""
    alike = _kind(rival), _of_beside(rival, beside)
    same, l2 = [one for one in grid if (_kind(one), _of_beside(one, beside)) == alike], rival.params["l2"]
    edge = min(same, key=lambda one: one.params["l2"])
    if l2 < edge.params["l2"]:
        same.append(edge._replace(params=edge.params | {"l2": l2}))
    return [one for one in same if 0.09 * l2 < one.params["l2"] < 11.0 * l2]


def _of_beside(one: Candidate, beside: int) -> list[tuple[Any, float]]:
    """Return the noise and the l2 weight of the last blocks, those of columns and of encoders."""
    if not beside:
        return []
    *noise, weights = (one.params[name].values[-beside:] for name in BY_BLOCK)
    return list(zip(zip(*noise, strict=True), weights, strict=True))


def _kind(one: Candidate) -> Any:
    """Return the noise and the discount, and how l2 is spread over features, of the first block."""
    *noise, rule = (
        value.values[0] if isinstance(value, PerBlock) else value
        for value in (one.params[name] for name in ("dropout", "noise_std", "discount", "l2_weights"))
    )
    return noise, rule


def _with_other_kinds(grid: list[Candidate], best: Candidate, beside: int) -> list[Candidate]:
    """Return those with the same blocks as the best, and with the same l2 or a smaller one."""
    blocks, l2, own = best.l2_weights.left_out, best.params["l2"], _of_beside(best, beside)
    return [
        one
        for one in grid
        if one.l2_weights.left_out == blocks and one.params["l2"] <= l2 and _of_beside(one, beside) == own
    ]


def _with_other_blocks(grid: list[Candidate], best: Candidate, beside: int) -> list[Candidate]:
    """Return those that differ from the best in one of the last blocks only: in its noise or l2 weight.

    The weight is at most ten times as large or as small, or leaves the block out.
    """

    def differs_once(one: Candidate) -> bool:
        pairs = list(zip(_of_beside(one, beside), _of_beside(best, beside), strict=True))
        changes = [(noise != own_noise, weight != own) for (noise, weight), (own_noise, own) in pairs]
        changed = [change for change in changes if any(change)]
        steps = (weight / own for (_, weight), (_, own) in pairs if weight < inf > own)
        close = all(0.09 < step < 11.0 for step in steps)
        return (
            close and len(changed) == 1 and not all(changed[0])
        )  # the noise of what is left out is no matter

    same = ("l2", "discount")
    return [
        one
        for one in grid
        if beside
        and all(one.params[name] == best.params[name] for name in same)
        and _without_beside(one, beside) == _without_beside(best, beside)
        and differs_once(one)
    ]


def _without_beside(one: Candidate, beside: int) -> Any:
    """Return the noise and l2 weights of the other blocks."""
    return [one.params[name].values[:-beside] for name in BY_BLOCK]


def _with_larger_l2(grid: list[Candidate], best: Candidate, beside: int) -> list[Candidate]:
    """Return those that differ from the best in l2 only, unless a smaller one was better than the middle."""
    if best.params["l2"] < with_middle_l2(grid, beside)[0].params["l2"]:
        return []
    return [one for one in grid if one.params | {"l2": None} == best.params | {"l2": None}]


# One setting after the other: further blocks come first, with two kinds of noise and l2 weights, then
# columns and encoders one by one, then other kinds with the same l2 or a smaller one, then a larger l2.
# Similar steps (pairs and blocks, then l2, without a race) had test accuracies within 0.4 points of the whole
# grid on ten sets with 20 to 300 labels. Blocks of columns are tuned several times, before and after the
# others: with 1,000 packages of Debian and as many generated orders, the log loss is then 1.020 and 1.082
# instead of 1.101 and 1.098.
STEPS: tuple[Step, ...] = (_with_other_blocks, _with_other_kinds, _with_larger_l2)

# The grid of l2 is continued up to this factor beyond its edge.
MAX_EXTENSION = 10.0


class L2Extension:
    """How far the values of l2 are continued beyond the grid.

    Parameters
    ----------
    estimator : LogisticRegressionCV
    grid : sequence of float
        The values of l2.
    """

    def __init__(self, estimator: Any, grid: Sequence[float]) -> None:
        self.extends = bool(estimator.extend_l2)
        self.edges = {min(grid)} if estimator.calibrate else {min(grid), max(grid)}
        self.limits = min(grid) / MAX_EXTENSION, max(grid) * (1.0 if estimator.calibrate else MAX_EXTENSION)

    def keeps(self, one: Candidate) -> bool:
        """Return whether fits beyond the edge may start from those of a candidate.

        They do if it is at the edge, or beyond it but not yet at the limit.
        """
        l2 = one.params["l2"]
        beyond = one.starts_from is not None and self.limits[0] * 1.001 < l2 < self.limits[1] * 0.999
        return self.extends and (l2 in self.edges or beyond)


def best_candidate(grid: list[Candidate], scores: np.ndarray, *, one_standard_error: bool) -> int:
    """Return the index of the best candidate, the first among equals; those without all scores do not count.

    With ``one_standard_error``, return the strongest candidate of its path within one standard error of it.
    """
    means = scores.mean(axis=1)
    if np.isnan(means).all():
        raise InputError("Every score is NaN; use another scoring or larger folds.")
    best = int(np.nanargmax(means))
    if not one_standard_error:
        return best
    error = standard_error(scores[best]) or 0.0
    same_path = [k for k in range(len(grid)) if grid[k].path == grid[best].path]
    near = [k for k in same_path if means[k] >= means[best] - error]
    return max(near, key=lambda k: (grid[k].noise_strength, grid[k].params["l2"]))


def beyond_edge(
    grid: list[Candidate], scores: np.ndarray, best: int, limits: tuple[float, float] = (0.0, np.inf)
) -> list[Candidate]:
    """Return the best candidate with an l2 beyond the edge of the grid, if that is likely to be better.

    It is if the best l2 is at the edge, and better than the next one by more than the standard error of the
    difference. Candidates outside the limits are left out.
    """
    values, l2 = _values_of_l2(grid, best), grid[best].params["l2"]
    if len(values) < 2 or values[0] == 0.0 or l2 not in (values[0], values[-1]):
        return []
    beside = values[-2] if l2 == values[-1] else values[1]
    beyond = l2 * l2 / beside
    if not limits[0] * 0.999 <= beyond <= limits[1] * 1.001:  # limits are inclusive, up to rounding
        return []
    neighbour = next(
        k for k, one in enumerate(grid) if _same_but_l2(one, grid[best]) and one.params["l2"] == beside
    )
    gains = scores[best] - scores[neighbour]
    gains = gains[~np.isnan(gains)]  # over the first folds, if the neighbour dropped out of the race
    # With n, unlike ``standard_error``: n - 1 would extend fewer grids, which changes the chosen settings.
    if not gains.mean() > gains.std() / np.sqrt(len(gains)):
        return []
    return [grid[best]._replace(params=grid[best].params | {"l2": beyond}, starts_from=best)]


def _same_but_l2(one: Candidate, other: Candidate) -> bool:
    return one.path == other.path and one.penalty is other.penalty


def _values_of_l2(grid: list[Candidate], best: int) -> list[float]:
    """Return the values of l2 that were tried with the best noise, l2_weights and discount, sorted."""
    return sorted({one.params["l2"] for one in grid if _same_but_l2(one, grid[best])})


def fit_best(estimator: Any, search: Search) -> None:
    """Fit the best settings of a search to all rows, and set all fitted attributes of its estimator."""
    best, rows = search.best_number, search.rows
    chosen, outcome, held_out = search.grid[best], search.outcomes[best], search.held_out
    results = results_table(search, best)

    # Fit the best settings to all rows, and blend. Scores come from blends that do not know a row's label.
    model = _model_with(estimator, chosen.params, joint=rows.family.several)
    model._solve(rows, chosen.l2_weights, chosen.penalty)
    eta = search.honest_predictors(best)
    if estimator.calibrate or estimator.naive_bayes:
        ratios = held_out.naive_bayes_ratios([None])[0] if estimator.naive_bayes else None
        outcome.blend.apply_to(model, None if ratios is None else rows.features.expand(ratios))

    # Blend in naive Bayes of the unlabelled rows, with predicted labels, and discriminant analysis.
    blends: dict[Any, list[Blend]] = {NaiveBayesRounds: [], DiscriminantRounds: []}
    if search.rounds_follow:
        count = len(rows.features.widths)
        dense = [(DiscriminantRounds, number) for number in range(count - search.encoders, count)]
        with Progress("Rounds of naive Bayes", is_stage=True, shown=bool(estimator.verbose)):
            whole = np.ascontiguousarray(to_host(model.coef_).T), to_host(model.intercept_)
            now = Predictor(outcome.eta, eta, [*_fold_models(search, best), whole])
            for kind, number in [(NaiveBayesRounds, 0), *dense]:
                if number not in chosen.l2_weights.left_out:
                    rounds = kind(rows, held_out.weights, held_out.fold_rows, number)
                    found, now = rounds.run(estimator.rounds, now)
                    blends[kind] += found
            rows.release_held_out()
        if any(blends.values()):
            beta, intercept = now.models[-1]
            model.coef_, model.intercept_ = like(model.coef_, np.ascontiguousarray(beta.T)), intercept
            model.multi_class_ = MULTILABEL if rows.data.multilabel else "multinomial"
        eta = now.honest
    search.honest, search.discriminant_rounds = eta, blends[DiscriminantRounds]

    params = results["params"][best]
    names = ("classes_", "coef_", "intercept_", "n_iter_", "multi_class_", "result_")
    estimator._set_fitted(
        best_estimator_=model,
        best_params_=params,
        best_index_=best,
        cv_results_=results,
        **search.report(eta),
        scale_=outcome.blend.scale,
        naive_bayes_=outcome.blend.naive_bayes,
        rounds_=blends[NaiveBayesRounds],
        l2_at_edge_=bool(beyond_edge(search.grid, search.scores, best)),
        **{f"{name}_": value for name, value in params.items()},
        **{name: getattr(model, name) for name in names},
        **rows.data.feature_attributes,
    )


def _model_with(estimator: Any, params: dict[str, Any], *, joint: bool) -> LogisticRegression:
    """Return a model with the settings of a search and of its best candidate, to be fitted to all rows."""
    shared = LogisticRegression().get_params().keys() & estimator.get_params().keys()
    settings = {name: getattr(estimator, name) for name in shared} | params
    settings |= {"multi_class": "multinomial" if joint else "ovr", "verbose": 0}
    return LogisticRegression(**settings)


def _fold_models(search: Search, number: int) -> list[Coefficients]:
    """Return the blended coefficients of all features, (d, K), by the fit of a candidate to every fold."""
    features, outcome, held_out = search.rows.features, search.outcomes[number], search.held_out
    kept, folds = features.without(search.grid[number].l2_weights.left_out), range(len(outcome.fits))
    ratios = held_out.naive_bayes_ratios(folds) if held_out.naive_bayes else [None] * len(folds)
    models = []
    for fit, own in zip(outcome.fits, ratios, strict=True):
        beta, intercept = fit.coefficients
        coef = np.ascontiguousarray(to_host(kept.expand(beta)).T)
        other = None if own is None else (to_host(features.expand(own)).T, np.zeros_like(intercept))
        models.append(outcome.blend.coefficients((coef, intercept), other))
    return models


def results_table(search: Search, best: int) -> dict[str, Any]:
    """Return the outcomes of all candidates, given the number of the best one.

    Candidates that dropped out have no score of some folds. Means over the others would compare different
    rows, so theirs are the mean of the best candidate minus the mean difference over the folds that both
    have; likewise for the accuracy. They rank behind all others.
    """
    outcomes, held_out = search.outcomes, search.held_out
    scores = search.scores
    folds = [len(outcome.fits) for outcome in outcomes]
    full = np.array(folds) == scores.shape[1]
    means = scores.mean(axis=1)
    fitted = list(zip(outcomes, folds, strict=True))
    accuracies = np.array(each(lambda one: held_out.accuracy(*one), fitted, search.rows.features.threads))
    of_best: dict[int, float] = {}  # on the rows of the first folds, by the number of folds
    for k in np.flatnonzero(~full):
        differences = (scores[k] - scores[best])[: folds[k]]
        means[k] = means[best] + differences.mean()
        if folds[k] not in of_best:
            of_best[folds[k]] = held_out.accuracy(outcomes[best], folds[k])
        accuracies[k] += accuracies[best] - of_best[folds[k]]

    params = [candidate.params for candidate in search.grid]
    columns: dict[str, Any] = {"params": params}
    for name in params[0]:
        column = np.empty(len(params), object)
        column[:] = [point[name] for point in params]
        columns[f"param_{name}"] = column
    for fold in range(scores.shape[1]):
        columns[f"split{fold}_test_score"] = scores[:, fold]
    fits = [outcome.fits for outcome in outcomes]
    return columns | {
        "mean_test_score": means,
        # A single fold of several says nothing about the spread.
        "std_test_score": np.array(
            [np.nan if m == 1 < len(row) else row[:m].std() for row, m in zip(scores, folds, strict=True)]
        ),
        "rank_test_score": ranks(means, full),
        "accuracy": accuracies,
        # Of several labels, the means.
        "scale": np.array([np.mean(outcome.blend.scale) for outcome in outcomes]),
        "naive_bayes": np.array([np.mean(outcome.blend.naive_bayes) for outcome in outcomes]),
        "mean_fit_time": np.array([np.mean([fit.seconds for fit in row]) for row in fits]),
        "mean_n_iter": np.array([np.mean([fit.n_iter for fit in row]) for row in fits]),
        "converged": np.array([all(fit.converged for fit in row) for row in fits]),
        "folds_fitted": np.array(folds, np.int32),
    }


def ranks(means: np.ndarray, full: np.ndarray) -> np.ndarray:
    """Return the ranks of mean scores, 1 for the best; those with all folds come first, NaN last among them.

    Examples
    --------
    >>> ranks(np.array([0.7, 0.9, np.nan, 0.8]), np.array([True, False, True, True]))
    array([2, 4, 3, 1], dtype=int32)
    """
    scores = np.where(np.isnan(means), -np.inf, means)
    ahead = (full & ~full[:, None]) | ((full == full[:, None]) & (scores > scores[:, None]))
    return (1 + ahead.sum(axis=1)).astype(np.int32)
