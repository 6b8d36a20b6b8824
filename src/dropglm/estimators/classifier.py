"""Logistic regression with feature noise integrated out."""

import warnings
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from dropglm import checks
from dropglm.estimators.base import outside, without_empty_rows
from dropglm.estimators.callbacks import CallbackSupportMixin, Tasks, with_callbacks
from dropglm.estimators.features import Features
from dropglm.estimators.logistic_model import Checked, LogisticModel
from dropglm.estimators.minimum import why_none
from dropglm.noising import noise_from
from dropglm.solvers import Result


class LogisticRegression(CallbackSupportMixin, LogisticModel):
    """Logistic regression with feature noise integrated out.

    Minimises Σ_i w_i loss_i + n/(n + α m) (R(β) + α R_unlabeled(β)) + ½ l2 ‖β‖², where R(β) = Σ_i w_i
    E[A(η̃_i)] - A(η_i) is what noise on the features adds to the logistic loss on average. R needs no labels,
    so rows without labels make it a better penalty. n and m are the sums of the rows' weights, labelled and
    not.

    Parameters
    ----------
    dropout : float in [0, 1)
        Probability with which a feature is dropped from a row.
    noise_std : float >= 0
        Standard deviation of normal noise that is added to every feature.
    l2 : float >= 0
        λ of the ridge ½λ‖β‖² beside the noising penalty, on the summed objective. With dropout = 0 the model
        is scikit-learn's LogisticRegression at C = 1/l2.
    expectation : {"gaussian", "exact", "quadratic", "monte_carlo"}
        The predictor's noise taken as normal, in closed form; no approximation, some hundred times slower;
        the paper's second-order expansion, which is not convex and over-fits without ridge; the mean over 100
        noised copies of the rows.
    discount : float >= 0
        α, how much an unlabelled row counts in the penalty compared with a labelled one.
    l2_weights : {"uniform", "naive_bayes", "naive_bayes_unlabeled"} or array-like of shape (d,)
        How l2 is spread over the features: evenly; in inverse proportion to the square of each feature's log
        ratio of class frequencies, as NB-SVM would scale them; the same after a second fit, for whose
        frequencies unlabelled rows count too, whatever the discount, with the labels that the first fit
        guesses (``max_iter``, callbacks and ``result_`` are about the second fit); by the weights given.
    fit_intercept : bool
        Whether there is an intercept, which is neither noised nor penalised.
    multi_class : {"auto", "multinomial", "ovr"}
        More than two classes in one multinomial model, or each one against the rest. The gaussian and exact
        penalties exist for two classes only, so that "auto" is "ovr" with them and "multinomial" otherwise.
    class_weight : dict, "balanced" or None
        Factors of the rows' weights, by class.
    tol : float
        Stop when the relative norm of the gradient (``result_.gradient_norm``) is below this; the objective
        is then within about tol² of its minimum.
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
    classes_ : ndarray of shape (K,)
    coef_ : ndarray of shape (1, d) for two classes, else (K, d)
        In X's dtype.
    intercept_ : ndarray of shape (1,) or (K,)
    n_iter_ : ndarray of shape (1,), or (K,) for one class against the rest
        Without those of the labelled fit that a fit with unlabelled rows starts from.
    multi_class_ : {"multinomial", "ovr"}
        What "auto" stood for.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.
    result_ : Result, or a tuple of K of them for one class against the rest
        How the minimisation went.

    Examples
    --------
    >>> import numpy as np
    >>> from dropglm import LogisticRegression
    >>> X = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 1]], float)
    >>> model = LogisticRegression(dropout=0.5, l2=0.1).fit(X, ["good", "good", "bad", "bad"])
    >>> model.predict([[1, 0, 0, 0]])
    array(['good'], dtype='<U4')
    >>> model.fit(X, [1, 1, 0, 0], X_unlabeled=[[1, 1, 1, 0], [0, 1, 1, 1]]).coef_[0, [0, 3]].round(2)
    array([ 1.33, -1.33])
    """

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
        multi_class: str = "auto",
        class_weight: Any = None,
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
        self.multi_class = multi_class
        self.class_weight = class_weight
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
            Labels of any type, all of them labels: -1 is a class like any other.
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
        data = self._checked(X, y, sample_weight, X_unlabeled, unlabeled_weight)
        X, weights, y, sample_weights = without_empty_rows(data.X, data.weights, data.y, data.sample_weights)
        data = data._replace(X=X, weights=weights, y=y, sample_weights=sample_weights)
        return self._train(data, Features(data.X, data.X_unlabeled, checks.threads(self.n_jobs)))

    def _train(self, data: Checked, features: Features) -> Self:
        """Fit to rows that are checked and ready."""
        ridge = self._ridge(self.l2_weights, features)
        noisy = bool(noise_from(self.dropout, self.noise_std).parts)
        problems = self._problems(data, features, noisy=noisy)
        several = self.multi_class_ == "multinomial"
        penalty = self._penalty("multinomial" if several else "logistic", self.dropout)
        metadata = {"sample_weight": data.sample_weights}
        given = {"X": data.X, "y": data.classes[data.y], "metadata": metadata}
        tasks = Tasks(self, given, len(problems), self.max_iter)
        K = sum(problem.y.shape[1] for problem in problems)
        coef, intercept = np.zeros((K, features.d), features.labeled.dtype), np.zeros(K)
        results: list[Result] = []
        reasons: list[str | None] = []
        for k, problem in enumerate(problems):
            rows = slice(None) if several else slice(k, k + 1)

            def attributes(part: np.ndarray, b: np.ndarray, rows: slice = rows) -> dict[str, Any]:
                coef[rows], intercept[rows] = part, b
                fitted = {"coef_": coef.copy(), "intercept_": intercept.astype(coef.dtype)}
                return fitted | {"classes_": data.classes}

            spread = problem.spread(ridge)
            found, result = self._solve(problem, penalty, ridge, spread, tasks, rows, attributes)
            coef[rows], intercept[rows] = features.given_back(found[0]), found[1]
            results.append(result)
            penalised = (self.l2 * spread).all()
            reasons.append(None if penalised else why_none(problem, penalty, found))
        if several:
            # Adding a constant to all classes changes nothing.
            intercept -= intercept.mean()
        self.classes_ = data.classes
        self.coef_, self.intercept_ = coef, intercept.astype(coef.dtype)
        self.n_iter_ = np.array([result.n_iter for result in results])
        self.result_ = results[0] if len(results) == 1 else tuple(results)
        self._warn(results)
        self._warn_of(next(filter(None, reasons), None))
        tasks.end()
        return self

    def _warn_of(self, why: str | None) -> None:
        """Say it where the objective has no minimum, however small the gradient has become."""
        if why is not None:
            warnings.warn(
                f"The objective has no minimum: {why}. The coefficients, now up to "
                f"{np.abs(self.coef_).max():.3g}, are where the solver stopped. Set l2 above 0 or take "
                "expectation='gaussian' with dropout.",
                ConvergenceWarning,
                stacklevel=outside(),
            )
