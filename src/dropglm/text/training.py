"""One fit of a text classifier: from texts to blocks of features, to a model of the n-grams and its summary.

Texts are in memory or in partitions (``partitioned.py``); the fit sees them through ``TrainingTexts``.

The summary also says what unlabelled texts bring. The model without them has the same n-grams and the same
folds. It is among the candidates of every search, unless the user asks for a positive discount or for l2
weights that count unlabelled texts.
"""

import warnings
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np

from dropglm.base import checks
from dropglm.base.blocks import Blocks
from dropglm.base.errors import InputError, stacklevel
from dropglm.base.progress import Progress
from dropglm.core.l2_weights import counts_unlabeled
from dropglm.linear import LogisticRegression
from dropglm.linear.validation import check_classification
from dropglm.places.rows import TrainingRows, rows_of
from dropglm.search import LogisticRegressionCV
from dropglm.search.blend import PRIORS
from dropglm.search.held_out import FOLDS
from dropglm.search.scoring import check_scorer_name, standard_error
from dropglm.search.search import Search
from dropglm.text.embeddings import EmbeddingHead, Fingerprint, Scaling, check_embeddings, embed
from dropglm.text.fitted_model import FittedTextModel
from dropglm.text.labels import warn_about_classes
from dropglm.text.latent_prior import POWERS, LatentPrior
from dropglm.text.ngrams.matrix import row_range
from dropglm.text.ngrams.vectorizer import NgramVectorizer
from dropglm.text.ngrams.vocabulary import column_totals
from dropglm.text.summary import Summary, readable_score
from dropglm.text.tuning import (
    BY_BLOCK,
    add_blocks,
    check_values,
    estimator_of,
    ngram_weights_of,
    vectorizer_of,
    without_last,
)

# Values that a search chooses from: standard deviations of the noise, relative to the root mean square of the
# columns, and l2 weights relative to those of the n-grams. With word vectors of 384 numbers and 300 labels,
# the log loss of imdb2k is 0.393, and 0.405 if the noise is always 1; that of subj is 0.266 and 0.270.
# Further l2 weights of 0.1 or 10 gained nothing on average over four sets: both blocks have rows of length 1.
NOISE = (1.0, 3.0)
EMBEDDING_L2_WEIGHTS = (1.0,)


class EmbeddingBlock(NamedTuple):
    """The block of embeddings: what they were computed with, and how they are scaled."""

    fingerprint: Fingerprint
    scaling: Scaling

    @classmethod
    def of(cls, embedder: Any, scaling: Scaling) -> Self:
        """Return the block of embeddings with this scaling, by an embedder or, if None, given ones."""
        width = len(scaling.mean)
        fingerprint = Fingerprint(width) if embedder is None else Fingerprint.of(embedder, width)
        if fingerprint.dimension != width:
            raise InputError(
                f"embeddings has {width} numbers per text, but the embedder gives {fingerprint.dimension}."
            )
        return cls(fingerprint, scaling)

    @property
    def width(self) -> int:
        """Numbers per text."""
        return self.fingerprint.dimension

    def split(self, model: LogisticRegression) -> tuple[LogisticRegression, EmbeddingHead]:
        """Return a model of the n-grams alone, and the head, from one that was fitted to both."""
        size = np.float32(self.scaling.size)
        coef = np.asarray(model.coef_[:, -self.width :] / size, np.float32)
        settings = {name: without_last(getattr(model, name)) for name in BY_BLOCK}
        words = LogisticRegression(**model.get_params() | settings)
        for name in ("classes_", "intercept_", "multi_class_", "n_iter_", "result_"):
            setattr(words, name, getattr(model, name))
        words.coef_ = np.ascontiguousarray(model.coef_[:, : -self.width])
        words.n_features_in_ = words.coef_.shape[1]
        return words, EmbeddingHead(self.fingerprint, self.scaling.mean, coef)

    def summary(self, model: LogisticRegression) -> dict[str, Any]:
        """Return what the summary says of embeddings, given a model that was fitted to the block."""
        return {
            "dimension": self.width,
            "name": self.fingerprint.name,
            "noise": float(np.round(_last(model.noise_std) * np.sqrt(self.width), 6)),
            "l2_weight": float(_last(model.l2_weights)),
        }


def embeddings_of(
    labeled: Sequence[str],
    unlabeled: Sequence[str],
    *,
    embedder: Any,
    embeddings: Any,
    embeddings_unlabeled: Any,
    shown: bool,
) -> np.ndarray | None:
    """Return the embeddings of all texts, given or else by the embedder; None if there are neither."""
    if embeddings is None:
        if embeddings_unlabeled is not None:
            raise InputError("embeddings_unlabeled needs embeddings, those of X, as well.")
        return None if embedder is None else embed(embedder, [*labeled, *unlabeled], shown=shown)
    E = check_embeddings(embeddings, len(labeled))
    return np.vstack([E, _given_unlabeled(embeddings_unlabeled, len(unlabeled), E.shape[1])])


def with_embeddings(features: Any, E: np.ndarray | None) -> Any:
    """Return the features with the embeddings as one more block; features may have several blocks.

    Without embeddings, return the features as they are.
    """
    if E is None:
        return features
    return Blocks(*(features.blocks if isinstance(features, Blocks) else [features]), E)


def set_embedding_values(estimator: LogisticRegression | LogisticRegressionCV, width: int) -> None:
    """Give an estimator values for one more block, which has Gaussian noise instead of dropout."""
    tuned = isinstance(estimator, LogisticRegressionCV)
    # The columns of scaled embeddings have a root mean square of 1/√width.
    stds = [std / np.sqrt(width) for std in (NOISE if tuned else NOISE[:1])]
    weights = EMBEDDING_L2_WEIGHTS if tuned else EMBEDDING_L2_WEIGHTS[:1]
    last = {"dropout": [0.0], "noise_std": stds, "l2_weights": weights}
    add_blocks(estimator, lambda name, _: [(value,) for value in last[name]])


def _last(value: Any) -> Any:
    return value.values[-1]


def _given_unlabeled(given: Any, m: int, k: int) -> np.ndarray:
    """Return the embeddings of m unlabelled texts, which must have k numbers each."""
    if given is None:
        if m:
            raise InputError(
                "embeddings were given for X but not for X_unlabeled; pass those as embeddings_unlabeled."
            )
        return np.empty((0, k), np.float32)
    E = check_embeddings(given, m, name="embeddings_unlabeled", rows_of="X_unlabeled")
    if E.shape[1] != k:
        raise InputError(f"embeddings_unlabeled has {E.shape[1]} numbers per text, but embeddings has {k}.")
    return E


class TrainingTexts(ABC):
    """Texts with labels and more texts without, wherever they are.

    Attributes
    ----------
    class_counts : Counter
        Number of texts of each class.
    n_unlabeled : int
        Number of texts without labels.
    embeddings : EmbeddingBlock or None
        The block of their embeddings, if they have any.
    """

    class_counts: Counter[Any]
    n_unlabeled: int
    embeddings: EmbeddingBlock | None

    @abstractmethod
    def vectorize(self, ngram_weight: float, *, last: bool) -> tuple[NgramVectorizer, Any]:
        """Return a vectorizer of all texts with this weight of longer n-grams, and their features.

        ``last`` says that the texts are not going to be vectorized again.
        """

    @abstractmethod
    def latent_prior(
        self, features: Any, vectorizer: NgramVectorizer, k: int, powers: tuple[float, ...]
    ) -> tuple[LatentPrior | None, Any]:
        """Return the prior of k latent features, and the features with these as further blocks."""

    @abstractmethod
    def rows(self, estimator: Any, features: Any) -> TrainingRows:
        """Return the rows of a fit, from the features and, if there are any, the embeddings."""


class TextsInMemory(TrainingTexts):
    """Texts in memory.

    Parameters
    ----------
    classifier : TextClassifier
    labeled, unlabeled : lists of str
    y : ndarray of shape (n,)
    sample_weight : array-like of shape (n,) or None
    embeddings, embeddings_unlabeled : array-like or None
        Embeddings of the texts, if they are given.
    """

    def __init__(
        self,
        classifier: Any,
        labeled: list[str],
        unlabeled: list[str],
        y: np.ndarray,
        sample_weight: Any = None,
        embeddings: Any = None,
        embeddings_unlabeled: Any = None,
    ) -> None:
        self.classifier = classifier
        self.texts, self.n, self.n_unlabeled = [*labeled, *unlabeled], len(labeled), len(unlabeled)
        self.y, self.sample_weight = y, sample_weight
        self.class_counts = Counter(y.tolist())
        E = embeddings_of(
            labeled,
            unlabeled,
            embedder=classifier.embedder,
            embeddings=embeddings,
            embeddings_unlabeled=embeddings_unlabeled,
            shown=bool(classifier.verbose),
        )
        self.embeddings, self._scaled = None, None
        if E is not None:
            self.embeddings = EmbeddingBlock.of(classifier.embedder, Scaling.of(E))
            self._scaled = self.embeddings.scaling(E)
        self._counted: tuple[NgramVectorizer, Any] | None = None

    def vectorize(self, ngram_weight: float, *, last: bool) -> tuple[NgramVectorizer, Any]:
        """Return a vectorizer of all texts, and their matrix; the n-grams are counted once."""
        if self._counted is None:
            self._counted = count_ngrams(self.classifier, self.texts, ngram_weight)
        counter, counts = self._counted
        vectorizer, X = counter._with_ngram_weight(counts, ngram_weight)
        vectorizer.ngrams_._record_totals(*column_totals(X))
        return vectorizer, self._split(X)

    def _split(self, X: Any) -> list[Any]:
        """Return the labelled and the unlabelled rows, None if there are none."""
        n, m = self.n, self.n_unlabeled
        return [row_range(X, 0, n), row_range(X, n, n + m) if m else None, X]

    def latent_prior(
        self, features: Any, vectorizer: NgramVectorizer, k: int, powers: tuple[float, ...]
    ) -> tuple[LatentPrior | None, Any]:
        """Return the prior of k latent features, and the features with these as further blocks."""
        labeled, unlabeled, X = features
        prior = LatentPrior.of(X, vectorizer, k, checks.threads(self.classifier.n_jobs), powers)
        if prior is None:
            return None, features
        return prior, [prior.beside(labeled, 0), prior.beside(unlabeled, self.n), X]

    def rows(self, estimator: Any, features: Any) -> TrainingRows:
        """Return the rows of a fit, from the features and, if there are any, the embeddings."""
        labeled, unlabeled, _ = features
        if self._scaled is not None:
            labeled = with_embeddings(labeled, self._scaled[: self.n])
            unlabeled = None if unlabeled is None else with_embeddings(unlabeled, self._scaled[self.n :])
        data = check_classification(estimator, labeled, self.y, self.sample_weight, unlabeled, None)
        tuned = isinstance(estimator, LogisticRegressionCV)
        return rows_of(estimator, data if tuned else data.without_zero_weights())


def count_ngrams(classifier: Any, texts: list[str], ngram_weight: float) -> tuple[NgramVectorizer, Any]:
    """Return a fitted vectorizer with the settings of a classifier, and the counts of the texts' n-grams."""
    vectorizer = vectorizer_of(classifier, ngram_weight)
    return vectorizer, vectorizer._fit_counts(texts)


def check_settings(classifier: Any) -> None:
    """Raise an error if a setting of a classifier is not valid, before its texts are read."""
    checks.yes_or_no(classifier.tune, "tune")
    check_values(classifier)
    for name in ("n_latent", "rounds"):
        checks.whole_number(getattr(classifier, name), name)
        checks.not_negative(getattr(classifier, name), name)
    check_scorer_name(classifier.scoring)


class Attempt(NamedTuple):
    """Texts as features, with one weight of longer n-grams, and the search on them if settings are tuned."""

    vectorizer: NgramVectorizer
    estimator: Any
    rows: TrainingRows
    prior: LatentPrior | None
    searched: Search | None

    @property
    def latent_powers(self) -> tuple[float, ...]:
        """The latent features, as in ``LatentPrior``, of settings within one standard error of the best."""
        if self.prior is None or self.searched is None:
            return ()
        chosen = [self.prior.chosen(one.params["l2_weights"]) for one in self.searched.near_best()]
        return tuple(power for number, power in enumerate(self.prior.powers) if number in chosen)


def fit_to_texts(classifier: Any, texts: TrainingTexts) -> FittedTextModel:
    """Fit a model with the settings of a classifier to texts; return the parts of the fitted classifier.

    Of several weights of longer n-grams the best is chosen; only its settings are fitted to all texts. Latent
    features that are clearly worse with the first weight are not tried with the others; on IMDB with all
    labels this saves a fifth of the whole time.
    """
    warn_about_classes(texts.class_counts)
    return _finish(_best_attempt(classifier, texts), texts)


def _best_attempt(classifier: Any, texts: TrainingTexts) -> Attempt:
    """Return the best of the attempts with each weight of longer n-grams; all others can be forgotten."""
    weights = ngram_weights_of(classifier, np.array([*texts.class_counts.values()]))
    best = _attempt(classifier, texts, weights[0], last=len(weights) == 1)
    powers = best.latent_powers
    for number, ngram_weight in enumerate(weights[1:], start=2):
        if best.searched is None:
            break
        is_last, rival = number == len(weights), best.searched
        other = _attempt(classifier, texts, ngram_weight, powers, last=is_last, rival=rival)
        if other.searched is not None and other.searched.score > best.searched.score:
            best = other
    return best


def _attempt(
    classifier: Any,
    texts: TrainingTexts,
    ngram_weight: float,
    latent_powers: tuple[float, ...] = POWERS,
    *,
    last: bool,
    rival: Search | None = None,
) -> Attempt:
    """Return the features of texts, and the search that chooses the settings."""
    # N-grams of all texts.
    vectorizer, features = texts.vectorize(ngram_weight, last=last)
    estimator = estimator_of(classifier, np.array([*texts.class_counts.values()]))
    tuned, m = isinstance(estimator, LogisticRegressionCV), texts.n_unlabeled

    # Further blocks: latent features of all texts, and embeddings.
    prior = None
    if m and classifier.n_latent and latent_powers and tuned:
        with Progress("Computing latent features", shown=bool(classifier.verbose)):
            prior, features = texts.latent_prior(features, vectorizer, classifier.n_latent, latent_powers)
    if prior is not None:
        prior.set_values(estimator)
    if texts.embeddings is not None:
        set_embedding_values(estimator, texts.embeddings.width)
    rows = texts.rows(estimator, features)
    if not tuned:
        return Attempt(vectorizer, estimator, rows, prior, None)
    # Latent features are functions of the n-grams, so naive Bayes is as useful as without them.
    priors = PRIORS if prior is not None and texts.embeddings is None else None
    return Attempt(
        vectorizer, estimator, rows, prior, estimator._search_rows(rows, rival=rival, priors=priors)
    )


def _finish(attempt: Attempt, texts: TrainingTexts) -> FittedTextModel:
    """Fit the chosen settings to all texts."""
    vectorizer, estimator, rows, prior, searched = attempt
    search = None if searched is None else estimator._finish(searched)
    model, head = estimator._fit_to(rows) if search is None else search.best_estimator_, None

    # Split off the coefficients of embeddings, and fold those of latent features into those of n-grams.
    block = texts.embeddings
    embedding = None if block is None else block.summary(model)
    if block is not None:
        model, head = block.split(model)
    if prior is not None:
        model = prior.fold(model)
    summary = Summary(
        texts={str(label): count for label, count in sorted(texts.class_counts.items())},
        unlabeled=texts.n_unlabeled,
        **summary_of_model(vectorizer, model, search, texts.n_unlabeled),
        search=None if search is None else summary_of_search(search, rows.data.classes[rows.data.y]),
        embedding=embedding,
        unlabeled_effect=effect_of(search, prior) if search and texts.n_unlabeled else None,
    )
    return FittedTextModel(vectorizer, model, search, summary, head)


def _short(number: float) -> float:
    return float(f"{number:.3g}")


def summary_of_model(
    vectorizer: NgramVectorizer,
    model: LogisticRegression,
    search: LogisticRegressionCV | None,
    n_unlabeled: int,
) -> dict[str, Any]:
    """Return the fields of a summary that concern the fitted model."""
    results = model.result_ if isinstance(model.result_, tuple) else (model.result_,)
    dropout = float(model.dropout) if isinstance(model.dropout, Real) else repr(model.dropout)
    l2_weights = model.l2_weights if isinstance(model.l2_weights, str | Real) else "given"
    settings = {
        "dropout": dropout,
        "l2": _short(model.l2),
        "l2_weights": l2_weights,
        "discount": float(model.discount) if n_unlabeled and model.discount else None,
        "scale": _short(search.scale_) if search and (search.calibrate or search.naive_bayes) else None,
        "naive_bayes": _short(search.naive_bayes_) if search and search.naive_bayes else None,
        "ngram_weight": float(vectorizer.ngram_weight) if vectorizer._check()[1] > 1 else None,
    }
    return {
        "features": int(model.n_features_in_),
        "settings": settings,
        "iterations": int(sum(result.n_iter for result in results)),
        "converged": all(result.status == "converged" for result in results),
    }


def summary_of_search(search: LogisticRegressionCV, y: np.ndarray) -> dict[str, Any]:
    """Return the field ``search`` of a summary, given the labels."""
    scores, means = search.best_scores_, search.cv_results_["mean_test_score"]
    # Repeated draws of the folds are not independent of each other.
    independent = len(scores) if search.cv is not None else min(len(scores), FOLDS)
    error = standard_error(scores, independent)
    held_out = ~np.isnan(search.cv_probabilities_[:, 0])
    predicted = search.classes_[search.cv_probabilities_[held_out].argmax(axis=1)]
    return {
        "scoring": search.scoring if isinstance(search.scoring, str) else "score",
        "folds": len(scores),
        "points": len(means),
        "score": search.best_score_,
        "standard_error": error,
        "within": int((means >= np.nanmax(means) - (error or 0.0)).sum()),
        "accuracy": float(np.mean(predicted == y[held_out])),
        "l2_at_edge": search.l2_at_edge_,
        "never_held_out": int((~held_out).sum()),
    }


def effect_of(search: LogisticRegressionCV, prior: LatentPrior | None) -> dict[str, Any]:
    """Return the field ``unlabeled_effect`` of a summary."""
    table = search.cv_results_
    means = table["mean_test_score"]
    without = [
        row
        for row, params in enumerate(table["params"])
        if not _uses_unlabeled(params, prior) and not np.isnan(means[row])
    ]
    best = max(without, key=lambda row: means[row], default=None)
    latent = None if prior is None else prior.chosen(search.l2_weights_)
    return {
        "score_without": None if best is None else float(means[best]),
        "accuracy_without": None if best is None else float(table["accuracy"][best]),
        "n_latent": 0 if prior is None or latent is None else prior.blocks[latent].width,
        "rare_words": prior is not None and latent is not None and prior.powers[latent] > 0.0,
        "rounds": len(search.rounds_),
        "discount": float(search.discount_),
    }


def _uses_unlabeled(params: dict[str, Any], prior: LatentPrior | None) -> bool:
    """Return whether candidates with these settings use unlabelled texts, apart from the rounds."""
    latent = prior is not None and prior.chosen(params["l2_weights"]) is not None
    return bool(params["discount"]) or counts_unlabeled(params["l2_weights"]) or latent


def warn_unless_better(summary: Any) -> None:
    """Warn if the cross-validated score with unlabelled texts is not better than that without."""
    effect, search = summary.unlabeled_effect, summary.search
    if effect is None or effect["score_without"] is None or search["score"] > effect["score_without"]:
        return
    name, score = readable_score(search["scoring"], search["score"])
    _, score_without = readable_score(search["scoring"], effect["score_without"])
    warnings.warn(
        f"The {summary.unlabeled:,} texts without labels did not improve the cross-validated {name} "
        f"({score_without:.4f} without, {score:.4f} with); compare models with and without them on labelled "
        "texts that you hold out.",
        stacklevel=stacklevel(),
    )
