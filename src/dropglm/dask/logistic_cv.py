"""Logistic regression with settings chosen by cross-validation on Dask."""

from typing import Any

import numpy as np

from dropglm import estimators
from dropglm.dask.classes import ClassPredictions
from dropglm.dask.collections import is_collection, partitions_of
from dropglm.dask.engine import client_from
from dropglm.dask.model import DaskModel
from dropglm.estimators.held_out import identity_model
from dropglm.estimators.scoring import scorer_from
from dropglm.estimators.validation import class_numbers
from dropglm.partitions import Rows, fit_logistic_cv
from dropglm.partitions.fitting import join
from dropglm.partitions.rows import Requirements, check_rows, naming


class LogisticRegressionCV(ClassPredictions, DaskModel, estimators.LogisticRegressionCV):
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

    local = estimators.LogisticRegressionCV
    fit_partitions = staticmethod(fit_logistic_cv)

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
        identity = identity_model(self.classes_, softmax=self.multi_class_ == "multinomial")
        weighted = {} if sample_weight is None else {"sample_weight": weights}
        return float(scorer_from(self.scoring, identity)(identity, eta, labels, **weighted))


def predictors_of(rows: Rows, model: Any) -> tuple[np.ndarray, ...]:
    """Return the predictors of a partition by a fitted model, its labels and its weights."""
    checked = check_rows(rows, Requirements("labels"))
    with naming(checked.name):
        K = len(model.classes_)
        if not len(checked.weights):
            return np.empty((0, 1 if K == 2 else K)), model.classes_[:0], checked.weights
        assert checked.y is not None
        labels = model.classes_[class_numbers(checked.y, model.classes_)]
        return model._predictors(checked.X), labels, checked.weights
