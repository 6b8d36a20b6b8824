"""Predictions and explanations of a fitted text model, whether it is an estimator or comes from a file."""

from collections.abc import Iterable
from copy import copy
from typing import Any, Self

import numpy as np

from dropglm import checks
from dropglm.errors import InputError
from dropglm.estimators.predictions import LogisticPredictions
from dropglm.text.explanation import Explanation, TextFeatures, explain_text
from dropglm.text.top_ngrams import NgramWeight, top_ngrams


class TextPredictions:
    """Predictions of a model that has ``vectorizer_``, ``model_``, ``classes_`` and ``summary_``.

    Attributes
    ----------
    text_column_, label_column_ : str or None
        The columns of the table that the model was trained on; None if they are not known. ``fit`` leaves
        them unchanged; the command line sets them, and model files hold them.
    """

    vectorizer_: Any
    model_: Any
    classes_: Any
    summary_: Any
    n_jobs: int | None
    verbose: int
    text_column_: str | None = None
    label_column_: str | None = None
    embedder: Any = None

    @property
    def _uses_embeddings(self) -> bool:
        """Whether predictions need embeddings, given ones or those of the embedder."""
        return False

    def _fitted_parts(self) -> tuple[TextFeatures, LogisticPredictions]:
        """Return the vectorizer and the model of one and the same fit.

        Predictions work on what this returns, so that a fit in another thread does not affect them.
        """
        checks.fitted(self, "model_")
        return self.vectorizer_, self.model_

    def _linear_parts(self) -> tuple[TextFeatures, LogisticPredictions, Any]:
        """Return the vectorizer, the model of its n-grams, and the coefficients of embeddings or None."""
        return *self._fitted_parts(), None

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
            Classes.
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

    def _model_and_features(self, X: Iterable[str], embeddings: Any) -> tuple[LogisticPredictions, Any]:
        """Return the fitted model and the features of the texts."""
        refuse_embeddings(embeddings)
        vectorizer, model = self._fitted_parts()
        return model, self._features(vectorizer, X)

    def _features(self, vectorizer: TextFeatures, X: Iterable[str]) -> Any:
        """Return the feature matrix of the texts."""
        # A copy with our current settings; both share the vocabulary.
        vectorizer = copy(vectorizer)
        # Counting the cores takes 0.1 ms, a third of the time of a short text; it is done once.
        vectorizer.n_jobs, vectorizer.verbose = checks.threads(self.n_jobs), self.verbose
        features = vectorizer.transform(X)
        if not features.shape[0]:
            raise InputError("X is empty; give at least one text.")
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
            The text.
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

    def _saved_columns(self) -> dict[str, str | None]:
        """Return the part ``columns`` of a model file."""
        return {"text": self.text_column_, "label": self.label_column_}

    def _restore_columns(self, state: dict[str, Any]) -> Self:
        """Take the part ``columns`` of a model file."""
        self.text_column_, self.label_column_ = state["columns"]["text"], state["columns"]["label"]
        return self

    def _with_embedder(self, embedder: Any) -> Self:
        """Give the fitted model its embedder back, after checking that it is the same."""
        refuse_embeddings(embedder)
        return self


def refuse_embeddings(given: Any) -> None:
    """Raise an error if there are embeddings, or an embedder, for a model that was trained without."""
    if given is not None:
        raise InputError("The model was trained without embeddings, so it cannot use any.")
