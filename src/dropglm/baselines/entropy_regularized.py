"""Logistic regression that is to be certain of rows without labels: entropy regularization.

Minimises

    Σ_labelled w_i loss_i + entropy_weight Σ_unlabelled w_i H(p(x_i)) + ½ l2 ‖β‖².
"""

from typing import Any, ClassVar, Self

import numpy as np

from dropglm import checks
from dropglm.baselines.entropy import Entropy, MultinomialEntropy
from dropglm.estimators.base import without_empty_rows
from dropglm.estimators.features import Features
from dropglm.estimators.logistic_model import LogisticModel
from dropglm.estimators.problem import Problem
from dropglm.objective import Block, Labels, Objective
from dropglm.solvers import LBFGS


class EntropyRegularizedLogisticRegression(LogisticModel):
    """Logistic regression that is to be certain of rows without labels.

    Minimises Σ_i w_i loss_i + entropy_weight Σ_u w_u H(p(x_u)) + ½ l2 ‖β‖², H being the entropy of the
    classes of an unlabelled row. That is not convex; the fit starts from the labelled rows' own and ends in
    a minimum near it. Without unlabelled rows, or with entropy_weight = 0, the model is scikit-learn's
    LogisticRegression at C = 1/l2. Several classes are one multinomial model.

    Parameters
    ----------
    l2 : float > 0
        λ of the ridge ½λ‖β‖². The entropy vanishes as coefficients grow, so that there must be one.
    entropy_weight : float >= 0
        Weight of an unlabelled row's entropy compared with a labelled row's loss; both are sums over rows.
    fit_intercept : bool
        Whether there is an intercept, which is not penalised.
    class_weight : dict, "balanced" or None
        Factors of the labelled rows' weights, by class.
    tol : float
        Stop when the relative norm of the gradient (``result_.gradient_norm``) is below this.
    max_iter : int
        Of the labelled fit and of the one that follows, each.
    n_jobs : int, optional
        Threads; None is 1, -1 all cores.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    coef_ : ndarray of shape (1, d) for two classes, else (K, d)
        In X's dtype.
    intercept_ : ndarray of shape (1,) or (K,)
    n_iter_ : ndarray of shape (1,)
        Without those of the labelled fit, unless there was no other.
    result_ : Result
        How the minimisation went.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    References
    ----------
    Grandvalet and Bengio, "Semi-supervised learning by entropy minimization", NIPS 2004 (2005).

    Examples
    --------
    >>> import numpy as np
    >>> from dropglm.baselines import EntropyRegularizedLogisticRegression
    >>> X = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 1]], float)
    >>> model = EntropyRegularizedLogisticRegression(l2=0.1, entropy_weight=0.5)
    >>> model.fit(X, [1, 1, 0, 0]).predict_proba([[1, 0, 0, 0]]).round(2)
    array([[0.11, 0.89]])
    >>> model.fit(X, [1, 1, 0, 0], X_unlabeled=[[1, 0, 0, 0]]).predict_proba([[1, 0, 0, 0]]).round(2)
    array([[0.05, 0.95]])
    """

    # What the checks of logistic models ask for, where nothing is left to choose.
    multi_class: ClassVar[str] = "multinomial"
    expectation: ClassVar[str] = "quadratic"

    def __init__(
        self,
        l2: float = 1.0,
        entropy_weight: float = 0.1,
        *,
        fit_intercept: bool = True,
        class_weight: Any = None,
        tol: float = 1e-4,
        max_iter: int = 200,
        n_jobs: int | None = None,
    ) -> None:
        self.l2 = l2
        self.entropy_weight = entropy_weight
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

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
            Weights of the rows in the loss.
        X_unlabeled : array-like or sparse of shape (m, d), optional
            Rows without labels.
        unlabeled_weight : array-like of shape (m,), optional
            Weights of those rows.

        Returns
        -------
        self
        """
        checks.positive(self.l2, "l2")
        checks.not_negative(self.entropy_weight, "entropy_weight")
        self._check_solver()
        data = self._checked(X, y, sample_weight, X_unlabeled, unlabeled_weight)
        X, weights, y = without_empty_rows(data.X, data.weights, data.y)
        data = data._replace(X=X, weights=weights, y=y)
        features = Features(X, data.X_unlabeled, checks.threads(self.n_jobs))
        (problem,) = self._problems(data, features, noisy=False)
        ridge = np.full((features.labeled.shape[1], problem.y.shape[1]), self.l2, features.labeled.dtype)
        solver = LBFGS(tol=self.tol, max_iter=self.max_iter, threads=features.threads)
        (beta, intercept), result = problem.solve(None, ridge, 0.0, solver)
        if data.X_unlabeled is not None and self.entropy_weight > 0.0:
            function = regularized(problem, ridge, self.entropy_weight)
            theta, result = solver.minimize(function, function.join(beta, intercept))
            beta, intercept = function.split(theta)
        if problem.family.several:
            intercept = intercept - intercept.mean()  # a constant in all classes changes nothing
        self.classes_ = data.classes
        self.coef_ = features.given_back(beta)
        self.intercept_ = intercept.astype(self.coef_.dtype)
        self.n_iter_, self.result_ = np.array([result.n_iter]), result
        self._warn([result])
        return self


def regularized(problem: Problem, ridge: np.ndarray, entropy_weight: float) -> Objective:
    """What is minimised, given λ for every coefficient."""
    features, weights = problem.features, problem.unlabeled_weights
    assert features.unlabeled is not None
    assert weights is not None
    blocks = [
        # A row whose class is known has no entropy.
        Block(features.labeled, np.zeros_like(problem.weights), Labels(problem.y, problem.weights)),
        Block(features.unlabeled, entropy_weight * weights),
    ]
    return Objective(
        blocks,
        problem.family,
        MultinomialEntropy() if problem.family.several else Entropy(),
        ridge,
        fit_intercept=problem.fit_intercept,
        threads=features.threads,
    )
