"""The linear estimators on Dask, and what all estimators there share: their client, fits and predictions."""

import inspect
from collections.abc import Callable, Sequence
from functools import partial, wraps
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.metrics import accuracy_score, r2_score

from dropglm import linear, search
from dropglm.base import checks
from dropglm.base.errors import InputError
from dropglm.core.predictions import MULTILABEL
from dropglm.dask.collections import gather, is_collection, map_partitions, partitions_of
from dropglm.dask.engine import DaskEngine, client_from
from dropglm.places.labels import indicators_of
from dropglm.places.partitions import Engine, Rows, fit_partitions
from dropglm.places.partitions.checkpoint import remove_checkpoint
from dropglm.places.partitions.contents import check_rows, naming
from dropglm.places.rows import class_numbers
from dropglm.search.held_out import identity_model
from dropglm.search.scoring import scorer_from


class DaskModel(BaseEstimator):
    """An estimator whose ``fit`` takes Dask collections.

    A subclass also inherits from the local estimator, whose settings it has. ``client`` is added to them.
    """

    local: ClassVar[Any]  # the estimator for data in memory
    client: Any
    predict: Callable[..., Any]

    if TYPE_CHECKING:

        def __init__(self, *arguments: Any, client: Any = None, **settings: Any) -> None:
            """Set the settings; the signature of a subclass names all of them."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Add ``client`` to the settings of the local estimator."""
        super().__init_subclass__(**options)
        cls.__init__ = _with_client(cls.local)  # type: ignore[method-assign]

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        X_unlabeled: Any = None,
        unlabeled_weight: Any = None,
        *,
        label_probabilities: Any = None,
        checkpoint: str | PathLike[str] | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : Dask array or data frame of shape (n, d), or list of delayed objects or futures
            Features. Blocks of arrays may be dense or scipy.sparse; sizes of chunks may be unknown, and
            partitions may be empty.
        y : Dask array or series of shape (n,), or list of delayed objects or futures
            Labels or targets, in the same partitions.
        sample_weight : like y, default=None
            Weights of the rows.
        X_unlabeled : like X, default=None
            Rows without labels.
        unlabeled_weight : like y, default=None
            Weights of the unlabelled rows.
        label_probabilities : None
            Not supported: pass each row once per class, with the probability of the class as its weight, in
            one group.
        checkpoint : str or path, default=None
            A folder on the client for the state of the fit after each iteration. If the client dies, the same
            call continues there; at the end the folder is removed.

        Returns
        -------
        self
            The fitted model, with plain NumPy arrays.
        """
        if X_unlabeled is None and unlabeled_weight is not None:
            raise InputError("unlabeled_weight was given without X_unlabeled.")
        refuse_probabilities(label_probabilities)
        return self._fit_collections((X, y, sample_weight), (X_unlabeled, None, unlabeled_weight), checkpoint)

    def _fit_collections(
        self,
        labeled: Sequence[Any],
        unlabeled: Sequence[Any],
        checkpoint: str | PathLike[str] | None,
        groups: Any = None,
    ) -> Self:
        """Fit the model to collections: X, y, weights and, if X are texts that have some, embeddings."""
        if labeled[1] is None:
            raise InputError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        client = client_from(self.client)
        parts = partitions_of(client, *labeled, labeled=True, groups=groups)
        others = [] if unlabeled[0] is None else partitions_of(client, *unlabeled, labeled=False)
        self.fit_parts(self._engine(client), parts, others, checkpoint)
        remove_checkpoint(checkpoint)
        return self

    def _engine(self, client: Any) -> Engine:
        return DaskEngine(client)

    # Takes an engine, and partitions as it keeps them.
    fit_parts: ClassVar[Callable[..., Any]] = fit_partitions

    def to_local(self) -> Any:
        """Return the ordinary estimator with the same settings and coefficients.

        Returns
        -------
        estimator
            Of the class of the same name in ``dropglm``; it does not need Dask.
        """
        model = self.local()
        vars(model).update({name: value for name, value in vars(self).items() if name != "client"})
        return model

    def _map_partitions(
        self, X: Any, method: str, columns: int | None, dtype: Any, embeddings: Any = None
    ) -> Any:
        """Return the predictions of a method of the local model, for a collection or for data in memory."""
        local = self.to_local()
        if not is_collection(X):
            return getattr(local, method)(X, *([] if embeddings is None else [embeddings]))
        predict = partial(_predictions, getattr(self._on_worker(local), method), columns, dtype)
        return map_partitions(X, predict, columns, dtype, embeddings)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of a classifier, or R² of a regressor.

        Parameters
        ----------
        X : Dask array or data frame, list of delayed objects or futures, or data in memory
            Features.
        y : of the same kind, with the same partitions
            The classes or targets of the rows.
        sample_weight : like y, default=None
            Weights of the rows.

        Returns
        -------
        float
            The score; larger is better.
        """
        return self._score(self.predict(X), X, y, sample_weight)

    def _score(self, predicted: Any, X: Any, y: Any, sample_weight: Any) -> float:
        """Return the score of predictions for X."""
        if is_collection(X):
            client = client_from(self.client)
            predicted, y = gather(client, predicted, "X"), gather(client, y, "y")
            if sample_weight is not None:
                sample_weight = gather(client, sample_weight, "sample_weight")
        metric = accuracy_score if is_classifier(self) else r2_score
        return float(metric(y, predicted, sample_weight=sample_weight))

    def _on_worker(self, local: Any) -> Any:
        """Return the local model as it predicts on a worker."""
        return local

    def __sklearn_clone__(self) -> Self:
        """Return an unfitted copy that uses the same client."""
        settings = self.get_params(deep=False)
        client = settings.pop("client")
        copies = {name: clone(value, safe=False) for name, value in settings.items()}
        return type(self)(**copies, client=client)

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: everything but the client."""
        return {**vars(self), "client": None}


def _predictions(
    predict: Callable[..., Any], columns: int | None, dtype: Any, part: Any, *embeddings: Any
) -> Any:
    """Return the predictions of a partition, which may be empty."""
    part = part if hasattr(part, "shape") else list(part)
    if part.shape[0] if hasattr(part, "shape") else len(part):
        return predict(part, *embeddings)
    return np.empty(0 if columns is None else (0, columns), dtype)


def _with_client(local: Any) -> Callable[..., None]:
    """Return an ``__init__`` with the parameters of the local estimator and ``client``.

    scikit-learn reads the names of the settings from the signature.
    """
    inherited = local.__init__

    @wraps(inherited)
    def initialise(self: Any, *arguments: Any, client: Any = None, **settings: Any) -> None:
        inherited(self, *arguments, **settings)
        self.client = client

    signature = inspect.signature(inherited)
    client = inspect.Parameter("client", inspect.Parameter.KEYWORD_ONLY, default=None)
    initialise.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*signature.parameters.values(), client]
    )
    return initialise


class DaskClassifier:
    """Predictions of collections, or of data in memory; for subclasses of ``DaskModel``."""

    classes_: np.ndarray
    _map_partitions: Callable[..., Any]

    def _map_classes(self, X: Any, method: str, *embeddings: Any) -> Any:
        """Return the predictions of a method: classes, or numbers of the classes."""
        checks.fitted(self, "classes_")
        K = len(self.classes_)
        columns = None if method == "predict" or (method == "decision_function" and K == 2) else K
        dtype = self.classes_.dtype if method == "predict" else np.float64
        return self._map_partitions(X, method, columns, dtype, *embeddings)

    def predict(self, X: Any) -> Any:
        """Return the most probable class of each row.

        Parameters
        ----------
        X : Dask array or data frame, list of delayed objects or futures, or data in memory

        Returns
        -------
        Dask array, list of delayed objects, or ndarray, of shape (n,)
        """
        return self._map_classes(X, "predict")

    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each class.

        Parameters
        ----------
        X : Dask array or data frame, list of delayed objects or futures, or data in memory

        Returns
        -------
        Dask array, list of delayed objects, or ndarray, of shape (n, K)
        """
        return self._map_classes(X, "predict_proba")

    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithm of the probability of each class.

        Parameters
        ----------
        X : Dask array or data frame, list of delayed objects or futures, or data in memory

        Returns
        -------
        Dask array, list of delayed objects, or ndarray, of shape (n, K)
        """
        return self._map_classes(X, "predict_log_proba")

    def decision_function(self, X: Any) -> Any:
        """Return the predictors: log odds of the second of two classes, or one per class.

        Parameters
        ----------
        X : Dask array or data frame, list of delayed objects or futures, or data in memory

        Returns
        -------
        Dask array, list of delayed objects, or ndarray, of shape (n,) or (n, K)
        """
        return self._map_classes(X, "decision_function")


class LogisticRegression(DaskClassifier, DaskModel, linear.LogisticRegression):
    """Logistic regression with feature noise integrated out, fitted on a Dask cluster.

    The objective, and so the model, is that of ``dropglm.LogisticRegression``: coefficients agree up to the
    tolerance of the solver. Rows stay on the workers. Each iteration sends the coefficients to them and gets
    the sum of their gradients back.

    Parameters
    ----------
    dropout, noise_std, l2, expectation, discount, l2_weights, fit_intercept, multi_class, class_weight, \
tol, max_iter, warm_start, n_jobs, device, random_state, verbose : as in dropglm.LogisticRegression
        ``n_jobs`` is the number of threads of the client; workers use one thread per task. ``device`` must be
        None or "cpu". With ``expectation="monte_carlo"`` the noised copies depend on the partitions.
    client : distributed.Client, default=None
        The client; None means Dask's default client.

    Attributes
    ----------
    classes_, coef_, intercept_, n_iter_, multi_class_, n_features_in_, feature_names_in_, result_
        As in ``dropglm.LogisticRegression``: plain arrays.

    See Also
    --------
    dropglm.LogisticRegression : The same for data in memory.

    Examples
    --------
    >>> import dask.array as da
    >>> from dask.distributed import Client
    >>> from dropglm.dask import LogisticRegression
    >>> client = Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0")
    >>> X = da.from_array([[1.0, 1, 0], [1, 0, 1], [0, 1, 1], [0, 0, 1]], chunks=(2, 3))
    >>> y = da.from_array([1, 1, 0, 0], chunks=2)
    >>> model = LogisticRegression().fit(X, y)
    >>> model.predict(X).compute()
    array([1, 1, 0, 0])
    >>> model.to_local().predict([[1.0, 0.0, 0.0]])
    array([1])
    >>> client.close()
    """

    local = linear.LogisticRegression


class DaskRegressor(DaskModel, linear.GeneralizedLinearRegressor):
    """A regressor on Dask."""

    local = linear.GeneralizedLinearRegressor

    def predict(self, X: Any) -> Any:
        """Return the expected target of each row.

        Parameters
        ----------
        X : Dask array or data frame, list of delayed objects or futures, or data in memory

        Returns
        -------
        Dask array, list of delayed objects, or ndarray, of shape (n,)
        """
        return self._map_partitions(X, "predict", None, np.float64)


class LinearRegression(DaskRegressor, linear.LinearRegression):
    """Linear regression with feature noise integrated out, fitted on a Dask cluster.

    Parameters
    ----------
    dropout, noise_std, l2, expectation, discount, l2_weights, fit_intercept, tol, max_iter, warm_start, \
n_jobs, device, random_state, verbose : as in dropglm.LinearRegression
        ``n_jobs`` is the number of threads of the client; ``device`` must be None or "cpu".
    client : distributed.Client, default=None
        The client; None means Dask's default client.

    Attributes
    ----------
    coef_, intercept_, n_iter_, n_features_in_, feature_names_in_, result_
        As in ``dropglm.LinearRegression``.

    See Also
    --------
    dropglm.LinearRegression : The same for data in memory.

    Examples
    --------
    >>> import dask.array as da
    >>> from dask.distributed import Client
    >>> from dropglm.dask import LinearRegression
    >>> client = Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0")
    >>> X = da.from_array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [2.0, 0.0]], chunks=(2, 2))
    >>> y = da.from_array([1.0, 3.0, 2.0, 2.0], chunks=2)
    >>> LinearRegression().fit(X, y).coef_.round(2)
    array([1., 2.])
    >>> client.close()
    """

    local = linear.LinearRegression


class PoissonRegressor(DaskRegressor, linear.PoissonRegressor):
    """Poisson regression with feature noise integrated out, fitted on a Dask cluster.

    Parameters
    ----------
    dropout, noise_std, l2, expectation, discount, l2_weights, fit_intercept, tol, max_iter, warm_start, \
n_jobs, device, random_state, verbose : as in dropglm.PoissonRegressor
        ``n_jobs`` is the number of threads of the client; ``device`` must be None or "cpu".
    client : distributed.Client, default=None
        The client; None means Dask's default client.

    Attributes
    ----------
    coef_, intercept_, n_iter_, n_features_in_, feature_names_in_, result_
        As in ``dropglm.PoissonRegressor``.

    See Also
    --------
    dropglm.PoissonRegressor : The same for data in memory.

    Examples
    --------
    >>> import dask.array as da
    >>> from dask.distributed import Client
    >>> from dropglm.dask import PoissonRegressor
    >>> client = Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0")
    >>> X = da.from_array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [2.0, 0.0]], chunks=(2, 2))
    >>> model = PoissonRegressor(l2=0.1).fit(X, da.from_array([1, 6, 4, 2], chunks=2))
    >>> model.predict(X).compute().round(1)
    array([1.3, 5.9, 3.9, 1.9])
    >>> client.close()
    """

    local = linear.PoissonRegressor


class LogisticRegressionCV(DaskClassifier, DaskModel, search.LogisticRegressionCV):
    """Logistic regression with noise, l2, l2_weights and discount chosen by cross-validation on Dask.

    The search is that of ``dropglm.LogisticRegressionCV``: the same folds, scores and choice for the same
    rows in the same order. Features stay on the workers; the client has the labels, weights and folds of all
    labelled rows, and gets sums and the predictors of held-out rows, one number per row and class. A fold is
    a weight of 0 for its held-out rows. All folds, paths of the grid and classes share the rounds in which
    the client asks the workers.

    Parameters
    ----------
    dropout, noise_std, l2, expectation, discount, l2_weights : as in dropglm.LogisticRegressionCV
        Grids of settings.
    cv, scoring, extend_l2, one_standard_error, race, calibrate, naive_bayes, rounds : as in \
dropglm.LogisticRegressionCV
        The search. Rows of weight 0 belong to no fold. A splitter sees no features. ``race=False`` takes
        fewer rounds but more evaluations.
    fit_intercept, multi_class, class_weight, tol, max_iter : as in dropglm.LogisticRegressionCV
        The fits.
    n_jobs : int, default=None
        Number of threads of the client; workers use one thread per task.
    device : {"cpu"} or None, default=None
        Fits on Dask run on CPUs.
    random_state, verbose : as in dropglm.LogisticRegressionCV
        Random seed, and whether to show progress.
    client : distributed.Client, default=None
        The client; None means Dask's default client.

    Attributes
    ----------
    dropout_, noise_std_, l2_, l2_weights_, discount_, best_params_, best_score_, best_scores_, best_index_, \
best_estimator_, scale_, naive_bayes_, rounds_, cv_probabilities_, l2_at_edge_, cv_results_, classes_, \
coef_, intercept_, n_iter_, multi_class_, result_, n_features_in_, feature_names_in_
        As in ``dropglm.LogisticRegressionCV``.

    See Also
    --------
    dropglm.LogisticRegressionCV : The same for data in memory.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from dask.distributed import Client
    >>> from dropglm.dask import LogisticRegressionCV
    >>> client = Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0")
    >>> rng = np.random.default_rng(0)
    >>> X = (rng.random((200, 30)) < 0.3).astype(float)
    >>> y = X[:, :5].sum(axis=1) > X[:, 5:10].sum(axis=1)
    >>> model = LogisticRegressionCV(dropout=(0.5, 0.3), l2=(1.0, 0.1), cv=3)
    >>> model = model.fit(da.from_array(X, chunks=(100, 30)), da.from_array(y, chunks=100))
    >>> model.dropout_, model.l2_, model.l2_weights_
    (0.3, 0.1, 'naive_bayes')
    >>> client.close()
    """

    local = search.LogisticRegressionCV

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        X_unlabeled: Any = None,
        unlabeled_weight: Any = None,
        groups: Any = None,
        *,
        label_probabilities: Any = None,
        checkpoint: str | PathLike[str] | None = None,
    ) -> Self:
        """Choose the settings by cross-validation, and fit the model with them to all rows.

        Parameters
        ----------
        X : Dask array or data frame of shape (n, d), or list of delayed objects or futures
            Features, as for ``LogisticRegression``.
        y : Dask array or series of shape (n,), or list of delayed objects or futures
            Labels, in the same partitions.
        sample_weight : like y, default=None
            Weights of the rows.
        X_unlabeled : like X, default=None
            Rows without labels.
        unlabeled_weight : like y, default=None
            Weights of the unlabelled rows.
        groups : like y, default=None
            Labels of any type: rows with the same label, in whatever partitions, are held out together. The
            client gathers them.
        checkpoint : None
            A search has no checkpoint, so a path is an error.

        Returns
        -------
        self
            The fitted model, with plain NumPy arrays.
        """
        if X_unlabeled is None and unlabeled_weight is not None:
            raise InputError("unlabeled_weight was given without X_unlabeled.")
        unlabeled = X_unlabeled, None, unlabeled_weight
        refuse_probabilities(label_probabilities)
        return self._fit_collections((X, y, sample_weight), unlabeled, checkpoint, groups)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the score of the predictions for X by ``scoring``.

        Parameters
        ----------
        X : Dask array or data frame, list of delayed objects or futures, or data in memory
        y : of the same kind, with the same partitions
            The classes of the rows.
        sample_weight : like y, default=None
            Weights of the rows.

        Returns
        -------
        float
        """
        local = self.to_local()
        if not is_collection(X):
            return local.score(X, y, sample_weight)
        client = client_from(self.client)
        rows = partitions_of(client, X, y, sample_weight, labeled=True)
        eta, labels, weights = self._engine(client).total(predictors_of, rows, local, join)
        softmax, many = self.multi_class_ == "multinomial", self._multilabel
        identity = identity_model(self.classes_, softmax=softmax, multilabel=many)
        weighted = {} if sample_weight is None else {"sample_weight": weights}
        return float(scorer_from(self.scoring, identity)(identity, eta, labels, **weighted))


def refuse_probabilities(given: Any) -> None:
    """Raise an error if there are probabilities of labels."""
    if given is not None:
        raise InputError(
            "label_probabilities is not supported on Dask; pass each row once per class, with the "
            "probability of the class as its sample_weight and the same group."
        )


def predictors_of(rows: Rows, model: Any) -> tuple[np.ndarray, ...]:
    """Return the predictors of a partition by a fitted model, its labels and its weights."""
    checked = check_rows(rows, "labels")
    with naming(checked.name):
        K = len(model.classes_)
        many = model.multi_class_ == MULTILABEL
        if not len(checked.weights):
            empty = np.empty((0, K), int) if many else model.classes_[:0]
            return np.empty((0, 1 if K == 2 and not many else K)), empty, checked.weights
        assert checked.y is not None
        if many:
            labels = indicators_of(checked.y, model.classes_)
        else:
            labels = model.classes_[class_numbers(checked.y, model.classes_)]
        return model._predictors(checked.X), labels, checked.weights


def join(a: tuple[np.ndarray, ...], b: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    """Return the arrays of two groups of partitions, in their order."""
    return tuple(np.concatenate(both) for both in zip(a, b, strict=True))
