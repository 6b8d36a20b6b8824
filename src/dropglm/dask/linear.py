"""The linear estimators on Dask."""

from typing import Any

import numpy as np

from dropglm import estimators
from dropglm.dask.classes import ClassPredictions
from dropglm.dask.model import DaskModel
from dropglm.partitions import fit_logistic, fit_regression


class LogisticRegression(ClassPredictions, DaskModel, estimators.LogisticRegression):
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

    local = estimators.LogisticRegression
    fit_partitions = staticmethod(fit_logistic)


class _Regressor(DaskModel, estimators.GeneralizedLinearRegressor):
    """A regressor on Dask."""

    local = estimators.GeneralizedLinearRegressor
    fit_partitions = staticmethod(fit_regression)

    def predict(self, X: Any) -> Any:
        """Return the expected target of each row.

        Parameters
        ----------
        X : Dask array or data frame, list of delayed objects or futures, or data in memory

        Returns
        -------
        Dask array, list of delayed objects, or ndarray, of shape (n,)
        """
        return self._each(X, "predict", None, np.float64)


class LinearRegression(_Regressor, estimators.LinearRegression):
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

    local = estimators.LinearRegression


class PoissonRegressor(_Regressor, estimators.PoissonRegressor):
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

    local = estimators.PoissonRegressor
