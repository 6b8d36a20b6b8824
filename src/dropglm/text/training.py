"""One fit of a text classifier: from texts to blocks of features, to a model of the n-grams."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dropglm import checks
from dropglm.estimators import LogisticRegressionCV
from dropglm.estimators.blend import PRIORS
from dropglm.estimators.search import Searched
from dropglm.progress import Progress
from dropglm.text.embedded_predictions import FittedState
from dropglm.text.embedding_block import EmbeddingBlock, set_embedding_values, with_embeddings
from dropglm.text.latent_prior import POWERS, LatentPrior
from dropglm.text.ngram_rows import row_range
from dropglm.text.summarizing import class_sizes, held_out_figures, summarize, summarize_search
from dropglm.text.tuning import estimator_of, vectorizer_of
from dropglm.text.unlabeled_effect import effect_of
from dropglm.text.vectorizer import NgramVectorizer


class TrainingTexts(NamedTuple):
    """Texts with labels y, more texts without labels, and the embeddings of all of them, if there are any.

    ``counted`` is a vectorizer and the counts of the n-grams of all texts, with labels first; the weights of
    longer n-grams share it.
    """

    labeled: list[str]
    unlabeled: list[str]
    y: np.ndarray
    sample_weight: Any
    embeddings: EmbeddingBlock | None
    counted: tuple[NgramVectorizer, Any]


def count_ngrams(classifier: Any, texts: list[str], ngram_weight: float) -> tuple[NgramVectorizer, Any]:
    """Return a fitted vectorizer with the settings of a classifier, and the counts of the texts' n-grams."""
    vectorizer = vectorizer_of(classifier, ngram_weight)
    return vectorizer, vectorizer._fit_counts(texts)


class Attempt(NamedTuple):
    """Texts as features, with one weight of longer n-grams, and the search on them if settings are tuned."""

    vectorizer: NgramVectorizer
    estimator: Any
    labeled: Any
    unlabeled: Any
    prior: LatentPrior | None
    searched: Searched | None

    @property
    def latent_powers(self) -> tuple[float, ...]:
        """The latent features, as in ``LatentPrior``, of settings within one standard error of the best."""
        if self.prior is None or self.searched is None:
            return ()
        chosen = [self.prior.chosen(one.params["l2_weights"]) for one in self.searched.near_best()]
        return tuple(power for number, power in enumerate(self.prior.powers) if number in chosen)


def fit_to_texts(classifier: Any, texts: TrainingTexts, ngram_weights: Sequence[float]) -> FittedState:
    """Fit a model with the settings of a classifier to texts; return the parts of the fitted classifier.

    Of several weights of longer n-grams the best is chosen; only its settings are fitted to all texts. Latent
    features that are clearly worse with the first weight are not tried with the others; on IMDB with all
    labels this saves a fifth of the whole time.
    """
    return _finish(_best_attempt(classifier, texts, ngram_weights), texts)


def _best_attempt(classifier: Any, texts: TrainingTexts, ngram_weights: Sequence[float]) -> Attempt:
    """Return the best of the attempts with these weights of longer n-grams; all others can be forgotten."""
    best = _attempt(classifier, texts, ngram_weights[0])
    powers = best.latent_powers
    for ngram_weight in ngram_weights[1:]:
        if best.searched is None:
            break
        other = _attempt(classifier, texts, ngram_weight, powers, rival=best.searched)
        if other.searched is not None and other.searched.score > best.searched.score:
            best = other
    return best


def _attempt(
    classifier: Any,
    texts: TrainingTexts,
    ngram_weight: float,
    latent_powers: tuple[float, ...] = POWERS,
    rival: Searched | None = None,
) -> Attempt:
    """Return the features of texts, and the search that chooses the settings."""
    # N-grams of all texts.
    counter, counts = texts.counted
    vectorizer, features = counter._with_ngram_weight(counts, ngram_weight)
    estimator = estimator_of(classifier, np.unique(texts.y, return_counts=True)[1])
    vectorizer.ngrams_._record_values(features, checks.threads(classifier.n_jobs))
    n, m = len(texts.labeled), len(texts.unlabeled)
    labeled = row_range(features, 0, n)
    unlabeled = row_range(features, n, n + m) if m else None

    # Further blocks: latent features of all texts, and embeddings.
    prior, block = None, texts.embeddings
    if m and classifier.n_latent and latent_powers and isinstance(estimator, LogisticRegressionCV):
        with Progress("Computing latent features", shown=bool(classifier.verbose)):
            threads = checks.threads(classifier.n_jobs)
            prior = LatentPrior.of(features, vectorizer, classifier.n_latent, threads, latent_powers)
    if prior is not None:
        labeled, unlabeled = prior.beside(labeled, 0), prior.beside(unlabeled, n)
        prior.set_values(estimator)
    if block is not None:
        labeled = with_embeddings(labeled, block.labeled)
        unlabeled = with_embeddings(unlabeled, block.unlabeled)
        set_embedding_values(estimator, block.width)
    searched = None
    if isinstance(estimator, LogisticRegressionCV):
        rows = {"sample_weight": texts.sample_weight, "X_unlabeled": unlabeled}
        # Latent features are functions of the n-grams, so naive Bayes is as useful as without them.
        priors = PRIORS if block is None else None
        searched = estimator._search(labeled, texts.y, **rows, rival=rival, priors=priors)
    return Attempt(vectorizer, estimator, labeled, unlabeled, prior, searched)


def _finish(attempt: Attempt, texts: TrainingTexts) -> FittedState:
    """Fit the chosen settings to all texts."""
    vectorizer, estimator, labeled, unlabeled, prior, searched = attempt
    if searched is None:
        estimator.fit(labeled, texts.y, sample_weight=texts.sample_weight, X_unlabeled=unlabeled)
    else:
        estimator._finish(searched)

    # Split off the coefficients of embeddings, and fold those of latent features into those of n-grams.
    block = texts.embeddings
    search = None if searched is None else estimator
    model, head = estimator if search is None else search.best_estimator_, None
    embedding = None if block is None else block.summary(model)
    if block is not None:
        model, head = block.split(model)
    if prior is not None:
        model = prior.fold(model)
    found = None if search is None else summarize_search(search, *held_out_figures(search, texts.y))
    sizes, m = class_sizes(Counter(texts.y.tolist())), len(texts.unlabeled)
    effect = effect_of(search, prior) if search and m else None
    summary = summarize(vectorizer, model, search, found, sizes, m, embedding, effect)
    return FittedState(vectorizer, model, search, summary, head)
