"""Dropout, ridge and discount chosen by cross-validation.

All folds share the design of the whole X: a fold is a weight of 0 for the rows that it holds out. So no fold
copies X, and all threads read the same memory.
"""

import time
from collections.abc import Iterator
from dataclasses import replace
from inspect import signature
from itertools import product
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.stats import rankdata
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv

from dropglm import checks
from dropglm.estimators.callbacks import with_callbacks
from dropglm.estimators.classifier import Checked, LogisticModel, LogisticRegression
from dropglm.estimators.features import Features
from dropglm.estimators.problem import ROUGH
from dropglm.noising import noise_from
from dropglm.objective import Coefficients
from dropglm.penalties.ridges import RIDGES
from dropglm.progress import Progress
from dropglm.solvers import LBFGS
from dropglm.threads import each


class Candidate(NamedTuple):
    """A point of the grid."""

    dropout: float
    l2: float
    ridge: Any
    discount: float


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
    penalty : {"gaussian", "exact", "quadratic", "monte_carlo"}
        As for ``LogisticRegression``.
    discount : float or sequence of float
        α, how much an unlabelled row counts in the penalty compared with a labelled one. Without unlabelled
        rows it does not matter, and one value is tried.
    ridge : "auto", name, array-like of shape (d,), or a sequence of names and arrays
        How l2 is spread over the features; "auto" tries "uniform" and, where no feature is negative,
        "naive_bayes".
    cv : int, splitter or iterable
        As everywhere in scikit-learn; a number is that of stratified folds.
    scoring : str, callable or None
        Any scorer of scikit-learn; None is accuracy.
    one_standard_error : bool
        Take the largest dropout, and the largest l2 with it, whose score is within a standard error of the
        best.
    fit_intercept, multi_class, class_weight, max_iter, random_state
        As for ``LogisticRegression``.
    tol : float
        For the last fit; those of the search stop at 1e-2, which leaves 1e-4 of the objective to gain.
    n_jobs : int, optional
        Threads; None is 1, -1 all cores.
    verbose : int
        Show a progress bar unless 0.

    Attributes
    ----------
    dropout_, l2_, ridge_, discount_
        What was chosen.
    best_score_ : float
        Its mean score over the folds.
    best_index_ : int
        Its place in ``cv_results_``.
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
    >>> model.dropout_, model.l2_, model.ridge_, model.discount_
    (0.4, 0.1, 'naive_bayes', 0.2)
    """

    def __init__(
        self,
        dropout: Any = (0.8, 0.6, 0.4),
        noise_std: float = 0.0,
        l2: Any = (10.0, 3.0, 1.0, 0.3, 0.1),
        penalty: str = "gaussian",
        discount: Any = (1.0, 0.2),
        *,
        ridge: Any = "auto",
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
        self.penalty = penalty
        self.discount = discount
        self.ridge = ridge
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

    @with_callbacks
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
        self._check_settings()
        if not isinstance(self.one_standard_error, (bool, np.bool_)):
            raise TypeError(f"one_standard_error must be True or False, got {self.one_standard_error!r}.")
        data = self._checked(X, y, sample_weight, X_unlabeled, unlabeled_weight)
        folds = _folds(self.cv, data, self.classes_)
        threads = checks.threads(self.n_jobs)
        features = Features(data.X, data.X_unlabeled, threads)
        grid = self._grid(features)
        search = _Search(self, data, features, folds, weighted=sample_weight is not None)
        outcomes = search.run(grid, threads)

        self.cv_results_ = _table(grid, outcomes)
        self.best_index_ = _chosen(grid, outcomes["score"], one_standard_error=self.one_standard_error)
        best = grid[self.best_index_]
        self.dropout_, self.l2_, self.ridge_, self.discount_ = best
        self.best_score_ = float(outcomes["score"][self.best_index_].mean())

        shared = LogisticRegression().get_params().keys() & self.get_params().keys()
        settings = {name: getattr(self, name) for name in shared} | best._asdict()
        self.best_estimator_ = LogisticRegression(**settings)
        for name in ("classes_", "n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(self.best_estimator_, name, getattr(self, name))
        self.best_estimator_._train(data, features)
        for name in ("coef_", "intercept_", "n_iter_", "result_", "multi_class_"):
            setattr(self, name, getattr(self.best_estimator_, name))
        return self

    def _grid(self, features: Features) -> list[Candidate]:
        """The points of the grid, strong penalties first."""
        dropouts, l2s, discounts = (
            sorted(_values(getattr(self, name), name), reverse=True) for name in ("dropout", "l2", "discount")
        )
        # Without unlabelled rows there is nothing to discount.
        discounts = discounts if features.unlabeled is not None else discounts[:1]
        ridges = _ridges(self.ridge, features)
        return [
            Candidate(dropout, l2, ridge, discount)
            for ridge, discount, dropout, l2 in product(ridges, discounts, dropouts, l2s)
        ]


class _Search:
    """The fits of a cross-validation, and their scores."""

    def __init__(
        self,
        model: LogisticRegressionCV,
        data: Checked,
        features: Features,
        folds: list[tuple[np.ndarray, np.ndarray]],
        *,
        weighted: bool,
    ) -> None:
        self.model = model
        self.data = data
        self.features = features
        self.folds = folds
        noisy = any(noise_from(delta, model.noise_std).parts for delta in _values(model.dropout, "dropout"))
        self.problems = model._problems(data, features, noisy=noisy)
        # The rows that a fold holds out are scored by their predictors: as features of a model that only adds
        # them up.
        K = sum(problem.y.shape[1] for problem in self.problems)
        self.judge = LogisticRegression()
        self.judge.classes_, self.judge.multi_class_ = model.classes_, model.multi_class_
        self.judge.coef_, self.judge.intercept_, self.judge.n_features_in_ = np.eye(K), np.zeros(K), K
        self.scorer = check_scoring(self.judge, scoring=model.scoring)
        self.weighted = weighted and _takes_weights(self.scorer)

    def run(self, grid: list[Candidate], threads: int) -> dict[str, np.ndarray]:
        """Score, seconds and iterations of every candidate in every fold; (candidates, folds) each.

        Candidates that differ in dropout and l2 only form a path, along which each fit starts where the last
        one ended.
        """
        outcomes = {name: np.empty((len(grid), len(self.folds))) for name in ("score", "seconds", "n_iter")}
        paths: dict[tuple[int, float], list[int]] = {}
        for number, candidate in enumerate(grid):
            paths.setdefault((id(candidate.ridge), candidate.discount), []).append(number)
        chains = [(fold, path) for path in paths.values() for fold in range(len(self.folds))]
        # Threads that have no chain of their own help with the loops.
        self.features.threads = max(1, threads // len(chains))
        with Progress("fits", len(grid) * len(self.folds), shown=bool(self.model.verbose)) as progress:

            def walk(chain: tuple[int, list[int]]) -> None:
                fold, path = chain
                for number, outcome in zip(path, self._walk(fold, [grid[k] for k in path]), strict=True):
                    for name, value in zip(outcomes, outcome, strict=True):
                        outcomes[name][number, fold] = value
                    progress.advance()

            each(walk, chains, threads)
        self.features.threads = threads
        return outcomes

    def _walk(self, fold: int, path: list[Candidate]) -> Iterator[tuple[float, float, float]]:
        """Score, seconds and iterations of the candidates along a path."""
        train, test = self.folds[fold]
        model, features, data = self.model, self.features, self.data
        weights = np.zeros_like(data.weights)
        weights[train] = data.weights[train]
        problems = [replace(problem, weights=weights) for problem in self.problems]
        ridge = model._ridge(path[0].ridge, features)
        # The naive-Bayes ridge looks at labels: at those of the fold's own rows only.
        spreads = [ridge(features.labeled, problem.y, weights) for problem in problems]
        family = "multinomial" if model.multi_class_ == "multinomial" else "logistic"
        solver = LBFGS(max(model.tol, ROUGH), model.max_iter, threads=features.threads)
        last: list[Coefficients | None] = [None] * len(problems)
        strongest = last  # ridge at the dropout rate before: where the next rate starts
        for k, candidate in enumerate(path):
            begin = time.perf_counter()
            new_rate = k == 0 or candidate.dropout != path[k - 1].dropout
            penalty = model._penalty(family, candidate.dropout)
            solved = [
                problem.solve(penalty, candidate.l2 * spread, candidate.discount, solver, start)
                for problem, spread, start in zip(
                    problems, spreads, strongest if new_rate else last, strict=True
                )
            ]
            last = [coefficients for coefficients, _ in solved]
            strongest = last if new_rate else strongest
            eta = np.hstack([features.labeled.dot(beta) + b for (beta, b), _ in solved])[test]
            n_iter = sum(result.n_iter for _, result in solved)
            yield self._score(eta, test), time.perf_counter() - begin, n_iter

    def _score(self, eta: np.ndarray, rows: np.ndarray) -> float:
        y = self.model.classes_[self.data.y[rows]]
        if self.weighted:
            return float(self.scorer(self.judge, eta, y, sample_weight=self.data.weights[rows]))
        return float(self.scorer(self.judge, eta, y))


def _folds(cv: Any, data: Checked, classes: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows to train on and rows to score, of every fold."""
    folds = list(check_cv(cv, data.y, classifier=True).split(data.X, data.y))
    for number, (train, _) in enumerate(folds):
        weighted = np.bincount(data.y[train], data.weights[train], minlength=len(classes))
        missing = np.flatnonzero(weighted == 0)
        if len(missing):
            raise ValueError(
                f"Fold {number} has no row of class {classes[missing[0]]!r} to train on; "
                "use fewer folds or shuffle them."
            )
    return folds


def _takes_weights(scorer: Any) -> bool:
    score = getattr(scorer, "_score_func", None)
    return score is not None and "sample_weight" in signature(score).parameters


def _values(given: Any, name: str) -> list[float]:
    """The grid's values: a number is a grid of one."""
    values = list(np.atleast_1d(np.asarray(given, object)))
    if not values:
        raise ValueError(f"{name} is an empty grid; give at least one value.")
    return values


def _ridges(given: Any, features: Features) -> list[Any]:
    """The grid's ridges: a name or an array of numbers is a grid of one, "auto" all that can be done."""
    if isinstance(given, str) and given == "auto":
        return ["uniform"] if features.labeled.smallest < 0.0 else list(RIDGES)
    if isinstance(given, str) or all(np.isscalar(item) and not isinstance(item, str) for item in given):
        return [given]
    return list(given)


def _chosen(grid: list[Candidate], scores: np.ndarray, *, one_standard_error: bool) -> int:
    """The best candidate, the first of equals; or the strongest within a standard error of the best."""
    means = scores.mean(axis=1)
    best = int(np.argmax(means))
    if not one_standard_error:
        return best
    error = scores[best].std(ddof=1) / np.sqrt(scores.shape[1])
    near = [k for k, mean in enumerate(means) if mean >= means[best] - error]
    return max(near, key=lambda k: (grid[k].dropout, grid[k].l2))


def _table(grid: list[Candidate], outcomes: dict[str, np.ndarray]) -> dict[str, Any]:
    """The outcomes as scikit-learn's searches give them: a column for every parameter and figure."""
    scores = outcomes["score"]
    means = scores.mean(axis=1)
    columns: dict[str, Any] = {"params": [candidate._asdict() for candidate in grid]}
    for name in Candidate._fields:
        column = np.empty(len(grid), object)
        column[:] = [getattr(candidate, name) for candidate in grid]
        columns[f"param_{name}"] = column
    for fold in range(scores.shape[1]):
        columns[f"split{fold}_test_score"] = scores[:, fold]
    return columns | {
        "mean_test_score": means,
        "std_test_score": scores.std(axis=1),
        "rank_test_score": rankdata(-means, method="min").astype(np.int32),
        "mean_fit_time": outcomes["seconds"].mean(axis=1),
        "mean_n_iter": outcomes["n_iter"].mean(axis=1),
    }
