"""Entropy regularization: logistic regression that prefers confident predictions on unlabelled rows.

Minimises

    Σ_labelled w_i loss_i + entropy_weight Σ_unlabelled w_i H(p(x_i)) + ½ l2 ‖β‖²

with the entropy of a row's class probabilities,

    two classes:  H(η) = A(η) - η A'(η),          H'(η) = -η A''(η)
    K classes:    H(η) = -Σ_k p_k log p_k,        ∂H/∂η_k = -p_k (log p_k + H).

The entropy has the form of a penalty without noise: it does not depend on labels.
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from dropglm.base import checks
from dropglm.core.design import AnyDesign
from dropglm.core.families import Logistic, Multinomial
from dropglm.core.l2_weights import L2_WEIGHTS
from dropglm.core.noise import NO_NOISE
from dropglm.core.objective import Labels, Objective, WeightedRows
from dropglm.core.penalties import Penalty, RowPenalty
from dropglm.core.penalties.base import PenaltyGradient
from dropglm.core.problem import Problem, Task
from dropglm.core.solvers import LBFGS
from dropglm.linear.base import LogisticModel
from dropglm.linear.convergence import warn_unless_converged
from dropglm.linear.validation import check_classification, check_settings
from dropglm.places.rows import rows_of


@dataclass(eq=False, repr=False)
class EntropyRegularizedLogisticRegression(LogisticModel):
    """Logistic regression with entropy regularization on unlabelled rows.

    Minimises Σ_i w_i loss_i + entropy_weight Σ_u w_u H(p(x_u)) + ½ l2 ‖β‖², where H is the entropy of the
    class probabilities of an unlabelled row. The objective is not convex; the fit starts from the minimum on
    the labelled rows and ends in a local minimum near it. Without unlabelled rows, or with
    ``entropy_weight=0``, the model is scikit-learn's LogisticRegression at C = 1/l2. Several classes are
    fitted as one multinomial model.

    Parameters
    ----------
    l2 : float, default=1.0
        Strength λ of the penalty ½λ‖β‖²; must be positive, since the entropy vanishes as the coefficients
        grow.
    entropy_weight : float, default=0.1
        Weight of the entropy of an unlabelled row relative to the loss of a labelled row. Both are summed
        over the rows.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    class_weight : dict, "balanced" or None, default=None
        Factors by which the weights of the labelled rows are multiplied, by class.
    tol : float, default=1e-4
        The fit stops when the relative norm of the gradient (``result_.gradient_norm``) is at most this.
    max_iter : int, default=200
        Maximum number of iterations, for the fit to the labelled rows and for the fit to all rows.
    n_jobs : int, default=None
        Number of threads. None means 1, and -1 means all cores.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients, in the dtype of X; one row for two classes.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept.
    n_iter_ : ndarray of shape (1,)
        Number of iterations of the last minimisation: the one over all rows if there are unlabelled rows.
    result_ : Result
        Details of the last minimisation.
    n_features_in_ : int
        Number of features seen in :meth:`fit`.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, if X has names that are all strings.

    See Also
    --------
    dropglm.LogisticRegression : Logistic regression with dropout, which also uses unlabelled rows.

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

    l2: float = 1.0
    entropy_weight: float = 0.1
    _: KW_ONLY
    fit_intercept: bool = True
    class_weight: Any = None
    tol: float = 1e-4
    max_iter: int = 200
    n_jobs: int | None = None

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
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features, float32 or float64; not modified.
        y : array-like of shape (n_samples,)
            Labels of any type. -1 is a class like any other; it does not mark unlabelled rows.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the labelled rows; a weight of 2 is equivalent to repeating the row.
        X_unlabeled : {array-like, sparse matrix} of shape (n_unlabeled, n_features), default=None
            Rows without labels.
        unlabeled_weight : array-like of shape (n_unlabeled,), default=None
            Weights of the unlabelled rows.

        Returns
        -------
        EntropyRegularizedLogisticRegression
            The fitted model.
        """
        checks.positive(self.l2, "l2")
        checks.not_negative(self.entropy_weight, "entropy_weight")
        check_settings(self)
        data = check_classification(self, X, y, sample_weight, X_unlabeled, unlabeled_weight)
        data = data.without_zero_weights()
        rows, joint = rows_of(self, data), len(data.classes) > 2
        features: Any = rows.prepare(Multinomial if joint else Logistic, [], fit_intercept=self.fit_intercept)
        (problem,) = rows.problems(L2_WEIGHTS["uniform"])
        solver = LBFGS(tol=self.tol, max_iter=self.max_iter, threads=features.threads)
        beta, intercept, result = Task(problem, None, self.l2, 0.0).solve(solver)
        if data.X_unlabeled is not None and self.entropy_weight > 0.0:
            function = entropy_objective(problem, self.l2 * problem.labeled_l2_weights, self.entropy_weight)
            theta, result = solver.minimize(function, function.join(beta, intercept))
            beta, intercept = function.split(theta)
        if problem.family.several:
            intercept = intercept - intercept.mean()  # adding a constant to all classes changes nothing
        coef = features.expand(beta)
        self._set_fitted(
            classes_=data.classes,
            multi_class_="multinomial" if joint else "ovr",
            coef_=coef,
            intercept_=intercept.astype(coef.dtype),
            n_iter_=np.array([result.n_iter]),
            result_=result,
            **data.feature_attributes,
        )
        warn_unless_converged(self, [result])
        return self


def entropy_objective(problem: Problem, l2: np.ndarray, entropy_weight: float) -> Objective:
    """Return the objective to minimise, given λ of every coefficient."""
    features, weights = problem.features, problem.unlabeled_weights
    assert features.unlabeled is not None
    assert weights is not None
    blocks = [
        # The entropy of labelled rows has weight 0.
        WeightedRows(features.labeled, np.zeros_like(problem.weights), Labels(problem.y, problem.weights)),
        WeightedRows(features.unlabeled, entropy_weight * weights),
    ]
    return Objective.of_rows(
        blocks,
        problem.family,
        MultinomialEntropy() if problem.family.several else Entropy(),
        l2,
        fit_intercept=problem.fit_intercept,
        threads=features.threads,
    )


class Entropy(RowPenalty):
    """Entropy of two classes, as a penalty."""

    def __init__(self) -> None:
        super().__init__(Logistic, NO_NOISE)

    def rows(self, eta: np.ndarray, s2: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return H with its derivatives in η and in s², on which it does not depend."""
        # A and η A' would cancel: with e = exp(-|η|), H = log(1 + e) + |η| e / (1 + e).
        e = np.exp(-np.abs(eta))
        H = np.log1p(e) + np.abs(eta) * e / (1.0 + e)
        return H, -eta * Logistic.variance(eta), np.zeros_like(eta)


class MultinomialEntropy(Penalty):
    """Entropy of K classes, as a penalty."""

    def __init__(self) -> None:
        super().__init__(Multinomial, NO_NOISE)

    def value_and_gradient(
        self, design: AnyDesign, beta: np.ndarray, intercept: np.ndarray, weights: np.ndarray
    ) -> tuple[float, PenaltyGradient]:
        """Return Σ_i w_i H_i with its gradient in β and in the intercept."""
        eta = design.dot(beta) + intercept
        p, log_p = Multinomial.mean(eta), eta - Multinomial.log_partition(eta)[:, None]
        H = -(p * log_p).sum(axis=1)
        slopes = -weights[:, None] * p * (log_p + H[:, None])
        return float(weights @ H), PenaltyGradient(design.transposed_dot(slopes), slopes.sum(axis=0))
