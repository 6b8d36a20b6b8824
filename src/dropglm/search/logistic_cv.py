"""Logistic regression with noise, l2, l2_weights and discount chosen by cross-validation."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

from dropglm.linear.base import LogisticModel, SparsifyMixin
from dropglm.linear.validation import check_classification, check_settings
from dropglm.places.rows import TrainingRows, rows_of
from dropglm.search.scoring import scorer_from
from dropglm.search.search import Search, fit_best, search_settings


@dataclass(eq=False, repr=False)
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
        Strength λ of the penalty ½λ‖β‖², added to the summed objective.
    expectation : {"gaussian", "exact", "quadratic", "monte_carlo"}, default="gaussian"
        How the expectation over the noise is computed; see ``LogisticRegression``.
    discount : float or sequence of float, default=(1.0, 0.1)
        Weight α of an unlabelled row in the noise penalty relative to a labelled one. Only one value is
        tried if there are no unlabelled rows, since it has no effect then.
    l2_weights : "auto", str, float, array-like of shape (d,), PerBlock, or a sequence, default="auto"
        How l2 is spread over the features; see ``LogisticRegression``. "auto" tries "uniform" and, if no
        feature is negative, "naive_bayes"; if X is Blocks, for the blocks without negative features.
    cv : int, splitter, iterable or None, default=None
        As in scikit-learn; an int is the number of stratified folds of consecutive rows. None means five; if
        the number of rows times that of classes is at most 400, they are shuffled and drawn two to four
        times. A class may have fewer rows than there are folds, if the score is a mean over rows (log loss or
        accuracy); its only row is never held out. Rows of a group, if ``fit`` is given groups, are held out
        together; the only group of a class is never held out. A splitter is given the groups.
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
        no effect if half of the folds hold out fewer than 100 rows and not all of them once, or if the score
        is not the log loss or the accuracy.
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
        held-out rows grows by more than its standard error, when nothing changes any more, or after 1,000.
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
    device : {"cpu", "cuda"} or None, default=None
        Where to fit: "cuda" is an NVIDIA GPU, which needs the extra ``cuda``; None is where X is. If X is a
        matrix of CuPy, so are ``coef_``, ``intercept_`` and predictions.
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
        The mean score over the folds of the model with these settings, after all rounds. The factors of a
        fold are fitted to rows of the other folds, and what the choice of the settings has gained is
        subtracted, so that the score is about that of new rows.
    best_scores_ : ndarray of shape (folds,)
        The same score, fold by fold.
    best_index_ : int
        The row of these settings in ``cv_results_``, whose scores are those before any rounds, with the
        factors of all held-out rows.
    best_estimator_ : LogisticRegression
        The model fitted to all rows; ``coef_`` is ``scale_`` times the coefficients that minimise its
        objective, plus ``naive_bayes_`` times naive Bayes' log ratios.
    scale_, naive_bayes_ : float
        These two factors; 1 and 0 without ``calibrate`` and ``naive_bayes``.
    rounds_ : list of Blend
        The same two factors, ``scale`` and ``naive_bayes``, of every round that was kept: the coefficients
        are multiplied by the first, and the ratios of that round are added, times the second.
    cv_probabilities_ : ndarray of shape (n, K)
        Probabilities of each labelled row when it was held out, with factors that were fitted to rows of
        other folds; NaN if it never was.
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

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"groups": True}
    _has_checkpoints = False
    _takes_several_labels: ClassVar[bool] = True

    dropout: Any = (0.7, 0.5, 0.3)
    noise_std: Any = 0.0
    l2: Any = (3.0, 1.0, 0.3)
    expectation: Any = "gaussian"
    discount: Any = (1.0, 0.1)
    _: KW_ONLY
    l2_weights: Any = "auto"
    cv: Any = None
    scoring: Any = "neg_log_loss"
    extend_l2: bool = True
    one_standard_error: bool = False
    race: bool = True
    calibrate: bool = True
    naive_bayes: bool = False
    rounds: int = 0
    fit_intercept: bool = True
    multi_class: str = "auto"
    class_weight: Any = None
    tol: float = 1e-4
    max_iter: int = 200
    n_jobs: int | None = None
    device: str | None = None
    random_state: Any = None
    verbose: int = 0

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        X_unlabeled: Any = None,
        unlabeled_weight: Any = None,
        groups: Any = None,
        *,
        label_probabilities: Any = None,
    ) -> Self:
        """Choose the settings by cross-validation, and fit the model with them to all rows.

        Parameters
        ----------
        X : array-like, sparse or Blocks of shape (n, d)
            Features, float32 or float64; never modified.
        y : array-like of shape (n,), or lists of labels, or indicator matrix of shape (n, K), or None
            Labels of any type; -1 is a class like any other. A list of labels per row, or a matrix of 0 and
            1, dense or sparse, means that a row has any number of labels, or none.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows, in the fits and, if the scorer supports them, in the scores.
        X_unlabeled : array-like, sparse or Blocks of shape (m, d), default=None
            Rows without labels, which are used in the fit of every fold.
        unlabeled_weight : array-like of shape (m,), default=None
            Weights of the unlabelled rows.
        groups : array-like of shape (n,), default=None
            Labels of any type, such as the author of each row: rows with the same label are held out
            together. Otherwise scores are too good if rows of a group resemble each other.
        label_probabilities : array-like of shape (n, K), mapping or data frame, default=None
            As in ``LogisticRegression``.

        Returns
        -------
        self
            The fitted model.
        """
        given = X, y, sample_weight, X_unlabeled, unlabeled_weight, groups, label_probabilities
        return self._finish(self._search(*given))

    def _search(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        X_unlabeled: Any = None,
        unlabeled_weight: Any = None,
        groups: Any = None,
        label_probabilities: Any = None,
        **options: Any,
    ) -> Search:
        """Fit the candidates to the folds, and choose one; ``options`` are those of ``search_settings``."""
        given = X, y, sample_weight, X_unlabeled, unlabeled_weight, groups, label_probabilities
        return self._search_rows(rows_of(self, check_classification(self, *given)), **options)

    def _search_rows(self, rows: TrainingRows, **options: Any) -> Search:
        """Search the settings for rows, wherever they are."""
        self._check_settings()
        return search_settings(self, rows, **options)

    def _check_settings(self) -> None:
        check_settings(self, grids=("l2", "discount"))

    def _fit_to(self, rows: TrainingRows) -> Self:
        """Choose the settings, and fit the model with them, for rows wherever they are."""
        return self._finish(self._search_rows(rows))

    def _finish(self, search: Search) -> Self:
        """Fit the best settings to all rows, and set all fitted attributes."""
        fit_best(self, search)
        return self

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the score of the predictions for X by ``scoring``.

        Parameters
        ----------
        X : array-like, sparse or Blocks of shape (n, d)
            Features.
        y : array-like of shape (n,), or lists of labels, or indicator matrix of shape (n, K)
            Labels.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows.

        Returns
        -------
        float
            The score; larger is better.
        """
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(scorer_from(self.scoring, self)(self, X, self._as_predicted(y), **weights))
