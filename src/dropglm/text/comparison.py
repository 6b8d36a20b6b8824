"""A text classifier compared with tf-idf and logistic regression, on the same folds.

Both choose their settings within the training texts of each fold, so neither has seen the texts on which it
is measured.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegressionCV as SklearnLogisticRegressionCV
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from threadpoolctl import threadpool_limits

from dropglm.base import checks
from dropglm.base.errors import InputError
from dropglm.base.progress import Progress
from dropglm.places.rows import TrainingData
from dropglm.search.held_out import FOLDS, folds_from
from dropglm.text.classifier import TextClassifier
from dropglm.text.embeddings import embed
from dropglm.text.labels import find_class_numbers
from dropglm.text.metrics import log_losses, standard_error
from dropglm.text.training import text_groups

MIN_TEXTS = 3  # of each class: one to measure on, and two to choose settings with


class Estimate(NamedTuple):
    """A mean over texts, and its standard error."""

    mean: float
    standard_error: float

    @classmethod
    def of(cls, values: np.ndarray, weights: np.ndarray) -> "Estimate":
        """Return the mean of one value per text."""
        return cls(float(np.average(values, weights=weights)), standard_error(values, weights))


class Scores(NamedTuple):
    """Accuracy and log loss on texts that were not trained on."""

    accuracy: Estimate
    log_loss: Estimate


@dataclass(frozen=True)
class Comparison:
    """Comparison of a text classifier with tf-idf and logistic regression.

    Attributes
    ----------
    folds, texts : int
        Number of folds, and of texts that were predicted.
    model, baseline : Scores
        Accuracy and log loss of the classifier, and of tf-idf with logistic regression.
    difference : Scores
        The classifier minus the baseline, with standard errors of the differences per text.
    """

    folds: int
    texts: int
    model: Scores
    baseline: Scores
    difference: Scores

    def to_dict(self) -> dict[str, Any]:
        """Return the fields in plain types, for JSON."""
        scores = {
            name: {score: estimate._asdict() for score, estimate in getattr(self, name)._asdict().items()}
            for name in ("model", "baseline", "difference")
        }
        return asdict(self) | scores


def compare_with_baseline(
    model: TextClassifier,
    X: Sequence[str],
    y: Any,
    X_unlabeled: Sequence[str] | None = None,
    *,
    embeddings: Any = None,
    embeddings_unlabeled: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    fit_seconds: float = 1.0,
    shown: bool = False,
) -> Comparison:
    """Compare a classifier with tf-idf and logistic regression by cross-validation.

    In each fold, a copy of the classifier and the baseline are fitted to the other folds, which includes the
    choice of their settings, and predict the texts of the fold. With 5 folds this takes about as long as 4
    fits of the classifier, and the time of the baseline. The baseline is scikit-learn's
    ``TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)`` and ``LogisticRegressionCV``, which chooses one
    of ten values of C by log loss. It does not use unlabelled texts.

    Parameters
    ----------
    model : TextClassifier
        The classifier, fitted or not; its ``cv`` describes the folds.
    X : sequence of str of length n
        Texts with labels.
    y : array-like of shape (n,)
        Labels; at least three texts of each class.
    X_unlabeled : sequence of str, default=None
        Texts without labels, for the classifier.
    embeddings, embeddings_unlabeled : array-like of shape (n, k) and (m, k), default=None
        Embeddings of the texts, for the classifier. None means those of its embedder, if it has one, which
        are computed once for all folds.
    sample_weight : array-like of shape (n,), default=None
        Weights of the texts with labels, in all fits and scores.
    groups : array-like of shape (n,), default=None
        Labels of texts that are held out together, as are copies. The baseline chooses C without them.
    fit_seconds : float, default=1.0
        Rough number of seconds that one fit takes, for the progress bar.
    shown : bool, default=False
        Whether to show a progress bar.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from dropglm import TextClassifier
    >>> good = ["lovely and great", "great fun", "fun, lovely cast", "great cast"] * 2
    >>> bad = ["dull and long", "boring, long", "dull story", "a boring story"] * 2
    >>> model = TextClassifier(tune=False, cv=2)
    >>> found = compare_with_baseline(model, good + bad, ["good"] * 8 + ["bad"] * 8)
    >>> found.model.accuracy, found.difference.accuracy
    (Estimate(mean=1.0, standard_error=0.0), Estimate(mean=0.0, standard_error=0.0))
    """
    y, texts = np.asarray(y), np.array([*X, None], object)[:-1]
    check_class_sizes(y)
    classes, numbers = np.unique(y, return_inverse=True)
    given = None if groups is None else checks.groups(groups, len(y))
    together, w = text_groups(model, X, y, given).labels, checks.weights(sample_weight, len(y))
    data = TrainingData(texts, numbers, {}, w, w, classes=classes, groups=together)
    folds = folds_from(FOLDS if model.cv is None else model.cv, data, every_class=True)
    splits = [(np.flatnonzero(fold.times), fold.test) for fold in folds]

    if model.embedder is not None and embeddings is None:
        embeddings = embed(model.embedder, X, shown=shown)
        embeddings_unlabeled = embed(model.embedder, X_unlabeled, shown=shown) if X_unlabeled else None

    def rows_of(rows: np.ndarray) -> Any:
        return None if embeddings is None else np.asarray(embeddings)[rows]

    def ours(train: np.ndarray, test: np.ndarray) -> np.ndarray:
        fitted = clone(model).set_params(verbose=0)
        more = {"X_unlabeled": X_unlabeled, "embeddings_unlabeled": embeddings_unlabeled}
        own = None if given is None else given[train]
        fitted.fit(texts[train].tolist(), y[train], w[train], embeddings=rows_of(train), **more, groups=own)
        return fitted.predict_proba(texts[test].tolist(), rows_of(test))

    def theirs(train: np.ndarray, test: np.ndarray) -> np.ndarray:
        fitted = fit_tfidf(texts[train].tolist(), y[train], w[train])
        return np.asarray(fitted.predict_proba(texts[test].tolist()))

    cost = fit_seconds * (1.0 - 1.0 / len(splits))
    with Progress("fits of the comparison", costs=[cost] * 2 * len(splits), shown=shown) as progress:

        def predict(fit_and_predict: Callable[..., Any], name: str) -> np.ndarray:
            """Return the probabilities of all texts that are in a fold, NaN for others."""
            p = np.full((len(y), len(classes)), np.nan)
            for train, test in splits:
                progress.start_step(name, cost)
                p[test] = fit_and_predict(train, test)
                progress.finish_step()
            return p

        with warnings.catch_warnings():
            # The final fit shows the warnings that matter.
            warnings.simplefilter("ignore")
            p, q = predict(ours, "dropglm"), predict(theirs, "tf-idf")
    known, truth = ~np.isnan(p[:, 0]), find_class_numbers(y, classes)
    one, other = _per_text(p[known], truth[known]), _per_text(q[known], truth[known])
    pairs = [Scores(*(Estimate.of(row, w[known]) for row in rows)) for rows in (one, other, one - other)]
    return Comparison(len(splits), int(known.sum()), *pairs)


def check_class_sizes(y: np.ndarray) -> None:
    """Raise an error if a class has too few texts for a comparison."""
    classes, counts = np.unique(y, return_counts=True)
    few = counts.min()
    if few < MIN_TEXTS:
        raise InputError(
            f"Class {classes[counts.argmin()]!s} has only {few} text{'' if few == 1 else 's'}; a comparison "
            f"with the baseline needs at least {MIN_TEXTS} texts of each class."
        )


def fit_tfidf(X: Sequence[str], y: np.ndarray, sample_weight: np.ndarray | None = None) -> Pipeline:
    """Return tf-idf and logistic regression, fitted to texts; an error if they cannot be."""
    try:
        # On a busy machine with two cores, a fit to 240 docstrings took 47 s of processor time with two
        # threads and 4 s with one.
        with threadpool_limits(1):
            return tfidf_baseline(y).fit(X, y, logisticregressioncv__sample_weight=sample_weight)
    except ValueError as error:  # such as texts without words
        reason = str(error).splitlines()[0].rstrip(".")
        raise InputError(f"tf-idf and logistic regression cannot be fitted: {reason}.") from error


def tfidf_baseline(
    y: np.ndarray,
    *,
    ngram_range: tuple[int, int] = (1, 2),
    analyzer: str = "word",
    Cs: Any = 10,
    random_state: int | None = None,
) -> Pipeline:
    """Return tf-idf and scikit-learn's logistic regression with C chosen by log loss.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Labels of the texts to fit.
    ngram_range : tuple (int, int), default=(1, 2)
        The smallest and the largest n.
    analyzer : {"word", "char", "char_wb"}, default="word"
        Whether n-grams are of words or of characters, as in scikit-learn.
    Cs : int or list of float, default=10
        Values of C, or their number.
    random_state : int or None, default=None
        Seed of the folds in which C is chosen; see ``stratified_folds``.

    Returns
    -------
    Pipeline
        Not fitted.
    """
    return make_pipeline(
        TfidfVectorizer(analyzer=analyzer, ngram_range=ngram_range, sublinear_tf=True),
        SklearnLogisticRegressionCV(
            Cs=Cs,
            l1_ratios=(0.0,),
            cv=stratified_folds(y, random_state),
            scoring="neg_log_loss",
            max_iter=1000,
            use_legacy_attributes=False,
        ),
    )


def stratified_folds(y: np.ndarray, random_state: int | None = None) -> StratifiedKFold:
    """Return five stratified folds, or as many as the smallest class has texts; shuffled if given a seed.

    Examples
    --------
    >>> stratified_folds(np.array([0, 0, 0, 1, 1])).n_splits
    2
    """
    smallest = int(np.unique(y, return_counts=True)[1].min())
    shuffle = random_state is not None
    return StratifiedKFold(min(FOLDS, smallest), shuffle=shuffle, random_state=random_state)


def _per_text(p: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return whether each prediction is correct and its log loss, in two rows."""
    p = p / p.sum(axis=1, keepdims=True)
    return np.array([p.argmax(axis=1) == truth, log_losses(p, truth)], np.float64)
