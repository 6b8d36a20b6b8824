"""Classification: labels become classes, classes become one problem or several."""

import warnings
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from dropglm import checks
from dropglm.estimators.base import LinearModel, outside, without_empty_rows
from dropglm.estimators.callbacks import CallbackSupportMixin, Tasks, with_callbacks
from dropglm.estimators.features import Features
from dropglm.estimators.problem import Problem
from dropglm.families import Logistic, Multinomial
from dropglm.noising import noise_from
from dropglm.penalties import PENALTIES, Penalty
from dropglm.registry import lookup
from dropglm.solvers import Result

# Whether several classes are fitted in one model; "auto" asks the penalty.
MULTI_CLASS = {"auto": None, "multinomial": True, "ovr": False}


class Checked(NamedTuple):
    """What a fit was given, after the checks."""

    X: Any
    classes: np.ndarray
    y: np.ndarray  # numbers of the classes
    sample_weights: np.ndarray
    weights: np.ndarray  # those, times the weights of the classes
    X_unlabeled: Any
    unlabeled_weights: np.ndarray | None


class LogisticModel(ClassifierMixin, LinearModel):
    """Checks of a classifier's input, and its predictions from ``coef_``, ``intercept_`` and ``classes_``."""

    def _checked(
        self, X: Any, y: Any, sample_weight: Any, X_unlabeled: Any, unlabeled_weight: Any
    ) -> Checked:
        """The input, checked."""
        lookup(MULTI_CLASS, self.multi_class, "multi_class")
        lookup(PENALTIES, self.penalty, "penalty")
        X, X_unlabeled, unlabeled_weights = self._checked_features(X, X_unlabeled, unlabeled_weight)
        n = X.shape[0]
        classes, y = self._checked_labels(y, n)
        sample_weights = checks.weights(sample_weight, n)
        checks.some_weight(sample_weights)
        weights = sample_weights * self._class_weights(classes, y, sample_weights)[y]
        by_class = np.bincount(y, weights)
        if not by_class.all():
            raise ValueError(
                f"No row of class {classes[by_class.argmin()]} has a weight above 0; leave its rows out."
            )
        return Checked(X, classes, y, sample_weights, weights, X_unlabeled, unlabeled_weights)

    def _checked_labels(self, y: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
        """The classes, and the number of each row's."""
        y = self._checked_target(y, n)
        missing = y.dtype.kind == "f" and not np.isfinite(y).all()
        if missing or (y.dtype.kind == "O" and any(label is None or label != label for label in y)):
            raise ValueError(
                "Input y contains NaN, None or infinity; give rows without labels as X_unlabeled."
            )
        check_classification_targets(y)
        classes, numbers = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"y has one class only, {classes[0]}; a classifier needs at least 2 classes in the data."
            )
        return classes, numbers

    def _class_weights(self, classes: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The factor of each class."""
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            by_class = np.bincount(y, weights)
            return weights.sum() / (len(by_class) * np.where(by_class > 0, by_class, np.inf))
        factors = compute_class_weight(self.class_weight, classes=classes, y=classes[y])
        if not (np.isfinite(factors).all() and (factors >= 0).all()):
            raise ValueError(f"class_weight must be finite and not negative, got {self.class_weight}.")
        return factors

    def _problems(self, data: Checked, features: Features, *, noisy: bool) -> list[Problem]:
        """One problem for two classes or a multinomial model, else one for each class against the rest."""
        K = len(data.classes)
        indicators = (data.y[:, None] == np.arange(K)).astype(np.float64)
        joint = MULTI_CLASS[self.multi_class]
        if joint is None:
            # Without noise there is no penalty that could be missing.
            joint = not noisy or "multinomial" in PENALTIES[self.penalty]
        if K == 2:
            targets = [indicators[:, [1]]]
        else:
            targets = [indicators] if joint else [indicators[:, [k]] for k in range(K)]
        self.multi_class_ = "multinomial" if targets[0].shape[1] > 1 else "ovr"
        family = Multinomial if self.multi_class_ == "multinomial" else Logistic
        rest = data.weights, data.unlabeled_weights, bool(self.fit_intercept), True
        return [Problem(features, family, y, *rest) for y in targets]

    def decision_function(self, X: Any) -> np.ndarray:
        """The predictors Xβ + b; (n,) for two classes, where it speaks for the second, else (n, K)."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        """The class that is most likely; (n,)."""
        scores = self._scores(X)
        return self.classes_[self._best(scores)]

    @staticmethod
    def _best(scores: np.ndarray) -> np.ndarray:
        """The number of the class with the largest predictor; (n,)."""
        return (scores[:, 0] > 0).astype(np.intp) if scores.shape[1] == 1 else scores.argmax(axis=1)

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class; (n, K).

        Of several classes one against the rest each has a probability of its own, scaled to sum to 1.
        """
        scores = self._scores(X)
        if scores.shape[1] == 1:
            return np.hstack([Logistic.mean(-scores), Logistic.mean(scores)])
        if self.multi_class_ == "multinomial":
            return Multinomial.mean(scores)
        # p_k / Σ p, which also stands predictors so low that every p_k is 0
        return Multinomial.mean(-Logistic.log_partition(-scores))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """The logarithm of ``predict_proba``; (n, K)."""
        scores = self._scores(X)
        if scores.shape[1] == 1:
            return -np.hstack([Logistic.log_partition(scores), Logistic.log_partition(-scores)])
        if self.multi_class_ == "multinomial":
            return scores - Multinomial.log_partition(scores)[:, None]
        log_p = -Logistic.log_partition(-scores)
        return log_p - Multinomial.log_partition(log_p)[:, None]


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
    penalty : {"gaussian", "exact", "quadratic", "monte_carlo"}
        The predictor's noise taken as normal, in closed form; no approximation, some hundred times slower;
        the paper's second-order expansion, which is not convex and over-fits without ridge; the mean over 100
        noised copies of the rows.
    discount : float >= 0
        α, how much an unlabelled row counts in the penalty compared with a labelled one.
    ridge : {"uniform", "naive_bayes"} or array-like of shape (d,)
        How l2 is spread over the features: evenly; in inverse proportion to the square of each feature's log
        ratio of class frequencies, as NB-SVM would scale them; by the weights given.
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
        penalty: str = "gaussian",
        discount: float = 0.1,
        *,
        ridge: Any = "uniform",
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
        self.penalty = penalty
        self.discount = discount
        self.ridge = ridge
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
        ridge = self._ridge(self.ridge, features)
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
        for k, problem in enumerate(problems):
            rows = slice(None) if several else slice(k, k + 1)

            def attributes(part: np.ndarray, b: np.ndarray, rows: slice = rows) -> dict[str, Any]:
                coef[rows], intercept[rows] = part, b
                fitted = {"coef_": coef.copy(), "intercept_": intercept.astype(coef.dtype)}
                return fitted | {"classes_": data.classes}

            coef[rows], intercept[rows], result = self._solve(
                problem, penalty, ridge, tasks, rows, attributes
            )
            results.append(result)
        if several:
            # Adding a constant to all classes changes nothing.
            intercept -= intercept.mean()
        self.classes_ = data.classes
        self.coef_, self.intercept_ = coef, intercept.astype(coef.dtype)
        self.n_iter_ = np.array([result.n_iter for result in results])
        self.result_ = results[0] if len(results) == 1 else tuple(results)
        self._warn(results)
        spread = ridge(features.labeled, problems[0].y, data.weights)
        if not (self.l2 * spread > 0).all():
            self._warn_if_unbounded(problems, penalty)
        tasks.end()
        return self

    def _warn_if_unbounded(self, problems: list[Problem], penalty: Penalty | None) -> None:
        """Say it where the objective is known to have no minimum, however small the gradient has become."""
        for k, problem in enumerate(problems):
            rows = slice(None) if problem.family.several else slice(k, k + 1)
            why = self._unbounded(problem, penalty, rows)
            if why is not None:
                warnings.warn(
                    f"The objective has no minimum: {why}. The coefficients, now up to "
                    f"{np.abs(self.coef_).max():.3g}, are where the solver stopped. Set l2 above 0 or take "
                    "penalty='gaussian' with dropout.",
                    ConvergenceWarning,
                    stacklevel=outside(),
                )
                return

    def _unbounded(self, problem: Problem, penalty: Penalty | None, rows: slice) -> str | None:
        """Why coefficients without a ridge may grow for ever, where that is easy to see."""
        design = problem.features.labeled
        if penalty is None or self.penalty == "quadratic":
            eta = design.dot(problem.features.taken(self.coef_[rows])) + self.intercept_[rows]
            truth = problem.y.argmax(axis=1) if problem.family.several else problem.y[:, 0]
            if (self._best(eta) != truth).any():
                return None
            if penalty is None:
                return "the rows are separable and there is neither noise nor a ridge"
            return "the rows are separable and the quadratic penalty vanishes as coefficients grow"
        if self.penalty == "gaussian" or penalty.noise.absolute or problem.family.several:
            return None
        if design.smallest < 0.0:
            return None
        # Σ_i ±x_ij reaches Σ_i x_ij where all of a feature's entries speak for the same class.
        side = 2.0 * problem.y - 1.0
        agreed, all_of_it = (np.abs(design.transposed_dot(r)[:, 0]) for r in (side, np.ones_like(side)))
        if ((agreed >= all_of_it * (1.0 - 1e-6)) & (all_of_it > 0.0)).any():
            return "some features occur in one class only, and dropout alone never speaks against them"
        return None
