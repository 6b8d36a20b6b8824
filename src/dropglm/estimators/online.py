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


class OnlineLogisticRegression(LogisticModel):
    """Logistic regression for streams: one step a row, by the rule of your choice.

    Several classes are told from the rest one by one. The cost of a step follows the row's own entries.

    Parameters
    ----------
    rule : {"dropout", "adagrad", "arow", "sgd"}
        How steps are scaled; the equations stand in ``dropglm.online``.
    rate : float, optional
        Step size ρ, for rows of size 1: it is divided by the typical size of a row. None is the rule's own.
    l2 : float >= 0
        λ of a ridge in every step's problem.
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
        Of the predictions that were made for each row before it was learnt from, over all rows so far.
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
        checks.whole_number(self.epochs, "epochs")
        if self.epochs < 1:
            raise ValueError(f"epochs must be above 0, got {self.epochs}.")
        rule = self._rule(anew=True)
        X = self._checked_rows(X, reset=True)
        classes, numbers = self._checked_labels(y, X.shape[0])
        weights = checks.weights(sample_weight, X.shape[0])
        checks.some_weight(weights)
        self._begin(classes, X.dtype)
        rows, rng = Design(X).rows, np.random.default_rng(checks.seed(self.random_state))
        for _ in range(self.epochs):
            order = rng.permutation(len(numbers)) if self.shuffle else np.arange(len(numbers))
            self._learn(rule, rows, numbers, weights, order)
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
        first = not hasattr(self, "state_")
        X = self._checked_rows(X, reset=first)
        weights = checks.weights(sample_weight, X.shape[0])
        y = self._checked_target(y, X.shape[0])
        if first:
            self._begin(self._checked_classes(classes), X.dtype)
        numbers = self._numbers(y, classes)
        self._learn(rule, Design(X).rows, numbers, weights, np.arange(len(numbers)))
        return self

    def start_from(self, model: LogisticModel) -> Self:
        """Take over the coefficients and classes of a fitted model, for ``partial_fit`` to go on from."""
        check_is_fitted(model)
        coef = np.atleast_2d(model.coef_)
        self.n_features_in_ = coef.shape[1]
        self._begin(model.classes_, coef.dtype)
        beta = self.state_.cells[:, :, BETA]
        beta[:, :-1], beta[:, -1] = coef, np.atleast_1d(model.intercept_)
        return self

    def hand_over(self, model: LogisticRegression) -> LogisticRegression:
        """Give the coefficients to a model with ``warm_start=True``, whose ``fit`` then starts from them."""
        check_is_fitted(self, "state_")
        model.classes_, model.n_features_in_ = self.classes_, self.n_features_in_
        model.coef_, model.intercept_, model.multi_class_ = self.coef_, self.intercept_, "ovr"
        return model

    def _rule(self, *, anew: bool = False) -> Any:
        """The rule with its settings, if all are in order."""
        kind: Any = lookup(RULES, self.rule, "rule")
        checks.not_negative(self.l2, "l2")
        for name in ("average", "shuffle", "fit_intercept"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise TypeError(f"{name} must be True or False, got {getattr(self, name)!r}.")
        if self.average and self.l2:
            raise ValueError("average=True goes without a ridge; set l2=0.")
        if not anew and hasattr(self, "kept_") and self.kept_ != self._keeping():
            raise ValueError("average, and whether there is a ridge (l2), are settled by the first row.")
        if self.power not in (1, 0.5):
            raise ValueError(f"power must be 1 or 0.5, got {self.power!r}.")
        settings = {"power": float(self.power)} if "power" in kind._fields else {}
        if self.rate is not None:
            checks.not_negative(self.rate, "rate")
            settings["rate"] = float(self.rate)
        return kind(**settings)

    def _checked_rows(self, X: Any, *, reset: bool) -> Any:
        checked = checks.features(X)
        validate_data(self, X, reset=reset, skip_check_array=True)
        return checked

    def _checked_classes(self, classes: Any) -> np.ndarray:
        """All labels to come, in order."""
        if classes is None:
            raise ValueError("classes must be given in the first call of partial_fit: all labels to come.")
        return self._checked_labels(classes, len(classes))[0]

    def _numbers(self, y: np.ndarray, classes: Any = None) -> np.ndarray:
        """The number of each row's class, all of which must be known."""
        if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(f"classes are {self.classes_} since the first call of partial_fit.")
        if y.dtype.kind == self.classes_.dtype.kind != "O":
            numbers = np.searchsorted(self.classes_, y)
            numbers[self.classes_[np.minimum(numbers, len(self.classes_) - 1)] != y] = -1
        else:
            number_of = {label: number for number, label in enumerate(self.classes_.tolist())}
            numbers = np.array([number_of.get(label, -1) for label in y.tolist()])
        if numbers.min() < 0:
            strange = int(numbers.argmin())
            raise ValueError(f"Row {strange} has the label {y[strange]!s}, which is none of classes.")
        return numbers

    def _begin(self, classes: np.ndarray, dtype: Any) -> None:
        self.classes_, self.multi_class_ = classes, "ovr"
        K = 1 if len(classes) == 2 else len(classes)
        self.kept_ = average, ridge = self._keeping()
        self.state_ = State.new(self.n_features_in_, K, lazy=average or ridge, average=average, dtype=dtype)
        self.seen_ = np.zeros(3)  # weight, weight of right predictions, log loss

    def _keeping(self) -> tuple[bool, bool]:
        """What has to be kept of the past: for an average, for a ridge."""
        return bool(self.average), self.l2 > 0

    def _learner(self, rule: Any) -> Learner:
        return Learner(
            rule,
            self.state_,
            l2=float(self.l2),
            fit_intercept=bool(self.fit_intercept),
            average=bool(self.average),
        )

    def _learn(
        self, rule: Any, rows: Rows, numbers: np.ndarray, weights: np.ndarray, order: np.ndarray
    ) -> None:
        K = len(self.classes_)
        labels = np.array([1]) if K == 2 else np.arange(K)
        y = (numbers[:, None] == labels).astype(np.float64)
        eta = self._learner(rule).learn(rows, y, weights, order)
        w, y, numbers = weights[order], y[order], numbers[order]
        right = self._best(eta) == numbers
        loss = (Logistic.log_partition(eta) - y * eta).sum(axis=1)
        # One after the other, whatever the chunk: a sum of sums would be rounded by it.
        both = np.stack([w, w * right, w * loss])
        self.seen_ = np.cumsum(np.hstack([self.seen_[:, None], both]), axis=1)[:, -1].copy()

    @property
    def t_(self) -> int:
        """Steps taken."""
        return self.state_.steps

    @property
    def sums_(self) -> np.ndarray:
        """What the metric of each feature is made of; (K, d)."""
        return np.ascontiguousarray(self.state_.cells[:, :-1, SUM])

    @property
    def progressive_accuracy_(self) -> float:
        """Share of the rows whose label was predicted before it was learnt from."""
        return float(self.seen_[1] / self.seen_[0]) if self.seen_[0] else float("nan")

    @property
    def progressive_log_loss_(self) -> float:
        """Mean logistic loss of those predictions, summed over one-against-the-rest problems."""
        return float(self.seen_[2] / self.seen_[0]) if self.seen_[0] else float("nan")

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients as of now; (K, d)."""
        return np.ascontiguousarray(self._learner(self._rule()).coefficients()[:, :-1])

    @property
    def intercept_(self) -> np.ndarray:
        """Intercepts as of now; (K,)."""
        return self._learner(self._rule()).coefficients()[:, -1].copy()
