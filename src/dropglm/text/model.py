"""Base class of the text classifiers: predictions, explanations and model files."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from copy import copy
from inspect import isabstract
from os import PathLike
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from dropglm import model_files
from dropglm.estimators.linear_model import LogisticModel
from dropglm.text.base import TextEstimator
from dropglm.text.explanation import Explanation, explain_text
from dropglm.text.hashing import NgramHasher
from dropglm.text.top_ngrams import NgramWeight, top_ngrams
from dropglm.text.vectorizer import NgramVectorizer


class TextModel(ClassifierMixin, TextEstimator, ABC):
    """A text classifier; once fitted, it has ``vectorizer_``, ``model_``, ``classes_`` and ``summary_``.

    ``TextClassifier`` and ``OnlineTextClassifier`` derive from it.

    Attributes
    ----------
    text_column_, label_column_ : str or None
        The columns of the table that the model was trained on; None if they are not known. ``fit`` leaves
        them unchanged; the command line sets them, and model files hold them.
    """

    text_column_: str | None = None
    label_column_: str | None = None

    @abstractmethod
    def _to_state(self) -> dict[str, Any]:
        """Return what a model file has to hold."""

    @classmethod
    @abstractmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        """Rebuild the model, after checking that its parts fit together."""

    def _fitted_parts(self) -> tuple[NgramVectorizer | NgramHasher, LogisticModel]:
        """Return the vectorizer and the model of one and the same fit.

        Predictions work on what this returns, so that a fit in another thread does not affect them.
        """
        check_is_fitted(self, "model_")
        return self.vectorizer_, self.model_

    @property
    def n_features_in_(self) -> int:
        """Number of n-grams, or of columns to which n-grams are hashed."""
        return int(self.model_.n_features_in_)

    def predict(self, X: Iterable[str], embeddings: Any = None) -> np.ndarray:
        """Predict the most probable class of each text.

        Parameters
        ----------
        X : iterable of str
            Texts.
        embeddings : array-like of shape (n, k), default=None
            Embeddings of the texts, if the model was trained with embeddings; None means those of its
            embedder.

        Returns
        -------
        ndarray of shape (n,)
        """
        model, features = self._model_and_features(X, embeddings)
        return model.predict(features)

    def predict_proba(self, X: Iterable[str], embeddings: Any = None) -> np.ndarray:
        """Predict the probability of each class.

        Parameters
        ----------
        X : iterable of str
            Texts.
        embeddings : array-like of shape (n, k), default=None
            As in ``predict``.

        Returns
        -------
        ndarray of shape (n, K)
            Columns are in the order of ``classes_``.
        """
        model, features = self._model_and_features(X, embeddings)
        return model.predict_proba(features)

    def predict_log_proba(self, X: Iterable[str], embeddings: Any = None) -> np.ndarray:
        """Predict the logarithm of the probability of each class.

        Parameters
        ----------
        X : iterable of str
            Texts.
        embeddings : array-like of shape (n, k), default=None
            As in ``predict``.

        Returns
        -------
        ndarray of shape (n, K)
            Columns are in the order of ``classes_``.
        """
        model, features = self._model_and_features(X, embeddings)
        return model.predict_log_proba(features)

    def decision_function(self, X: Iterable[str], embeddings: Any = None) -> np.ndarray:
        """Compute the linear predictor of each text.

        Parameters
        ----------
        X : iterable of str
            Texts.
        embeddings : array-like of shape (n, k), default=None
            As in ``predict``.

        Returns
        -------
        ndarray of shape (n,) for two classes, else (n, K)
            For two classes, positive values favour ``classes_[1]``.
        """
        model, features = self._model_and_features(X, embeddings)
        return model.decision_function(features)

    def _model_and_features(self, X: Iterable[str], embeddings: Any) -> tuple[LogisticModel, Any]:
        """Return the fitted model and the features of the texts."""
        refuse_embeddings(embeddings)
        vectorizer, model = self._fitted_parts()
        return model, self._features(vectorizer, X)

    def _features(self, vectorizer: NgramVectorizer | NgramHasher, X: Iterable[str]) -> Any:
        """Return the feature matrix of the texts."""
        # A copy with our current settings; both share the vocabulary.
        vectorizer = copy(vectorizer).set_params(n_jobs=self.n_jobs, verbose=self.verbose)
        features = vectorizer.transform(X)
        if not features.shape[0]:
            raise ValueError("X is empty; give at least one text.")
        return features

    def top_features(self, k: int = 10) -> dict[Any, list[NgramWeight]]:
        """List the n-grams with the strongest influence on each class.

        Parameters
        ----------
        k : int, default=10
            Number of n-grams per class.

        Returns
        -------
        dict
            Maps each class to at most k pairs (ngram, weight), the most important first. The weight is what
            the n-gram typically adds to the predictor of the class, in a text that contains it: its
            coefficient times the mean value of the feature in such texts. It is positive. N-grams are ranked
            by the weight times √(f (1 - f)), where f is the share of the texts that contain the n-gram;
            this favours frequent n-grams. Hashed n-grams are not counted; they are ranked by how far their
            coefficients are from 0, in standard errors. N-grams with punctuation come after all those of
            words only.
        """
        vectorizer, model = self._fitted_parts()
        typical = self._typical_values(vectorizer)
        scale = self._feature_scale(vectorizer, model)
        return top_ngrams(vectorizer.ngrams_.names, model, typical, scale, k)

    def _typical_values(self, vectorizer: Any) -> np.ndarray:
        """Return the mean value of each feature in the texts that have it; it is 1 for hashed n-grams."""
        recorded: np.ndarray | None = getattr(vectorizer.ngrams_, "mean_values", None)
        return np.ones(1) if recorded is None or not len(recorded) else recorded

    def _feature_scale(self, vectorizer: Any, model: Any) -> np.ndarray:
        """Return v √(f (1 - f)), where f is the feature's share of the texts and v its typical value.

        This is the standard deviation of a feature that is v in these texts and 0 in all others.
        """
        share = np.clip(vectorizer.ngrams_.document_counts / vectorizer.n_texts_, 0.0, 1.0)
        return self._typical_values(vectorizer) * np.sqrt(share * (1.0 - share))

    def explain(self, text: str, embedding: Any = None) -> Explanation:
        """Explain the prediction for one text.

        Parameters
        ----------
        text : str
        embedding : array-like of shape (k,), default=None
            The embedding of the text, if the model was trained with embeddings; None means that of its
            embedder.

        Returns
        -------
        Explanation
            What tips the prediction: the contribution of each n-gram of the text, and of its embedding, to
            the difference between the predictors of the predicted class and of the runner-up.
        """
        refuse_embeddings(embedding)
        return explain_text(*self._fitted_parts(), text)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to a file that contains data only, no code.

        The file is replaced in one step: if writing fails, the old file is left unchanged. A cross-validation
        splitter, a scorer given as a function and a random generator are not saved; if the loaded model is
        fitted again, it uses the default folds, accuracy and a new random seed instead.

        Parameters
        ----------
        path : str or path-like

        Raises
        ------
        TypeError
            If a setting is an object that no number or name stands for, such as your own noise or update
            rule, since files do not contain code; use joblib.

        See Also
        --------
        load_model : Read a model file.
        """
        check_is_fitted(self, "model_")
        columns = {"text": self.text_column_, "label": self.label_column_}
        model_files.write(path, type(self).__name__, self._to_state() | {"columns": columns})

    @classmethod
    def load(cls, path: str | PathLike[str], embedder: Any = None) -> Self:
        """Read a model of this class from a file. Model files from untrusted sources are safe to open.

        Parameters
        ----------
        path : str or path-like
        embedder : callable or object with a method ``encode``, default=None
            The embedder that the model was trained with; see ``load_model``.

        Returns
        -------
        The fitted model.

        See Also
        --------
        load_model : Read a text model of either class.
        """
        _, state = model_files.read(path, cls.__name__)
        with model_files.reporting_damage(path):
            model = cls._from_file(state)
        return model if embedder is None else model._with_embedder(embedder)

    def _with_embedder(self, embedder: Any) -> Self:
        """Give the fitted model its embedder back, after checking that it is the same."""
        refuse_embeddings(embedder)
        return self

    @classmethod
    def _from_file(cls, state: dict[str, Any]) -> Self:
        """Rebuild the model and its columns, which files of version 0.2.0 and earlier do not have."""
        columns = state.get("columns", {"text": None, "label": None})
        if not all(columns[name] is None or isinstance(columns[name], str) for name in ("text", "label")):
            raise ValueError("the names of the columns are not strings")
        model = cls._from_state(state)
        model.text_column_, model.label_column_ = columns["text"], columns["label"]
        return model

    def _settings_shared_with(self, estimator: type) -> dict[str, Any]:
        """Return those of our settings that this class of estimators also has."""
        names = estimator().get_params().keys() & self.get_params().keys()
        return {name: getattr(self, name) for name in names}


def refuse_embeddings(given: Any) -> None:
    """Raise an error if there are embeddings, or an embedder, for a model that was trained without."""
    if given is not None:
        raise ValueError("The model was trained without embeddings, so it cannot use any.")


def load_model(path: str | PathLike[str], embedder: Any = None) -> TextModel:
    """Read a text model from a file. Model files from untrusted sources are safe to open.

    Parameters
    ----------
    path : str or path-like
        A file that ``save_model``, ``TextClassifier.save`` or ``OnlineTextClassifier.save`` wrote.
    embedder : callable or object with a method ``encode``, default=None
        The embedder that the model was trained with, since files do not contain it. You can also set it
        later, with ``set_params(embedder=...)``, or pass embeddings to ``predict``.

    Returns
    -------
    TextClassifier or OnlineTextClassifier
        The fitted model.

    Raises
    ------
    ModelFileError
        If the file is damaged, is not a dropglm model file, or was written by a newer version.
    ValueError
        If the model was trained with another embedder, or without embeddings.

    See Also
    --------
    save_model : Write a model file.
    """
    models = {model.__name__: model for model in _concrete_models()}  # all in this package
    kind, state = model_files.read(path, *sorted(models))
    with model_files.reporting_damage(path):
        model = models[kind]._from_file(state)
    return model if embedder is None else model._with_embedder(embedder)


def _concrete_models() -> Iterator[type[TextModel]]:
    """Yield the classes of text models that can be saved."""
    todo = TextModel.__subclasses__()
    while todo:
        model = todo.pop()
        todo += model.__subclasses__()
        if not isabstract(model):
            yield model


def save_model(model: TextModel, path: str | PathLike[str]) -> None:
    """Write a fitted text model to a file that contains data only, no code.

    Parameters
    ----------
    model : TextClassifier or OnlineTextClassifier
        A fitted model.
    path : str or path-like
        The file is replaced in one step: if writing fails, the old file is left unchanged.

    Raises
    ------
    TypeError
        If the model is not a text model, or if a setting is an object that no number or name stands for, such
        as your own noise or update rule, since files do not contain code; use joblib.

    See Also
    --------
    load_model : Read a model file.

    Notes
    -----
    A cross-validation splitter, a scorer given as a function and a random generator are not saved. If the
    loaded model is fitted again, it uses the default folds, accuracy and a new random seed instead.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from dropglm import TextClassifier, load_model, save_model
    >>> model = TextClassifier(tune=False, min_df=1).fit(["good film", "bad film"], ["pos", "neg"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "model.skops"
    ...     save_model(model, path)
    ...     load_model(path).predict(["a good story"])
    array(['pos'], dtype='<U3')
    """
    if not isinstance(model, TextModel):
        raise TypeError(
            f"model must be a TextClassifier or an OnlineTextClassifier, got {type(model).__name__}; use "
            "skops or joblib for other estimators."
        )
    model.save(path)
