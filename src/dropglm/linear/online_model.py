"""What an online model has learnt, and its coefficients after the last step."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse

from dropglm.base import checks
from dropglm.base.errors import InputError
from dropglm.core.design.storage import StoredRows
from dropglm.core.online import DivergenceError, Learner, ProgressiveScores, Rule, State, rule_from
from dropglm.core.online.learner import BETA, SUM
from dropglm.core.predictions import LogisticPredictions, indicators, predictors

MOST_COEFFICIENTS = 1 << 29  # 8 to 16 GB with their sums


@dataclass(eq=False, repr=False)
class OnlineModel(LogisticPredictions):
    """An online model: its settings, its state, and predictions from it.

    It needs no scikit-learn; ``OnlineLogisticRegression`` adds its interface.
    """

    rule: str | Rule = "adagrad"
    rate: float | None = None
    l2: float = 0.0
    _: KW_ONLY
    power: float = 1.0
    average: bool = False
    epochs: int = 5
    shuffle: bool = True
    fit_intercept: bool = True
    random_state: Any = None

    def _reset(self, classes: np.ndarray, d: int, dtype: Any) -> None:
        """Discard what was learnt, and prepare for rows of d features; ``classes`` is sorted."""
        K = 1 if len(classes) == 2 else len(classes)
        if K * d > MOST_COEFFICIENTS:
            raise InputError(
                f"{K:,} classes times {d:,} features are too many coefficients; "
                "use fewer features (for hashed n-grams, fewer bits)."
            )
        self.classes_, self.multi_class_, self.n_features_in_ = classes, "ovr", d
        self._fixed_settings = self._settings_fixed_by_first_row(self._checked_rule())
        average, lazy = bool(self.average), bool(self.average) or self.l2 > 0
        self._state = State.new(d, K, lazy=lazy, average=average, dtype=dtype)
        self._progressive_scores = ProgressiveScores()
        self._divergence: DivergenceError | None = None
        self._current: dict[str, np.ndarray] = {}  # cache of the coefficients and intercepts

    def _start_from(self, model: LogisticPredictions) -> None:
        """Discard what was learnt, and copy the classes and coefficients of a fitted logistic model."""
        self._checked_rule()
        coef, intercept = model._dense_coef(), np.atleast_1d(model.intercept_)
        if len(coef) > 1 and model.multi_class_ != "ovr":
            K = len(coef)
            coef = (coef - coef.mean(axis=0)) * (K / (K - 1))
            intercept = (intercept - intercept.mean()) * (K / (K - 1)) - np.log(K - 1)
        self._reset(model.classes_, coef.shape[1], coef.dtype)
        beta = self._state.cells[:, :, BETA]
        beta[:, :-1], beta[:, -1] = coef, intercept

    def _checked_rule(self) -> Any:
        """Return the rule with its settings; invalid settings raise an error."""
        checks.not_negative(self.l2, "l2")
        checks.whole_number(self.epochs, "epochs", least=1)
        for name in ("average", "shuffle", "fit_intercept"):
            checks.yes_or_no(getattr(self, name), name)
        if self.average and self.l2:
            raise InputError("average=True cannot be combined with l2; set l2=0.")
        return rule_from(self.rule, self.rate, self.power)

    def _unchanged_rule(self) -> Any:
        """Return the rule, unless settings changed that the state depends on."""
        rule = self._checked_rule()
        now = self._settings_fixed_by_first_row(rule)
        fixed = getattr(self, "_fixed_settings", now)
        changed = [name for name in now if fixed[name] != now[name]]
        if changed:
            raise InputError(
                f"{', '.join(changed)} cannot change after the first partial_fit; restore the old value, or "
                "call fit to start again."
            )
        return rule

    def _settings_fixed_by_first_row(self, rule: Any) -> dict[str, Any]:
        """Return what the state depends on: each rule has its own sums, and l2 shrinks retroactively."""
        fixed = {name: getattr(self, name) for name in ("l2", "average", "fit_intercept")}
        fixed["rate"] = rule.rate if self.l2 else None
        fixed["rule"] = type(rule), tuple(rule._replace(rate=0.0))
        return fixed

    def _learn_rows(self, rows: StoredRows, numbers: np.ndarray, weights: np.ndarray) -> None:
        """Do what ``partial_fit`` does, for rows already checked and with class numbers as labels."""
        self._learn(self._unchanged_rule(), rows, numbers, weights, np.arange(len(numbers)))

    def _learn(
        self, rule: Any, rows: StoredRows, numbers: np.ndarray, weights: np.ndarray, order: np.ndarray
    ) -> None:
        self._check_fitted()
        self._current = {}
        K = len(self.classes_)
        y = indicators(numbers, [1] if K == 2 else range(K))
        try:
            eta = self._learner(rule).learn(rows, y, weights, order)
        except DivergenceError as error:
            self._divergence = error
            raise
        w, y, numbers = weights[order], y[order], numbers[order]
        correct = self._best_class(eta) == numbers
        self._progressive_scores = self._progressive_scores.add(eta, y, correct, w)
        if not np.isfinite(self._progressive_scores).all():
            self._divergence = DivergenceError(self._state.steps, float(rule.rate))
            raise self._divergence

    def _learner(self, rule: Any) -> Learner:
        return Learner(
            rule,
            self._state,
            l2=float(self.l2),
            fit_intercept=bool(self.fit_intercept),
            average=bool(self.average),
        )

    @property
    def t_(self) -> int:
        """Number of steps taken."""
        return self._check_fitted()._state.steps

    @property
    def sums_(self) -> np.ndarray:
        """The sums that the metric of each feature is computed from; (K, d)."""
        return np.ascontiguousarray(self._check_fitted()._state.cells[:, :-1, SUM])

    @property
    def progressive_accuracy_(self) -> float:
        """Accuracy of the predictions that were made for each row before learning from it."""
        return self._check_fitted()._progressive_scores.accuracy

    @property
    def progressive_log_loss_(self) -> float:
        """Log loss of the same predictions, summed over the one-versus-rest problems."""
        return self._check_fitted()._progressive_scores.log_loss

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients after the last step; (K, d)."""
        return self._coefficients()["coef"]

    @property
    def intercept_(self) -> np.ndarray:
        """Intercepts after the last step; (K,)."""
        current = self._check_fitted()._current
        return current["intercept"] if current else self._coefficients_of(np.empty(0, np.intp))[:, -1]

    def _predictors(self, X: Any) -> np.ndarray:
        """Return Xβ + b for new rows; few rows need only the coefficients of their own columns."""
        if self._current or getattr(X, "format", None) != "csr" or X.nnz >= X.shape[1]:
            return super()._predictors(X)
        columns, places = np.unique(X.indices, return_inverse=True)
        rows = sparse.csr_array((X.data, places, X.indptr), (X.shape[0], len(columns)))
        found = self._coefficients_of(columns)
        return predictors(rows, found[:, :-1], found[:, -1])

    def _check_fitted(self) -> Self:
        checks.fitted(self, "_state")
        if self._divergence is not None:
            raise DivergenceError(self._divergence.step, self._divergence.rate)
        return self

    def _coefficients_at(self, columns: np.ndarray) -> np.ndarray:
        return self._coefficients_of(columns)[:, :-1]

    def _coefficients_of(self, columns: np.ndarray | None) -> np.ndarray:
        """Return the coefficients of some features, or of all if None, and of the intercept, the last."""
        rule = self._check_fitted()._unchanged_rule()
        found = self._learner(rule).coefficients(columns)
        if not np.isfinite(found).all():  # a feature that did not occur again since its step
            raise DivergenceError(self._state.steps, float(rule.rate))
        return found

    def _coefficients(self) -> dict[str, np.ndarray]:
        """Return the coefficients, computed once between two steps: with l2 or average all of them change."""
        current = self._check_fitted()._current
        if not current:
            found = self._coefficients_of(None)
            current.update(coef=np.ascontiguousarray(found[:, :-1]), intercept=found[:, -1].copy())
        return current
