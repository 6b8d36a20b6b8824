"""The text classifier on Dask."""

from os import PathLike
from typing import Any, Self

from dropglm import text
from dropglm.base.errors import InputError
from dropglm.dask.linear import DaskClassifier, DaskModel, refuse_probabilities
from dropglm.places.partitions import Engine
from dropglm.text.partitioned import TextsInPartitions
from dropglm.text.training import fit_to_texts, warn_unless_better


class TextClassifier(DaskClassifier, DaskModel, text.TextClassifier):
    """Text classifier whose texts are in a Dask collection.

    Partitions count their n-grams, the counts are added, and the vocabulary is selected on the client. It is
    that of all texts at once. Each partition then becomes a matrix that stays on its worker, and its texts
    are released. The model is that of ``dropglm.TextClassifier`` with the same settings: coefficients agree
    up to the tolerance of the solver.

    It does all that the local classifier does: by default it chooses dropout, l2, its weights and
    ``ngram_weight`` by cross-validation with the same grids and folds, calibrates, adds naive Bayes and the
    model of n-grams of characters, and learns from unlabelled texts by latent features and by rounds of naive
    Bayes. An embedder embeds the texts of each partition
    on its worker, so it must be possible to pickle it.

    Parameters
    ----------
    ngram_range, min_df, max_df, max_features, binary, sublinear_tf, use_idf, norm, idf_power, \
ngram_weight, characters, analyzer, stop_words, strip_accents, lowercase, token_pattern, strip_html, tune, \
dropout, l2, discount, l2_weights, expectation, calibrate, naive_bayes, n_latent, rounds, embedder, \
class_weight, cv, scoring, precision, tol, max_iter, n_jobs, device, random_state, verbose : as in \
dropglm.TextClassifier
        ``n_jobs`` is the number of threads of the client, and workers use one thread per task.
    client : distributed.Client, default=None
        The client; None means Dask's default client.

    Attributes
    ----------
    classes_, n_features_in_, vectorizer_, model_, search_, cv_probabilities_, summary_, text_column_, \
label_column_
        As in ``dropglm.TextClassifier``.

    See Also
    --------
    dropglm.TextClassifier : The same for texts in memory.

    Examples
    --------
    >>> import dask.bag as db
    >>> from dask.distributed import Client
    >>> from dropglm.dask import TextClassifier
    >>> client = Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0")
    >>> texts = db.from_sequence(["a lovely film", "great fun", "a dull film", "boring"], npartitions=2)
    >>> y = db.from_sequence(["good", "good", "bad", "bad"], npartitions=2)
    >>> model = TextClassifier(min_df=1, l2=0.1, tune=False).fit(texts, y)
    >>> model.predict(texts).compute()
    array(['good', 'good', 'bad', 'bad'], dtype='<U4')
    >>> model.to_local().predict(["a great film"])
    array(['good'], dtype='<U4')
    >>> client.close()
    """

    local = text.TextClassifier

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        X_unlabeled: Any = None,
        embeddings: Any = None,
        embeddings_unlabeled: Any = None,
        groups: Any = None,
        *,
        label_probabilities: Any = None,
        second_labels: Any = None,
        checkpoint: str | PathLike[str] | None = None,
    ) -> Self:
        """Learn the vocabulary, tune the settings and fit the model.

        Parameters
        ----------
        X : Dask bag or series of str, or list of delayed objects or futures
            Texts with labels. A delayed object or future is a list or another iterable of strings.
            Partitions may be empty.
        y : Dask bag, array or series, or list of delayed objects or futures
            Labels of any type, in the same partitions.
        sample_weight : like y, default=None
            Weights of the texts with labels.
        X_unlabeled : like X, default=None
            Texts without labels.
        embeddings, embeddings_unlabeled : Dask arrays or lists of delayed objects or futures, default=None
            Embeddings of the texts, in the same partitions, if you have computed them.
        groups : like y, default=None
            Labels of any type: texts with the same label, in whatever partitions, are held out together, and
            so are copies of texts.
        label_probabilities : None
            Not supported: pass each row once per class, with the probability of the class as its weight, in
            one group.
        second_labels : None
            Not supported, since it needs several fits.
        checkpoint : str or path, default=None
            A folder on the client for the state of the fit after each iteration, as for the linear
            estimators; only if nothing is tuned.

        Returns
        -------
        self
            The fitted model, with plain NumPy arrays.
        """
        if embeddings is None and embeddings_unlabeled is not None:
            raise InputError("embeddings_unlabeled needs embeddings, those of X, as well.")
        refuse_probabilities(label_probabilities)
        if second_labels is not None:
            raise InputError("second_labels is not supported on Dask; use TextClassifier in memory.")
        unlabeled = X_unlabeled, None, None, embeddings_unlabeled
        return self._fit_collections((X, y, sample_weight, embeddings), unlabeled, checkpoint, groups)

    def fit_parts(
        self,
        engine: Engine,
        labeled: list[Any],
        unlabeled: list[Any],
        checkpoint: str | PathLike[str] | None = None,
    ) -> Self:
        """Fit the model to partitions as an engine keeps them.

        Parameters
        ----------
        engine : Engine
            Who keeps and adds up the partitions.
        labeled, unlabeled : lists
            Partitions of texts.
        checkpoint : str or path, optional
            A folder for the state after each iteration, which stays at the end.

        Returns
        -------
        Self
            The estimator itself.
        """
        texts = TextsInPartitions(self, engine, labeled, unlabeled, checkpoint)
        self._fitted = fit_to_texts(self, texts)
        warn_unless_better(self.summary_)
        return self

    def predict(self, X: Any, embeddings: Any = None) -> Any:
        """Predict the most probable class of each text.

        Parameters
        ----------
        X : Dask bag or series of str, list of delayed objects or futures, or texts in memory
        embeddings : of the same kind, default=None
            Embeddings of the texts, if you have computed them.

        Returns
        -------
        Dask array, list of delayed objects, or ndarray, of shape (n,)
        """
        return self._map_classes(X, "predict", embeddings)

    def predict_proba(self, X: Any, embeddings: Any = None) -> Any:
        """Predict the probability of each class.

        Parameters
        ----------
        X : Dask bag or series of str, list of delayed objects or futures, or texts in memory
        embeddings : of the same kind, default=None
            Embeddings of the texts, if you have computed them.

        Returns
        -------
        Dask array, list of delayed objects, or ndarray, of shape (n, K)
            Columns are in the order of ``classes_``.
        """
        return self._map_classes(X, "predict_proba", embeddings)

    def predict_log_proba(self, X: Any, embeddings: Any = None) -> Any:
        """Predict the logarithm of the probability of each class.

        Parameters
        ----------
        X : Dask bag or series of str, list of delayed objects or futures, or texts in memory
        embeddings : of the same kind, default=None
            Embeddings of the texts, if you have computed them.

        Returns
        -------
        Dask array, list of delayed objects, or ndarray, of shape (n, K)
            Columns are in the order of ``classes_``.
        """
        return self._map_classes(X, "predict_log_proba", embeddings)

    def decision_function(self, X: Any, embeddings: Any = None) -> Any:
        """Compute the linear predictor of each text.

        Parameters
        ----------
        X : Dask bag or series of str, list of delayed objects or futures, or texts in memory
        embeddings : of the same kind, default=None
            Embeddings of the texts, if you have computed them.

        Returns
        -------
        Dask array, list of delayed objects, or ndarray, of shape (n,) for two classes, else (n, K)
        """
        return self._map_classes(X, "decision_function", embeddings)

    def score(self, X: Any, y: Any, sample_weight: Any = None, embeddings: Any = None) -> float:
        """Return the accuracy of the predictions.

        Parameters
        ----------
        X : Dask bag or series of str, list of delayed objects or futures, or texts in memory
        y : of the same kind, with the same partitions
            The classes of the texts.
        sample_weight : like y, default=None
            Weights of the texts.
        embeddings : like X, default=None
            Embeddings of the texts, if you have computed them.

        Returns
        -------
        float
        """
        return self._score(self.predict(X, embeddings), X, y, sample_weight)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model file of the local model; see ``dropglm.TextClassifier.save``."""
        self.to_local().save(path)

    def _on_worker(self, local: Any) -> Any:
        return local.set_params(n_jobs=None, verbose=0)
