"""The search through a grid: from rows and settings with several values to the model with the best of them.

Candidates are fitted to the folds and scored, and hopeless ones drop out (``race``). The predictors of
held-out rows are first scaled and blended with naive Bayes (``held_out``, ``blend``). While the best l2 is at
the edge of the grid, values beyond it are tried. The best candidate is then fitted to all rows, and rounds of
naive Bayes that also count unlabelled rows may follow (``rounds``). All of it sees the rows only through
``TrainingRows``, so it is the same for rows in memory, on a GPU and in partitions.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dropglm.base.errors import InputError
from dropglm.base.gpu_arrays import like, to_host
from dropglm.base.progress import Progress
from dropglm.base.threads import each
from dropglm.core.families import Logistic, Multinomial
from dropglm.core.l2_weights import counts_unlabeled
from dropglm.core.objective import Coefficients
from dropglm.core.settings import expectation_from, training_penalty
from dropglm.core.solvers import LBFGS
from dropglm.linear.convergence import warn_unless_all_converged
from dropglm.linear.logistic import LogisticRegression, fits_jointly
from dropglm.places.paths import Candidate
from dropglm.places.rows import TrainingRows
from dropglm.search.blend import Blend, Priors
from dropglm.search.folds import folds_from
from dropglm.search.grid import candidates_of, grids_of, l2_weights_grid, noises_of
from dropglm.search.held_out import HeldOut, Outcome
from dropglm.search.race import Race
from dropglm.search.rounds import Round, Rounds, blended
from dropglm.search.scoring import row_scorer_of, scorer_from, standard_error, standard_error_of_rows

# A search needs scores, not digits: with this tolerance the accuracies of IMDB's bigrams changed by at most
# 0.0005, and the fits took three quarters of the iterations that 1e-2 takes.
SEARCH_TOL = 3e-2


class Searched(NamedTuple):
    """A search that is done."""

    search: "Search"
    best: int | None  # number of the best candidate; None if all of them lost to a rival
    counts_predicted: bool  # whether rounds of naive Bayes follow

    @property
    def score(self) -> float:
        """The mean score of the best candidate, before any rounds; minus infinity if there is none."""
        return -np.inf if self.best is None else float(self.search.outcomes[self.best].scores.mean())

    def near_best(self) -> list[Candidate]:
        """Return the candidates within one standard error of the best; all of them if there was no race."""
        search = self.search
        if search.race is None or self.best is None:
            return search.grid
        fitted = [one.row_scores for one in search.outcomes]
        return [search.grid[k] for k in search.race.near(self.best, fitted)]

    def row_scores_of(self, rows: np.ndarray) -> np.ndarray | None:
        """Return the scores of held-out rows by the best candidate, if these are its held-out rows."""
        if self.best is None or not np.array_equal(rows, self.search.held_out.rows):
            return None
        return self.search.outcomes[self.best].row_scores


def search_settings(
    estimator: Any, rows: TrainingRows, *, rival: Searched | None = None, priors: Priors | None = None
) -> Searched:
    """Fit the candidates of a LogisticRegressionCV to the folds, and choose one.

    Parameters
    ----------
    estimator : LogisticRegressionCV
        Whose settings are checked, except for its grids.
    rows : TrainingRows
    rival : Searched, optional
        The search with other features of the same rows: candidates that lose to its best one drop out, if the
        folds are the same.
    priors : Priors, optional
        Those of the factors of the blend; None means those for the number of blocks of a candidate.

    Returns
    -------
    Searched
    """
    # Check.
    data = rows.data
    method, grids = expectation_from(estimator.expectation), grids_of(estimator, rows.block_count)
    scorer, row_scorer = scorer_from(estimator.scoring, estimator), row_scorer_of(estimator.scoring)
    folds = folds_from(estimator.cv, data, every_class=row_scorer is None)

    # Build the grid.
    noises = noises_of(grids, rows.block_count)
    noisy = any(one.noise.parts for one in noises)
    joint = fits_jointly(estimator.multi_class, len(data.classes), method, noisy=noisy)
    family = Multinomial if joint else Logistic
    # One penalty per noise, so that its points share the copies where the penalty is sampled.
    penalties = [training_penalty(method, family, one.noise, estimator.random_state) for one in noises]
    smallest = rows.smallest_unlabeled if estimator.rounds and estimator.naive_bayes else None
    if smallest is not None and smallest < 0.0:
        raise InputError("rounds needs non-negative features in X_unlabeled; use rounds=0.")
    counts_predicted = smallest is not None
    features = rows.prepare(
        family,
        [one.noise for one in noises],
        fit_intercept=estimator.fit_intercept,
        folds=folds,
        unlabeled=any(grids["discount"]) or counts_unlabeled(estimator.l2_weights),
        counted=counts_predicted,
    )
    if estimator.naive_bayes and features.smallest[0] < 0.0:
        raise InputError("naive_bayes=True needs non-negative features; use naive_bayes=False.")
    l2_weights = l2_weights_grid(estimator.l2_weights, features)
    candidates = candidates_of(grids, noises, penalties, l2_weights, features)

    # Search.
    held_out = HeldOut(
        rows,
        scorer,
        row_scorer,
        weighted=bool((data.sample_weights != 1.0).any()),
        calibrate=estimator.calibrate,
        naive_bayes=estimator.naive_bayes,
        priors=priors,
    )
    race = None
    if estimator.race and row_scorer is not None:
        race = Race(
            folds,
            held_out.score_weights,
            one_standard_error=estimator.one_standard_error,
            rival=None if rival is None else rival.row_scores_of(held_out.rows),
        )
    reach, solver = Reach(estimator, grids["l2"]), LBFGS(estimator.tol, estimator.max_iter)
    search = Search(rows, held_out, race, solver, reach, counts_predicted)
    best = search.find_best(estimator, candidates)
    rows.release_held_out()
    return Searched(search, best, counts_predicted)


class Search:
    """The candidates so far, and their outcomes.

    Parameters
    ----------
    rows : TrainingRows
    held_out : HeldOut
    race : Race or None
        None if every candidate is fitted to all folds.
    solver : LBFGS
        That of a fit to all rows; fits of the search may be less precise.
    reach : Reach
        How far values of l2 beyond the grid are tried.
    keeps_all : bool
        Whether all fits keep their coefficients, as rounds of naive Bayes need them.

    Attributes
    ----------
    grid : list of Candidate
    outcomes : list of Outcome
    """

    def __init__(
        self,
        rows: TrainingRows,
        held_out: HeldOut,
        race: Race | None,
        solver: LBFGS,
        reach: "Reach",
        keeps_all: bool,
    ) -> None:
        self.rows = rows
        self.held_out = held_out
        self.race = race
        self.solver = solver
        self.reach = reach
        self.keeps_all = keeps_all
        self.grid: list[Candidate] = []
        self.outcomes: list[Outcome] = []

    def find_best(self, estimator: Any, candidates: list[Candidate]) -> int | None:
        """Fit candidates and those beyond the edge of the grid; return the number of the best.

        It is None if all candidates lost to a rival.
        """
        best: int | None = None
        while candidates:
            self.run(candidates, shown=bool(estimator.verbose))
            if all(len(outcome.fits) < len(self.rows.folds) for outcome in self.outcomes):
                break
            scores = np.array([outcome.scores for outcome in self.outcomes])
            best = best_candidate(self.grid, scores, one_standard_error=estimator.one_standard_error)
            candidates = beyond_edge(self.grid, scores, best, self.reach.limits) if self.reach.extends else []
        self.release(set(range(len(self.grid))).difference({best}))
        converged = [fit.converged for outcome in self.outcomes for fit in outcome.fits]
        warn_unless_all_converged(converged, estimator.max_iter)
        return best

    def run(self, candidates: list[Candidate], *, shown: bool) -> None:
        """Fit and score more candidates; those that are clearly worse than the best so far drop out."""
        first, folds = len(self.grid), len(self.rows.folds)
        # Without a step, candidates that are close to each other would have the same score.
        rough = replace(self.solver, tol=max(self.solver.tol, SEARCH_TOL), min_iter=1)
        self.grid += candidates
        self.outcomes += [Outcome((), Blend(), np.empty((0, 1)), np.full(folds, np.nan))] * len(candidates)
        alive = list(range(first, len(self.grid)))
        with Progress("fits", len(candidates) * folds, shown=shown) as progress:
            done = 0
            while alive and done < folds:
                stage = range(done, self._stop_after(done, alive))
                found = self.rows.fit_candidates(
                    self.grid,
                    alive,
                    stage,
                    rough,
                    keeps=lambda one: self.keeps_all or self.reach.keeps(one),
                    on_fit=progress.advance,
                    earlier=self._coefficients,
                )
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

    def _stop_after(self, done: int, alive: list[int]) -> int:
        """Return the number of folds after the next stage; all of them if no one can drop out."""
        folds = len(self.rows.folds)
        if self.race is None:
            return folds
        finished = any(len(outcome.fits) == folds for outcome in self.outcomes)
        if len(alive) == 1 and not finished and self.race.rival is None:
            return folds
        return next(stop for stop in self.race.stops if stop > done)


# The grid of l2 is continued up to this factor beyond its edge.
REACH = 10.0


class Reach:
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
        self.limits = min(grid) / REACH, max(grid) * (1.0 if estimator.calibrate else REACH)

    def keeps(self, one: Candidate) -> bool:
        """Return whether fits beyond the edge may start from those of a candidate.

        They do if it is at the edge, or beyond it but not yet at the limit.
        """
        l2 = one.params["l2"]
        beyond = one.after is not None and self.limits[0] * 1.001 < l2 < self.limits[1] * 0.999
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
    if not gains.mean() > standard_error_of_rows(gains, np.full(len(gains), 1.0 / len(gains))):
        return []
    return [grid[best]._replace(params=grid[best].params | {"l2": beyond}, after=best)]


def _same_but_l2(one: Candidate, other: Candidate) -> bool:
    return one.path == other.path and one.penalty is other.penalty


def _values_of_l2(grid: list[Candidate], best: int) -> list[float]:
    """Return the values of l2 that were tried with the best noise, l2_weights and discount, sorted."""
    return sorted({one.params["l2"] for one in grid if _same_but_l2(one, grid[best])})


def fit_best(estimator: Any, searched: Searched) -> None:
    """Fit the best settings of a search to all rows, and set all fitted attributes of its estimator."""
    search, best, rows = searched.search, searched.best, searched.search.rows
    assert best is not None
    chosen, outcome, held_out = search.grid[best], search.outcomes[best], search.held_out
    results = results_table(search, best)

    # Fit the best settings to all rows, and blend.
    model = _model_with(estimator, chosen.params, joint=rows.family.several)
    problems = rows.problems(chosen.l2_weights)
    model._solve(problems, chosen.penalty, rows.data, rows.solver(estimator.tol, estimator.max_iter))
    if estimator.calibrate or estimator.naive_bayes:
        ratios = held_out.naive_bayes_ratios([None])[0] if estimator.naive_bayes else None
        outcome.blend.apply_to(model, None if ratios is None else rows.features.expand(ratios))

    # Blend in naive Bayes of the unlabelled rows, with predicted labels.
    rounds: list[Round] = []
    if searched.counts_predicted and 0 not in chosen.l2_weights.left_out:
        with Progress("Rounds of naive Bayes", shown=bool(estimator.verbose)):
            models = _fold_models(search, best)
            models.append((np.ascontiguousarray(to_host(model.coef_).T), to_host(model.intercept_)))
            rounds = Rounds(rows, held_out.weights).run(estimator.rounds, outcome.eta, models)
            rows.release_held_out()
        for one in rounds:
            one.blend.apply_to(model, like(model.coef_, one.ratios.T))
    eta, best_scores = outcome.eta, outcome.scores
    if rounds:
        eta = rounds[-1].eta
        best_scores = held_out.scores(eta)

    scores, params = np.array([one.scores for one in search.outcomes]), results["params"][best]
    names = ("classes_", "coef_", "intercept_", "n_iter_", "multi_class_", "result_")
    estimator._set_fitted(
        best_estimator_=model,
        best_params_=params,
        best_index_=best,
        best_score_=float(best_scores.mean()),
        best_scores_=best_scores,
        cv_results_=results,
        cv_probabilities_=held_out.probabilities(eta),
        scale_=outcome.blend.scale,
        naive_bayes_=outcome.blend.naive_bayes,
        rounds_=[one.blend for one in rounds],
        l2_at_edge_=bool(beyond_edge(search.grid, scores, best)),
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
        r = None if own is None else to_host(features.expand(own)).T
        models.append(blended(outcome.blend, (coef, intercept), r))
    return models


def results_table(search: "Search", best: int) -> dict[str, Any]:
    """Return the outcomes of all candidates, given the number of the best one.

    Candidates that dropped out have no score of some folds. Means over the others would compare different
    rows, so theirs are the mean of the best candidate minus the mean difference over the folds that both
    have; likewise for the accuracy. They rank behind all others.
    """
    outcomes, held_out = search.outcomes, search.held_out
    scores = np.array([outcome.scores for outcome in outcomes])
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
        "scale": np.array([outcome.blend.scale for outcome in outcomes]),
        "naive_bayes": np.array([outcome.blend.naive_bayes for outcome in outcomes]),
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
    found = np.empty(len(means), np.int32)
    found[full] = _ranks(np.where(np.isnan(means[full]), -np.inf, means[full]))
    found[~full] = full.sum() + _ranks(means[~full])
    return found


def _ranks(scores: np.ndarray) -> np.ndarray:
    """Return 1 plus the number of larger scores, for each score."""
    return np.searchsorted(np.sort(-scores), -scores) + 1
