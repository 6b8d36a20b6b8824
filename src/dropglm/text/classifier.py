"""A text classifier: n-grams, logistic regression with dropout, tuning and explanations."""

from collections.abc import Iterable
from copy import copy
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from dropglm.linear import LogisticRegression
from dropglm.places.labels import as_rows, indicators_of
from dropglm.search import LogisticRegressionCV
from dropglm.text.file_contents import CHOSEN
from dropglm.text.fitted_model import FittedTextModel
from dropglm.text.model import TextModel, as_estimator
from dropglm.text.ngrams.analysis import check_texts
from dropglm.text.ngrams.tokens import WORDS_AND_PUNCTUATION
from dropglm.text.ngrams.vectorizer import NgramVectorizer
from dropglm.text.second_hand import fit_with_second_labels
from dropglm.text.training import TextsInMemory, check_text_settings, fit_to_texts, warn_unless_better


@dataclass(eq=False, repr=False)
class TextClassifier(TextModel):
    r"""Text classifier: logistic regression with dropout on n-grams.

    By default it chooses dropout, l2 and its weights by cross-validation, then scales the predictors and adds
    those of naive Bayes and of a second model, of n-grams of characters, as far as this helps held-out texts.
    It also learns from texts without labels, ``X_unlabeled`` or those whose label in y is missing: they show
    which words occur together, and which words occur in texts that the model assigns to a class. The fitted
    model explains its predictions.

    Parameters
    ----------
    ngram_range : tuple (int, int), default=(1, 2)
        The smallest and the largest n.
    min_df : int, float or pair of these, default=(1, 2)
        Keep n-grams that occur in at least this many texts, labelled or not; a float is a share of the texts.
        Of a pair, the first is for single words and the second for longer n-grams.
    max_df : int or float, default=1.0
        Keep n-grams that occur in at most this many texts, labelled or not; a float is a share of the texts.
    max_features : int or None, default=None
        If given, keep only this many n-grams, the most frequent ones.
    binary, sublinear_tf, use_idf, norm, idf_power : as in NgramVectorizer
        How n-grams are weighted. By default a count c becomes 1 + ln c, times the
        inverse document frequency, and rows have length 1.
    ngram_weight : float, sequence of float or None, default=None
        Factor of an n-gram for each word after the first, or several values to choose from. None means 0.5,
        or the better of 0.5 and 1 if there are more than 1,000 texts with labels.
    characters : tuple (int, int) or None, default=(3, 4)
        The smallest and the largest n of n-grams of characters, within words with a blank on each side; they
        have a model of their own, whose predictors are added as far as this helps texts that were held out.
        It also knows something about words that no text with a label has, such as other forms of a word.
        Only if ``tune`` and ``calibrate``, for ``analyzer="word"`` and without embeddings. Texts beyond 8
        million characters are left out, first those without labels; if those with labels have more, there
        are no n-grams of characters. None means that there are none.
    analyzer, stop_words, strip_accents : as in NgramVectorizer
        What counts as an n-gram.
    lowercase : bool, default=True
        Convert texts to lower case first.
    token_pattern : str, default=WORDS_AND_PUNCTUATION
        Regular expression that matches a token; see ``NgramVectorizer``.
    strip_html : bool, default=True
        Replace tags such as ``<br />`` by spaces.
    tune : bool, default=True
        Choose among several values of dropout, l2, discount, l2_weights and ngram_weight by cross-validation,
        and find the factors of ``calibrate``, ``naive_bayes`` and ``characters``. If False, those of the
        first four that are None are 0.5, 0.01, 0 and "uniform", and the others must be single values.
    dropout : float, Noise, sequence of these or None, default=None
        Probability that a feature is dropped from a row, or several values to choose from. None means 0.5 and
        0. N-grams of characters have the value that was chosen for words, unless you give some.
    l2 : float, sequence of float or None, default=None
        Strength of the L2 penalty, or several values to choose from. None means 1, 0.1 and 0.01, and 0.1 and
        0.01 for n-grams of characters; smaller ones are also tried if the smallest is clearly the best.
    discount : float, sequence of float or None, default=None
        Weight of unlabelled texts in the noising penalty, or several values to choose from. None means 0:
        with few labels the penalty does harm, and beside the other two uses of unlabelled texts it did not
        help.
    l2_weights : str, array-like, sequence of these or None, default=None
        How ``l2`` is spread over the features, as in ``LogisticRegression``, or several values to choose
        from. None means "naive_bayes" and "uniform". N-grams of characters have the value that was chosen for
        words, unless you give some.
    expectation : {"gaussian", "exact", "quadratic", "monte_carlo"} or Penalty class, default="gaussian"
        How the expectation over the noise is computed; see ``LogisticRegression``.
    calibrate : bool, default=True
        Scale the predictors to fit texts that were held out, so that probabilities are neither too modest nor
        too confident; only if ``tune``.
    naive_bayes : bool, default=True
        Add naive Bayes' weights of the n-grams, as far as this helps texts that were held out; only if
        ``tune``.
    n_latent : int, default=50
        Number of latent features, the first singular vectors of all texts; only if ``tune`` and with
        unlabelled texts. They show which words occur in the same texts, and cross-validation decides whether
        they are used. Their coefficients become part of those of the words. There are none if this is 0, or
        if at most this many words, or at most 50, occur in five or more texts.
    rounds : int, default=3
        Number of rounds in which naive Bayes also counts the unlabelled texts, with the classes that the
        model predicts for them; only if ``tune``, with ``naive_bayes`` and unlabelled texts. They end when
        the log loss of held-out texts grows by more than its standard error, when nothing changes any more,
        or after 1,000. 0 means none.
    embedder : str, callable, object with a method ``encode`` or None, default=None
        Model that turns a list of texts into an array with one row of numbers per text: "use", the Universal
        Sentence Encoder of the extra ``embeddings``; "wordllama", "model2vec:NAME",
        "sentence-transformers:NAME" or "fastembed:NAME", if that package is installed; a local folder of such
        a model; or an object that you have loaded. The embeddings become features beside the n-grams, with
        Gaussian noise instead of dropout. Each text is embedded once per fit, and embeddings by a named
        encoder are kept on disk.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes; see ``LogisticRegression``.
    cv : int, cross-validation splitter, iterable or None, default=None
        The folds, as in ``LogisticRegressionCV``: None means five, shuffled and drawn several times if there
        are few texts. With an int or None, copies of a text, equal but for case, tags and white space, are
        held out together, and nothing is tuned if every class has a single text. A splitter is given the
        groups that ``fit`` is given, joined with copies.
    scoring : str, callable or None, default="neg_log_loss"
        The score by which settings are chosen, as in ``LogisticRegressionCV``.
    precision : float or None, default=None
        If texts have any number of labels: the share of the predictions of each label that are expected to be
        right. Its threshold is the smallest probability for which they are, on held-out texts. None means
        thresholds with the best F1.
    tol : float, default=1e-4
        Relative norm of the gradient at which a fit stops.
    max_iter : int, default=200
        Maximal number of iterations of a fit.
    n_jobs : int or None, default=None
        Number of threads; None means 1, -1 all cores.
    device : {"cpu", "cuda"} or None, default=None
        Where models are fitted to the features of the texts: "cuda" is an NVIDIA GPU, which needs the extra
        ``cuda``; None means the CPU.
    random_state : int, RandomState, Generator or None, default=None
        Random seed; it matters for ``expectation="monte_carlo"`` only.
    verbose : int, default=0
        If not 0, show progress on standard error.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The classes, sorted.
    multilabel_ : bool
        Whether texts have any number of labels.
    n_features_in_ : int
        Number of n-grams of words.
    vectorizer_ : NgramVectorizer
        The fitted vectorizer of words.
    model_ : LogisticRegression
        The fitted model of the n-grams of words; n-grams of characters and embeddings add to its predictors.
    search_ : LogisticRegressionCV
        The cross-validation of the model of words; only if settings were tuned. With latent features or
        embeddings its settings are PerBlock and its features Blocks: use ``model_`` for coefficients.
    cv_probabilities_ : ndarray of shape (n, K)
        Probabilities of each text with a label, in their order, when it was held out, NaN if it never was;
        only if settings were tuned.
    summary_ : Summary
        The data, the chosen settings and their cross-validated score; print it.
    thresholds_ : ndarray of shape (K,)
        If texts have any number of labels: the probabilities above which a text is given each of them.
    text_column_, label_column_, label_separator_ : str or None
        The columns of the training table, and what separates several labels in it, if a command or a model
        file has set them.

    See Also
    --------
    OnlineTextClassifier : Learn from a stream of texts.
    NgramVectorizer : The features.
    LogisticRegressionCV : The model and its tuning.

    Examples
    --------
    >>> from dropglm import TextClassifier
    >>> good = ["a lovely film", "great fun and a great cast", "lovely music, great story", "fun for all"]
    >>> bad = ["a dull film", "boring and long", "dull story, boring cast", "long and dull", "no fun"]
    >>> model = TextClassifier(ngram_range=(1, 1), min_df=1, tune=False, l2=0.1)
    >>> y, more = ["good"] * 4 + ["bad"] * 5, ["lovely cast", "a great story"]
    >>> model = model.fit(good + bad, y, X_unlabeled=more)
    >>> model.predict(["a lovely story"])
    array(['good'], dtype='<U4')
    >>> print(model.explain("a lovely story, truly"))
    probabilities: good 0.67, bad 0.33
    log odds of good against bad: +0.69, the sum of
      for good, largest first     +1.00
        lovely                    +0.75
        a                         +0.24
        story                     +0.01
      punctuation, largest first  +0.01
        ,                         +0.01
      intercept                   -0.33
    unknown: truly
    """

    _kind = "TextClassifier"
    _takes_several_labels = True
    __metadata_request__fit: ClassVar[dict[str, bool]] = {
        "X_unlabeled": True,
        "embeddings": True,
        "embeddings_unlabeled": True,
        "groups": True,
        "label_probabilities": True,
        "second_labels": True,
    }

    ngram_range: tuple[int, int] = (1, 2)
    min_df: float | tuple[float, float] = (1, 2)
    max_df: float = 1.0
    max_features: int | None = None
    _: KW_ONLY
    binary: bool = False
    sublinear_tf: bool = True
    use_idf: bool = True
    norm: str | None = "l2"
    idf_power: float = 1.0
    ngram_weight: Any = None
    characters: Any = (3, 4)
    analyzer: Any = "word"
    stop_words: Any = None
    strip_accents: Any = None
    lowercase: bool = True
    token_pattern: str = WORDS_AND_PUNCTUATION
    strip_html: bool = True
    tune: bool = True
    dropout: Any = None
    l2: Any = None
    discount: Any = None
    l2_weights: Any = None
    expectation: str = "gaussian"
    calibrate: bool = True
    naive_bayes: bool = True
    n_latent: int = 50
    rounds: int = 3
    embedder: Any = None
    class_weight: Any = None
    cv: Any = None
    scoring: Any = "neg_log_loss"
    precision: float | None = None
    tol: float = 1e-4
    max_iter: int = 200
    n_jobs: int | None = None
    device: str | None = None
    random_state: Any = None
    verbose: int = 0

    def fit(
        self,
        X: Iterable[str],
        y: Any = None,
        sample_weight: Any = None,
        X_unlabeled: Iterable[str] | None = None,
        embeddings: Any = None,
        embeddings_unlabeled: Any = None,
        groups: Any = None,
        *,
        label_probabilities: Any = None,
        second_labels: Any = None,
    ) -> Self:
        """Learn the vocabulary, tune the settings and fit the model.

        Parameters
        ----------
        X : iterable of str
            Texts.
        y : array-like of shape (n,), or lists of labels, or indicator matrix of shape (n, K), or None
            Labels of any type. A list of labels per text, or a matrix of 0 and 1, dense or sparse, means that
            a text has any number of labels, or none. Texts whose label is missing (None, NaN, NaT or pandas'
            NA) are unlabelled texts: the model is the same as with these texts at the beginning of
            ``X_unlabeled``. Their weights and groups are ignored, and ``cv_probabilities_`` has no rows for
            them.
        sample_weight : array-like of shape (n,), default=None
            Weights of the texts with labels, in the loss, the penalty and the cross-validated scores. N-grams
            and folds are counted and drawn without them.
        X_unlabeled : iterable of str, default=None
            More texts without labels.
        embeddings : array-like of shape (n, k), default=None
            Embeddings of the texts of X, if you have computed them; the embedder is then not called.
            Without an embedder, predictions need embeddings as well.
        embeddings_unlabeled : array-like of shape (m, k), default=None
            Embeddings of the texts of ``X_unlabeled``; needed if both ``embeddings`` and ``X_unlabeled`` are
            given.
        groups : array-like of shape (n,), default=None
            Labels of any type, such as the author of each text: texts with a label and of the same group are
            held out together by the cross-validation, and so are copies of texts.
        label_probabilities : array-like of shape (n, K), mapping or data frame, default=None
            Probabilities of the classes in place of y, which is then None: one column per class, named by
            the mapping or the data frame, or else numbered. Each row sums to 1; texts without any
            probability, NaN in all columns, are unlabelled texts.
        second_labels : array-like of shape (n,) or (n, A), mapping or data frame, default=None
            Labels of X from A sources that may be wrong: rules, a language model, other annotators; None
            where a source has none. Texts without a label in y are then trained on with probabilities of the
            classes, which follow from how reliable the answers are and from what models of the other texts
            predict; see ``dropglm.text.second_hand``. Scores and ``cv_probabilities_`` are those of texts
            with a label in y. ``summary_.second_hand`` says what the answers brought.

        Returns
        -------
        Self
            The estimator itself.
        """
        check_text_settings(self)
        texts = {
            "X": check_texts(X),
            "X_unlabeled": check_texts([] if X_unlabeled is None else X_unlabeled, "X_unlabeled"),
            "y": y if hasattr(y, "__len__") or y is None or sparse.issparse(y) else list(y),
            "sample_weight": sample_weight,
            "embeddings": embeddings,
            "embeddings_unlabeled": embeddings_unlabeled,
            "groups": groups,
            "label_probabilities": label_probabilities,
        }
        if second_labels is None:
            self._fitted = fit_to_texts(self, TextsInMemory(self, **texts))
        else:
            self._fitted = fit_with_second_labels(self, texts, second_labels)
        warn_unless_better(self.summary_)
        return self

    @property
    def search_(self) -> LogisticRegressionCV:
        """The cross-validation, if settings were tuned."""
        search = self._fitted_model().search
        if search is None:
            raise AttributeError("search_ exists only if settings were tuned.")
        return search

    @property
    def cv_probabilities_(self) -> np.ndarray:
        """Probabilities of each text with a label when it was held out; NaN if it never was."""
        return self.search_.cv_probabilities_

    def score(self, X: Iterable[str], y: Any, sample_weight: Any = None, embeddings: Any = None) -> float:
        """Return the accuracy of the predictions.

        Parameters
        ----------
        X : iterable of str
            Texts.
        y : array-like of shape (n,), or lists of labels, or indicator matrix of shape (n, K)
            Their labels.
        sample_weight : array-like of shape (n,), default=None
            Weights of the texts.
        embeddings : array-like of shape (n, k), default=None
            As in ``predict``.

        Returns
        -------
        float
            Share of correct predictions; of several labels, all have to be right.
        """
        from sklearn.metrics import accuracy_score

        predicted = self.predict(X, embeddings)
        if not self.multilabel_:
            return float(accuracy_score(y, predicted, sample_weight=sample_weight))
        y = as_rows(y)
        if predicted.ndim == y.ndim == 1:
            same = [set(own) == set(labels) for own, labels in zip(predicted, y, strict=True)]
            return float(np.average(same, weights=sample_weight))
        if predicted.ndim != y.ndim:
            predicted, y = (indicators_of(each, self.classes_) for each in (predicted, y))
        return float(accuracy_score(y, predicted, sample_weight=sample_weight))

    def __sklearn_clone__(self) -> Self:
        """Copy the settings; the embedder is shared, since it may be large and nothing changes it."""
        bare = copy(self)
        bare.embedder = None
        cloned: Self = BaseEstimator.__sklearn_clone__(bare)
        cloned.embedder = self.embedder
        return cloned

    def _current_model(self) -> FittedTextModel:
        fitted = self._fitted_model()
        fitted.settings = self.get_params()
        return fitted

    @classmethod
    def _of(cls, fitted: FittedTextModel) -> Self:
        weights = fitted.settings["class_weight"]  # files have no dictionaries whose keys are not strings
        settings = {"class_weight": dict(weights)} if isinstance(weights, list) else {}
        classifier = cls(**fitted.settings | settings, embedder=fitted.embedder)
        model = LogisticRegression(**{name: getattr(fitted.model, name) for name in CHOSEN})
        model._set_fitted(**vars(fitted.model) | {"coef_": np.ascontiguousarray(fitted.model.coef_)})
        vectorizer = as_estimator(fitted.vectorizer, NgramVectorizer)
        classifier._fitted = replace(fitted, vectorizer=vectorizer, model=model)
        return classifier
