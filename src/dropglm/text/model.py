"""Base class of the text classifiers, estimators that hold a fitted text model; and their files."""

from abc import ABC, abstractmethod
from copy import copy
from importlib import import_module
from os import PathLike
from typing import Any, ClassVar, Self, TypeVar

from sklearn.base import ClassifierMixin

from dropglm.base import checks
from dropglm.base.errors import InputTypeError
from dropglm.text.columns import Columns
from dropglm.text.file_contents import MODELS
from dropglm.text.fitted_model import AnyTextModel, FittedTextModel, load_fitted_model
from dropglm.text.ngrams.vectorizer import TextEstimator

Estimator = TypeVar("Estimator")


class TextModel(ClassifierMixin, TextEstimator, AnyTextModel, ABC):
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
    text_column_, label_column_ : str or None
        The columns of the table that the model was trained on; None if they are not known. ``fit`` leaves
        them unchanged; the command line sets them, and model files hold them.
    label_separator_ : str or None
        What separates several labels of a text in tables; None if it is not known.

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
    _takes_several_labels: ClassVar[bool] = False
    _fitted: Any  # the FittedTextModel of the last fit, stored in one step
    n_jobs: int | None
    verbose: int
    embedder: Any = None
    _columns: Columns | None = None  # of a TableClassifier
    text_column_: str | None = None
    label_column_: str | None = None
    label_separator_: str | None = None

    @abstractmethod
    def _current_model(self) -> FittedTextModel:
        """Return the fitted model with our current settings, also those that only a fit or a file needs."""

    @classmethod
    @abstractmethod
    def _of(cls, fitted: Any) -> Self:
        """Return an estimator with a fitted model that comes from a file."""

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags."""
        tags = super().__sklearn_tags__()
        weighted = getattr(self, "class_weight", None) is not None
        tags.classifier_tags.multi_label = self._takes_several_labels and not weighted
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fitted")

    def _fitted_model(self) -> FittedTextModel:
        """Return the fitted model, to predict with our current settings.

        It is a copy, which a fit in another thread does not change.
        """
        checks.fitted(self, "_fitted")
        fitted: FittedTextModel = copy(self._fitted)
        fitted.n_jobs, fitted.verbose, fitted.embedder = self.n_jobs, self.verbose, self.embedder
        fitted.text_column_, fitted.label_column_ = self.text_column_, self.label_column_
        fitted.label_separator_ = self.label_separator_
        return fitted

    def _stored_model(self) -> FittedTextModel:
        checks.fitted(self, "_fitted")
        return self._fitted

    @property
    def vectorizer_(self) -> Any:
        """The fitted vectorizer."""
        return self._fitted_model().vectorizer

    @property
    def model_(self) -> Any:
        """The fitted model of the features."""
        return self._fitted_model().model

    @property
    def summary_(self) -> Any:
        """What was learnt from, and how well."""
        return self._fitted_model().summary_

    @property
    def n_features_in_(self) -> int:
        """Number of n-grams, or of columns to which n-grams are hashed."""
        return int(self.model_.n_features_in_)

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
        self._current_model().save(path)

    @classmethod
    def load(cls, path: str | PathLike[str], embedder: Any = None, *, trust: bool = False) -> Self:
        """Read a model of this class from a file. Model files from untrusted sources are safe to open.

        Parameters
        ----------
        path : str or path-like
            The model file.
        embedder : callable, object with a method ``encode``, str or None, default=None
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
        contents = {cls._kind: MODELS[cls._kind]}
        return cls._with_columns_of(load_fitted_model(path, embedder, trust=trust, contents=contents))

    @classmethod
    def _with_columns_of(cls, fitted: FittedTextModel) -> Self:
        """Return an estimator with a fitted model that comes from a file, and its columns."""
        classifier = cls._of(fitted)
        classifier.text_column_, classifier.label_column_ = fitted.text_column_, fitted.label_column_
        classifier.label_separator_ = fitted.label_separator_
        return classifier

    def to_sklearn(self) -> Any:
        """Return the fitted model as a pipeline of scikit-learn, which predicts the same without dropglm.

        Settings for which the pipeline still needs dropglm are those of ``NgramVectorizer.to_sklearn``.
        Models of hashed n-grams and models with embeddings are refused. If texts have several labels, the
        pipeline predicts an indicator matrix of the labels whose probability is above 0.5, since
        scikit-learn has no other threshold here; our predictions are
        ``pipeline.predict_proba(X) > pipeline["model"].thresholds_``.

        Returns
        -------
        sklearn.pipeline.Pipeline
            A vectorizer, "ngrams", and a classifier, "model". If the model has n-grams of characters, the
            first step is a ``FeatureUnion`` of two vectorizers, "words" and "characters".

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

        return sklearn_pipeline(self._fitted_model())

    def _settings_shared_with(self, estimator: type) -> dict[str, Any]:
        """Return those of our settings that this class of estimators also has."""
        names = estimator().get_params().keys() & self.get_params().keys()
        return {name: getattr(self, name) for name in names}


def as_estimator(plain: Any, kind: type[Estimator]) -> Estimator:
    """Return an estimator with the attributes of an object of its base class."""
    estimator = kind()
    vars(estimator).update(vars(plain))
    return estimator


def load_model(path: str | PathLike[str], embedder: Any = None, *, trust: bool = False) -> TextModel:
    """Read a text model from a file. Model files from untrusted sources are safe to open.

    Parameters
    ----------
    path : str or path-like
        A file that ``save_model``, ``TextClassifier.save`` or ``OnlineTextClassifier.save`` wrote.
    embedder : callable, object with a method ``encode``, str or None, default=None
        The embedder that the model was trained with, since files do not contain it. You can also set it
        later, with ``set_params(embedder=...)``, or pass embeddings to ``predict``. None means the encoder
        "use" or "wordllama", if the model was trained with one of them; it is loaded by the first
        prediction.
    trust : bool, default=False
        Whether to open a file that is safe only if you trust its author: one whose ``token_pattern`` is more
        than classes of characters and their repetition, which can take any time to find in a text, or one
        that needs far more memory than its own size. Another named encoder of the file, such as
        "model2vec:NAME", is then loaded as well.

    Returns
    -------
    TextClassifier or OnlineTextClassifier
        The fitted model.

    Raises
    ------
    ModelFileError
        If the file is damaged, is not a dropglm model file, needs trust, or was written by another version.
    ValueError
        If the model was trained with another embedder, or without embeddings.

    See Also
    --------
    save_model : Write a model file.

    Examples
    --------
    >>> import tempfile
    >>> from dropglm import TextClassifier, load_model, save_model
    >>> model = TextClassifier(tune=False).fit(["so lovely", "so dull"], ["good", "bad"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, f"{folder}/model.skops")
    ...     load_model(f"{folder}/model.skops").predict(["lovely"])
    array(['good'], dtype='<U4')
    """
    fitted = load_fitted_model(path, embedder, trust=trust)
    name = fitted.kind if fitted.table is None else "TableClassifier"
    kind: type[TextModel] = getattr(import_module("dropglm.text"), name)
    return kind._with_columns_of(fitted)


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
        raise InputTypeError(
            f"model must be a TextClassifier or an OnlineTextClassifier, got {type(model).__name__}; use "
            "its method save, if it has one, or joblib for other estimators."
        )
    model.save(path)
