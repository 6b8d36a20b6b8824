"""What the estimators on Dask share: their client, fits to collections, predictions of collections."""

import inspect
from collections.abc import Callable
from functools import partial, wraps
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, clone

from dropglm.dask.collections import apply, is_collection, partitions_of
from dropglm.dask.engine import DaskEngine, client_from
from dropglm.partitions import Engine
from dropglm.partitions.checkpoint import remove_checkpoint


class DaskModel(BaseEstimator):
    """An estimator whose ``fit`` takes Dask collections.

    A subclass also inherits from the local estimator, whose settings it has. ``client`` is added to them.
    """

    # The estimator for data in memory, and the function that fits it to partitions.
    local: ClassVar[Any]
    fit_partitions: ClassVar[Callable[..., Any]]
    client: Any

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
        checkpoint : str or path, default=None
            A folder on the client for the state of the fit after each iteration. If the client dies, the same
            call continues there; at the end the folder is removed.

        Returns
        -------
        self
            The fitted model, with plain NumPy arrays.
        """
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        client = client_from(self.client)
        if X_unlabeled is None and unlabeled_weight is not None:
            raise ValueError("unlabeled_weight was given without X_unlabeled.")
        labeled = partitions_of(client, X, y, sample_weight, labeled=True)
        unlabeled = []
        if X_unlabeled is not None:
            unlabeled = partitions_of(client, X_unlabeled, None, unlabeled_weight, labeled=False)
        type(self).fit_partitions(self, self._engine(client), labeled, unlabeled, checkpoint)
        remove_checkpoint(checkpoint)
        return self

    def _engine(self, client: Any) -> Engine:
        return DaskEngine(client)

    def to_local(self) -> Any:
        """Return the ordinary estimator with the same settings and coefficients.

        Returns
        -------
        estimator
            Of the class of the same name in ``dropglm``; it does not need Dask.
        """
        model = object.__new__(self.local)
        vars(model).update({name: value for name, value in vars(self).items() if name != "client"})
        return model

    def _each(self, X: Any, method: str, columns: int | None, dtype: Any) -> Any:
        """Return the predictions of a method of the local model, for a collection or for data in memory."""
        predict = getattr(self.to_local(), method)
        if not is_collection(X):
            return predict(X)
        return apply(X, partial(_predictions, predict, columns, dtype), columns, dtype)

    def __sklearn_clone__(self) -> Self:
        """Return an unfitted copy that uses the same client."""
        settings = self.get_params(deep=False)
        client = settings.pop("client")
        copies = {name: clone(value, safe=False) for name, value in settings.items()}
        return type(self)(**copies, client=client)

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: everything but the client."""
        return {**vars(self), "client": None}


def _predictions(predict: Callable[[Any], Any], columns: int | None, dtype: Any, part: Any) -> Any:
    """Return the predictions of a partition, which may be empty."""
    if len(part) if not hasattr(part, "shape") else part.shape[0]:
        return predict(part)
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
