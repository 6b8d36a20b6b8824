"""Base class of the text classifiers: estimators that predict, explain, and are saved to files."""

from abc import ABC, abstractmethod
from os import PathLike
from typing import Any, ClassVar, Self

from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from dropglm import model_files
from dropglm.text.estimator import TextEstimator
from dropglm.text.file_contents import MODELS
from dropglm.text.predictions import TextPredictions


class TextModel(ClassifierMixin, TextPredictions, TextEstimator, ABC):
    """A text classifier; once fitted, it has ``vectorizer_``, ``model_``, ``classes_`` and ``summary_``.

    ``TextClassifier`` and ``OnlineTextClassifier`` derive from it.

    Attributes
    ----------
    vectorizer_ : NgramVectorizer or NgramHasher
        What turns texts into features.
    model_ : LogisticRegression or OnlineLogisticRegression
        The fitted model of the features.
    classes_ : ndarray of shape (K,)
        The classes, sorted.
    summary_ : Summary
        What was learnt from, and how well; print it.

    See Also
    --------
    TextClassifier : Learns from all texts at once.
    OnlineTextClassifier : Learns text by text.

    Examples
    --------
    >>> from dropglm import TextClassifier
    >>> from dropglm.text import TextModel
    >>> isinstance(TextClassifier(), TextModel)
    True
    """

    _kind: ClassVar[str]  # of its files

    @abstractmethod
    def _to_state(self) -> dict[str, Any]:
        """Return what a model file has to hold."""

    @classmethod
    @abstractmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        """Rebuild the model, after checking that its parts fit together."""

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to a file that contains data only, no code.

        The file is replaced in one step: if writing fails, the old file is left unchanged. A cross-validation
        splitter, a scorer given as a function and a random generator are not saved; if the loaded model is
        fitted again, it uses the default folds, accuracy and a new random seed instead.

        Parameters
        ----------
        path : str or path-like
            The model file.

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
        model_files.write(path, self._kind, self._to_state(), MODELS[self._kind])

    @classmethod
    def load(cls, path: str | PathLike[str], embedder: Any = None, *, trust: bool = False) -> Self:
        """Read a model of this class from a file. Model files from untrusted sources are safe to open.

        Parameters
        ----------
        path : str or path-like
            The model file.
        embedder : callable or object with a method ``encode``, default=None
            The embedder that the model was trained with; see ``load_model``.
        trust : bool, default=False
            Whether to open a file that is safe only if you trust its author; see ``load_model``.

        Returns
        -------
        The fitted model.

        See Also
        --------
        load_model : Read a text model of either class.
        """
        _, state = model_files.read(path, {cls._kind: MODELS[cls._kind]}, trust=trust)
        with model_files.reporting_damage(path):
            model = cls._from_state(state)
        return model if embedder is None else model._with_embedder(embedder)

    def to_sklearn(self) -> Any:
        """Return the fitted model as a pipeline of scikit-learn, which predicts the same without dropglm.

        Settings for which the pipeline still needs dropglm are those of ``NgramVectorizer.to_sklearn``.
        Models of hashed n-grams and models with embeddings are refused.

        Returns
        -------
        sklearn.pipeline.Pipeline
            A vectorizer, "ngrams", and a classifier, "model".

        See Also
        --------
        NgramVectorizer.to_sklearn : The vectorizer of the pipeline.
        LogisticRegression.to_sklearn : The classifier of the pipeline.

        Examples
        --------
        >>> from dropglm import TextClassifier
        >>> model = TextClassifier(tune=False, min_df=1).fit(["good film", "bad film"], ["pos", "neg"])
        >>> model.to_sklearn().predict(["a good story"])
        array(['pos'], dtype='<U3')
        """
        from dropglm.text.sklearn_pipeline import sklearn_pipeline

        check_is_fitted(self, "model_")
        return sklearn_pipeline(*self._linear_parts())

    def _settings_shared_with(self, estimator: type) -> dict[str, Any]:
        """Return those of our settings that this class of estimators also has."""
        names = estimator().get_params().keys() & self.get_params().keys()
        return {name: getattr(self, name) for name in names}
