"""Logistic regression that learns row by row."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted, validate_data

from dropglm import checks
from dropglm.design import Design
from dropglm.design.storage import Rows
from dropglm.estimators.classifier import LogisticRegression
from dropglm.estimators.logistic_model import LogisticModel
from dropglm.families import Logistic
from dropglm.online import RULES, Learner, State
from dropglm.online.kernels import BETA, SUM
from dropglm.registry import lookup

MOST_CELLS = 1 << 29  # 4 to 8 GB


class OnlineLogisticRegression(LogisticModel):
    """Logistic regression for streams: one step a row, by the rule of your choice.

    Several classes are told from the rest one by one. The cost of a step follows the row's own entries.

    Parameters
    ----------
    rule : {"dropout", "adagrad", "arow", "sgd"}
        How steps are scaled; the equations stand in ``dropglm.online``.
    rate : float, optional
        Step size ρ; None is the rule's own. Rules with a root divide it by the typical size of a row.
    l2 : float >= 0
        λ of a ridge in every step's problem: per row, so a small number such as 1e-5.
    power : {1, 0.5}
        For "dropout": 1 is the paper's A_t = diag(H_t), 0.5 its root, as AdaGrad takes it.
    average : bool
        Predict with the mean of the coefficients over all steps; not together with l2.
    epochs : int
        How often ``fit`` passes over the rows.
    shuffle : bool
        Whether ``fit`` takes them in a new random order each time.
    fit_intercept : bool
        Whether there is an intercept, which the ridge leaves alone.
    random_state : int, RandomState, Generator or None
        For the order of the rows.

    Attributes
    ----------
    classes_ : array of shape (K,)
    coef_, intercept_
        As of now; computed when asked for.
    t_ : int
        Steps taken.
    sums_ : array of shape (K, d)
        What the steps are scaled by: diag(G_t) of "adagrad", diag(H_t) of "dropout".
    progressive_accuracy_, progressive_log_loss_ : float
        Of the predictions that were made for each row before it was learnt from, over all rows so far; of
        ``fit``, over the first pass.
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import numpy as np
    >>> from dropglm import OnlineLogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = (rng.random((300, 20)) < 0.3).astype(float)
    >>> y = np.where(X[:, :5].sum(axis=1) > X[:, 5:10].sum(axis=1), "more", "less")
    >>> model = OnlineLogisticRegression()
    >>> for rows in np.array_split(np.arange(300), 6):
    ...     model = model.partial_fit(X[rows], y[rows], classes=["less", "more"])
    >>> model.t_, round(model.progressive_accuracy_, 2)
    (300, 0.9)
    """

    _progressive_totals: np.ndarray

    __metadata_request__fit: ClassVar[dict[str, Any]] = {"X_unlabeled": UNUSED, "unlabeled_weight": UNUSED}

    def __init__(
        self,
        rule: str = "dropout",
        rate: float | None = None,
        l2: float = 0.0,
        *,
        power: float = 1.0,
        average: bool = False,
        epochs: int = 5,
        shuffle: bool = True,
        fit_intercept: bool = True,
        random_state: Any = None,
    ) -> None:
        self.rule = rule
        self.rate = rate
        self.l2 = l2
        self.power = power
        self.average = average
        self.epochs = epochs
        self.shuffle = shuffle
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from the start, in ``epochs`` passes over the rows.

        Parameters
        ----------
        X : array-like or sparse of shape (n, d)
        y : array-like of shape (n,)
            Labels of any type.
        sample_weight : array-like of shape (n,), optional
            Factors of the rows' gradients and curvatures.

        Returns
        -------
        self
        """
        rule = self._rule(anew=True)
        checked = checks.features(X)
        classes, numbers = self._checked_labels(y, checked.shape[0])
        weights = checks.weights(sample_weight, checked.shape[0])
        checks.some_weight(weights)
        validate_data(self, X, reset=True, skip_check_array=True)
        self._reset(classes, checked.shape[1], checked.dtype)
        rows, rng = Design(checked).rows, np.random.default_rng(checks.seed(self.random_state))
        for epoch in range(self.epochs):
            order = rng.permutation(len(numbers)) if self.shuffle else np.arange(len(numbers))
            seen = self._progressive_totals
            self._learn(rule, rows, numbers, weights, order)
            if epoch:
                self._progressive_totals = seen  # of rows that were learnt from before
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from these rows once, in their order.

        Parameters
        ----------
        X : array-like or sparse of shape (n, d)
        y : array-like of shape (n,)
        classes : array-like, optional
            All labels that there will be; needed in the first call, and the same in later ones.
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        self
        """
        rule = self._rule()
        checked = checks.features(X)
        weights = checks.weights(sample_weight, checked.shape[0])
        y = self._checked_target(y, checked.shape[0])
        known, numbers = self._class_numbers(y, classes)
        first = not hasattr(self, "_state")
        validate_data(self, X, reset=first, skip_check_array=True)
        if first:
            self._reset(known, checked.shape[1], checked.dtype)
        self._learn(rule, Design(checked).rows, numbers, weights, np.arange(len(numbers)))
        return self

    def start_from(self, model: LogisticModel) -> Self:
        """Take over the coefficients and classes of a fitted model, for ``partial_fit`` to go on from.

        Of a model of three or more classes each must stand by itself, one against the rest. A ridge leaves
        coefficients alone until a row has their feature.
        """
        _is_model(model, LogisticModel)
        check_is_fitted(model)
        self._rule(anew=True)
        coef = np.atleast_2d(model.coef_)
        if len(coef) > 1 and model.multi_class_ != "ovr":
            raise ValueError("The model is multinomial; fit it with multi_class='ovr' to go on from it here.")
        self._reset(model.classes_, coef.shape[1], coef.dtype)
        self.__dict__.pop("feature_names_in_", None)
        if hasattr(model, "feature_names_in_"):
            self.feature_names_in_ = model.feature_names_in_
        beta = self._state.cells[:, :, BETA]
        beta[:, :-1], beta[:, -1] = coef, np.atleast_1d(model.intercept_)
        return self

    def hand_over(self, model: LogisticRegression) -> LogisticRegression:
        """Give the coefficients to a model with ``warm_start=True``, whose ``fit`` then starts from them."""
        _is_model(model, LogisticRegression)
        check_is_fitted(self, "_state")
        model.classes_, model.n_features_in_ = self.classes_, self.n_features_in_
        model.coef_, model.intercept_, model.multi_class_ = self.coef_, self.intercept_, "ovr"
        return model

    def _reset(self, classes: np.ndarray, d: int, dtype: Any) -> None:
        """Forget all, and be ready for rows of d features; ``classes`` in order."""
        K = 1 if len(classes) == 2 else len(classes)
        if K * d > MOST_CELLS:
            raise ValueError(f"{K:,} classes of {d:,} features are too many; take fewer features (bits).")
        self.classes_, self.multi_class_, self.n_features_in_ = classes, "ovr", d
        self._fixed_settings = self._settings_fixed_by_first_row()
        average, lazy = bool(self.average), bool(self.average) or self.l2 > 0
        self._state = State.new(d, K, lazy=lazy, average=average, dtype=dtype)
        self._progressive_totals = np.zeros(3)  # weight, weight of right predictions, log loss
        self._now: dict[str, np.ndarray] = {}  # coefficients and intercepts, once they were asked for

    def _learn_rows(self, rows: Rows, numbers: np.ndarray, weights: np.ndarray) -> None:
        """``partial_fit`` for rows that need no checks, with the numbers of their classes."""
        self._learn(self._rule(), rows, numbers, weights, np.arange(len(numbers)))

    def _class_numbers(self, y: np.ndarray, classes: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """The classes in order, and the number of each row's; all must be known."""
        known = self.classes_ if hasattr(self, "_state") else self._checked_classes(classes)
        if classes is not None and not np.array_equal(np.unique(classes), known):
            raise ValueError(f"classes are {known} since the first call of partial_fit.")
        if y.dtype.kind == known.dtype.kind != "O":
            numbers = np.searchsorted(known, y)
            numbers[known[np.minimum(numbers, len(known) - 1)] != y] = -1
        else:
            number_of = {label: number for number, label in enumerate(known.tolist())}
            numbers = np.array([number_of.get(label, -1) for label in y.tolist()], np.intp)
        if (numbers < 0).any():
            strange = int(numbers.argmin())
            raise ValueError(f"Row {strange} has the label {y[strange]!s}, which is none of classes.")
        return known, numbers

    def _checked_classes(self, classes: Any) -> np.ndarray:
        """All labels to come, in order."""
        if classes is None:
            raise ValueError("classes must be given in the first call of partial_fit: all labels to come.")
        return self._checked_labels(classes, len(classes))[0]

    def _rule(self, *, anew: bool = False) -> Any:
        """The rule with its settings, if all are in order."""
        kind: Any = lookup(RULES, self.rule, "rule")
        checks.not_negative(self.l2, "l2")
        checks.whole_number(self.epochs, "epochs")
        if self.epochs < 1:
            raise ValueError(f"epochs must be above 0, got {self.epochs}.")
        for name in ("average", "shuffle", "fit_intercept"):
            checks.yes_or_no(getattr(self, name), name)
        if self.average and self.l2:
            raise ValueError("average=True goes without a ridge; set l2=0.")
        now = self._settings_fixed_by_first_row()
        if not anew and getattr(self, "_fixed_settings", now) != now:
            raise ValueError(
                "rule, power, l2, average, fit_intercept and with a ridge rate are settled by the first row."
            )
        if self.power not in (1, 0.5):
            raise ValueError(f"power must be 1 or 0.5, got {self.power!r}.")
        settings = {"power": float(self.power)} if "power" in kind._fields else {}
        if self.rate is not None:
            checks.not_negative(self.rate, "rate")
            settings["rate"] = float(self.rate)
        return kind(**settings)

    def _settings_fixed_by_first_row(self) -> dict[str, Any]:
        """What the state depends on: another rule has other sums, another ridge would shrink the past."""
        rate = self.rate if self.l2 else None
        names = ("rule", "power", "l2", "average", "fit_intercept")
        return {name: getattr(self, name) for name in names} | {"rate": rate}

    def _learner(self, rule: Any) -> Learner:
        return Learner(
            rule,
            self._state,
            l2=float(self.l2),
            fit_intercept=bool(self.fit_intercept),
            average=bool(self.average),
        )

    def _learn(
        self, rule: Any, rows: Rows, numbers: np.ndarray, weights: np.ndarray, order: np.ndarray
    ) -> None:
        self._now.clear()
        K = len(self.classes_)
        labels = np.array([1]) if K == 2 else np.arange(K)
        y = (numbers[:, None] == labels).astype(np.float64)
        eta = self._learner(rule).learn(rows, y, weights, order)
        w, y, numbers = weights[order], y[order], numbers[order]
        right = self._best(eta) == numbers
        loss = (Logistic.log_partition(eta) - y * eta).sum(axis=1)
        # One after the other, whatever the chunk: a sum of sums would be rounded by it.
        both = np.stack([w, w * right, w * loss])
        sums = np.cumsum(np.hstack([self._progressive_totals[:, None], both]), axis=1)
        self._progressive_totals = sums[:, -1].copy()

    @property
    def t_(self) -> int:
        """Steps taken."""
        return self._known()._state.steps

    @property
    def sums_(self) -> np.ndarray:
        """What the metric of each feature is made of; (K, d)."""
        return np.ascontiguousarray(self._known()._state.cells[:, :-1, SUM])

    @property
    def progressive_accuracy_(self) -> float:
        """Share of the rows whose label was predicted before it was learnt from."""
        weight, right, _ = self._known()._progressive_totals
        return float(right / weight) if weight else float("nan")

    @property
    def progressive_log_loss_(self) -> float:
        """Mean logistic loss of those predictions, summed over one-against-the-rest problems."""
        weight, _, loss = self._known()._progressive_totals
        return float(loss / weight) if weight else float("nan")

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients as of now; (K, d)."""
        return self._coefficients()["coef"]

    @property
    def intercept_(self) -> np.ndarray:
        """Intercepts as of now; (K,)."""
        return self._coefficients()["intercept"]

    def _known(self) -> Self:
        check_is_fitted(self, "_state")
        return self

    def _coefficients(self) -> dict[str, np.ndarray]:
        """Computed once between two steps: with a ridge or an average all of them have to be settled."""
        if not self._known()._now:
            found = self._learner(self._rule()).coefficients()
            self._now.update(coef=np.ascontiguousarray(found[:, :-1]), intercept=found[:, -1].copy())
        return self._now


def _is_model(model: Any, kind: type) -> None:
    if not isinstance(model, kind):
        raise TypeError(f"model must be a {kind.__name__} of dropglm, got {model!r}.")
