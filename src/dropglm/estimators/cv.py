"""Dropout, ridge and discount chosen by cross-validation."""

import warnings
from itertools import product
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring

from dropglm import checks
from dropglm.estimators.base import outside
from dropglm.estimators.classifier import LogisticRegression
from dropglm.estimators.features import Features
from dropglm.estimators.logistic_model import Checked, LogisticModel
from dropglm.estimators.search import Candidate, Search, chosen, folds_from, table
from dropglm.noising import noise_from


class LogisticRegressionCV(LogisticModel):
    """Logistic regression whose dropout, ridge and discount are chosen by cross-validation.

    Every setting that has a grid takes a number (or a name) as well, which is a grid of one. Labelled rows
    are split into folds; unlabelled rows join the fit of every fold. The grid is walked along paths from
    strong to weak penalties, each fit starting where the last one ended, and ``n_jobs`` threads walk paths
    and folds at the same time over one copy of X. The chosen point is then fitted to all rows.

    Parameters
    ----------
    dropout : float or sequence of float
        Probability with which a feature is dropped from a row.
    noise_std : float >= 0
        Standard deviation of normal noise that is added to every feature.
    l2 : float or sequence of float
        λ of the ridge ½λ‖β‖² beside the noising penalty.
    expectation : {"gaussian", "exact", "quadratic", "monte_carlo"}
        As for ``LogisticRegression``.
    discount : float or sequence of float
        α, how much an unlabelled row counts in the penalty compared with a labelled one. Without unlabelled
        rows it does not matter, and one value is tried.
    l2_weights : "auto", name, array-like of shape (d,), or a sequence of names and arrays
        How l2 is spread over the features, as for ``LogisticRegression``; "auto" tries "uniform" and, where
        no feature is negative, "naive_bayes".
    cv : int, splitter or iterable
        As everywhere in scikit-learn; a number is that of stratified folds. For groups pass the splits
        themselves, ``list(GroupKFold(5).split(X, y, groups))``.
    scoring : str, callable or None
        A scorer of scikit-learn; None is accuracy. It sees predictions only: in place of X a callable gets
        the predictors of the rows held out, and in place of the model one that passes them on.
    one_standard_error : bool
        With the best ridge and discount, take the largest dropout, and the largest l2 with it, whose score is
        within a standard error of the best.
    fit_intercept, multi_class, class_weight, max_iter, random_state
        As for ``LogisticRegression``; "balanced" is about all rows, not those of a fold.
    tol : float
        For the last fit; those of the search stop at 3e-2, which leaves 1e-3 of the objective to gain.
    n_jobs : int, optional
        Threads; None is 1, -1 all cores.
    verbose : int
        Show a progress bar unless 0.

    Attributes
    ----------
    dropout_, l2_, l2_weights_, discount_
        What was chosen.
    best_params_ : dict
        The same four.
    best_score_ : float
        Their mean score over the folds.
    best_index_ : int
        Their place in ``cv_results_``.
    best_estimator_ : LogisticRegression
        The model that was fitted to all rows.
    cv_results_ : dict of arrays
        A line for each point of the grid, as in scikit-learn's GridSearchCV.
    classes_, coef_, intercept_, n_iter_, multi_class_, result_, n_features_in_, feature_names_in_
        Those of the last fit; see ``LogisticRegression``.

    Examples
    --------
    >>> import numpy as np
    >>> from dropglm import LogisticRegressionCV
    >>> rng = np.random.default_rng(0)
    >>> X = (rng.random((200, 30)) < 0.3).astype(float)
    >>> y = X[:, :5].sum(axis=1) > X[:, 5:10].sum(axis=1)
    >>> model = LogisticRegressionCV(l2=(1.0, 0.1), cv=3).fit(X, y, X_unlabeled=X[:50])
    >>> model.dropout_, model.l2_, model.l2_weights_
    (0.4, 0.1, 'naive_bayes')
    """

    def __init__(
        self,
        dropout: Any = (0.8, 0.6, 0.4),
        noise_std: float = 0.0,
        l2: Any = (10.0, 3.0, 1.0, 0.3, 0.1),
        expectation: str = "gaussian",
        discount: Any = (1.0, 0.2),
        *,
        l2_weights: Any = "auto",
        cv: Any = 5,
        scoring: Any = "accuracy",
        one_standard_error: bool = False,
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
        self.one_standard_error = one_standard_error
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
        """Choose among the grid's points by cross-validation, and fit the chosen one to all rows.

        Parameters
        ----------
        X : array-like or sparse of shape (n, d)
            Features, float32 or float64; never written to.
        y : array-like of shape (n,)
            Labels of any type, all of them labels: -1 is a class like any other.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows, in the fits and, where the scorer takes them, in the scores.
        X_unlabeled : array-like or sparse of shape (m, d), optional
            Rows without labels; they join the fit of every fold.
        unlabeled_weight : array-like of shape (m,), optional
            Weights of those rows.

        Returns
        -------
        self
        """
        self._check_solver()
        grids = self._grids()
        if not isinstance(self.one_standard_error, (bool, np.bool_)):
            raise TypeError(f"one_standard_error must be True or False, got {self.one_standard_error!r}.")
        data = self._checked(X, y, sample_weight, X_unlabeled, unlabeled_weight)
        folds = folds_from(self.cv, data)
        threads = checks.threads(self.n_jobs)
        features = Features(data.X, data.X_unlabeled, threads)
        ridges = self._ridges(features)
        grid = self._points(grids, len(ridges), features)
        noisy = any(noise_from(point.dropout, self.noise_std).parts for point in grid)
        problems = self._problems(data, features, noisy=noisy)
        family = "multinomial" if problems[0].family.several else "logistic"
        # Made once, so that candidates of the same dropout have the same copies where the penalty is sampled.
        penalties = {dropout: self._penalty(family, dropout) for dropout in grids["dropout"]}
        search = Search(
            data,
            features,
            problems,
            penalties,
            [self._ridge(ridge, features) for ridge in ridges],
            folds,
            self._scorer(),
            weighted=sample_weight is not None,
        )
        outcomes = search.run(
            grid, tol=self.tol, max_iter=self.max_iter, threads=threads, shown=bool(self.verbose)
        )
        self._warn_of_the_search(outcomes)
        self.cv_results_ = table(grid, ridges, outcomes)
        self.best_index_ = chosen(grid, outcomes["score"], one_standard_error=self.one_standard_error)
        self.best_params_ = self.cv_results_["params"][self.best_index_]
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        for name, value in self.best_params_.items():
            setattr(self, f"{name}_", value)
        return self._refit(data, features)

    def _refit(self, data: Checked, features: Features) -> Self:
        """Fit the best candidate to all rows."""
        shared = LogisticRegression().get_params().keys() & self.get_params().keys()
        settings = {name: getattr(self, name) for name in shared} | self.best_params_
        # What "auto" stood for in the search, whatever it would stand for by itself.
        settings |= {"multi_class": self.multi_class_, "verbose": 0}
        self.best_estimator_ = LogisticRegression(**settings)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(self.best_estimator_, name, getattr(self, name))
        self.best_estimator_._train(data, features)
        for name in ("classes_", "coef_", "intercept_", "n_iter_", "result_"):
            setattr(self, name, getattr(self.best_estimator_, name))
        return self

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The score of the predictions for X by ``scoring``."""
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(self._scorer()(self, X, y, **weights))

    def _scorer(self) -> Any:
        if isinstance(self.scoring, (list, tuple, set, dict)):
            raise TypeError(f"scoring must be one scorer, got {self.scoring!r}.")
        return check_scoring(self, scoring="accuracy" if self.scoring is None else self.scoring)

    def _grids(self) -> dict[str, list[float]]:
        """The values of dropout, l2 and discount, strong ones first; one number is a grid of one."""
        grids: dict[str, list[float]] = {}
        for name in ("dropout", "l2", "discount"):
            given = getattr(self, name)
            values: list[Any] = list(given) if np.iterable(given) and not isinstance(given, str) else [given]
            if not values:
                raise ValueError(f"{name} is an empty grid; give at least one value.")
            for value in values:
                if name == "dropout":
                    noise_from(value, self.noise_std)
                else:
                    checks.not_negative(value, name)
            grids[name] = sorted(values, reverse=True)
        return grids

    def _ridges(self, features: Features) -> list[Any]:
        """The ridges: a name or an array of numbers is a grid of one, "auto" all that can be done."""
        if isinstance(self.l2_weights, str):
            auto = ["uniform"] if features.labeled.smallest < 0.0 else ["uniform", "naive_bayes"]
            return auto if self.l2_weights == "auto" else [self.l2_weights]
        given: list[Any] = list(self.l2_weights) if np.iterable(self.l2_weights) else []
        if not given:
            raise TypeError(
                f"l2_weights must be a name, an array or a sequence of these, got {self.l2_weights!r}."
            )
        return given if any(np.iterable(item) for item in given) else [self.l2_weights]

    def _points(self, grids: dict[str, list[float]], n_ridges: int, features: Features) -> list[Candidate]:
        """The grid's points, path by path, strong penalties first."""
        # Without unlabelled rows there is nothing to discount.
        discounts = grids["discount"] if features.unlabeled is not None else grids["discount"][:1]
        axes = (range(n_ridges), discounts, grids["dropout"], grids["l2"])
        return [Candidate(dropout, l2, ridge, discount) for ridge, discount, dropout, l2 in product(*axes)]

    def _warn_of_the_search(self, outcomes: dict[str, np.ndarray]) -> None:
        failed, fits = int((outcomes["converged"] == 0).sum()), outcomes["converged"].size
        if failed:
            warnings.warn(
                f"{failed} of the {fits} fits of the search did not converge within {self.max_iter} "
                "iterations; raise max_iter or leave weak penalties out of the grid.",
                ConvergenceWarning,
                stacklevel=outside(),
            )
