"""Texts that come by, once each, to a model that is ready at any time."""

from collections.abc import Iterable, Iterator
from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dropglm import checks
from dropglm.design import Design
from dropglm.design.storage import Rows
from dropglm.estimators import OnlineLogisticRegression
from dropglm.text.base import check_texts
from dropglm.text.classifier import TextClassifier
from dropglm.text.hashing import Buckets, NgramHasher
from dropglm.text.model import TextModel
from dropglm.text.online_saving import restored_online, state_of_online
from dropglm.text.online_summary import OnlineSummary
from dropglm.text.tokens import WORDS_AND_PUNCTUATION


class OnlineTextClassifier(TextModel):
    """Logistic regression on the n-grams of a stream of texts, in memory that does not grow.

    Parameters
    ----------
    rule : {"adagrad", "dropout", "arow", "sgd"}
        As for ``OnlineLogisticRegression``. On text "adagrad" is the best by a little;
        docs/paper/online.md has all of them.
    rate, l2, power, average
        As for ``OnlineLogisticRegression``.
    bits : int or None
        N-grams are hashed to 2^bits columns; see ``NgramHasher``. None is for a frozen vocabulary, which
        ``start_from`` brings.
    ngram_range, lowercase, token_pattern, strip_html
        As for ``NgramVectorizer``.
    epochs, shuffle, random_state
        Of ``fit``, as for ``OnlineLogisticRegression``.
    n_jobs : int, optional
        Threads that cut texts into words; None is 1, -1 all cores.
    verbose : int
        Show progress bars unless 0.

    Attributes
    ----------
    classes_ : array
        The labels.
    vectorizer_ : NgramHasher or NgramVectorizer
        What turns texts into features.
    model_ : OnlineLogisticRegression
        What turns features into labels.
    counts_ : array of shape (K,)
        The number of texts of each class so far.
    summary_ : OnlineSummary
        What was learnt from how much, and how well it predicted; print it.

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

    def __init__(
        self,
        rule: str = "adagrad",
        rate: float | None = None,
        l2: float = 0.0,
        *,
        power: float = 1.0,
        average: bool = False,
        bits: int | None = 20,
        ngram_range: tuple[int, int] = (1, 2),
        lowercase: bool = True,
        token_pattern: str = WORDS_AND_PUNCTUATION,
        strip_html: bool = True,
        epochs: int = 5,
        shuffle: bool = True,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.rule = rule
        self.rate = rate
        self.l2 = l2
        self.power = power
        self.average = average
        self.bits = bits
        self.ngram_range = ngram_range
        self.lowercase = lowercase
        self.token_pattern = token_pattern
        self.strip_html = strip_html
        self.epochs = epochs
        self.shuffle = shuffle
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, texts: Iterable[str], y: Any, sample_weight: Any = None) -> Self:
        """Learn from the start, in ``epochs`` passes over the texts.

        Parameters
        ----------
        texts : iterable of str
        y : array-like of shape (n,)
            Labels of any type.
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        self
        """
        hasher, model = self._hasher(), self._model()
        X = hasher.stacked(hasher.note(check_texts(texts)), np.float64)
        model.fit(X, y, sample_weight=sample_weight)
        _, numbers = model._class_numbers(np.asarray(y))
        self.vectorizer_, self.model_, self.classes_ = hasher, model, model.classes_
        self.counts_ = np.bincount(numbers, minlength=len(model.classes_))
        return self

    def partial_fit(
        self, texts: Iterable[str], y: Any, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn from these texts once, in their order.

        Parameters
        ----------
        texts : iterable of str
        y : array-like of shape (n,)
        classes : array-like, optional
            All labels that there will be; needed in the first call, and the same in later ones.
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        self
        """
        texts = check_texts(texts)
        y = np.asarray(y)
        if not texts:
            raise ValueError("There are no texts to learn from.")
        if y.shape != (len(texts),):
            raise ValueError(f"y has shape {y.shape}, but there are {len(texts)} texts.")
        weights = checks.weights(sample_weight, len(texts), rows="texts")
        model = self._tried()
        known, numbers = model._class_numbers(y, classes)
        if hasattr(self, "model_"):
            self.model_ = model
        else:
            self._reset(known)
        n = 0
        for count, rows in self._rows(texts):
            part = slice(n, n + count)
            self.model_._learn_rows(rows, numbers[part], weights[part])
            self.counts_ += np.bincount(numbers[part], minlength=len(self.classes_))
            n += count
        return self

    def _reset(self, classes: Any) -> Self:
        """Be ready for texts of these classes."""
        hasher, model = self._hasher(), self._tried()
        known = np.unique(np.asarray(classes))
        # In float64: in float32 the sums of a word in every text would stop to grow after 17 million of them.
        model._reset(known, len(hasher.ngrams_), np.float64)
        self.vectorizer_, self.model_, self.classes_ = hasher, model, model.classes_
        self.counts_ = np.zeros(len(known), np.int64)
        return self

    def start_from(self, classifier: TextClassifier) -> Self:
        """Take over the n-grams, classes and coefficients of a fitted classifier, and go on from there.

        Its n-grams are all that there will be, so that memory does not grow here either; what is said of
        n-grams in the settings becomes what it says.
        """
        if not isinstance(classifier, TextClassifier):
            raise TypeError(f"classifier must be a TextClassifier, got {classifier!r}.")
        check_is_fitted(classifier, "model_")
        model = self._model().start_from(classifier.model_)
        names = ("ngram_range", "lowercase", "token_pattern", "strip_html")
        self.set_params(bits=None, **{name: getattr(classifier, name) for name in names})
        self.vectorizer_, self.model_, self.classes_ = classifier.vectorizer_, model, model.classes_
        self.counts_ = np.zeros(len(self.classes_), np.int64)
        return self

    def _rows(self, texts: list[str]) -> Iterator[tuple[int, Rows]]:
        """The rows of the texts, some at a time, and how many."""
        vectorizer = self.vectorizer_.set_params(n_jobs=self.n_jobs, verbose=self.verbose)
        if isinstance(vectorizer, NgramHasher):
            for rows in vectorizer.note(texts):
                yield len(rows.indptr) - 1, rows
        else:
            yield len(texts), Design(vectorizer.transform(texts)).rows

    def _hasher(self) -> NgramHasher:
        if self.bits is None:
            raise ValueError("bits=None goes with the n-grams of a classifier; call start_from first.")
        hasher = NgramHasher(**self._settings_shared_with(NgramHasher)).fit()
        hasher.ngrams_, hasher.n_texts_ = Buckets.new(1 << int(self.bits)), 0
        return hasher

    def _model(self) -> OnlineLogisticRegression:
        return OnlineLogisticRegression(**self._settings_shared_with(OnlineLogisticRegression))

    def _tried(self) -> OnlineLogisticRegression:
        """The model with the settings of now, if they go; the one at hand is left as it is."""
        model = copy(self.model_) if hasattr(self, "model_") else OnlineLogisticRegression()
        model.set_params(**self._settings_shared_with(OnlineLogisticRegression))._unchanged_rule()
        return model

    def _feature_scale(self, vectorizer: Any, model: Any) -> np.ndarray:
        """With a vocabulary as ever; of hashed n-grams nobody counts the texts.

        Then √s_j: s_j is near the information that the texts have about a weight, so that the weight times
        √s_j is its distance from 0 in standard errors. The steps of "sgd" are the same for all n-grams, and
        the frequent ones have the large weights.
        """
        if not isinstance(vectorizer, NgramHasher):
            return super()._feature_scale(vectorizer, model)
        return np.ones(1) if self.rule == "sgd" else np.sqrt(model.sums_)

    @property
    def t_(self) -> int:
        """Steps taken."""
        return self.model_.t_

    @property
    def progressive_accuracy_(self) -> float:
        """Share of the texts whose label was predicted before it was learnt from."""
        return self.model_.progressive_accuracy_

    @property
    def progressive_log_loss_(self) -> float:
        """Mean logistic loss of those predictions."""
        return self.model_.progressive_log_loss_

    @property
    def summary_(self) -> OnlineSummary:
        """What was learnt from how much, and how well it predicted."""
        return OnlineSummary.of(self)

    def _to_state(self) -> dict[str, Any]:
        """What is needed to predict, to explain and to go on learning, bit for bit."""
        return state_of_online(self)

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        """The model again, if its parts fit together."""
        return restored_online(cls(**state["settings"]), state)
