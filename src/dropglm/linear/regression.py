"""Regression of real numbers and of counts."""

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin

from dropglm.base.blocks import PerBlock
from dropglm.base.errors import InputError
from dropglm.core.families import Family, Linear, Poisson
from dropglm.core.l2_weights import l2_weights_from
from dropglm.core.noise import Noise
from dropglm.core.problem import Task, previous_coefficients
from dropglm.core.settings import expectation_from, noise_from, training_penalty
from dropglm.linear.base import CallbackSupportMixin, FitCallbacks, SparsifyMixin, with_callbacks
from dropglm.linear.convergence import warn_unless_converged
from dropglm.linear.validation import check_regression
from dropglm.places.rows import TrainingRows, rows_of


@dataclass(eq=False, repr=False)
class GeneralizedLinearRegressor(CallbackSupportMixin, RegressorMixin, SparsifyMixin):
    """Base class of regressors; a subclass names its family.

    By default the fit is nearly maximum likelihood, as in R's ``glm``: dropout is off, and l2 is tiny for
    features of ordinary scale (scale features that are far below 1, or set ``l2=0``). The noise penalty
    grows with the number of rows, like the loss, so dropout shrinks the coefficients by the same share
    however many rows there are. That suits classification, where the ranking of the classes matters most,
    but it biases the predictions of a regression. Set ``l2`` or ``dropout`` where there are many features.

    Parameters
    ----------
    dropout, noise_std, l2, expectation, discount, l2_weights, fit_intercept, tol : as in LinearRegression
        The model.
    max_iter, warm_start, n_jobs, device, random_state, verbose : as in LinearRegression
        The fit.

    Attributes
    ----------
    family : Family class
        The distribution of y.

    See Also
    --------
    LinearRegression : For real-valued targets.
    PoissonRegressor : For counts.
    dropglm.core.families.Family : What a family has.

    Examples
    --------
    >>> from dropglm.linear import GeneralizedLinearRegressor
    >>> from dropglm.core.families import Poisson
    >>> class Counts(GeneralizedLinearRegressor):
    ...     family = Poisson
    >>> Counts(l2=0.1).fit([[0.0], [1.0], [2.0]], [1, 3, 7]).predict([[1.0]]).round(1)
    array([2.8])
    """

    family: ClassVar[type[Family]]

    dropout: float | Noise | PerBlock = 0.0
    noise_std: float | PerBlock = 0.0
    l2: float = 1e-6
    expectation: Any = "gaussian"
    discount: float = 0.1
    _: KW_ONLY
    l2_weights: Any = "uniform"
    fit_intercept: bool = True
    tol: float = 1e-4
    max_iter: int = 200
    warm_start: bool = False
    n_jobs: int | None = None
    device: str | None = None
    random_state: Any = None
    verbose: int = 0

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
        X : array-like, sparse or Blocks of shape (n, d)
            Features, float32 or float64; never modified.
        y : array-like of shape (n,)
            Targets.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows, in the loss and in the noise penalty; a row of weight 2 counts like two rows.
        X_unlabeled : array-like, sparse or Blocks of shape (m, d), default=None
            Rows without targets, which improve the estimate of the noise penalty.
        unlabeled_weight : array-like of shape (m,), default=None
            Weights of the unlabelled rows.

        Returns
        -------
        self
            The fitted model.
        """
        self._check_settings()
        data = check_regression(self, X, y, sample_weight, X_unlabeled, unlabeled_weight)
        self._check_targets(data.y, data.weights)
        return self._fit_to(rows_of(self, data.without_zero_weights()))

    @property
    def _targets(self) -> str:
        return "counts" if self.family is Poisson else "numbers"

    def _fit_to(self, rows: TrainingRows) -> Self:
        """Fit the model to rows, wherever they are."""
        noise = noise_from(self.dropout, self.noise_std, rows.block_count)
        penalty = training_penalty(expectation_from(self.expectation), self.family, noise, self.random_state)
        prepared = rows.prepare(self.family, [noise], fit_intercept=self.fit_intercept)
        (problem,) = rows.problems(l2_weights_from(self.l2_weights, prepared))
        features = problem.features  # without blocks that are left out

        def attributes(beta: np.ndarray, intercept: np.ndarray) -> dict[str, Any]:
            coef = features.expand(beta)[0]
            return {"coef_": coef, "intercept_": coef.dtype.type(intercept[0])}

        solver = replace(rows.solver(self.tol, self.max_iter), threads=features.threads)
        start = previous_coefficients(self, features, (1, features.d)) if self.warm_start else None
        with FitCallbacks(self, rows.data, 1) as callbacks:
            callback = callbacks.next_problem(attributes)
            solution = Task(problem, penalty, self.l2, self.discount, start, callback).solve(solver)

            self._set_fitted(
                **attributes(solution.beta, solution.intercept),
                n_iter_=solution.result.n_iter,
                result_=solution.result,
                **rows.data.feature_attributes,
            )
        warn_unless_converged(self, [solution.result])
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the expected target of each row.

        Parameters
        ----------
        X : array-like, sparse or Blocks of shape (n, d)
            Features.

        Returns
        -------
        ndarray of shape (n,)
            Means of y.
        """
        return self.family.mean(self._snapshot()._predictors(X)[:, 0])

    def to_sklearn(self) -> Any:
        """Return the fitted model as a regressor of scikit-learn, which predicts the same without dropglm.

        It has the coefficients, but not the settings: fitted again, it is another model. If the model was
        fitted to Blocks, X must be their columns side by side.

        Returns
        -------
        sklearn.linear_model.LinearRegression or sklearn.linear_model.PoissonRegressor
            The regressor of the same name.

        Examples
        --------
        >>> from dropglm import LinearRegression
        >>> X, y = [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [2.0, 0.0]], [1.0, 3.0, 2.0, 2.0]
        >>> LinearRegression(dropout=0.1).fit(X, y).to_sklearn().predict([[0.0, 2.0]]).round(2)
        array([3.33])
        """
        from dropglm.linear.sklearn_models import sklearn_regressor

        return sklearn_regressor(self._snapshot())

    def _check_settings(self) -> None:
        super()._check_settings()
        given = self.l2_weights
        for value in given.values if isinstance(given, PerBlock) else [given]:
            if isinstance(value, str) and value.startswith("naive_bayes"):
                raise InputError(f"l2_weights={given!r} is for classifiers; use 'uniform' or an array.")


class LinearRegression(GeneralizedLinearRegressor):
    """Linear regression with feature noise integrated out.

    Minimises ½ Σ_i w_i (y_i - η_i)² + R(β) + ½ l2 ‖β‖², where R(β) = ½ Σ_i w_i s_i² is the expected
    increase of the loss under noise on the features, and s_i² the variance of the noised predictor. For
    dropout R is an l2 penalty scaled by each feature's sum of squares, which unlabelled rows help to
    estimate.

    Parameters
    ----------
    dropout : float in [0, 1), Noise or PerBlock, default=0.0
        Probability that a feature is dropped from a row. Off by default: dropout shrinks the coefficients by
        the same share however many rows there are, which biases the predictions of a regression. A
        ``dropglm.core.noise.Noise`` object is used in place of dropout.
    noise_std : float >= 0 or PerBlock, default=0.0
        Standard deviation of Gaussian noise added to every feature.
    l2 : float >= 0, default=1e-6
        Strength λ of the penalty ½λ‖β‖², added to the summed objective. The default is
        negligible for features of ordinary scale.
        With ``dropout=0`` it is the alpha of scikit-learn's Ridge.
    expectation : {"gaussian", "exact", "quadratic", "monte_carlo"}, default="gaussian"
        How the expectation over the noise is computed. "gaussian", "exact" and
        "quadratic" agree for this family; "monte_carlo" is the mean over 100 noised copies of the rows.
    discount : float >= 0, default=0.1
        Weight α of an unlabelled row in the noise penalty relative to a labelled one.
    l2_weights : "uniform", float, array-like of shape (d,) or PerBlock, default="uniform"
        How l2 is spread over the features; ``math.inf`` in a PerBlock leaves a block out.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is neither noised nor penalised.
    tol : float, default=1e-4
        Stop when the relative norm of the gradient (``result_.gradient_norm``) is below this.
    max_iter : int, default=200
        Maximum number of iterations of the solver.
    warm_start : bool, default=False
        Start from the coefficients of the previous fit.
    n_jobs : int, default=None
        Number of threads; None means 1, -1 all cores.
    device : {"cpu", "cuda"} or None, default=None
        Where to fit: "cuda" is an NVIDIA GPU, which needs the extra ``cuda``; None is where X is. If X is a
        matrix of CuPy, so are ``coef_`` and predictions.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the noised copies, for "monte_carlo".
    verbose : int, default=0
        Show progress on standard error unless 0.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        Coefficients, in X's dtype.
    intercept_ : float
        Intercept, in X's dtype.
    n_iter_ : int
        Number of iterations.
    coef_blocks_ : list of ndarrays
        The coefficients of each block, as views of ``coef_``; only one if X is a single matrix.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, if X has string column names.
    result_ : Result
        How the solver ended: status, passes over the data, objective, history.

    See Also
    --------
    PoissonRegressor : For counts.
    noising_penalty : The penalty R(β) itself.

    Examples
    --------
    >>> from dropglm import LinearRegression
    >>> X, y = [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [2.0, 0.0]], [1.0, 3.0, 2.0, 2.0]
    >>> LinearRegression().fit(X, y).coef_.round(2)
    array([1., 2.])
    >>> LinearRegression(l2=1.0).fit(X, y).coef_.round(2)  # scikit-learn's Ridge(alpha=1.0)
    array([0.2, 0.6])
    """

    family = Linear


class PoissonRegressor(GeneralizedLinearRegressor):
    """Poisson regression with feature noise integrated out.

    Minimises Σ_i w_i (e^η_i - y_i η_i + y_i log y_i - y_i) + R(β) + ½ l2 ‖β‖², where R(β) = Σ_i w_i (E[e^η̃_i]
    - e^η_i) is the expected increase of the loss under noise on the features.

    Parameters
    ----------
    dropout : float in [0, 1), Noise or PerBlock, default=0.0
        Probability that a feature is dropped from a row. Off by default: dropout shrinks the coefficients by
        the same share however many rows there are, which biases the predictions of a regression. A
        ``dropglm.core.noise.Noise`` object is used in place of dropout.
    noise_std : float >= 0 or PerBlock, default=0.0
        Standard deviation of Gaussian noise added to every feature.
    l2 : float >= 0, default=1e-6
        Strength λ of the penalty ½λ‖β‖², added to the summed objective. The default is
        negligible for features of ordinary scale.
        With ``dropout=0`` the model is scikit-learn's PoissonRegressor with alpha = l2 / n, where n is the
        sum of the weights.
    expectation : {"gaussian", "exact", "quadratic", "monte_carlo"}, default="gaussian"
        How the expectation over the noise is computed. "gaussian" approximates the
        noised predictor as normal; "exact" makes no approximation; "quadratic" is the paper's second-order
        expansion; "monte_carlo" is the mean over 100 noised copies of the rows.
    discount : float >= 0, default=0.1
        Weight α of an unlabelled row in the noise penalty relative to a labelled one.
    l2_weights : "uniform", float, array-like of shape (d,) or PerBlock, default="uniform"
        How l2 is spread over the features; ``math.inf`` in a PerBlock leaves a block out.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is neither noised nor penalised.
    tol : float, default=1e-4
        Stop when the relative norm of the gradient (``result_.gradient_norm``) is below this.
    max_iter : int, default=200
        Maximum number of iterations of the solver.
    warm_start : bool, default=False
        Start from the coefficients of the previous fit.
    n_jobs : int, default=None
        Number of threads; None means 1, -1 all cores.
    device : {"cpu", "cuda"} or None, default=None
        Where to fit: "cuda" is an NVIDIA GPU, which needs the extra ``cuda``; None is where X is. If X is a
        matrix of CuPy, so are ``coef_`` and predictions.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the noised copies, for "monte_carlo".
    verbose : int, default=0
        Show progress on standard error unless 0.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        Coefficients, in X's dtype.
    intercept_ : float
        Intercept, in X's dtype.
    n_iter_ : int
        Number of iterations.
    coef_blocks_ : list of ndarrays
        The coefficients of each block, as views of ``coef_``; only one if X is a single matrix.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, if X has string column names.
    result_ : Result
        How the solver ended: status, passes over the data, objective, history.

    See Also
    --------
    LinearRegression : For real numbers.
    noising_penalty : The penalty R(β) itself.

    Examples
    --------
    >>> from dropglm import PoissonRegressor
    >>> X, y = [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [2.0, 0.0]], [1, 6, 4, 2]
    >>> model = PoissonRegressor(l2=0.1).fit(X, y)
    >>> model.predict(X).round(1)
    array([1.3, 5.9, 3.9, 1.9])
    """

    family = Poisson

    def _check_targets(self, y: np.ndarray, weights: np.ndarray) -> None:
        negative = (y < 0) & (weights > 0)
        if negative.any():
            raise InputError(f"y must contain counts, but row {int(np.argmax(negative))} is negative.")
        if not y[weights > 0].any():
            raise InputError("y is 0 in every row, so the best mean is 0, which no finite coefficients give.")

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: targets are not negative."""
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags
