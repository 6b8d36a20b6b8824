"""Logistic regression with feature noise integrated out."""

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from dropglm.base.blocks import PerBlock
from dropglm.base.gpu_arrays import to_host
from dropglm.base.registry import lookup
from dropglm.core.families import Logistic, Multinomial
from dropglm.core.l2_weights import L2Weights, l2_weights_from
from dropglm.core.noise import Noise
from dropglm.core.penalties import Expectation, Penalty
from dropglm.core.predictions import MULTILABEL
from dropglm.core.problem import Solution, Task, divergence_reason, previous_coefficients
from dropglm.core.settings import expectation_from, noise_from, training_penalty
from dropglm.core.solvers import Result
from dropglm.linear.base import (
    CallbackSupportMixin,
    FitCallbacks,
    LogisticModel,
    SparsifyMixin,
    with_callbacks,
)
from dropglm.linear.convergence import warn_no_minimum, warn_unless_converged
from dropglm.linear.validation import check_classification
from dropglm.places.rows import TrainingData, TrainingRows, rows_of

# Whether more than two classes are fitted in one model; None means that it depends on the expectation.
MULTI_CLASS = {"auto": None, "multinomial": True, "ovr": False}


@dataclass(eq=False, repr=False)
class LogisticRegression(CallbackSupportMixin, SparsifyMixin, LogisticModel):
    """Logistic regression with feature noise integrated out.

    Minimises Σ_i w_i loss_i + n/(n + α m) (R(β) + α R_unlabeled(β)) + ½ l2 ‖β‖², where R(β) = Σ_i w_i
    (E[A(η̃_i)] - A(η_i)) is the expected increase of the logistic loss under noise on the features. R does not
    depend on labels, so unlabelled rows improve its estimate. n and m are the sums of the weights of labelled
    and unlabelled rows.

    X may be ``Blocks``, several matrices side by side; ``dropout``, ``noise_std`` and ``l2_weights`` may then
    be a ``PerBlock``, with one value per block.

    Parameters
    ----------
    dropout : float in [0, 1), Noise or PerBlock, default=0.5
        Probability that a feature is dropped from a row. A ``dropglm.core.noise.Noise`` object is used in
        place of dropout.
    noise_std : float >= 0 or PerBlock, default=0.0
        Standard deviation of Gaussian noise added to every feature.
    l2 : float >= 0, default=1.0
        Strength λ of the penalty ½λ‖β‖², added to the summed objective. With ``dropout=0`` the model is
        scikit-learn's LogisticRegression with C = 1/l2.
    expectation : {"gaussian", "exact", "quadratic", "monte_carlo"}, default="gaussian"
        How the expectation over the noise is computed:

        - "gaussian" approximates the noised predictor as normal, in closed form;
        - "exact" makes no approximation and is slower, more so for rows with many features;
        - "quadratic" is the paper's second-order expansion, which is not convex and overfits without l2;
        - "monte_carlo" is the mean over 100 noised copies of the rows.

        A ``dropglm.core.penalties.Penalty`` class is accepted in place of a name.
    discount : float >= 0, default=0.1
        Weight α of an unlabelled row in the noise penalty relative to a labelled one.
    l2_weights : {"uniform", "naive_bayes", "naive_bayes_unlabeled"}, float, array-like of shape (d,) or \
PerBlock, default="uniform"
        How l2 is spread over the features:

        - "uniform": equally;
        - "naive_bayes": by 1/r², where r is the log ratio of a feature's class frequencies, which is the
          feature scaling of NB-SVM seen as a prior;
        - "naive_bayes_unlabeled": the same, but a second fit also counts the unlabelled rows, whatever the
          discount, with the labels that the first fit predicts (``max_iter``, callbacks and ``result_`` refer
          to the second fit);
        - an array: by the given weights; a number is the weight of every feature.

        In a PerBlock, the weight ``math.inf`` leaves a block out: its coefficients are 0.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is neither noised nor penalised.
    multi_class : {"auto", "multinomial", "ovr"}, default="auto"
        Whether more than two classes are fitted in one multinomial model or one against the rest. The
        expectations "gaussian" and "exact" exist only for two classes, so "auto" means "ovr" for them and
        "multinomial" otherwise.
    class_weight : dict, "balanced" or None, default=None
        Factors of the sample weights, by class.
    tol : float, default=1e-4
        Stop when the relative norm of the gradient (``result_.gradient_norm``) is below this; the objective
        is then within about tol² of its minimum, relative to its value.
    max_iter : int, default=200
        Maximum number of iterations of the solver, per problem.
    warm_start : bool, default=False
        Start from the coefficients of the previous fit; without effect for "naive_bayes_unlabeled".
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
    classes_ : ndarray of shape (K,)
        The class labels; the numbers of the columns, if y is an indicator matrix.
    coef_ : ndarray of shape (1, d) for two classes, else (K, d)
        Coefficients, in X's dtype.
    intercept_ : ndarray of shape (1,) or (K,)
        Intercepts, in X's dtype.
    n_iter_ : ndarray of shape (1,), or (K,) for one class against the rest
        Number of iterations of L-BFGS, without those of the rough fits and the dual coordinate steps that
        provide a starting point.
    multi_class_ : {"multinomial", "ovr", "multilabel"}
        The choice made by "auto"; "multilabel" if rows have several labels, with one model per label.
    coef_blocks_ : list of ndarrays
        The coefficients of each block, as views of ``coef_``; only one if X is a single matrix.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, if X has string column names.
    result_ : Result, or a tuple of K results for one class against the rest
        How the solver ended: status, passes over the data, objective, history.

    See Also
    --------
    LogisticRegressionCV : Chooses dropout, l2, l2_weights and discount by cross-validation.
    OnlineLogisticRegression : Learns row by row.
    TextClassifier : Classifies texts by their n-grams.

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

    _takes_several_labels: ClassVar[bool] = True

    dropout: float | Noise | PerBlock = 0.5
    noise_std: float | PerBlock = 0.0
    l2: float = 1.0
    expectation: Any = "gaussian"
    discount: float = 0.1
    _: KW_ONLY
    l2_weights: Any = "uniform"
    fit_intercept: bool = True
    multi_class: str = "auto"
    class_weight: Any = None
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
        y: Any = None,
        sample_weight: Any = None,
        X_unlabeled: Any = None,
        unlabeled_weight: Any = None,
        *,
        label_probabilities: Any = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like, sparse or Blocks of shape (n, d)
            Features, float32 or float64; never modified.
        y : array-like of shape (n,), or lists of labels, or indicator matrix of shape (n, K), or None
            Labels of any type; -1 is a class like any other. A list of labels per row, or a matrix of 0 and
            1, dense or sparse, means that a row has any number of labels, or none.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows, in the loss and in the noise penalty; a row of weight 2 counts like two rows.
        X_unlabeled : array-like, sparse or Blocks of shape (m, d), default=None
            Rows without labels, which improve the estimate of the noise penalty.
        unlabeled_weight : array-like of shape (m,), default=None
            Weights of the unlabelled rows.
        label_probabilities : array-like of shape (n, K), mapping or data frame, default=None
            Probabilities of the classes in place of y, which is then None: one column per class, named by
            the mapping or the data frame, or else numbered. Each row sums to 1.

        Returns
        -------
        self
            The fitted model.
        """
        self._check_settings()
        data = check_classification(
            self,
            X,
            y,
            sample_weight,
            X_unlabeled,
            unlabeled_weight,
            label_probabilities=label_probabilities,
        )
        return self._fit_to(rows_of(self, data.without_zero_weights()))

    def _fit_to(self, rows: TrainingRows) -> Self:
        """Fit the model to rows, wherever they are."""
        # Build one problem, or one per class against the rest.
        noise = noise_from(self.dropout, self.noise_std, rows.block_count)
        method = expectation_from(self.expectation)
        joint = fits_jointly(self.multi_class, rows.data, method, noisy=bool(noise.parts))
        family = Multinomial if joint else Logistic
        penalty = training_penalty(method, family, noise, self.random_state)
        features = rows.prepare(family, [noise], fit_intercept=self.fit_intercept)
        return self._solve(rows, l2_weights_from(self.l2_weights, features), penalty)

    def _solve(self, rows: TrainingRows, l2_weights: L2Weights, penalty: Penalty | None) -> Self:
        """Solve one joint problem, or one per class against the rest, and set the fitted attributes."""
        problems, data = rows.problems(l2_weights), rows.data
        features = problems[0].features
        joint = problems[0].family.several
        coef = features.zeros(len(data.classes) if joint else len(problems))
        intercept = np.zeros(len(coef))
        # Predicted labels must not depend on an earlier fit.
        warm = self.warm_start and not problems[0].l2_weights.counts_unlabeled
        initial = previous_coefficients(self, features, coef.shape) if warm else None
        multi_class = MULTILABEL if data.multilabel else "multinomial" if joint else "ovr"
        with FitCallbacks(self, data, len(problems)) as callbacks:

            def task(k: int) -> Task:
                classes = slice(None) if joint else slice(k, k + 1)

                def attributes(beta: np.ndarray, b: np.ndarray) -> dict[str, Any]:
                    so_far, b_so_far = coef.copy(), intercept.astype(coef.dtype)
                    so_far[classes], b_so_far[classes] = features.expand(beta), b
                    return {
                        "classes_": data.classes,
                        "coef_": so_far,
                        "intercept_": b_so_far,
                        "multi_class_": multi_class,
                    }

                start = None if initial is None else (initial[0][:, classes], initial[1][classes])
                callback = callbacks.next_problem(attributes)
                return Task(problems[k], penalty, self.l2, self.discount, start, callback)

            def store(k: int, solution: Solution) -> tuple[Result, str | None]:
                classes = slice(None) if joint else slice(k, k + 1)
                coef[classes], intercept[classes] = features.expand(solution.beta), solution.intercept
                callbacks.problem_solved()
                return solution.result, divergence_reason(problems[k], penalty, self.l2, solution)

            solver = replace(rows.solver(self.tol, self.max_iter), threads=features.threads)
            numbers = range(len(problems))
            if features.solves_together and not callbacks.in_order:
                solutions = problems[0].solve_together([task(k) for k in numbers], solver)
                solved = [store(k, solution) for k, solution in enumerate(solutions)]
            elif callbacks.in_order:
                solved = [store(k, task(k).solve(solver)) for k in numbers]
            else:
                solved = features.each(lambda k: store(k, task(k).solve(solver)), numbers)
            results, reasons = [result for result, _ in solved], [reason for _, reason in solved]

            if joint:
                intercept -= intercept.mean()  # a constant added to all classes changes nothing
            self._set_fitted(
                classes_=data.classes,
                coef_=coef,
                intercept_=features.like_coefficients(intercept),
                multi_class_=multi_class,
                n_iter_=np.array([result.n_iter for result in results]),
                result_=results[0] if len(results) == 1 else tuple(results),
                **data.feature_attributes,
            )
        warn_unless_converged(self, results)
        reason = next(filter(None, reasons), None)
        if reason is not None:
            warn_no_minimum(reason, to_host(coef))
        return self


def fits_jointly(multi_class: str, data: TrainingData, method: Expectation, *, noisy: bool) -> bool:
    """Return whether classes are fitted in one multinomial model rather than one against the rest."""
    joint = lookup(MULTI_CLASS, multi_class, "multi_class")
    if joint is None:
        # Without noise there is no penalty that the multinomial family could lack.
        joint = not noisy or method.penalty_class(Multinomial) is not None
    return joint and len(data.classes) > 2 and not data.multilabel
