"""Regression of numbers and of counts."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin

from dropglm import checks
from dropglm.estimators.base import LinearModel, without_empty_rows
from dropglm.estimators.callbacks import CallbackSupportMixin, Tasks, with_callbacks
from dropglm.estimators.features import Features
from dropglm.estimators.problem import Problem
from dropglm.families import FAMILIES
from dropglm.penalties.ridges import RIDGES


class _Regressor(CallbackSupportMixin, RegressorMixin, LinearModel):
    """A generalized linear model of one number a row."""

    family: ClassVar[str]

    def __init__(
        self,
        dropout: float = 0.5,
        noise_std: float = 0.0,
        l2: float = 1.0,
        expectation: str = "gaussian",
        discount: float = 0.1,
        *,
        l2_weights: Any = "uniform",
        fit_intercept: bool = True,
        tol: float = 1e-4,
        max_iter: int = 200,
        warm_start: bool = False,
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
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        X_unlabeled: Any = None,
        unlabeled_weight: Any = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or sparse of shape (n, d)
            Features, float32 or float64; never written to.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            Weights of the rows, in the loss and in the noising penalty; a weight of 2 is the row twice.
        X_unlabeled : array-like or sparse of shape (m, d), optional
            Rows without labels; they help to estimate the noising penalty.
        unlabeled_weight : array-like of shape (m,), optional
            Weights of those rows.

        Returns
        -------
        self
        """
        self._check_settings()
        penalty = self._penalty(self.family, self.dropout)
        threads = checks.threads(self.n_jobs)
        X, X_unlabeled, unlabeled_weights = self._checked_features(X, X_unlabeled, unlabeled_weight)
        n = X.shape[0]
        y = checks.numbers(self._checked_target(y, n), "y")
        weights = checks.weights(sample_weight, n)
        checks.some_weight(weights)
        X, weights, y = without_empty_rows(X, weights, y)
        self._check_reachable(y)
        features = Features(X, X_unlabeled, threads)
        # A ridge that looks at classes has nothing to look at here.
        ridge = self._ridge(self.l2_weights, features, {"uniform": RIDGES["uniform"]})
        family = FAMILIES[self.family]
        problem = Problem(features, family, y[:, None], weights, unlabeled_weights, self.fit_intercept)
        tasks = Tasks(self, {"X": X, "y": y, "metadata": {"sample_weight": weights}}, 1, self.max_iter)
        spread = problem.spread(ridge)
        (beta, intercept), result = self._solve(
            problem, penalty, ridge, spread, tasks, slice(None), _attributes
        )
        self.__dict__.update(_attributes(features.given_back(beta), intercept))
        self.n_iter_ = result.n_iter
        self.result_ = result
        self._warn([result])
        tasks.end()
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The mean of y given X; (n,)."""
        return FAMILIES[self.family].mean(self._scores(X)[:, 0])

    def _check_reachable(self, y: np.ndarray) -> None:
        """Refuse a y that the family cannot have."""


def _attributes(coef: np.ndarray, intercept: np.ndarray) -> dict[str, Any]:
    return {"coef_": coef[0], "intercept_": float(intercept[0])}


class LinearRegression(_Regressor):
    """Linear regression with feature noise integrated out.

    Minimises ½ Σ_i w_i (y_i - η_i)² + R(β) + ½ l2 ‖β‖², where R(β) = ½ Σ_i w_i s_i² is what noise adds to the
    loss on average, s_i² the variance of the noised predictor. For dropout that is a ridge scaled by each
    feature's sum of squares. Unlabelled rows help to estimate those.

    Parameters
    ----------
    dropout : float in [0, 1)
        Probability with which a feature is dropped from a row.
    noise_std : float >= 0
        Standard deviation of normal noise that is added to every feature.
    l2 : float >= 0
        λ of the ridge ½λ‖β‖² beside the noising penalty, on the summed objective. With dropout = 0 it is the
        alpha of scikit-learn's Ridge.
    expectation : {"gaussian", "exact", "quadratic", "monte_carlo"}
        The first three are the same thing here; the last averages over 100 noised copies of the rows.
    discount : float >= 0
        α, how much an unlabelled row counts in the penalty compared with a labelled one.
    l2_weights : "uniform" or array-like of shape (d,)
        How l2 is spread over the features.
    fit_intercept : bool
        Whether there is an intercept, which is neither noised nor penalised.
    tol : float
        Stop when the relative norm of the gradient (``result_.gradient_norm``) is below this.
    max_iter : int
    warm_start : bool
        Start from the coefficients of the last fit.
    n_jobs : int, optional
        Threads; None is 1, -1 all cores.
    random_state : int, RandomState, Generator or None
        Seed of the copies, for monte_carlo.
    verbose : int
        Print every tenth iteration unless 0.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        In X's dtype.
    intercept_ : float
    n_iter_ : int
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.
    result_ : Result
        How the minimisation went.

    Examples
    --------
    >>> from dropglm import LinearRegression
    >>> X, y = [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [2.0, 0.0]], [1.0, 3.0, 2.0, 2.0]
    >>> LinearRegression(dropout=0.0, l2=1e-6).fit(X, y).coef_.round(3)
    array([1., 2.])
    >>> LinearRegression(dropout=0.5, l2=0.0).fit(X, y).coef_.round(3)
    array([0.043, 0.348])
    """

    family = "linear"


class PoissonRegressor(_Regressor):
    """Poisson regression with feature noise integrated out.

    Minimises Σ_i w_i (e^η_i - y_i η_i + y_i log y_i - y_i) + R(β) + ½ l2 ‖β‖², where R(β) = Σ_i w_i E[e^η̃_i]
    - e^η_i is what noise on the features adds to the loss on average.

    Parameters
    ----------
    dropout : float in [0, 1)
        Probability with which a feature is dropped from a row.
    noise_std : float >= 0
        Standard deviation of normal noise that is added to every feature.
    l2 : float >= 0
        λ of the ridge ½λ‖β‖² beside the noising penalty, on the summed objective. With dropout = 0 the model
        is scikit-learn's PoissonRegressor at alpha = l2 / n, n the sum of weights.
    expectation : {"gaussian", "exact", "quadratic", "monte_carlo"}
        The predictor's noise taken as normal; no approximation; the paper's second-order expansion; the mean
        over 100 noised copies of the rows.
    discount : float >= 0
        α, how much an unlabelled row counts in the penalty compared with a labelled one.
    l2_weights : "uniform" or array-like of shape (d,)
        How l2 is spread over the features.
    fit_intercept : bool
        Whether there is an intercept, which is neither noised nor penalised.
    tol : float
        Stop when the relative norm of the gradient (``result_.gradient_norm``) is below this.
    max_iter : int
    warm_start : bool
        Start from the coefficients of the last fit.
    n_jobs : int, optional
        Threads; None is 1, -1 all cores.
    random_state : int, RandomState, Generator or None
        Seed of the copies, for monte_carlo.
    verbose : int
        Print every tenth iteration unless 0.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        In X's dtype.
    intercept_ : float
    n_iter_ : int
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.
    result_ : Result
        How the minimisation went.

    Examples
    --------
    >>> from dropglm import PoissonRegressor
    >>> X, y = [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [2.0, 0.0]], [1, 6, 4, 2]
    >>> model = PoissonRegressor(dropout=0.1, l2=0.1).fit(X, y)
    >>> model.predict(X).round(1)
    array([1.9, 4.5, 4.1, 2.1])
    """

    family = "poisson"

    def _check_reachable(self, y: np.ndarray) -> None:
        if (y < 0).any():
            raise ValueError(f"y must hold counts, but row {int(np.argmin(y))} is negative.")
        if not y.any():
            raise ValueError(
                "y is 0 in every row; the best mean would be 0, which no finite coefficients give."
            )

    def __sklearn_tags__(self) -> Any:
        """Counts, which are not negative."""
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags
