"""What the estimators share: settings become objects, input is checked, problems are solved."""

import sys
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from dropglm import checks
from dropglm.estimators.callbacks import Tasks
from dropglm.estimators.features import Features
from dropglm.estimators.problem import Problem, Watch
from dropglm.noising import noise_from, penalty_from
from dropglm.objective import Coefficients
from dropglm.penalties import PENALTIES, Penalty
from dropglm.penalties.ridges import RIDGES, Ridge
from dropglm.registry import lookup
from dropglm.solvers import LBFGS, Result, Status

# Noised copies of a row for the monte_carlo penalty of a fit, which passes over all of them in every
# iteration.
COPIES = 100


class LinearModel(BaseEstimator):
    """Settings, checks and predictor of a model that is linear in its features."""

    # Rows without labels mean the same to every estimator that takes them, so routing needs no further word.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"X_unlabeled": True, "unlabeled_weight": True}

    def _check_settings(self) -> None:
        """Refuse settings that are no numbers or out of range."""
        checks.not_negative(self.l2, "l2")
        checks.not_negative(self.discount, "discount")
        self._check_solver()

    def _check_solver(self) -> None:
        """The same for those that have no grid in a search."""
        checks.not_negative(self.tol, "tol")
        checks.whole_number(self.max_iter, "max_iter")
        if self.max_iter < 1:
            raise ValueError(f"max_iter must be above 0, got {self.max_iter}.")
        for name in ("fit_intercept", "warm_start"):
            if not isinstance(getattr(self, name, False), (bool, np.bool_)):
                raise TypeError(f"{name} must be True or False, got {getattr(self, name)!r}.")

    def _penalty(self, family: str, dropout: float) -> Penalty | None:
        """The noising penalty, or None where there is no noise."""
        lookup(PENALTIES, self.expectation, "expectation")
        noise = noise_from(dropout, self.noise_std)
        if not noise.parts:
            return None
        return penalty_from(self.expectation, family, noise, n_samples=COPIES, random_state=self.random_state)

    def _checked_features(
        self, X: Any, X_unlabeled: Any, unlabeled_weight: Any
    ) -> tuple[Any, Any, np.ndarray | None]:
        """X and X_unlabeled as finite matrices over the same features, and the weights of the latter."""
        checked = checks.features(X)
        validate_data(self, X, skip_check_array=True)  # names and number of the features
        X = checked
        if X_unlabeled is None:
            if unlabeled_weight is not None:
                raise ValueError("unlabeled_weight was given without X_unlabeled.")
            return X, None, None
        names = getattr(self, "feature_names_in_", None)
        if names is not None and hasattr(X_unlabeled, "columns") and list(X_unlabeled.columns) != list(names):
            raise ValueError("X_unlabeled has other feature names than X, or has them in another order.")
        unlabeled = checks.features(X_unlabeled, "X_unlabeled")
        if unlabeled.shape[1] != X.shape[1]:
            raise ValueError(f"X_unlabeled has {unlabeled.shape[1]} columns, but X has {X.shape[1]}.")
        weights = checks.weights(unlabeled_weight, unlabeled.shape[0], "unlabeled_weight", "X_unlabeled")
        if not weights.any():
            return X, None, None
        return X, *without_empty_rows(unlabeled, weights)

    def _checked_target(self, y: Any, n: int) -> np.ndarray:
        """The entries of y, one for each row."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        y = column_or_1d(y, warn=True)
        if len(y) != n:
            raise ValueError(f"y has {len(y)} entries, but X has {n} rows: inconsistent numbers of samples.")
        return y

    def _ridge(self, l2_weights: Any, features: Features, ridges: dict[str, Ridge] = RIDGES) -> Ridge:
        """The ridge of that name, or the one whose weights are given."""
        if isinstance(l2_weights, str):
            found = lookup(ridges, l2_weights, "l2_weights")
            if found.counts_unlabeled and features.unlabeled is None:
                warnings.warn(
                    f"l2_weights={l2_weights!r} without X_unlabeled is the same as 'naive_bayes'.",
                    UserWarning,
                    stacklevel=outside(),
                )
            return found
        given = checks.numbers(l2_weights, "l2_weights")
        if given.shape != (features.d,):
            raise ValueError(f"l2_weights has shape {given.shape}, but X has {features.d} columns.")
        if (given < 0).any():
            raise ValueError(f"l2_weights must not be negative, feature {int(np.argmin(given))} is.")
        taken = features.taken(given[None, :])
        return Ridge(lambda blocks: np.repeat(taken, blocks[0].y.shape[1], axis=1))

    def _start(self, problem: Problem, rows: slice) -> Coefficients | None:
        """These rows of the last fit's coefficients, if the user wants to start from there."""
        if not (self.warm_start and hasattr(self, "coef_")):
            return None
        coef, intercept = np.atleast_2d(self.coef_)[rows], np.atleast_1d(self.intercept_)[rows]
        if coef.shape != (problem.y.shape[1], problem.features.d):
            raise ValueError(
                f"warm_start needs the classes and features of the last fit, whose coefficients have shape "
                f"{np.shape(self.coef_)}; set warm_start=False to start anew."
            )
        intercept = intercept.astype(np.float64) if self.fit_intercept else np.zeros(len(coef))
        return problem.features.taken(coef), intercept

    def _solve(
        self,
        problem: Problem,
        penalty: Penalty | None,
        ridge: Ridge,
        spread: np.ndarray,
        tasks: Tasks,
        rows: slice,
        attributes: Callable[[np.ndarray, np.ndarray], dict[str, Any]],
    ) -> tuple[Coefficients, Result]:
        """β and b for these rows of coef_, and how they were found."""
        features = problem.features

        def fitted(beta: np.ndarray, intercept: np.ndarray) -> dict[str, Any]:
            return attributes(features.given_back(beta), intercept)

        return problem.fit(
            penalty,
            ridge,
            spread,
            self.l2,
            self.discount,
            LBFGS(tol=self.tol, max_iter=self.max_iter, threads=features.threads),
            # Guesses are to come from the same first fit whatever the last fit was.
            None if ridge.counts_unlabeled else self._start(problem, rows),
            self._reporter(tasks.problem(fitted)),
        )

    def _reporter(self, watch: Watch | None) -> Watch | None:
        """The same, which prints every tenth iteration where the user wants to hear of it."""
        if not self.verbose:
            return watch

        def report(number: int, objective: float, coefficients: Callable[[], Coefficients]) -> bool:
            if number % 10 == 0 or number == 1:
                print(
                    f"{type(self).__name__}: iteration {number:>4}, objective {objective:.8g}",
                    file=sys.stderr,
                )
            return watch is not None and watch(number, objective, coefficients)

        return report

    def _warn(self, results: list[Result]) -> None:
        """Say it where a fit did not converge, with numbers and with what to change."""
        failed = [r for r in results if r.status in (Status.MAX_ITER, Status.STALLED)]
        if not failed:
            return
        worst = max(failed, key=lambda result: result.gradient_norm)
        advice = (
            "raise max_iter or l2, or scale the features"
            if worst.status is Status.MAX_ITER
            else "raise tol, or give X as float64"
        )
        which = "" if len(results) == 1 else f" ({len(failed)} of {len(results)} problems)"
        warnings.warn(
            f"{type(self).__name__} {worst.status.value}{which}: after {worst.n_iter} iterations the "
            f"gradient norm is {worst.gradient_norm:.2g}, above tol = {self.tol:g} (objective "
            f"{worst.objective:.6g}); {advice}.",
            ConvergenceWarning,
            stacklevel=outside(),
        )

    def _scores(self, X: Any) -> np.ndarray:
        """Xβ + b for new rows; (n, K)."""
        check_is_fitted(self)
        checked = checks.features(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return np.asarray(checked @ np.atleast_2d(self.coef_).T) + np.atleast_1d(self.intercept_)

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn may expect."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def without_empty_rows(X: Any, weights: np.ndarray, *others: np.ndarray) -> tuple[Any, ...]:
    """All arrays without the rows of weight 0, which count for nothing even where they would overflow."""
    kept = weights > 0
    if kept.all():
        return X, weights, *others
    if sparse.issparse(X):
        X = X.tocsr()
    return X[kept], weights[kept], *(other[kept] for other in others)


def outside() -> int:
    """The ``stacklevel`` of a warning that points at the user's own line."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals["__name__"].split(".")[0] in ("dropglm", "sklearn"):
        frame, level = frame.f_back, level + 1
    return level
