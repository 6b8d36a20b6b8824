"""Logistic regression that learns row by row."""

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted, validate_data

from dropglm.base import checks
from dropglm.base.errors import InputError, InputTypeError
from dropglm.core.design import Design
from dropglm.core.design.storage import BinaryRows, CsrRows, StoredRows, read_only
from dropglm.core.maths.compile import kernel
from dropglm.linear.base import LogisticModel
from dropglm.linear.online_model import OnlineModel
from dropglm.linear.validation import check_classes
from dropglm.places.labels import check_labels, check_target
from dropglm.places.rows import class_numbers

if TYPE_CHECKING:
    from dropglm.linear.logistic import LogisticRegression


class OnlineLogisticRegression(OnlineModel, LogisticModel):
    """Logistic regression for streams: one step per row, with a choice of update rules.

    With three or more classes, one model per class separates it from the rest. The cost of a step is
    proportional to the number of entries of the row.

    Parameters
    ----------
    rule : {"adagrad", "dropout", "arow", "sgd"} or Rule, default="adagrad"
        The update rule, which decides how steps are scaled; see ``dropglm.core.online`` for the equations. A
        rule of your own is an instance of a subclass of ``dropglm.core.online.Rule``.
    rate : float, default=None
        Step size ρ; None uses the rule's default. The rules with a square root ("adagrad", "sgd") divide it
        by the typical size of a row.
    l2 : float, default=0.0
        Strength λ of an L2 term in the problem of every step. It is applied once per row, so use small
        values such as 1e-5.
    power : {1, 0.5}, default=1
        For "dropout": 1 is the paper's A_t = diag(H_t), 0.5 its square root, as in AdaGrad.
    average : bool, default=False
        Predict with the mean of the coefficients over all steps. Cannot be combined with ``l2``.
    epochs : int, default=5
        Number of passes that ``fit`` makes over the rows.
    shuffle : bool, default=True
        Whether ``fit`` visits the rows in a new random order in each pass.
    fit_intercept : bool, default=True
        Whether to fit an intercept. The intercept is not penalised.
    random_state : int, RandomState, Generator or None, default=None
        Random seed for the order of the rows.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The labels.
    coef_ : ndarray of shape (1, d) or (K, d)
        Coefficients after the last step; computed on access.
    intercept_ : ndarray of shape (1,) or (K,)
        Intercepts after the last step; computed on access.
    multi_class_ : str
        Always "ovr": one class against the rest.
    t_ : int
        Number of steps taken.
    sums_ : ndarray of shape (1, d) or (K, d)
        The sums that the steps are scaled by: diag(G_t) for "adagrad", diag(H_t) for "dropout".
    progressive_accuracy_ : float
        Accuracy of the predictions that were made for each row before learning from it, over all rows so far;
        after ``fit``, over the first pass.
    progressive_log_loss_ : float
        Log loss of the same predictions, summed over the one-versus-rest problems.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, if X is a data frame.

    See Also
    --------
    LogisticRegression : Fits all rows at once.
    OnlineTextClassifier : The same for texts.

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
    (300, 0.91)
    """

    __metadata_request__fit: ClassVar[dict[str, Any]] = {"X_unlabeled": UNUSED, "unlabeled_weight": UNUSED}

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model from scratch, in ``epochs`` passes over the rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Features.
        y : array-like of shape (n,)
            Labels of any type.
        sample_weight : array-like of shape (n,), default=None
            Factors of the rows' gradients and curvatures.

        Returns
        -------
        OnlineLogisticRegression
            The fitted model.

        Raises
        ------
        DivergenceError
            A ValueError: the coefficients overflowed because ``rate`` is too large.
        """
        rule = self._checked_rule()
        checked = checks.features(X)
        classes, numbers = check_labels(self, y, checked.shape[0])
        weights = checks.weights(sample_weight, checked.shape[0])
        checks.some_weight(weights)
        validate_data(self, X, reset=True, skip_check_array=True)
        self._reset(classes, checked.shape[1], checked.dtype)
        rows, rng = Design(checked).rows, np.random.default_rng(checks.seed(self.random_state))
        for epoch in range(self.epochs):
            order = rng.permutation(len(numbers)) if self.shuffle else np.arange(len(numbers))
            scores = self._progressive_scores
            self._learn(rule, rows, numbers, weights, order)
            if epoch:
                self._progressive_scores = scores  # later passes predict rows that were learnt from before
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from these rows once, in the given order.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Features.
        y : array-like of shape (n,)
            Labels.
        classes : array-like, default=None
            All labels that will ever occur. Required in the first call; later calls may repeat it.
        sample_weight : array-like of shape (n,), default=None
            Factors of the rows' gradients and curvatures. A row of weight 0 is predicted but not learnt from.

        Returns
        -------
        OnlineLogisticRegression
            The updated model.

        Raises
        ------
        DivergenceError
            A ValueError: the coefficients overflowed because ``rate`` is too large. The model cannot be used
            any more; call ``fit``, or start again with a new one.
        """
        rule = self._unchanged_rule()
        rows = rows_if_valid(X)
        checked = X if rows is not None else checks.features(X)
        weights = checks.weights(sample_weight, checked.shape[0])
        y = check_target(self, y, checked.shape[0])
        known, numbers = self._class_numbers(y, classes)
        first = not hasattr(self, "_state")
        validate_data(self, X, reset=first, skip_check_array=True)
        if first:
            self._reset(known, checked.shape[1], checked.dtype)
        rows = Design(checked).rows if rows is None else rows
        self._learn(rule, rows, numbers, weights, np.arange(len(numbers)))
        return self

    def start_from(self, model: LogisticModel) -> Self:
        """Copy the coefficients and classes of a fitted model, so that ``partial_fit`` continues from them.

        Parameters
        ----------
        model : LogisticRegression, LogisticRegressionCV or OnlineLogisticRegression
            A fitted model. If it is multinomial with K > 2 classes, its predictors η become
            (η - mean of η) K / (K - 1) - log(K - 1), the log odds of one class against the rest if the others
            are equally probable: the predicted classes stay the same, and probabilities nearly so.

        Returns
        -------
        OnlineLogisticRegression
            The model with those coefficients. ``l2`` does not shrink a coefficient before the first row that
            contains its feature.
        """
        _check_type(model, LogisticModel)
        check_is_fitted(model)
        self._start_from(model)
        self.__dict__.pop("feature_names_in_", None)
        if hasattr(model, "feature_names_in_"):
            self.feature_names_in_ = model.feature_names_in_
        return self

    def hand_over(self, model: "LogisticRegression") -> "LogisticRegression":
        """Copy the coefficients to a model with ``warm_start=True``, whose ``fit`` then starts from them.

        Parameters
        ----------
        model : LogisticRegression
            The model to initialise.

        Returns
        -------
        LogisticRegression
            The same object.
        """
        from dropglm.linear.logistic import LogisticRegression

        _check_type(model, LogisticRegression)
        self._check_fitted()
        if not model.warm_start:
            raise InputError("The model has warm_start=False, so its fit would ignore the coefficients.")
        names = {"feature_names_in_": self.feature_names_in_} if hasattr(self, "feature_names_in_") else {}
        model._set_fitted(
            classes_=self.classes_,
            coef_=self.coef_.copy(),
            intercept_=self.intercept_.copy(),
            multi_class_="ovr",
            n_features_in_=self.n_features_in_,
            **names,
        )
        return model

    def _class_numbers(self, y: np.ndarray, classes: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the sorted classes and the class number of each label; unknown labels raise a ValueError."""
        known = self.classes_ if hasattr(self, "_state") else check_classes(self, classes)
        if classes is not None and not np.array_equal(np.unique(classes), known):
            raise InputError(f"classes cannot change after the first partial_fit; they are {known}.")
        return known, class_numbers(y, known)


def _check_type(model: Any, kind: type) -> None:
    if not isinstance(model, kind):
        raise InputTypeError(f"model must be a {kind.__name__} of dropglm, got {model!r}.")


def rows_if_valid(X: Any) -> StoredRows | None:
    """Return the rows of a CSR matrix that is valid, finite, sorted and without zeros; None for all others.

    scikit-learn's checks, ours and those of ``Design`` read a matrix four times, which takes half as long as
    a pass of online learning. What is not sound is left to them; they correct it, or name what is wrong.

    Examples
    --------
    >>> rows_if_valid(sparse.csr_array([[0.0, 1.0]]))
    BinaryRows(indptr=array([0, 1]), indices=array([1], dtype=uint32))
    >>> rows_if_valid(sparse.csr_array([[0.0, np.nan]])) is None
    True
    """
    if not (
        isinstance(X, (sparse.csr_array, sparse.csr_matrix))
        and X.dtype in (np.float32, np.float64)
        and X.indices.dtype == np.int32
        and X.ndim == 2
        and min(X.shape) > 0
    ):
        return None
    try:
        X.check_format(full_check=False)
    except ValueError:
        return None
    indptr = read_only(X.indptr.astype(np.int64, copy=False))
    indices, values = read_only(X.indices.view(np.uint32)), read_only(X.data)
    bits, limits = values.view(f"i{values.itemsize}"), np.array([1.0, np.finfo(X.dtype).max], X.dtype)
    sound, ones = survey(indptr, indices, bits, *map(int, limits.view(bits.dtype)), X.shape[1])
    if not sound:
        return None
    return BinaryRows(indptr, indices) if ones else CsrRows(indptr, indices, values)


@kernel
def survey(indptr, indices, bits, one, largest, d):
    """Return whether the arrays are valid and canonical, and whether all values are ones.

    ``bits`` are the values as integers of the same size, ``one`` and ``largest`` those of 1 and of the
    largest finite number. Tests are the signs of differences, whose bits are collected without branches, so
    that the loops are vectorised: 3 ms instead of 25.
    """
    others = np.int64(0)
    for i in range(len(indptr) - 1):
        start, stop = indptr[i], indptr[i + 1]
        if not 0 <= start <= stop <= len(indices):
            return False, False
        columns, own = indices[start:stop], bits[start:stop]  # Numba vectorises loops that start at 0
        falls = np.int64(0)
        for k in range(1, len(columns)):
            falls |= np.int64(columns[k]) - np.int64(columns[k - 1]) - 1
        if falls < 0 or (stop > start and indices[stop - 1] >= d):
            return False, False
        for k in range(len(own)):
            others |= np.int64(own[k]) ^ one
        if others:
            bad = np.int64(0)
            for k in range(len(own)):
                size = np.int64(own[k]) & ~(np.int64(-1) << (8 * bits.itemsize - 1))  # without its sign
                bad |= (largest - size) | (size - 1)
            if bad < 0:
                return False, False
    return True, others == 0
