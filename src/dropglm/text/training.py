"""One fit of a text classifier: from texts to blocks of features, to a model of the n-grams and its summary.

Texts are in memory or in partitions (``partitioned.py``); the fit sees them through ``TrainingTexts``.

There are two models, one of words and one of n-grams of characters, each with settings of its own. Their
predictors, and the shares of the classes, are combined as far as this helps held-out texts.

The summary also says what unlabelled texts bring. The model without them has the same n-grams and the same
folds. It is among the candidates of every search, unless the user asks for a positive discount or for l2
weights that count unlabelled texts.
"""

import math
import warnings
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from copy import copy
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from dropglm.base import checks
from dropglm.base.blocks import PerBlock
from dropglm.base.errors import InputError, InputTypeError, stacklevel
from dropglm.base.gpu_arrays import to_host
from dropglm.base.progress import Progress, begin_stage
from dropglm.core.l2_weights import counts_unlabeled
from dropglm.core.predictions import MULTILABEL
from dropglm.linear import LogisticRegression
from dropglm.linear.validation import check_classification
from dropglm.places.labels import RowLabels, probabilities_by_class
from dropglm.places.rows import TrainingRows, rows_of
from dropglm.search import LogisticRegressionCV
from dropglm.search.blend import PRIORS, Combination
from dropglm.search.held_out import FOLDS, group_numbers, repeats_of
from dropglm.search.scoring import check_scorer_name, standard_error, wilson_interval
from dropglm.search.search import SURVIVING, Search, is_grid
from dropglm.search.thresholds import f1_thresholds, micro_f1, precision_thresholds
from dropglm.text.blocks_beside_ngrams import (
    POWERS,
    EmbeddingBlocks,
    LatentPrior,
    set_embedding_values,
    with_embeddings,
)
from dropglm.text.characters import CharacterHead, character_settings, check_characters, within_budget
from dropglm.text.copies import TextGroups, copy_keys
from dropglm.text.embeddings import EmbeddingHead, Scaling, check_embeddings, embed, embedding_widths
from dropglm.text.fitted_model import FittedTextModel, Summary, readable_score
from dropglm.text.guarantees import MOST_TYPICAL, Evidence, Typical
from dropglm.text.labels import check_text_labels, kept_entries, warn_about_classes
from dropglm.text.ngrams.counting import row_range
from dropglm.text.ngrams.features import column_totals
from dropglm.text.ngrams.vectorizer import NgramVectorizer

# The settings where the user gives no value; several values are tuned. Predictors are blended with those of
# naive Bayes, so a coarse grid is enough.
GRID: dict[str, Any] = {
    "dropout": (0.5, 0.0),
    "l2": (1.0, 0.1, 0.01),
    "l2_weights": ("naive_bayes", "uniform"),
    "discount": 0.0,
}
# Of the model of characters, whose other settings are those that were chosen for words. 0.1 has the same
# accuracy within 0.3 points with 20 to 300 labels (means over ten sets), as has the better of both.
CHARACTER_L2 = 0.01
# Without tuning. On rows of length 1, l2 = 1 is far too strong (82.9 instead of 85.1 % with 1,000 labels).
UNTUNED: dict[str, Any] = {"dropout": 0.5, "l2": 0.01, "l2_weights": "uniform", "discount": 0.0}
# With 50 to 1,000 labels, a weight of 1 instead of 0.5 costs up to 4 points of accuracy (news4). With 8,000
# reviews of IMDB it gains 0.5, so both are tried if there are many texts.
NGRAM_WEIGHTS = (0.5, 1.0)
MANY_TEXTS = 1000


def ngram_weights_of(classifier: Any, class_counts: np.ndarray) -> tuple[float, ...]:
    """Return the weights of longer n-grams to choose from, given the number of texts of each class."""
    given = classifier.ngram_weight
    if given is not None:
        values = tuple(given) if is_grid("ngram_weight", given) else (given,)
        if not values:
            raise InputError("ngram_weight is an empty grid; give at least one value.")
        return values
    _, longest = vectorizer_of(classifier, NGRAM_WEIGHTS[0])._check()
    many = class_counts.sum() > MANY_TEXTS
    tuned = isinstance(estimator_of(classifier, class_counts), LogisticRegressionCV)
    return NGRAM_WEIGHTS if tuned and many and longest > 1 else NGRAM_WEIGHTS[:1]


# Rough times on two cores, in seconds per character of the texts and, for fits and rounds, per class that is
# fitted against the rest: those of 300 docstrings, 20 newsgroups and IMDB differ by a factor of two or less.
COUNTING, SELECTING, WEIGHTING, LATENT = 2.7e-8, 1.7e-8, 4e-9, 3e-8
SEARCH_FIT, FIT_BEYOND, FINAL_FIT, ROUND = 1.1e-8, 1.5e-8, 2.5e-8, 8e-9
CHARACTERS, CHARACTER_FIT = 6e-8, 3e-8
LATER_STEPS = 3  # fits to a fold in all steps after the first, of which many stop early
SMALLEST = 100_000  # characters that take as long as the part of a fit that does not depend on their number


def rough_costs(
    classifier: Any,
    class_counts: np.ndarray,
    characters: int,
    unlabeled_characters: int = 0,
    *,
    problems: int | None = None,
) -> list[tuple[str, float]]:
    """Return the stages of a fit and roughly how many seconds each takes, to estimate the time left.

    ``problems`` is the number of labels, if texts have several; the counts are those of their rarest ones.
    """
    n, K = class_counts.sum(), len(class_counts)
    problems = problems or (K if K > 2 else 1)
    every, size = characters + unlabeled_characters, (characters + SMALLEST) * problems
    counting = [("Counting n-grams", COUNTING * every), ("Selecting n-grams", SELECTING * every)]
    weighting, final = ("Weighting n-grams", WEIGHTING * every), ("Final fit", FINAL_FIT * size)
    estimator = estimator_of(classifier, class_counts)
    if not isinstance(estimator, LogisticRegressionCV):
        return [*counting, weighting, final]
    folds = classifier.cv if isinstance(classifier.cv, int) else FOLDS * repeats_of(n, K)
    values = {name: getattr(estimator, name) for name in GRID}
    points = math.prod(len(value) if is_grid(name, value) else 1 for name, value in values.items())
    blocks, stepwise = (
        1 + len(POWERS) if unlabeled_characters and classifier.n_latent else 1,
        _steps_through(classifier),
    )
    stages = counting
    for number, _ in enumerate(ngram_weights_of(classifier, class_counts)):
        stages.append(weighting)
        if not number and blocks > 1:
            stages.append(("Computing latent features", LATENT * every))
        own = 1 if number else blocks
        fits = folds * (2 * own + LATER_STEPS if stepwise else SURVIVING * points * own)
        stages.append(("Searching settings", SEARCH_FIT * size * fits))
        if estimator.extend_l2:
            stages.append(("Searching beyond the grid", FIT_BEYOND * size * folds))
    rounds = [("Rounds of naive Bayes", ROUND * every * problems * classifier.rounds)]
    rounds = rounds if unlabeled_characters else []
    within = within_budget(characters, [unlabeled_characters]) is not None
    if classifier.characters is None or not within:
        return [*stages, final, *rounds]
    # The same again for n-grams of characters, which are more, but have fewer candidates.
    search = ("Searching settings", CHARACTER_FIT * size * folds)
    return [*stages, ("Counting characters", CHARACTERS * every), search, final, *rounds, final, *rounds]


def vectorizer_of(classifier: Any, ngram_weight: float) -> NgramVectorizer:
    """Return a vectorizer with the settings of a classifier, which has not seen any texts."""
    settings = classifier._settings_shared_with(NgramVectorizer) | {"ngram_weight": ngram_weight}
    return NgramVectorizer(**settings)


def character_vectorizer_of(classifier: Any) -> NgramVectorizer:
    """Return a vectorizer of characters with the settings of a classifier, which has not seen any texts."""
    return NgramVectorizer(**character_settings(classifier, classifier.characters))


def uses_characters(classifier: Any, texts: "TrainingTexts") -> bool:
    """Return whether there is a model of characters beside words, unless the texts are too long."""
    words = isinstance(classifier.analyzer, str) and classifier.analyzer == "word"
    tuned = isinstance(estimator_of(classifier, texts.groups.class_sizes), LogisticRegressionCV)
    wanted = classifier.characters is not None and classifier.calibrate
    return tuned and words and wanted


def estimator_of(classifier: Any, class_counts: np.ndarray) -> LogisticRegression | LogisticRegressionCV:
    """Return the estimator to fit: one with cross-validation if there are settings to choose."""
    given = {name: getattr(classifier, name) for name in GRID if getattr(classifier, name) is not None}
    several = any(is_grid(name, getattr(classifier, name)) for name in (*GRID, "ngram_weight"))
    settled = len(given) == len(GRID) and not several and not (classifier.calibrate or classifier.naive_bayes)
    if not classifier.tune or settled or _nothing_to_hold_out(classifier, class_counts):
        shared = classifier._settings_shared_with(LogisticRegression)
        fixed = {name: value for name, value in shared.items() if name not in GRID}
        single = {name: value for name, value in given.items() if not is_grid(name, value)}
        return LogisticRegression(**fixed | UNTUNED | single)
    shared = classifier._settings_shared_with(LogisticRegressionCV)
    return LogisticRegressionCV(**shared | GRID | given, extend_l2=classifier.l2 is None)


def _nothing_to_hold_out(classifier: Any, class_counts: np.ndarray) -> bool:
    """Return whether every class has a single text."""
    return draws_folds(classifier) and bool(class_counts.max() < 2)


def _warn_if_not_tuned(classifier: Any, class_counts: np.ndarray) -> None:
    """Warn if there are several values to choose from, but nothing to choose them on."""
    grids = [name for name in (*GRID, "ngram_weight") if is_grid(name, getattr(classifier, name))]
    if grids and _nothing_to_hold_out(classifier, class_counts):
        warnings.warn(
            f"Nothing can be held out to choose {' and '.join(grids)}: every class has a single text, copies "
            "and groups counted once. The defaults are used instead.",
            stacklevel=stacklevel(),
        )


def draws_folds(classifier: Any) -> bool:
    """Return whether we draw the folds; otherwise they are given splits, or those of a splitter."""
    return isinstance(classifier.cv, Integral | None)


def text_groups(classifier: Any, texts: Sequence[str], y: np.ndarray, groups: Any = None) -> TextGroups:
    """Return which texts with labels the folds of a classifier hold out together, given groups or not."""
    given = None if groups is None else checks.groups(groups, len(texts))
    keys = copy_keys(texts, vectorizer_of(classifier, 1.0).build_preprocessor())
    return TextGroups.of(keys, y, given, join_copies=draws_folds(classifier))


def check_text_settings(classifier: Any) -> None:
    """Raise an error if a setting of a classifier is not valid, before its texts are read."""
    checks.yes_or_no(classifier.tune, "tune")
    for name in (*GRID, "ngram_weight"):
        value = getattr(classifier, name)
        several = is_grid(name, value)
        if not classifier.tune and several:
            raise InputError(f"tune=False needs a single value for {name}, got {value!r}.")
        if any(isinstance(one, PerBlock) for one in (value if several else [value])):
            raise InputTypeError(
                f"{name} of a text classifier is that of the n-grams; do not give a PerBlock."
            )
    precision = classifier.precision
    if precision is not None and not (isinstance(precision, Real) and 0.0 < float(precision) < 1.0):
        raise InputError(f"precision must be between 0 and 1, or None, got {precision!r}.")
    if precision is not None and not classifier.tune:
        raise InputError("precision needs tune=True: its thresholds come from texts that are held out.")
    for name in ("n_latent", "rounds"):
        checks.whole_number(getattr(classifier, name), name)
        checks.not_negative(getattr(classifier, name), name)
    check_characters(classifier.characters)
    check_scorer_name(classifier.scoring)


class TrainingTexts(ABC):
    """Texts with labels and more texts without, wherever they are.

    Attributes
    ----------
    class_counts : Counter
        Number of texts of each class.
    n_labeled : int
        Number of texts with labels.
    multilabel : bool
        Whether texts have any number of labels.
    n_unlabeled : int
        Number of texts without labels.
    embeddings : EmbeddingBlocks or None
        The blocks of their embeddings, if they have any.
    groups : TextGroups
        Which of the texts with labels are held out together.
    """

    class_counts: Counter[Any]
    multilabel: bool
    n_unlabeled: int
    embeddings: EmbeddingBlocks | None
    groups: TextGroups

    @abstractmethod
    def vectorize(self, ngram_weight: float, *, last: bool) -> tuple[NgramVectorizer, Any]:
        """Return a vectorizer of all texts with this weight of longer n-grams, and their features.

        ``last`` says that the texts are not going to be vectorized again.
        """

    @abstractmethod
    def vectorize_characters(
        self, words: NgramVectorizer, prior: LatentPrior | None
    ) -> tuple[NgramVectorizer, Any] | None:
        """Return a vectorizer of characters of the texts, and their features; None if they are too long.

        Latent features of the words, as their vectorizer finds them, are one more block, if there is a prior.
        """

    @abstractmethod
    def latent_prior(
        self, features: Any, vectorizer: NgramVectorizer, k: int, powers: tuple[float, ...]
    ) -> tuple[LatentPrior | None, Any]:
        """Return the prior of k latent features, and the features with these as further blocks."""

    @abstractmethod
    def rows(self, estimator: Any, features: Any, *, embedded: bool) -> TrainingRows:
        """Return the rows of a fit, from the features and, if wanted and there are any, the embeddings."""

    def typical(self, vectorizer: NgramVectorizer) -> Typical | None:
        """Return what some of the texts look like when they are new; None if they are not here."""
        return None


class TextsInMemory(TrainingTexts):
    """Texts in memory.

    Parameters
    ----------
    classifier : TextClassifier
    X, X_unlabeled : lists of str
    y : array-like of shape (n,), lists of labels, or None
        Labels of X. Texts without one become the first of the unlabelled texts.
    sample_weight : array-like of shape (n,) or None
    embeddings, embeddings_unlabeled : array-like or None
        Embeddings of X and X_unlabeled, if they are given.
    groups : array-like of shape (n,) or None
        Labels of texts that are held out together.
    label_probabilities : array-like, mapping or data frame, or None
        In place of y.
    """

    def __init__(
        self,
        classifier: Any,
        X: list[str],
        X_unlabeled: list[str],
        y: Any,
        sample_weight: Any = None,
        embeddings: Any = None,
        embeddings_unlabeled: Any = None,
        groups: Any = None,
        label_probabilities: Any = None,
    ) -> None:
        self.classifier = classifier
        if label_probabilities is None:
            y, kept = check_text_labels(y, len(X))
        else:
            label_probabilities, kept = _known_probabilities(label_probabilities, len(X))
        self.n = len(X) if kept is None else int(kept.sum())
        if not self.n:
            raise InputError("No text of X has a label; give texts of at least two classes.")
        self.labels = RowLabels.of(classifier, y, self.n, label_probabilities)
        self.class_counts = self.labels.counts()
        if kept is not None:
            order = np.argsort(~kept, kind="stable")  # texts with labels come first
            X = [X[place] for place in order]
            embeddings = None if embeddings is None else check_embeddings(embeddings, len(X))[order]
            if not isinstance(sample_weight, Real | None):
                sample_weight = np.asarray(kept_entries(sample_weight, kept, "sample_weight"))
            groups = None if groups is None else kept_entries(groups, kept, "groups")
        self.texts, self.n_unlabeled = [*X, *X_unlabeled], len(X) + len(X_unlabeled) - self.n
        self.sample_weight = sample_weight
        self.multilabel = self.labels.multilabel
        self.groups = text_groups(classifier, self.texts[: self.n], self.labels.y, groups)
        self.embeddings, self._scaled = None, None
        E = self._embeddings(embeddings, embeddings_unlabeled, len(X))
        if E is not None:
            scaling = Scaling.of(E, embedding_widths(classifier.embedder))
            self.embeddings = EmbeddingBlocks.of(classifier.embedder, scaling)
            self._scaled = self.embeddings.scaling(E)
        self._counted: tuple[NgramVectorizer, Any] | None = None

    def _embeddings(self, given: Any, given_unlabeled: Any, n: int) -> np.ndarray | None:
        """Return the embeddings of all texts, given or else by the embedder; None if there are neither.

        Those that are given are of the first n texts, and of the others.
        """
        embedder, m = self.classifier.embedder, len(self.texts) - n
        if given is None:
            if given_unlabeled is not None:
                raise InputError("embeddings_unlabeled needs embeddings, those of X, as well.")
            if embedder is None:
                return None
            begin_stage("Embedding texts")
            return embed(embedder, self.texts, shown=bool(self.classifier.verbose))
        E = check_embeddings(given, n)
        if given_unlabeled is None:
            if m:
                raise InputError(
                    "embeddings were given for X but not for X_unlabeled; pass those as embeddings_unlabeled."
                )
            return E
        F = check_embeddings(given_unlabeled, m, name="embeddings_unlabeled", rows_of="X_unlabeled")
        if F.shape[1] != E.shape[1]:
            raise InputError(
                f"embeddings_unlabeled has {F.shape[1]} numbers per text, but embeddings has {E.shape[1]}."
            )
        return np.vstack([E, F])

    def vectorize(self, ngram_weight: float, *, last: bool) -> tuple[NgramVectorizer, Any]:
        """Return a vectorizer of all texts, and their labelled, unlabelled and all rows; counts once."""
        if self._counted is None:
            begin_stage("Counting n-grams")
            counter = vectorizer_of(self.classifier, ngram_weight)
            self._counted = counter, counter._fit_counts(self.texts)
        begin_stage("Weighting n-grams")
        counter, counts = self._counted
        vectorizer, X = counter._with_ngram_weight(counts, ngram_weight)
        if last:
            self._counted = None
        return vectorizer, self._split(vectorizer, X)

    def vectorize_characters(
        self, words: NgramVectorizer, prior: LatentPrior | None
    ) -> tuple[NgramVectorizer, Any] | None:
        """Return a vectorizer of characters, and the rows of all texts that are within the budget."""
        sizes = [len(text) for text in self.texts]
        m = within_budget(sum(sizes[: self.n]), sizes[self.n :])
        if m is None:
            return None
        begin_stage("Counting characters")
        vectorizer = character_vectorizer_of(self.classifier)
        try:
            X = vectorizer.fit_transform(self.texts[: self.n + m])
        except InputError:  # no n-gram of characters is in two texts
            return None
        features = self._split(vectorizer, X)
        return vectorizer, features if prior is None else self._beside(prior, features)

    def _split(self, vectorizer: NgramVectorizer, X: Any) -> list[Any]:
        """Return the labelled, unlabelled and all rows, and record what a summary needs of them."""
        vectorizer.ngrams_._record_totals(*column_totals(X))
        n, last = self.n, X.shape[0]
        labeled = row_range(X, 0, n)
        self._held_out_scale = vectorizer._held_out_scale(labeled)
        return [labeled, row_range(X, n, last) if last > n else None, X]

    def latent_prior(
        self, features: Any, vectorizer: NgramVectorizer, k: int, powers: tuple[float, ...]
    ) -> tuple[LatentPrior | None, Any]:
        """Return the prior of k latent features, and the features with these as further blocks."""
        prior = LatentPrior.of(features[-1], vectorizer, k, checks.threads(self.classifier.n_jobs), powers)
        return prior, features if prior is None else self._beside(prior, features)

    def _beside(self, prior: LatentPrior, features: list[Any]) -> list[Any]:
        """Return features with those of a prior as further blocks."""
        labeled, unlabeled, X = features
        beside = None if unlabeled is None else prior.beside(unlabeled, self.n)
        return [prior.beside(labeled, 0), beside, X]

    def rows(self, estimator: Any, features: Any, *, embedded: bool) -> TrainingRows:
        """Return the rows of a fit, from the features and, if wanted and there are any, the embeddings."""
        labeled, unlabeled, _ = features
        scaled = self._scaled if embedded else None
        if scaled is not None:
            labeled = with_embeddings(labeled, [E[: self.n] for E in scaled])
            if unlabeled is not None:
                unlabeled = with_embeddings(unlabeled, [E[self.n :] for E in scaled])
        groups = self.groups.labels
        labels = self.labels
        data = check_classification(estimator, labeled, labels, self.sample_weight, unlabeled, None, groups)
        tuned = isinstance(estimator, LogisticRegressionCV)
        rows = rows_of(estimator, data if tuned else data.without_zero_weights())
        rows.held_out_scale, rows.unscaled = self._held_out_scale, last_blocks(rows, scaled)
        return rows

    def typical(self, vectorizer: NgramVectorizer) -> Typical | None:
        """Return what some of the texts look like when they are new."""
        some = np.linspace(0, len(self.texts) - 1, min(MOST_TYPICAL, len(self.texts))).round().astype(int)
        found = vectorizer._typicality([self.texts[place] for place in some.tolist()], in_fit=True)
        return None if found is None else Typical.of(found)


def _known_probabilities(given: Any, n: int) -> tuple[dict[Any, np.ndarray], np.ndarray | None]:
    """Return the probabilities of the n texts that have any, and which these are; None if all of them."""
    by_class = probabilities_by_class(given, n)
    kept = ~np.all([np.isnan(own) for own in by_class.values()], axis=0)
    if kept.all():
        return by_class, None
    return {label: own[kept] for label, own in by_class.items()}, kept


def last_blocks(rows: TrainingRows, beside: Sequence[Any] | None) -> frozenset[int]:
    """Return the numbers of the last blocks of rows, as many as there are embeddings beside the others."""
    count = rows.block_count or 1
    return frozenset(range(count - len(beside or ()), count))


class Attempt(NamedTuple):
    """Texts as features, with one weight of longer n-grams, and the search on them if settings are tuned."""

    vectorizer: NgramVectorizer
    estimator: Any
    rows: TrainingRows
    prior: LatentPrior | None
    searched: Search | None
    embedded: bool = False  # whether the last blocks are embeddings

    @property
    def search(self) -> Search:
        """The search, of settings that are tuned."""
        assert self.searched is not None
        return self.searched

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
    if classifier.precision is not None and not texts.multilabel:
        raise InputError("precision is for texts with several labels, but y has one label per text.")
    warn_about_classes(texts.class_counts)
    _warn_if_not_tuned(classifier, texts.groups.class_sizes)
    words = _best_attempt(classifier, texts)
    characters = _attempt_characters(classifier, texts, words) if uses_characters(classifier, texts) else None
    return _finish(words, characters, texts, classifier.precision)


def _best_attempt(classifier: Any, texts: TrainingTexts) -> Attempt:
    """Return the best of the attempts with each weight of longer n-grams; all others can be forgotten."""
    weights = ngram_weights_of(classifier, texts.groups.class_sizes)
    again = uses_characters(classifier, texts)  # texts are then vectorized once more
    tuned = isinstance(estimator_of(classifier, texts.groups.class_sizes), LogisticRegressionCV)
    embedded = (False,) if texts.embeddings is None else (False, True) if tuned else (True,)
    best = _attempt(classifier, texts, weights[0], embedded, last=len(weights) == 1 and not again)
    powers = best.latent_powers
    for number, ngram_weight in enumerate(weights[1:], start=2):
        if best.searched is None:
            break
        is_last, rival = number == len(weights) and not again, best.searched
        same = (best.embedded,)
        other = _attempt(classifier, texts, ngram_weight, same, powers, last=is_last, rival=rival)
        if other.searched is not None and other.searched.score > best.searched.score:
            best = other
    return best


def _attempt(
    classifier: Any,
    texts: TrainingTexts,
    ngram_weight: float,
    embedded: Sequence[bool],
    latent_powers: tuple[float, ...] = POWERS,
    *,
    last: bool,
    rival: Search | None = None,
) -> Attempt:
    """Return the features of texts, and the search that chooses the settings.

    ``embedded`` says whether embeddings are used, without or with them or both. Of both, one is chosen, see
    ``Search.is_preferred``.
    """
    # N-grams of all texts, and latent features as further blocks.
    vectorizer, features = texts.vectorize(ngram_weight, last=last)
    tuned = isinstance(estimator_of(classifier, texts.groups.class_sizes), LogisticRegressionCV)
    prior = None
    if texts.n_unlabeled and classifier.n_latent and latent_powers and tuned:
        with Progress("Computing latent features", is_stage=True, shown=bool(classifier.verbose)):
            prior, features = texts.latent_prior(features, vectorizer, classifier.n_latent, latent_powers)

    # Settings, without embeddings or with these as the last blocks.
    best: Attempt | None = None
    for uses_embeddings in embedded:
        estimator = estimator_of(classifier, texts.groups.class_sizes)
        if prior is not None:
            prior.set_values(estimator)
        encoders = texts.embeddings.encoders if uses_embeddings and texts.embeddings is not None else 0
        if encoders and texts.embeddings is not None:
            set_embedding_values(estimator, texts.embeddings.scaling.widths)
        of_fit = copy(features) if uses_embeddings != embedded[-1] else features  # partitions are used up
        rows, searched = texts.rows(estimator, of_fit, embedded=uses_embeddings), None
        if tuned:
            stepwise = _steps_through(classifier)
            options = {"rival": rival, "priors": PRIORS, "stepwise": stepwise, "encoders": encoders}
            searched = rival = estimator._search_rows(rows, **options)
        attempt = Attempt(vectorizer, estimator, rows, prior, searched, uses_embeddings)
        if best is None or best.searched is None or attempt.search.is_preferred(best.search):
            best = attempt
    assert best is not None
    return best


def _attempt_characters(classifier: Any, texts: TrainingTexts, words: Attempt) -> Attempt | None:
    """Return the n-grams of characters and the search on them; None if there are none.

    Noise, l2 weights and latent features are those that were chosen for words, unless the user has given
    noise.
    """
    chosen = words.search.grid[words.search.best_number].params
    prior = None if words.prior is None else words.prior.only_chosen(chosen["l2_weights"])
    found = texts.vectorize_characters(words.vectorizer, prior)
    if found is None:
        return None
    vectorizer, features = found
    estimator = estimator_of(classifier, texts.groups.class_sizes)
    values = {"dropout": _of_first_block(chosen["dropout"]), "l2": CHARACTER_L2}
    estimator.set_params(**{name: own for name, own in values.items() if getattr(classifier, name) is None})
    rule = _of_first_block(chosen["l2_weights"])
    estimator.set_params(l2_weights="uniform" if np.ndim(rule) else rule)  # an array is one of words
    estimator.set_params(multi_class="multinomial" if words.rows.family.several else "ovr")
    if prior is not None:
        prior.set_values(estimator, or_none=False)
    rows = texts.rows(estimator, features, embedded=False)
    searched = estimator._search_rows(rows, priors=PRIORS, stepwise=_steps_through(classifier))
    return Attempt(vectorizer, estimator, rows, prior, searched)


def _steps_through(classifier: Any) -> bool:
    """Return whether settings are chosen one after the other: where the user gives none."""
    return all(getattr(classifier, name) is None for name in GRID)


def _of_first_block(value: Any) -> Any:
    return value.values[0] if isinstance(value, PerBlock) else value


def _finish(
    words: Attempt, characters: Attempt | None, texts: TrainingTexts, precision: float | None
) -> FittedTextModel:
    """Fit the chosen settings to all texts, and combine the models of words and characters."""
    vectorizer, estimator, rows, prior, searched, embedded = words
    begin_stage("Final fit")
    search = None if searched is None else estimator._finish(searched)
    model, head = estimator._fit_to(rows) if search is None else search.best_estimator_, None

    # Split off the coefficients of embeddings, and fold those of latent features into those of n-grams.
    block = texts.embeddings
    embedding = None if block is None else block.summary(model if embedded else None)
    if block is not None:
        model, head = block.split(model) if embedded else (model, block.unused(len(model.coef_)))
    if prior is not None:
        model = prior.fold(model)

    combined, with_characters = None, None
    if search is not None and searched is not None and estimator.calibrate:
        attempts = [words] if characters is None else [words, characters]
        others = [one.estimator._finish(one.search).best_estimator_ for one in attempts[1:]]
        combined = combination([one.search.honest for one in attempts], searched)
        model, with_characters = _combined(combined, [model, *others], head, characters)
        search._set_fitted(**searched.report(combined.eta))
    summary = Summary(
        texts={str(label): count for label, count in sorted(texts.class_counts.items())},
        unlabeled=texts.n_unlabeled,
        **summary_of_model(vectorizer, model, search, texts.n_unlabeled, combined),
        search=None if search is None else summary_of_search(search, words.search),
        copies=texts.groups.copies,
        contradictory=texts.groups.contradictory,
        embedding=embedding,
        unlabeled_effect=effect_of(search, words) if search and texts.n_unlabeled else None,
        characters=0 if with_characters is None else len(with_characters.vectorizer.ngrams_),
        several_labels=several_labels(model, rows, search, precision),
    )
    evidence, typical = held_out_evidence(rows, search), texts.typical(vectorizer)
    return FittedTextModel(vectorizer, model, search, summary, head, with_characters, evidence, typical)


def held_out_evidence(rows: TrainingRows, search: LogisticRegressionCV | None) -> Evidence | None:
    """Return the predictions for the rows that the search has held out; None if they have not one label each.

    They are an estimate: settings were chosen on the same folds.
    """
    data = rows.data
    if search is None or data.multilabel or data.membership is not None:
        return None
    counted = data.sample_weights > 0.0
    return Evidence.of(search.cv_probabilities_[counted], data.y[counted], "estimate")


def several_labels(
    model: LogisticRegression,
    rows: TrainingRows,
    search: LogisticRegressionCV | None,
    precision: float | None = None,
) -> dict[str, Any] | None:
    """Choose the thresholds of several labels, and return the field ``several_labels`` of a summary.

    They are those with the best F1 or, if a precision is given, those at which it is expected. They follow
    from the probabilities of held-out texts, not from their labels, so the F1 of these texts is not too good
    because of the choice.
    """
    data = rows.data
    if not data.multilabel:
        return None
    Y, f1 = data.memberships, None
    if search is not None:
        held_out = ~np.isnan(search.cv_probabilities_[:, 0])
        P = search.cv_probabilities_[held_out]
        model.thresholds_ = f1_thresholds(P) if precision is None else precision_thresholds(P, precision)
        f1 = micro_f1(Y[held_out], model.thresholds_ < P)
    return {"texts": len(Y), "without": int((~Y.any(axis=1)).sum()), "micro_f1": f1}


def combination(models: Sequence[np.ndarray], search: Search) -> Combination:
    """Combine models with each other and with the shares of the classes, given their held-out predictors."""
    held_out, data = search.held_out, search.rows.data
    totals = data.weights @ search.rows.class_columns
    return Combination.of(models, held_out.targets, held_out.weights, held_out.fold_rows, totals)


def _combined(
    found: Combination, models: Sequence[Any], head: EmbeddingHead | None, characters: Attempt | None
) -> tuple[LogisticRegression, CharacterHead | None]:
    """Return the model of words as a part of the combination, and that of characters, if it counts."""
    model = copy(models[0])
    # One factor, or one per label.
    factors = [np.reshape(factor, (-1, 1)) for factor in found.factors]
    model.coef_ = (factors[0] * model.coef_).astype(model.coef_.dtype)
    if head is not None:
        head.coef = (factors[0] * head.coef).astype(head.coef.dtype)
    intercept = found.intercept([to_host(one.intercept_) for one in models])
    model.intercept_ = intercept.astype(model.coef_.dtype)
    if model.multi_class_ != MULTILABEL:
        model.multi_class_ = "multinomial"
    if characters is None or not factors[1].any():
        return model, None
    coef = (factors[1] * to_host(models[1].coef_)).astype(model.coef_.dtype)
    if characters.prior is not None:
        coef, folded = characters.prior.split(coef)
        model.coef_ = (model.coef_ + folded).astype(coef.dtype)
    return model, CharacterHead(characters.vectorizer, np.ascontiguousarray(coef))


def _short(number: Any) -> float:
    """Return a factor, or the mean of those of several labels, with three digits."""
    return float(f"{np.mean(number):.3g}")


def summary_of_model(
    vectorizer: NgramVectorizer,
    model: LogisticRegression,
    search: LogisticRegressionCV | None,
    n_unlabeled: int,
    combined: Combination | None,
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
        "words": None if combined is None else _short(combined.factors[0]),
        "characters": None if combined is None or len(combined.factors) < 2 else _short(combined.factors[1]),
    }
    return {
        "features": int(model.n_features_in_),
        "settings": settings,
        "iterations": int(sum(result.n_iter for result in results)),
        "converged": all(result.status == "converged" for result in results),
    }


def summary_of_search(search: LogisticRegressionCV, searched: Search) -> dict[str, Any]:
    """Return the field ``search`` of a summary."""
    scores, means = search.best_scores_, search.cv_results_["mean_test_score"]
    data = searched.rows.data
    # Repeated draws of the folds are not independent of each other.
    independent = len(scores) if search.cv is not None else min(len(scores), FOLDS)
    error = standard_error(scores, independent)
    hits = searched.held_out.hits(search.cv_probabilities_)
    held_out, accuracy = ~np.isnan(hits), searched.held_out.accuracy_of(search.cv_probabilities_)
    # Rows of a group are not independent of each other. Weights 1 and 3 say as much as 1.6 rows (Kish).
    groups = None if data.groups is None or not draws_folds(search) else group_numbers(data.groups)
    w = data.sample_weights[held_out]
    n = round(w.sum() ** 2 / np.square(w).sum()) if groups is None else len(np.unique(groups[held_out]))
    share = search.best_score_ if search.scoring == "accuracy" else accuracy
    return {
        "scoring": search.scoring if isinstance(search.scoring, str) else "score",
        "folds": len(scores),
        "points": len(means),
        "score": search.best_score_,
        "standard_error": error,
        "score_of_shares": searched.held_out.score_of_shares(),
        "within": int((means >= np.nanmax(means) - (error or 0.0)).sum()),
        "accuracy": accuracy,
        "accuracy_interval": [*wilson_interval(share * n, n)],
        "l2_at_edge": search.l2_at_edge_,
        "never_held_out": int((~held_out).sum()),
        "groups": None if groups is None else int(groups.max()) + 1,
    }


def effect_of(search: LogisticRegressionCV, words: Attempt) -> dict[str, Any]:
    """Return the field ``unlabeled_effect`` of a summary."""
    prior, searched = words.prior, words.search
    complete = [
        k for k, outcome in enumerate(searched.outcomes) if len(outcome.fits) == len(searched.rows.folds)
    ]
    without = [k for k in complete if not _uses_unlabeled(searched.grid[k].params, prior)]
    best = max(without, key=lambda k: searched.outcomes[k].scores.mean(), default=None)
    # The model of characters has no candidate without latent features, so words are compared with words.
    found = dict.fromkeys(("score", "accuracy", "score_without", "accuracy_without"))
    if best is not None:
        for after, eta in (("", searched.honest), ("_without", searched.honest_predictors(best))):
            eta = combination([eta], searched).eta if search.calibrate else eta
            report = searched.report(eta)
            accuracy = searched.held_out.accuracy_of(report["cv_probabilities_"])
            found |= {f"score{after}": report["best_score_"], f"accuracy{after}": accuracy}
    latent = None if prior is None else prior.chosen(search.l2_weights_)
    return found | {
        "n_latent": 0 if prior is None or latent is None else prior.blocks[latent].width,
        "rare_words": prior is not None and latent is not None and prior.powers[latent] > 0.0,
        "rounds": len(search.rounds_),
        "discriminant_rounds": len(searched.discriminant_rounds),
        "discount": float(search.discount_),
    }


def _uses_unlabeled(params: dict[str, Any], prior: LatentPrior | None) -> bool:
    """Return whether candidates with these settings use unlabelled texts, apart from the rounds."""
    latent = prior is not None and prior.chosen(params["l2_weights"]) is not None
    return bool(params["discount"]) or counts_unlabeled(params["l2_weights"]) or latent


def warn_unless_better(summary: Any) -> None:
    """Warn if unlabelled texts are not used, or if the cross-validated score is clearly worse with them.

    That is by more than its standard error: with a few texts, scores are little more than chance.
    """
    effect, search = summary.unlabeled_effect, summary.search
    if effect is None or effect["score_without"] is None:
        return
    used = any(effect.get(name) for name in ("n_latent", "rounds", "discriminant_rounds", "discount"))
    slack = (search["standard_error"] or 0.0) if used else 0.0
    if effect["score"] > effect["score_without"] - slack:
        return
    name, score = readable_score(search["scoring"], effect["score"])
    _, score_without = readable_score(search["scoring"], effect["score_without"])
    warnings.warn(
        f"The {summary.unlabeled:,} texts without labels did not improve the cross-validated {name} "
        f"({score_without:.4f} without, {score:.4f} with); compare models with and without them on labelled "
        "texts that you hold out.",
        stacklevel=stacklevel(),
    )
