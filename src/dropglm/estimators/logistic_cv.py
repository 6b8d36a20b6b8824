"""Logistic regression with noise, l2, l2_weights and discount chosen by cross-validation."""

from typing import Any, NamedTuple, Self

import numpy as np

from dropglm import checks
from dropglm.blocks import block_count
from dropglm.estimators.blend import Priors
from dropglm.estimators.choice import best_candidate, beyond_edge
from dropglm.estimators.cv_results import results_table
from dropglm.estimators.features import Features
from dropglm.estimators.fold_fits import FoldFits
from dropglm.estimators.folds import folds_from
from dropglm.estimators.grid import Candidate, candidates_of, grids_of, l2_weights_grid, noises_of
from dropglm.estimators.held_out import HeldOut
from dropglm.estimators.held_out_rows import HeldOutRows
from dropglm.estimators.l2_weights import counts_unlabeled
from dropglm.estimators.linear_model import LogisticModel, SparsifyMixin
from dropglm.estimators.logistic import LogisticRegression, fits_jointly
from dropglm.estimators.race import Race
from dropglm.estimators.rounds import Round, smallest_counted
from dropglm.estimators.scoring import row_scorer_of, scorer_from
from dropglm.estimators.search import Search
from dropglm.estimators.validation import check_classification, check_settings
from dropglm.estimators.warning import warn_unless_all_converged
from dropglm.families import Logistic, Multinomial
from dropglm.noising import expectation_from, training_penalty
from dropglm.progress import Progress

# The grid of l2 is continued up to this factor beyond its edge.
REACH = 10.0


class Searched(NamedTuple):
    """A search that is done, and what the final fit needs."""

    search: Search
    best: int | None  # number of the best candidate; None if all of them lost to a rival
    rows: tuple[Any, ...]  # the arguments of the final fit
    joint: bool
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


class LogisticRegressionCV(SparsifyMixin, LogisticModel):
    """Logistic regression with noise, l2, l2_weights and discount chosen by cross-validation.

    Each of these settings takes a grid of values or a single one. If X is Blocks, a value may be a PerBlock,
    which is one value and not a grid. Labelled rows are split into folds; unlabelled rows are used in the fit
    of every fold. The grid is traversed along paths from strong to weak penalties, where each fit starts from
    previous ones, and ``n_jobs`` threads work on paths, folds and classes in parallel, on one copy of X.
    Settings that can hardly become the best drop out after the first folds, and the best settings are fitted
    to all rows. With ``calibrate`` and ``naive_bayes``, the predictors of each candidate are scaled and
    blended with those of naive Bayes before they are scored.

    Parameters
    ----------
    dropout : float, Noise, PerBlock or sequence of these, default=(0.7, 0.5, 0.3)
        Probability that a feature is dropped from a row.
    noise_std : float >= 0, PerBlock or sequence of these, default=0.0
        Standard deviation of Gaussian noise added to every feature.
    l2 : float or sequence of float, default=(3.0, 1.0, 0.3)
        λ of the penalty ½λ‖β‖², added to the summed objective.
    expectation : {"gaussian", "exact", "quadratic", "monte_carlo"}, default="gaussian"
        How the expectation over the noise is computed; see ``LogisticRegression``.
    discount : float or sequence of float, default=(1.0, 0.1)
        α, the weight of an unlabelled row in the noise penalty relative to a labelled one. Only one value is
        tried if there are no unlabelled rows, since it has no effect then.
    l2_weights : "auto", str, float, array-like of shape (d,), PerBlock, or a sequence, default="auto"
        How l2 is spread over the features; see ``LogisticRegression``. "auto" tries "uniform" and, if no
        feature is negative, "naive_bayes"; if X is Blocks, for the blocks without negative features.
    cv : int, splitter, iterable or None, default=None
        As in scikit-learn; an int is the number of stratified folds of consecutive rows. None means five; if
        the number of rows times that of classes is at most 400, they are shuffled and drawn two to four
        times. A class may have fewer rows than there are folds, if the score is a mean over rows (log loss or
        accuracy); its only row is never held out. For groups pass the splits themselves,
        ``list(GroupKFold(5).split(X, y, groups))``.
    scoring : str, callable or None, default="neg_log_loss"
        A scorer of scikit-learn; None means accuracy. A callable is given the predictors of the held-out rows
        instead of X, and a model that returns them unchanged.
    extend_l2 : bool, default=True
        Whether to try values below the smallest of several values of l2 while the smallest is clearly the
        best, down to a tenth of it. Without ``calibrate``, which can also shrink the predictors, larger
        values are tried in the same way, up to ten times the largest.
    one_standard_error : bool, default=False
        Among the settings whose mean score is within one standard error of the best, with the best l2_weights
        and discount, choose the largest dropout and then the largest l2.
    race : bool, default=True
        Whether to stop fitting settings that can hardly become the best. After each fold, their scores of the
        held-out rows are compared with those of the best settings so far; settings drop out if they would be
        more than one standard error of the score behind after all folds, but for a chance of 1 in 700. It has
        no effect with fewer than 100 held-out rows in half of the folds, or if the score is not the log loss
        or the accuracy.
    calibrate : bool, default=True
        Whether to multiply the predictors by the factor that minimises the log loss of held-out rows, before
        they are scored. The factor is at least 0.15, and with few rows it stays near 1. It corrects the
        probabilities, which noise moves towards equal ones. With this or ``naive_bayes``, more than two
        classes have the probabilities softmax(η), also if they are fitted one against the rest.
    naive_bayes : bool, default=False
        Whether to add naive Bayes' log ratios to the coefficients, times the factor that minimises the log
        loss of held-out rows. Features must not be negative. It helps with few labels. If X is Blocks, only
        the first block has such ratios.
    rounds : int, default=0
        Number of rounds in which naive Bayes also counts the unlabelled rows, with the labels that the model
        predicts for them; only with ``naive_bayes`` and ``X_unlabeled``. They end when the log loss of
        held-out rows grows by more than its standard error.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is neither noised nor penalised.
    multi_class : {"auto", "multinomial", "ovr"}, default="auto"
        Whether more than two classes are fitted in one model; see ``LogisticRegression``.
    class_weight : dict, "balanced" or None, default=None
        Factors of the sample weights, by class; "balanced" refers to all rows, not to those of a fold.
    tol : float, default=1e-4
        Tolerance of the final fit; fits of the search stop at 3e-2, within about 1e-3 of the minimum.
    max_iter : int, default=200
        Maximum number of iterations of the solver, per fit.
    n_jobs : int, default=None
        Number of threads; None means 1, -1 all cores.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the noised copies, for "monte_carlo".
    verbose : int, default=0
        Show progress on standard error unless 0.

    Attributes
    ----------
    dropout_, noise_std_, l2_, l2_weights_, discount_
        The chosen settings.
    best_params_ : dict
        The same five.
    best_score_ : float
        The mean score over the folds of the model with these settings, after all rounds.
    best_scores_ : ndarray of shape (folds,)
        The same score, fold by fold.
    best_index_ : int
        The row of these settings in ``cv_results_``, whose scores are those before any rounds.
    best_estimator_ : LogisticRegression
        The model fitted to all rows; ``coef_`` is scale_ times the coefficients that minimise its objective,
        plus naive_bayes_ times naive Bayes' log ratios.
    scale_, naive_bayes_ : float
        These two factors; 1 and 0 without ``calibrate`` and ``naive_bayes``.
    rounds_ : list of Blend
        The same two factors, ``scale`` and ``naive_bayes``, of every round that was kept: the coefficients
        are multiplied by the first, and the ratios of that round are added, times the second.
    cv_probabilities_ : ndarray of shape (n, K)
        Probabilities of each labelled row when it was held out; NaN if it never was.
    l2_at_edge_ : bool
        Whether the chosen l2 is at the edge of several values that were tried, and clearly better than the
        next, so that a value beyond the edge may be better still.
    cv_results_ : dict of ndarrays
        One row per point of the grid, as in scikit-learn's GridSearchCV, including values of l2 beyond the
        grid that were tried; "scale" and "naive_bayes" are the factors of each, and "accuracy" is the
        share of held-out rows that it predicts correctly. All are those before any rounds. "folds_fitted" is
        the number of folds that a point was fitted to. If it dropped out of the race, scores of the other
        folds are NaN, its mean score and its accuracy are those of the best point plus the mean difference
        over the folds that it was fitted to, and it ranks behind all points that did not drop out.
    classes_, coef_, intercept_, n_iter_, multi_class_, result_
        Those of ``best_estimator_``; see ``LogisticRegression``.
    coef_blocks_ : list of ndarrays
        The coefficients of each block, as views of ``coef_``; only one if X is a single matrix.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, if X has string column names.

    See Also
    --------
    LogisticRegression : The same model with fixed settings.
    TextClassifier : Does this search for texts.

    Examples
    --------
    >>> import numpy as np
    >>> from dropglm import LogisticRegressionCV
    >>> rng = np.random.default_rng(0)
    >>> X = (rng.random((200, 30)) < 0.3).astype(float)
    >>> y = X[:, :5].sum(axis=1) > X[:, 5:10].sum(axis=1)
    >>> model = LogisticRegressionCV(dropout=(0.5, 0.3), l2=(1.0, 0.1), cv=3).fit(X, y, X_unlabeled=X[:50])
    >>> model.dropout_, model.l2_, model.l2_weights_
    (0.3, 0.1, 'naive_bayes')
    """

    # Priors of the factors of the blend; None means those for this number of blocks.
    _priors: Priors | None = None

    def __init__(
        self,
        dropout: Any = (0.7, 0.5, 0.3),
        noise_std: Any = 0.0,
        l2: Any = (3.0, 1.0, 0.3),
        expectation: Any = "gaussian",
        discount: Any = (1.0, 0.1),
        *,
        l2_weights: Any = "auto",
        cv: Any = None,
        scoring: Any = "neg_log_loss",
        extend_l2: bool = True,
        one_standard_error: bool = False,
        race: bool = True,
        calibrate: bool = True,
        naive_bayes: bool = False,
        rounds: int = 0,
        fit_intercept: bool = True,
        multi_class: str = "auto",
        class_weight: Any = None,
        tol: float = 1e-4,
        max_iter: int = 200,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.dropout = dropout
        self.noise_std = noise_std
        self.l2 = l2
        self.expectation = expectation
        self.discount = discount
        self.l2_weights = l2_weights
        self.cv = cv
        self.scoring = scoring
        self.extend_l2 = extend_l2
        self.one_standard_error = one_standard_error
        self.race = race
        self.calibrate = calibrate
        self.naive_bayes = naive_bayes
        self.rounds = rounds
        self.fit_intercept = fit_intercept
        self.multi_class = multi_class
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        X_unlabeled: Any = None,
        unlabeled_weight: Any = None,
    ) -> Self:
        """Choose the settings by cross-validation, and fit the model with them to all rows.

        Parameters
        ----------
        X : array-like, sparse or Blocks of shape (n, d)
            Features, float32 or float64; never modified.
        y : array-like of shape (n,)
            Labels of any type; -1 is a class like any other.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows, in the fits and, if the scorer supports them, in the scores.
        X_unlabeled : array-like, sparse or Blocks of shape (m, d), default=None
            Rows without labels, which are used in the fit of every fold.
        unlabeled_weight : array-like of shape (m,), default=None
            Weights of the unlabelled rows.

        Returns
        -------
        self
            The fitted model.
        """
        return self._finish(self._search(X, y, sample_weight, X_unlabeled, unlabeled_weight))

    def _search(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        X_unlabeled: Any = None,
        unlabeled_weight: Any = None,
        rival: Searched | None = None,
    ) -> Searched:
        """Fit the candidates to the folds, and choose one.

        A ``rival`` is the search with other features of the same rows: candidates that lose to its best one
        drop out, if the folds are the same.
        """
        # Check.
        check_settings(self, grids=("l2", "discount"))
        method, blocks = expectation_from(self.expectation), block_count(X)
        grids = grids_of(self, blocks)
        scorer, row_scorer = scorer_from(self.scoring, self), row_scorer_of(self.scoring)
        data = check_classification(self, X, y, sample_weight, X_unlabeled, unlabeled_weight)
        folds = folds_from(self.cv, data, every_class=row_scorer is None)

        # Build the grid.
        noises = noises_of(grids, blocks)
        noisy = any(one.noise.parts for one in noises)
        joint = fits_jointly(self.multi_class, len(data.classes), method, noisy=noisy)
        family = Multinomial if joint else Logistic
        # One penalty per noise, so that its points share the copies where the penalty is sampled.
        penalties = [training_penalty(method, family, one.noise, self.random_state) for one in noises]
        # Unlabelled rows without a part in the fits would only add features that stay 0.
        if not (any(grids["discount"]) or counts_unlabeled(self.l2_weights)):
            X_unlabeled = unlabeled_weight = None
        in_fits = data.X_unlabeled if X_unlabeled is not None else None
        features = Features(data.X, in_fits, checks.threads(self.n_jobs))
        if self.naive_bayes and features.labeled.blocks[0].design.smallest < 0.0:
            raise ValueError("naive_bayes=True needs non-negative features; use naive_bayes=False.")
        counts_predicted = bool(self.rounds and self.naive_bayes and data.X_unlabeled is not None)
        if counts_predicted and smallest_counted(data.X_unlabeled) < 0.0:
            raise ValueError("rounds needs non-negative features in X_unlabeled; use rounds=0.")
        l2_weights = l2_weights_grid(self.l2_weights, features)
        candidates = candidates_of(grids, noises, penalties, l2_weights, features)

        # Search; while the best l2 is at the edge of the grid, go on beyond it.
        rows = HeldOutRows(features, folds)
        # The fits from which those beyond the edge start.
        edges = {min(grids["l2"])} if self.calibrate else {min(grids["l2"]), max(grids["l2"])}
        fits = FoldFits(
            data,
            rows,
            joint=joint,
            fit_intercept=self.fit_intercept,
            keeps=lambda one: (
                counts_predicted or (self.extend_l2 and (one.params["l2"] in edges or one.after is not None))
            ),
        )
        held_out = HeldOut(
            data,
            rows,
            scorer,
            row_scorer,
            joint=joint,
            weighted=sample_weight is not None,
            calibrate=self.calibrate,
            naive_bayes=self.naive_bayes,
            priors=self._priors,
        )
        race = None
        if self.race and row_scorer is not None:
            race = Race(
                folds,
                held_out.score_weights,
                one_standard_error=self.one_standard_error,
                rival=None if rival is None else rival.row_scores_of(held_out.rows),
            )
        search = Search(fits, held_out, race)
        limits = min(grids["l2"]) / REACH, max(grids["l2"]) * (1.0 if self.calibrate else REACH)
        best: int | None = None
        while candidates:
            search.run(candidates, tol=self.tol, max_iter=self.max_iter, shown=bool(self.verbose))
            scores = np.array([outcome.scores for outcome in search.outcomes])
            if search.all_dropped_out:
                break
            best = best_candidate(search.grid, scores, one_standard_error=self.one_standard_error)
            candidates = beyond_edge(search.grid, scores, best, limits) if self.extend_l2 else []
        search.release(set(range(len(search.grid))).difference({best}))
        converged = [fit.converged for outcome in search.outcomes for fit in outcome.fits]
        warn_unless_all_converged(converged, self.max_iter)
        given = X, y, sample_weight, X_unlabeled, unlabeled_weight
        return Searched(search, best, given, joint, counts_predicted)

    def _finish(self, searched: Searched) -> Self:
        """Fit the best settings to all rows, and set all fitted attributes."""
        search, best = searched.search, searched.best
        assert best is not None
        data, features, held_out = search.fits.data, search.fits.features, search.held_out
        results = results_table(search, best)

        # Fit the best settings to all rows, and blend.
        shared = LogisticRegression().get_params().keys() & self.get_params().keys()
        settings = {name: getattr(self, name) for name in shared} | results["params"][best]
        settings |= {"multi_class": "multinomial" if searched.joint else "ovr", "verbose": 0}
        model = LogisticRegression(**settings)
        model.fit(*searched.rows)
        _, blend, eta, best_scores, _ = search.outcomes[best]
        if self.calibrate or self.naive_bayes:
            ratios = features.expand(held_out.naive_bayes_ratios(data.weights)) if self.naive_bayes else None
            blend.apply_to(model, ratios)

        # Blend in naive Bayes of the unlabelled rows, with predicted labels.
        rounds: list[Round] = []
        if searched.counts_predicted and 0 not in search.grid[best].l2_weights.left_out:
            with Progress("Rounds of naive Bayes", shown=bool(self.verbose)):
                predictors = search.predict(data.X_unlabeled, best)
                coef = np.ascontiguousarray(model.coef_.T)
                predictors.append(data.X_unlabeled @ coef + model.intercept_)
                rounds = search.rounds().run(self.rounds, eta, predictors)
            for one in rounds:
                one.blend.apply_to(model, one.ratios.T)
        if rounds:
            eta = rounds[-1].eta
            best_scores = held_out.scores(eta)

        # Store.
        scores = np.array([outcome.scores for outcome in search.outcomes])
        names = ("classes_", "coef_", "intercept_", "n_iter_", "multi_class_", "result_")
        self._set_fitted(
            best_estimator_=model,
            best_params_=results["params"][best],
            best_score_=float(best_scores.mean()),
            best_scores_=best_scores,
            best_index_=best,
            cv_results_=results,
            cv_probabilities_=held_out.probabilities(eta),
            scale_=blend.scale,
            naive_bayes_=blend.naive_bayes,
            rounds_=[one.blend for one in rounds],
            l2_at_edge_=bool(beyond_edge(search.grid, scores, best)),
            **{f"{name}_": value for name, value in results["params"][best].items()},
            **{name: getattr(model, name) for name in names},
            **data.feature_attributes,
        )
        return self

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the score of the predictions for X by ``scoring``.

        Parameters
        ----------
        X : array-like, sparse or Blocks of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), default=None

        Returns
        -------
        float
        """
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(scorer_from(self.scoring, self)(self, X, y, **weights))
