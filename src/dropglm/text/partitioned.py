"""A fit of a text classifier to texts in partitions, wherever these are.

Each partition counts its n-grams. The vocabulary is selected among the sum of all counts, so it is that of
all texts at once. Each partition then becomes a matrix, and the model is fitted to the matrices.
"""

from collections import Counter
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from dropglm import checks
from dropglm.estimators import LogisticRegressionCV
from dropglm.estimators.l2_weights import counts_unlabeled
from dropglm.partitions import Engine, Rows, fit_logistic, fit_logistic_cv
from dropglm.partitions.checkpoint import checkpoint_folder
from dropglm.partitions.rows import naming, partition_name
from dropglm.partitions.sums import Sums, add_sums, sums_of
from dropglm.progress import Progress
from dropglm.text.base import check_texts
from dropglm.text.embedded_predictions import FittedState
from dropglm.text.labels import check_labels
from dropglm.text.ngram_counts import NgramCounts
from dropglm.text.similar_classes import warn_about_classes
from dropglm.text.summarizing import class_sizes, summarize, summarize_search
from dropglm.text.tuning import check_values, estimator_of, ngram_weights_of, vectorizer_of
from dropglm.text.unlabeled_effect import effect_of
from dropglm.text.vectorizer import NgramVectorizer


class TextCounts(NamedTuple):
    """What one or several partitions of texts contain."""

    ngrams: NgramCounts
    labels: Counter[Any]  # number of texts of each class
    unlabeled: int  # number of texts without labels

    @property
    def class_counts(self) -> np.ndarray:
        """Number of texts of each class."""
        return np.array([*self.labels.values()])


def fit_texts(
    classifier: Any,
    engine: Engine,
    labeled: list[Any],
    unlabeled: list[Any],
    checkpoint: str | PathLike[str] | None = None,
) -> FittedState:
    """Fit a model with the settings of a classifier to partitions; return the parts of the fitted classifier.

    Parameters
    ----------
    classifier : TextClassifier
    engine : Engine
    labeled, unlabeled : lists
        Partitions as the engine keeps them: ``Rows`` whose X are texts. Both lists are emptied, so that an
        engine can release the texts as soon as it has their matrices.
    checkpoint : str or path, optional
        As in ``fit_logistic``; only if nothing is tuned.
    """
    # Check.
    check_settings(classifier)
    if classifier.tune and checkpoint is not None:
        raise ValueError("A search has no checkpoints; use tune=False, or leave checkpoint out.")
    if checkpoint is not None:
        checkpoint_folder(checkpoint)  # before texts are counted
    if not labeled:
        raise ValueError("There is no partition of labelled texts.")
    texts = engine.keep(check_partition, [*labeled, *unlabeled], None)
    first_unlabeled = len(labeled)
    labeled.clear()
    unlabeled.clear()

    # Count.
    vectorizer = vectorizer_of(classifier, 1.0).set_params(n_jobs=None, verbose=0)
    vectorizer._check()
    with Progress(f"Counting the n-grams of {len(texts):,} partitions", shown=bool(classifier.verbose)):
        total = engine.total(count, texts, vectorizer, add_counts)
    if not total.labels:
        raise ValueError("No partition has a text with a label.")
    warn_about_classes(total.labels)

    # Fit with each weight of longer n-grams, and choose the best.
    best: FittedState | None = None
    weights = list(ngram_weights_of(classifier, total.class_counts))
    while weights:
        own = clone(vectorizer).set_params(ngram_weight=weights.pop(0)).fit_counts(total.ngrams)
        matrices = engine.keep(to_matrix, texts, own)
        if not weights:
            texts.clear()
        fitted = _fit(classifier, engine, total, own, matrices, first_unlabeled, checkpoint)
        if best is None or _score(fitted) > _score(best):
            best = fitted
    assert best is not None
    best.vectorizer.set_params(n_jobs=classifier.n_jobs, verbose=classifier.verbose)
    return best


def _fit(
    classifier: Any,
    engine: Engine,
    total: TextCounts,
    vectorizer: NgramVectorizer,
    matrices: list[Any],
    first_unlabeled: int,
    checkpoint: str | PathLike[str] | None,
) -> FittedState:
    """Fit a model to matrices, whose list is emptied; the first ones are those of labelled texts."""
    with Progress(f"Vectorizing {len(matrices):,} partitions", shown=bool(classifier.verbose)):
        totals = engine.total(value_totals, matrices, None, add_sums)
    vectorizer.ngrams_._record_totals(totals.dense()[:, 0], bool(totals.numbers[0]))
    estimator, search, found, effect = estimator_of(classifier, total.class_counts), None, None, None
    rows = [matrices[:first_unlabeled], matrices[first_unlabeled:]]
    matrices.clear()
    # Only the fit itself needs the matrices from here on.
    if isinstance(estimator, LogisticRegressionCV):
        search = fit_logistic_cv(estimator.set_params(rounds=0), engine, rows.pop(0), rows.pop(0))
        model = search.best_estimator_
        accuracy = float(search.cv_results_["accuracy"][search.best_index_])
        found = summarize_search(search, accuracy, int((total.class_counts == 1).sum()))
        if total.unlabeled and (np.any(estimator.discount) or counts_unlabeled(estimator.l2_weights)):
            effect = effect_of(search, None)
    else:
        model = fit_logistic(estimator, engine, rows.pop(0), rows.pop(0), checkpoint)
    sizes, m = class_sizes(total.labels), total.unlabeled
    summary = summarize(vectorizer, model, search, found, sizes, m, effect=effect)
    return FittedState(vectorizer, model, search, summary)


def _score(fitted: FittedState) -> float:
    return -np.inf if fitted.search is None else float(fitted.search.best_score_)


def check_settings(classifier: Any) -> None:
    """Raise an error if a setting cannot be used with partitions."""
    checks.yes_or_no(classifier.tune, "tune")
    check_values(classifier)
    if classifier.embedder is not None:
        raise ValueError("Texts in partitions cannot have embeddings; leave embedder out.")


def check_partition(part: Rows, _: None) -> Rows:
    """Return a partition whose X is a list of strings and whose y, if it has labels, is an array."""
    with naming(partition_name(part.number, labeled=part.labeled)):
        texts, y = check_texts(part.X, "X" if part.labeled else "X_unlabeled"), None
        if part.labeled:
            y = check_labels(part.y, len(texts)) if len(texts) else np.empty(0)
    return part._replace(X=texts, y=y)


def count(part: Rows, vectorizer: NgramVectorizer) -> TextCounts:
    """Return what a partition contains."""
    labels = Counter([] if part.y is None else part.y.tolist())
    return TextCounts(vectorizer.count(part.X), labels, 0 if part.labeled else len(part.X))


def add_counts(a: TextCounts, b: TextCounts) -> TextCounts:
    """Return what two groups of partitions contain together."""
    return TextCounts(a.ngrams + b.ngrams, a.labels + b.labels, a.unlabeled + b.unlabeled)


def to_matrix(part: Rows, vectorizer: NgramVectorizer) -> Rows:
    """Return a partition with the matrix of its texts."""
    return part._replace(X=vectorizer.transform(part.X))


def value_totals(part: Rows, _: None) -> Sums:
    """Return the sum of the values of each n-gram, and whether any value is not 1."""
    values = np.bincount(part.X.indices, part.X.data, minlength=part.X.shape[1])
    places = np.flatnonzero(values).astype(np.int32)
    different = float((part.X.data != 1.0).any())
    return sums_of(np.array([different]), values[places, None], places, len(values))
