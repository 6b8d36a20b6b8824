"""A text classifier that learns from a stream of texts."""

from collections.abc import Iterable
from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dropglm.base import checks
from dropglm.base.encoded_texts import EncodedTexts
from dropglm.base.errors import InputError, InputTypeError
from dropglm.core.online import Rule
from dropglm.linear import OnlineLogisticRegression
from dropglm.text.file_contents import NGRAMS, STEPS
from dropglm.text.model import TextModel, as_estimator
from dropglm.text.ngrams.analysis import check_texts
from dropglm.text.ngrams.hashed import HashedFeatures
from dropglm.text.ngrams.tokens import WORDS_AND_PUNCTUATION
from dropglm.text.ngrams.vectorizer import NgramHasher, NgramVectorizer
from dropglm.text.online_text_model import OnlineTextModel

if TYPE_CHECKING:  # imports scikit-learn's model selection, which takes as long as 50,000 texts
    from dropglm.text.classifier import TextClassifier


@dataclass(eq=False, repr=False)
class OnlineTextClassifier(TextModel):
    r"""Text classifier for streams: logistic regression on hashed n-grams, one step per text.

    Memory does not grow with the number of texts. The model can predict, and be saved, at any time.

    Parameters
    ----------
    rule : {"adagrad", "dropout", "arow", "sgd"} or Rule, default="adagrad"
        The update rule, as in ``OnlineLogisticRegression``.
    rate : float, default=None
        Step size; None uses the rule's default.
    l2 : float, default=0.0
        Strength of the L2 term, which is applied once per text; use small values such as 1e-5.
    power : {1, 0.5}, default=1
        For "dropout": 0.5 takes the square root of the curvatures, as AdaGrad does of its sums.
    average : bool, default=False
        Predict with the mean of the coefficients over all steps. Cannot be combined with ``l2``.
    bits : int or None, default=20
        N-grams are hashed to 2**bits columns; see ``NgramHasher``. ``start_from`` sets it to None, which
        means the fixed vocabulary of a ``TextClassifier``.
    ngram_range : tuple (int, int), default=(1, 2)
        The smallest and the largest n.
    lowercase : bool, default=True
        Convert texts to lower case first.
    token_pattern : str, default=WORDS_AND_PUNCTUATION
        Regular expression that matches a token; see ``NgramVectorizer``.
    strip_html : bool, default=True
        Replace tags such as ``<br />`` by spaces.
    epochs : int, default=5
        Number of passes that ``fit`` makes over the texts.
    shuffle : bool, default=True
        Whether ``fit`` visits the texts in a new random order in each pass.
    random_state : int, RandomState, Generator or None, default=None
        Random seed for the order of the texts.
    n_jobs : int or None, default=None
        Number of threads that split texts into words; None means 1, -1 all cores.
    verbose : int, default=0
        If not 0, show progress on standard error.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The classes, sorted.
    n_features_in_ : int
        Number of columns to which n-grams are hashed, or of n-grams in the fixed vocabulary.
    vectorizer_ : NgramHasher or NgramVectorizer
        Converts texts to features.
    model_ : OnlineLogisticRegression
        The model of the features.
    counts_ : ndarray of shape (K,)
        Number of texts of each class so far.
    t_ : int
        Number of steps taken.
    progressive_accuracy_ : float
        Accuracy of the predictions that were made for each text before learning from it.
    progressive_log_loss_ : float
        Log loss of the same predictions, summed over the one-versus-rest problems.
    summary_ : OnlineSummary
        The data, the settings and the progressive scores; print it.
    text_column_, label_column_ : str or None
        The columns of the training table, if a command or a model file has set them.

    See Also
    --------
    TextClassifier : Fits all texts at once, and tunes its settings.
    OnlineLogisticRegression : The same for a feature matrix.
    NgramHasher : The features.

    Examples
    --------
    >>> from dropglm import OnlineTextClassifier
    >>> model = OnlineTextClassifier(bits=16)
    >>> for texts, y in [
    ...     (["a lovely film", "a dull film"], ["good", "bad"]),
    ...     (["lovely music", "dull and long"], ["good", "bad"]),
    ... ]:
    ...     model = model.partial_fit(texts, y, classes=["bad", "good"])
    >>> model.predict(["a lovely story"])
    array(['good'], dtype='<U4')
    >>> model.t_, model.progressive_accuracy_
    (4, 0.5)
    """

    _kind = "OnlineTextClassifier"

    rule: str | Rule = "adagrad"
    rate: float | None = None
    l2: float = 0.0
    _: KW_ONLY
    power: float = 1.0
    average: bool = False
    bits: int | None = 20
    ngram_range: tuple[int, int] = (1, 2)
    lowercase: bool = True
    token_pattern: str = WORDS_AND_PUNCTUATION
    strip_html: bool = True
    epochs: int = 5
    shuffle: bool = True
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    def fit(self, X: Iterable[str], y: Any, sample_weight: Any = None) -> Self:
        """Fit the model from scratch, in ``epochs`` passes over the texts.

        The feature matrix of all texts is kept in memory; use ``partial_fit`` for streams.

        Parameters
        ----------
        X : iterable of str
            Texts.
        y : array-like of shape (n,)
            Labels of any type, none missing.
        sample_weight : array-like of shape (n,), default=None
            Factors of the texts' gradients and curvatures.

        Returns
        -------
        OnlineTextClassifier
            The fitted model.
        """
        _check_no_gaps(y)
        online = self._new()
        hasher: Any = online.vectorizer
        model: Any = online.model
        features = hasher._to_matrix(hasher._hash_and_name(check_texts(X)), np.float64)
        model.fit(features, y, sample_weight=sample_weight)
        _, numbers = model._class_numbers(np.asarray(y))
        online.counts = np.bincount(numbers, minlength=len(model.classes_))
        self._fitted = online
        return self

    def partial_fit(self, X: Iterable[str], y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from these texts once, in the given order.

        Parameters
        ----------
        X : iterable of str
            Texts.
        y : array-like of shape (n,)
            Labels, none missing.
        classes : array-like, default=None
            All labels that will ever occur. Required in the first call; later calls may repeat it.
        sample_weight : array-like of shape (n,), default=None
            Factors of the texts' gradients and curvatures. A text of weight 0 is predicted but not learnt
            from.

        Returns
        -------
        OnlineTextClassifier
            The updated model.
        """
        texts = X if isinstance(X, EncodedTexts) else check_texts(X)
        y = np.asarray(y)
        if not texts:
            raise InputError("X is empty; give at least one text.")
        if y.shape != (len(texts),):
            raise InputError(f"y has shape {y.shape}, but X has {len(texts)} texts.")
        _check_no_gaps(y)
        weights = checks.weights(sample_weight, len(texts), rows="texts")
        online = self._current_model() if hasattr(self, "_fitted") else self._new()
        model: Any = online.model
        model._unchanged_rule()
        known, numbers = model._class_numbers(y, classes)
        self._fitted = online.reset(known) if online.is_new else online
        n = 0
        for prepared in online.prepare(texts):
            part = slice(n, n + prepared.n_texts)
            online.learn(prepared, numbers[part], weights[part])
            n += prepared.n_texts
        return self

    def start_from(self, classifier: "TextClassifier") -> Self:
        """Copy the n-grams, classes and coefficients of a fitted classifier, and continue from them.

        Parameters
        ----------
        classifier : TextClassifier
            A fitted classifier.

        Returns
        -------
        OnlineTextClassifier
            The model with the classifier's coefficients and with its settings of n-grams. Its vocabulary is
            fixed, so memory does not grow.
        """
        from dropglm.text.classifier import TextClassifier

        if not isinstance(classifier, TextClassifier):
            raise InputTypeError(f"classifier must be a TextClassifier, got {classifier!r}.")
        fitted, model = classifier._fitted_model(), OnlineLogisticRegression()
        started = OnlineTextModel.start_from(fitted, self._with_settings(model))
        self.set_params(bits=None, **{name: getattr(classifier, name) for name in NGRAMS})
        self._fitted = started
        return self

    @property
    def counts_(self) -> np.ndarray:
        """Number of texts of each class so far."""
        counts: np.ndarray = self._current_model().counts
        return counts

    @property
    def t_(self) -> int:
        """Number of steps taken."""
        return int(self.model_.t_)

    @property
    def progressive_accuracy_(self) -> float:
        """Accuracy of the predictions that were made for each text before learning from it."""
        return float(self.model_.progressive_accuracy_)

    @property
    def progressive_log_loss_(self) -> float:
        """Log loss of the same predictions, summed over the one-versus-rest problems."""
        return float(self.model_.progressive_log_loss_)

    def _new(self) -> OnlineTextModel:
        """Return a model with our settings that has not seen any texts."""
        if self.bits is None:
            raise InputError("bits=None uses the n-grams of a fitted TextClassifier; call start_from first.")
        return OnlineTextModel.new(vars(self), NgramHasher, OnlineLogisticRegression)

    def _with_settings(self, model: OnlineLogisticRegression) -> OnlineLogisticRegression:
        """Return a copy of the model with the current settings of its steps."""
        model = copy(model)
        for name in STEPS:
            setattr(model, name, getattr(self, name))
        return model

    def _current_model(self) -> OnlineTextModel:
        online: Any = self._fitted_model()
        online.model = self._with_settings(online.model)
        return online

    @classmethod
    def _of(cls, fitted: OnlineTextModel) -> Self:
        kind = NgramHasher if isinstance(fitted.vectorizer, HashedFeatures) else NgramVectorizer
        classifier = cls(**fitted.current_settings)
        classifier._fitted = OnlineTextModel(
            as_estimator(fitted.vectorizer, kind),
            as_estimator(fitted.model, OnlineLogisticRegression),
            counts=fitted.counts,
        )
        return classifier


def _check_no_gaps(y: Any) -> None:
    """Raise an error if a label is missing."""
    y = np.asarray(y)
    text = checks.missing(y) if y.ndim == 1 else None
    if text is not None:
        raise InputError(
            f"Text {text} of X (counted from 0) has no label; leave it out, since every step of an online "
            "learner needs a label, or use TextClassifier."
        )
