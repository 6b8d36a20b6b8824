"""Texts to label, as features that are computed once, and models that are fitted again after a few labels.

A model is that of ``TextClassifier``, with settings that are kept:

    η ← t₀ η + c₀ X r₀,    η ← t η + c X r  in each round

The first η is that of logistic regression with dropout on n-grams and latent features, r₀ are naive Bayes'
ratios of the labelled texts, and r those of all texts of the pool, with the classes predicted so far. The
factors are found by cross-validation (see ``dropglm.search.blend`` and ``naive_bayes``). This takes several
fits, so they are kept until the number of labels has doubled: in between, a refit is one fit and a few
products with the matrix of n-grams. If some texts were drawn at random, the last η is multiplied by a factor
that calibrates probabilities (see ``calibration``). Labels that look wrong are those that models disagree
with which have not seen them.

The texts to label next are those the model is unsure of, unlike the labelled ones and unlike each other.
With the margin m_i between the two largest probabilities of text i, and its largest similarity s_i to a text
that is labelled or already chosen, the next text is the one with the largest

    (1 - m_i) (1 - s_i).

Before the model has two labels per class, its margins say little. Then the texts are those that represent the
pool best: each adds most to Σ_j max_i s_ij, the similarity of every text to its nearest chosen or labelled
one (facility location). Texts far from all others, which farthest-first traversal would choose, add little.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from dropglm.base import checks
from dropglm.base.blocks import Blocks, PerBlock
from dropglm.base.errors import InputError
from dropglm.core.design import Design
from dropglm.core.families import Multinomial
from dropglm.core.latent import singular_vectors
from dropglm.core.predictions import FittedLogistic, all_classes, indicators
from dropglm.labelling.calibration import FOLDS as CALIBRATION_FOLDS
from dropglm.labelling.calibration import Calibration
from dropglm.linear import LogisticRegression
from dropglm.search import LogisticRegressionCV
from dropglm.search.blend import PRIORS, PRIORS_BESIDE_OTHERS, Blend, predictor_std
from dropglm.search.held_out import FOLDS
from dropglm.search.naive_bayes import FLOOR, PSEUDO_TOTAL, ROUND_PRIORS, log_ratios, ratios_from_totals
from dropglm.tables import class_names
from dropglm.text.blocks_beside_ngrams import LATENT_L2_WEIGHTS, LatentPrior, with_blocks
from dropglm.text.classifier import TextClassifier
from dropglm.text.copies import copy_keys, first_copies
from dropglm.text.embeddings import EmbeddingHead, Fingerprint, Scaling, check_embeddings
from dropglm.text.fitted_model import AnyTextModel, FittedTextModel
from dropglm.text.metrics import Disagreement, can_judge_labels, suspicious_labels
from dropglm.text.ngrams.analysis import check_texts
from dropglm.text.training import NGRAM_WEIGHTS, vectorizer_of

# Other settings are those of TextClassifier with few labels.
L2 = (0.1, 0.01)
DROPOUT, L2_WEIGHTS = 0.5, "uniform"
EMBEDDING_NOISE = 1.0  # standard deviation, relative to the size of the embeddings
ROUNDS = 2
# The relative norm of the gradient: the objective is within about 1e-4 of its minimum.
TOL = 1e-2
# Texts of the pool that take part in the cross-validation of the rounds: factors need no more.
SAMPLE = 5000
# Settings are chosen again when there are so many times as many labels.
GROWTH = 2.0
LATENT_POWER = (1.0,)  # of the inverse document frequency, beyond that in X


class RefitSettings(NamedTuple):
    """The settings of a refit, and for what they were chosen.

    Attributes
    ----------
    n_labels : int
        Number of labels when they were chosen.
    l2 : float
    first : Blend or None
        The factors t₀ and c₀; None means the means of their priors.
    rounds : tuple of Blend or None
        The factors of each round, likewise.
    """

    n_labels: int
    l2: float = L2[-1]
    first: Blend | None = None
    rounds: tuple[Blend | None, ...] = (None,)

    def serve(self, labeled: "LabeledTexts") -> bool:
        """Return whether these settings can be used again, for about as many labels."""
        return self.n_labels < GROWTH * len(labeled.y) < GROWTH**2 * self.n_labels


class LabeledTexts(NamedTuple):
    """Numbers of the labelled texts, the numbers of their classes, and the classes."""

    rows: np.ndarray
    y: np.ndarray
    classes: list[str]

    @classmethod
    def of(cls, labels: Mapping[int, str]) -> Self:
        """Return the texts in the order of their numbers, so that the order of labelling does not matter."""
        rows = sorted(labels)
        classes, y = np.unique(np.array([labels[row] for row in rows], object), return_inverse=True)
        return cls(np.array(rows, np.int64), y.astype(np.int64), classes.tolist())

    @property
    def indicators(self) -> np.ndarray:
        """1 for the class of each text, 0 for the others; shape (n, K)."""
        return indicators(self.y, range(len(self.classes)))


class PoolFit(NamedTuple):
    """A linear model of the pool and its predictors.

    Attributes
    ----------
    eta : ndarray of shape (n, K), or (n, 1) for two classes
        Predictors of all texts.
    beta : ndarray of shape (d + k, K) or (d + k, 1)
        Coefficients of the n-grams and, after them, of the latent features and of the embeddings.
    intercept : ndarray of shape (K,) or (1,)
    """

    eta: np.ndarray
    beta: np.ndarray
    intercept: np.ndarray

    def blended(self, blend: Blend | None, nu: np.ndarray, ratios: np.ndarray) -> Self:
        """Return t η + c ν; None means that t and the share of ν are the means of their priors."""
        if blend is None:
            prior, s = ROUND_PRIORS, predictor_std(nu)
            blend = Blend(prior.scale.mean, prior.naive_bayes.mean / s if s > 0.0 else 0.0)
        other = ratios, np.zeros_like(self.intercept)
        return type(self)(blend(self.eta, nu), *blend.coefficients((self.beta, self.intercept), other))

    def scaled(self, factor: float) -> Self:
        """Return the predictors and coefficients times a factor."""
        blend = Blend(factor)
        return type(self)(blend(self.eta, None), *blend.coefficients((self.beta, self.intercept), None))


def refit(pool: "TextPool", labeled: LabeledTexts, settings: RefitSettings) -> PoolFit:
    """Fit the model with given settings; there are at least two classes."""
    model = LogisticRegression(l2=settings.l2, **_fixed_settings(pool, labeled))
    model.fit(pool.features[labeled.rows], labeled.y)
    ngrams, *others = pool._by_block(model.coef_.T)
    eta = pool.design.dot(np.ascontiguousarray(ngrams)) + model.intercept_
    for block, coef in zip(pool.features.blocks[1:], others, strict=True):
        eta = eta + block @ coef
    found = PoolFit(eta, model.coef_.T, model.intercept_)

    # Naive Bayes of the labelled texts.
    indicators, dtype = labeled.indicators, pool.X.dtype
    ratios = log_ratios(Design(pool.X[labeled.rows]), indicators, np.ones(len(labeled.y))).astype(dtype)
    found = found.blended(settings.first, pool.design.dot(ratios), ratios)

    # Naive Bayes of all texts, with predicted classes.
    for blend in settings.rounds:
        p = Multinomial.mean(all_classes(found.eta))
        p[labeled.rows] = indicators
        totals = pool.design.transposed_dot(p.astype(dtype)).astype(np.float64)
        ratios = ratios_from_totals(totals, floor=FLOOR, pseudo_total=PSEUDO_TOTAL).astype(dtype)
        found = found.blended(blend, pool.design.dot(ratios), ratios)
    return found


def calibrate(
    pool: "TextPool", labeled: LabeledTexts, settings: RefitSettings, drawn: Collection[int]
) -> Calibration:
    """Return the calibration of models with given settings; see ``calibration``.

    The labelled texts are held out in folds, each with about as many of those that were drawn at random.
    """
    is_drawn = np.isin(labeled.rows, np.fromiter(drawn, np.int64, len(drawn)))
    if not is_drawn.any():
        return Calibration(n_labels=len(labeled.y))
    order = np.argsort(~is_drawn, kind="stable")
    p = np.full((len(labeled.y), len(labeled.classes)), np.nan)
    for fold in range(CALIBRATION_FOLDS):
        held_out = order[fold::CALIBRATION_FOLDS]
        others = np.setdiff1d(order, held_out)
        known, y = np.unique(labeled.y[others], return_inverse=True)
        if len(known) > 1:
            rest = LabeledTexts(labeled.rows[others], y, [labeled.classes[k] for k in known])
            found = Multinomial.mean(all_classes(refit(pool, rest, settings).eta[labeled.rows[held_out]]))
            # Models of a fold cannot know a class that it has alone; that says nothing of the whole model.
            held_out, found = held_out[has := np.isin(labeled.y[held_out], known)], found[has]
            p[held_out] = 0.0
            p[np.ix_(held_out, known)] = found
    seen = ~np.isnan(p[:, 0])
    return Calibration.of(p[seen], labeled.y[seen], is_drawn[seen])._replace(n_labels=len(labeled.y))


def choose_settings(pool: "TextPool", labeled: LabeledTexts) -> tuple[RefitSettings, np.ndarray | None]:
    """Choose the settings by cross-validation; also return the probabilities of held-out texts.

    If every class has a single text, none can be held out, and the settings are the means of the priors.
    """
    settings = RefitSettings(len(labeled.y))
    if np.bincount(labeled.y).max() < 2:
        return settings, None
    search = LogisticRegressionCV(
        l2=L2, cv=FOLDS, extend_l2=False, naive_bayes=True, rounds=ROUNDS, **_fixed_settings(pool, labeled)
    )
    others = np.setdiff1d(pool.sample, labeled.rows)
    unlabeled = pool.features[others] if len(others) else None
    rows = pool.features[labeled.rows], labeled.y
    priors = PRIORS if pool.scaling is None else PRIORS_BESIDE_OTHERS
    search._finish(search._search(*rows, X_unlabeled=unlabeled, priors=priors))
    first = Blend(search.scale_, search.naive_bayes_)
    chosen = settings._replace(l2=search.l2_, first=first, rounds=tuple(search.rounds_))
    return chosen, search.cv_probabilities_


def _fixed_settings(pool: "TextPool", labeled: LabeledTexts) -> dict[str, Any]:
    """Return the settings that are not chosen, since a choice takes time: one of those of each kind."""
    embedded = pool.scaling is not None
    latent = len(pool.features.blocks) - 1 - embedded

    def per_block(of_ngrams: Any, of_latent: float, of_embeddings: float) -> PerBlock:
        return PerBlock(of_ngrams, *[of_latent] * latent, *[of_embeddings] * embedded)

    return {
        "dropout": per_block(DROPOUT, 0.0, 0.0),
        "noise_std": per_block(0.0, 0.0, EMBEDDING_NOISE / np.sqrt(pool.features.widths[-1])),
        "l2_weights": per_block(L2_WEIGHTS, LATENT_L2_WEIGHTS[L2_WEIGHTS], 1.0),
        "discount": 0.0,
        "tol": TOL,
        "n_jobs": pool.n_jobs,
    }


class ExplainedTexts:
    """What a model predicts for some texts, and the words behind it.

    Parameters
    ----------
    texts : sequence of str
        The texts.
    classes : list of str
        Names of the classes.
    probabilities : ndarray of shape (n, K)
        Probabilities of the classes for all texts.
    text_model : FittedTextModel, TextClassifier or OnlineTextClassifier, optional
        The model; None if there is nothing to explain.

    Examples
    --------
    >>> from dropglm import TextClassifier
    >>> model = TextClassifier(tune=False, min_df=1).fit(["good film", "bad film"], ["pos", "neg"])
    >>> ExplainedTexts.of(model, ["a good story"]).words_behind(0, k=1)[0][0]
    'good'
    """

    def __init__(
        self,
        texts: Sequence[str],
        classes: list[str],
        probabilities: np.ndarray,
        text_model: "AnyTextModel | None" = None,
    ) -> None:
        self.texts, self.classes, self.probabilities = texts, classes, probabilities
        self._text_model = text_model

    @classmethod
    def of(cls, model: AnyTextModel, texts: Sequence[str]) -> "ExplainedTexts":
        """Return what a trained classifier predicts for texts.

        Parameters
        ----------
        model : FittedTextModel or TextModel
            The classifier.
        texts : sequence of str
            The texts of the pool.

        Returns
        -------
        ExplainedTexts
            Classes, probabilities and the words behind them.
        """
        return ExplainedTexts(texts, class_names(model.classes_.tolist()), model.predict_proba(texts), model)

    @property
    def text_model(self) -> "AnyTextModel | None":
        """The model of the n-grams; None if there is nothing to explain."""
        return self._text_model

    def words_behind(self, number: int, k: int = 8) -> list[tuple[str, float]]:
        """Return the n-grams of a text that contribute most to its prediction.

        Parameters
        ----------
        number : int
            Number of the text.
        k : int, default=8
            Maximal number of n-grams.

        Returns
        -------
        list of (str, float)
            The n-grams with the largest contributions in absolute value, from those that speak most for the
            predicted class to those that speak most against it. A contribution is that of
            ``TextClassifier.explain``: to the predictor of the class, less that of the runner-up. Empty with
            fewer than two classes.
        """
        if self.text_model is None:
            return []
        found = self.text_model.explain(self.texts[number], self._embedding(number)).contributions[:k]
        return sorted(((one.ngram, one.weight) for one in found if one.weight), key=lambda one: -one[1])

    def _embedding(self, number: int) -> np.ndarray | None:
        """Return the embedding of a text that the model is given; None if it needs none."""
        return None

    def words_of_classes(self, k: int = 10) -> dict[str, list[tuple[str, float]]]:
        """Return the n-grams that speak most for each class, with their weights.

        Parameters
        ----------
        k : int, default=10
            Maximal number of n-grams per class.

        Returns
        -------
        dict of str to list of (str, float)
            Those of ``TextClassifier.top_features``: n-grams that consist of words come before those with
            punctuation, and frequent n-grams before rare ones with the same coefficient.
        """
        if self.text_model is None:
            return {name: [] for name in self.classes}
        top = self.text_model.top_features(k).values()
        return {
            name: [(one.ngram, one.weight) for one in found]
            for name, found in zip(self.classes, top, strict=True)
        }


class PoolModel(ExplainedTexts):
    """A model of the texts of a pool; ``TextPool.fit`` returns one.

    Parameters
    ----------
    pool : TextPool
        The texts.
    classes : list of str
        The classes of the labels, sorted.
    predictor : PoolFit, optional
        The fitted model; None with fewer than two classes.
    settings : RefitSettings, optional
        The settings that cross-validation has chosen; None with fewer than two classes.
    calibration : Calibration, optional
        The factor of the predictors, and what it rests on.

    Attributes
    ----------
    classes : list of str
        The classes of the labels, sorted.
    probabilities : ndarray of shape (n, K)
        Probabilities of the classes for all texts of the pool, labelled or not. With fewer than two classes
        nothing has been learnt, and all of them are 1.
    predicted : ndarray of shape (n,)
        Number of the most probable class of each text.
    is_trained : bool
        Whether there are labels of at least two classes.
    text_model : FittedTextModel or None
        The model of the n-grams, which explains predictions; None with fewer than two classes. Computed when
        first asked for.
    coef : ndarray of shape (d, K)
        Coefficients of the n-grams; those of all classes sum to 0.
    settings : RefitSettings or None
        The settings that cross-validation has chosen; None with fewer than two classes.
    calibration : Calibration or None
        The factor of the predictors, and the predictions for labelled texts that it rests on; None if the
        model was fitted without texts drawn at random.

    See Also
    --------
    TextPool : The texts.

    Examples
    --------
    >>> from dropglm.labelling import TextPool
    >>> nouns = ("film", "song", "cast", "plot", "book", "play", "tale", "show", "opera", "novel")
    >>> pool = TextPool([f"a {word} {noun}" for noun in nouns for word in ("lovely", "dull")])
    >>> model = pool.fit({0: "good", 1: "bad", 2: "good", 3: "bad"})
    >>> [word for word, _ in model.words_behind(4, k=2)]
    ['lovely', 'a lovely']
    >>> [word for word, _ in model.words_of_classes(k=2)["bad"]]
    ['dull', 'a dull']
    >>> int(model.predict_proba(["a dull day"]).argmax())
    0
    """

    def __init__(
        self,
        pool: "TextPool",
        classes: list[str],
        predictor: PoolFit | None = None,
        settings: RefitSettings | None = None,
        calibration: Calibration | None = None,
    ) -> None:
        ones = np.ones((len(pool), len(classes)))
        p = ones if predictor is None else Multinomial.mean(all_classes(predictor.eta))
        super().__init__(pool.texts, classes, p)
        self.pool = pool
        self.settings, self.calibration = settings, calibration
        self._predictor = predictor

    @property
    def is_trained(self) -> bool:
        """Whether there are labels of at least two classes."""
        return self._predictor is not None

    @cached_property
    def predicted(self) -> np.ndarray:
        """Number of the most probable class of each text; all are 0 with fewer than two classes."""
        return self.probabilities.argmax(axis=1) if self.classes else np.zeros(len(self.pool), np.int64)

    @cached_property
    def text_model(self) -> FittedTextModel | None:
        """The model of the n-grams, which explains predictions; None with fewer than two classes."""
        if self._predictor is None:
            return None
        pool, d, head = self.pool, self.pool.X.shape[1], None
        coef, *others = pool._by_block(self._predictor.beta)
        if pool.scaling is not None:
            own = np.asarray(others.pop().T / pool.scaling.by_column, np.float32)
            head = EmbeddingHead(Fingerprint(own.shape[1]), pool.scaling.mean, own)
        for latent in others:
            ngrams, directions = pool.directions
            coef = coef.copy()
            coef[ngrams] += directions @ latent
        classes, intercept = np.array(self.classes), self._predictor.intercept
        model = FittedLogistic(classes, coef.T, intercept, "multinomial", d)
        return FittedTextModel(pool.vectorizer, model, head=head)

    def _embedding(self, number: int) -> np.ndarray | None:
        scaling = self.pool.scaling
        return None if scaling is None else scaling.undo(self.pool.features.blocks[-1][number])

    @property
    def coef(self) -> np.ndarray:
        """Coefficients of the n-grams, of shape (d, K); those of all classes sum to 0."""
        if self.text_model is None:
            return np.zeros((self.pool.X.shape[1], len(self.classes)))
        coef = all_classes(self.text_model.model.coef_.T)
        return coef - coef.mean(axis=1, keepdims=True)

    def predict_proba(self, texts: Iterable[str], embeddings: Any = None) -> np.ndarray:
        """Return the probabilities of the classes for texts that need not be in the pool.

        Parameters
        ----------
        texts : iterable of str
            Texts.
        embeddings : array-like of shape (m, k), default=None
            Their embeddings, if the pool has embeddings.

        Returns
        -------
        ndarray of shape (m, K)
            All of them are 1 with fewer than two classes.
        """
        texts = check_texts(texts)
        if self.text_model is None:
            return np.ones((len(texts), len(self.classes)))
        return self.text_model.predict_proba(texts, embeddings)


class TextPool:
    """Texts to label, as features for models that are fitted again and again.

    Parameters
    ----------
    texts : iterable of str
        The texts, labelled or not.
    n_latent : int, default=50
        Number of latent features, as in ``TextClassifier``.
    n_jobs : int or None, default=None
        Number of threads; None means 1, -1 all cores.

    Attributes
    ----------
    texts : list of str
        The texts. A text is identified by its position in this list.
    copy_of : ndarray of shape (n,)
        Number of the first text that is equal but for case and white space; its own number for the first.
    vectorizer : NgramVectorizer
        The fitted vectorizer.
    X : CSR matrix of shape (n, d)
        The n-grams of the texts, weighted as by ``TextClassifier``.
    latent : ndarray of shape (n, k)
        Latent features, scaled so that each row has length 1; rows of texts without known words are 0.
    features : Blocks
        The n-grams and, unless the texts have too few words, the latent features beside them; after them the
        embeddings, of a pool that ``with_embeddings`` returned.
    scaling : Scaling or None
        How the embeddings were centred and scaled.
    sample : ndarray of int
        Numbers of the texts, at most 5,000 drawn at random, that settings are chosen with.

    See Also
    --------
    choose_texts : Choose the texts to label next.

    Examples
    --------
    >>> from dropglm.labelling import TextPool
    >>> pool = TextPool(["a lovely film", "a dull film", "lovely music", "so dull", "A  dull film"])
    >>> pool.copy_of
    array([0, 1, 2, 3, 1])
    >>> model = pool.fit({0: "good", 1: "bad"})
    >>> model.classes
    ['bad', 'good']
    >>> model.probabilities[[2, 3]].argmax(axis=1)
    array([1, 0])
    """

    def __init__(self, texts: Iterable[str], *, n_latent: int = 50, n_jobs: int | None = None) -> None:
        checks.whole_number(n_latent, "n_latent")
        self.texts = check_texts(texts)
        self.n_jobs = n_jobs
        self.vectorizer = vectorizer_of(TextClassifier(n_jobs=n_jobs), NGRAM_WEIGHTS[0])
        self.X = self.vectorizer.fit_transform(self.texts)
        threads = checks.threads(n_jobs)
        prior = LatentPrior.of(self.X, self.vectorizer, n_latent, threads, LATENT_POWER) if n_latent else None
        if prior is None:
            self.features = Blocks(self.X)
            rows = singular_vectors(self.X, max(n_latent, 1), threads=threads).coordinates
        else:
            self.features = prior.beside(self.X, 0)
            rows = self.features.blocks[1]
            self._fold_back = prior.blocks[0].fold_back
        self.latent = of_length_one(rows)
        self.scaling: Scaling | None = None
        self.sample = np.sort(np.random.default_rng(0).permutation(len(self.texts))[:SAMPLE])

    @cached_property
    def copy_of(self) -> np.ndarray:
        """Number of the first text that is equal but for case and white space."""
        return first_copies(copy_keys(self.texts, str.casefold))

    @cached_property
    def design(self) -> Design:
        """The n-grams, stored by rows and by columns."""
        return Design(self.X, threads=checks.threads(self.n_jobs)).by_columns()

    @cached_property
    def directions(self) -> tuple[np.ndarray, np.ndarray]:
        """The n-grams that latent features consist of, and the coefficient of each in every feature."""
        whole = self._fold_back(np.eye(self.features.widths[1], dtype=self.X.dtype))
        kept = np.flatnonzero(whole.any(axis=1))
        return kept, whole[kept]

    def __len__(self) -> int:
        return len(self.texts)

    def with_embeddings(self, embeddings: Any) -> "TextPool":
        """Return a pool of the same texts whose models also use embeddings.

        Parameters
        ----------
        embeddings : array-like of shape (n, k)
            A row of numbers for each text, such as ``dropglm.text.embeddings.embed`` returns.

        Returns
        -------
        TextPool
            It shares all other features with this one.
        """
        E = check_embeddings(embeddings, len(self.texts))
        pool = copy(self)
        pool.scaling = Scaling.of(E)
        pool.features = with_blocks(self.features, pool.scaling(E))
        return pool

    def _by_block(self, beta: np.ndarray) -> list[np.ndarray]:
        """Return the coefficients of each block of features, given those of all."""
        return np.split(beta, np.cumsum(self.features.widths)[:-1])

    def fit(
        self,
        labels: Mapping[int, str],
        start: PoolModel | None = None,
        drawn: Collection[int] | None = None,
    ) -> PoolModel:
        """Fit a model to some labels.

        Parameters
        ----------
        labels : mapping of int to str
            The label of each labelled text, by its number.
        start : PoolModel, optional
            An earlier model of the same pool, whose settings are used again if the number of labels has not
            grown much.
        drawn : collection of int, optional
            Numbers of the labelled texts that were drawn at random. The probabilities of the model are then
            calibrated on them: with labels of texts that models have chosen, they are too large otherwise.

        Returns
        -------
        PoolModel
            With fewer than two classes there is nothing to learn: ``probabilities`` are then 1 for the only
            class.
        """
        n = len(self.texts)
        for number in labels:
            if not 0 <= number < n:
                raise InputError(f"There is a label for text {number}, but texts are numbered 0 to {n - 1}.")
        labeled = LabeledTexts.of(labels)
        if len(labeled.classes) < 2:
            return PoolModel(self, labeled.classes)
        settings, found = (None, None) if start is None else (start.settings, start.calibration)
        if settings is None or not settings.serve(labeled):
            settings, found = choose_settings(self, labeled)[0], None
        model = refit(self, labeled, settings)
        if drawn is None:
            return PoolModel(self, labeled.classes, model, settings)
        if found is None or not found.serves(len(labeled.y)):
            found = calibrate(self, labeled, settings, drawn)
        return PoolModel(self, labeled.classes, model.scaled(found.scale), settings, found)


def of_length_one(rows: Any) -> np.ndarray:
    """Return rows divided by their lengths; rows of zeros stay as they are."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    return rows / np.where(lengths > 0.0, lengths, 1.0)[:, None].astype(rows.dtype)


def suspicious(pool: "TextPool", labels: Mapping[int, str], k: int | None = None) -> list[Disagreement]:
    """List the labelled texts of a pool whose label may be wrong, the most suspicious first.

    Each text is predicted by a model that was fitted without it.

    Parameters
    ----------
    pool : TextPool
        The texts.
    labels : mapping of int to str
        The label of each labelled text, by its number.
    k : int or None, default=None
        Maximal number of texts; None means all.

    Returns
    -------
    list of Disagreement
        ``row`` is the number of the text in the pool. Empty with fewer than two classes, if every class has a
        single text, or if the model is right no more often than the most frequent class is.

    See Also
    --------
    dropglm.text.suspicious_labels : The same for given probabilities.

    Examples
    --------
    >>> from dropglm.labelling import TextPool
    >>> nouns = ("film", "song", "cast", "plot", "book", "play", "tale", "show", "opera", "novel")
    >>> pool = TextPool([f"a {word} {noun}" for noun in nouns for word in ("lovely", "dull")])
    >>> labels = dict(enumerate(["good", "bad"] * 10)) | {6: "bad"}
    >>> [(found.row, found.text, found.predicted) for found in suspicious(pool, labels)]
    [(6, 'a lovely plot', 'good')]
    """
    return look_for_suspicious(pool, labels, k)[0]


def look_for_suspicious(
    pool: "TextPool", labels: Mapping[int, str], k: int | None = None
) -> tuple[list[Disagreement], bool]:
    """Return what ``suspicious`` lists, and whether an empty list says that no label looks wrong.

    It does not if there are too few labels, or if the model is right no more often than the most frequent
    class is.

    Examples
    --------
    >>> from dropglm.labelling import TextPool
    >>> look_for_suspicious(TextPool(["a lovely film", "a dull film"]), {0: "good", 1: "bad"})
    ([], False)
    """
    labeled = LabeledTexts.of(labels)
    # A second pass, in which labels that look wrong count less, found no more wrong labels: of the first 100
    # listed, 73.0 instead of 75.2 % were wrong (subj, 2,000 labels, one in twenty exchanged, two seeds).
    p = choose_settings(pool, labeled)[1] if len(labeled.classes) > 1 else None
    if p is None:
        return [], False
    texts = [pool.texts[row] for row in labeled.rows]
    names = [labeled.classes[number] for number in labeled.y]
    found = suspicious_labels(texts, names, p, labeled.classes, k)
    numbered = [one._replace(row=int(labeled.rows[one.row])) for one in found]
    return numbered, can_judge_labels(texts, names, p, labeled.classes)


# Of the texts without labels, so many of the least certain ones are compared with the labelled ones.
UNCERTAIN = 1000
# The pool is represented by so many texts, evenly spaced, and as many are candidates.
REPRESENTATIVES = 1000
LABELS_PER_CLASS = 2  # until there are as many on average, texts are spread over the pool


def choose_texts(
    probabilities: Any, latent: Any, labeled: Collection[int], *, size: int = 1, excluded: Any = None
) -> np.ndarray:
    """Choose the texts to label next: uncertain, unlike those already labelled and unlike each other.

    Until there are two labels per class, the texts that represent the others best are chosen instead.

    Parameters
    ----------
    probabilities : array-like of shape (n, K)
        Predicted probabilities of all texts, such as ``PoolModel.probabilities``. With fewer than two
        classes, no text is more uncertain than another.
    latent : array-like of shape (n, k)
        Latent features of all texts, with rows of length 1, such as ``TextPool.latent``. A row of zeros is a
        text without known words; it is chosen last.
    labeled : collection of int
        Numbers of the texts that have labels.
    size : int, default=1
        How many texts to choose. After about ten, the model should be fitted again.
    excluded : array-like of bool of shape (n,), default=None
        Texts that must not be chosen, such as copies of others. Labelled texts never are.

    Returns
    -------
    ndarray of int
        Numbers of the chosen texts, the most useful first; fewer than ``size`` if no more are left. The same
        arguments give the same texts.

    See Also
    --------
    TextPool : Texts with latent features.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.array([[0.5, 0.5], [0.55, 0.45], [0.9, 0.1], [0.45, 0.55], [0.8, 0.2], [0.1, 0.9]])
    >>> latent = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.6, 0.8], [0.8, 0.6]])
    >>> choose_texts(p, latent, {0, 1, 4, 5}, size=1)  # the third is like labelled ones, but more certain
    array([3])
    """
    p, rows = np.asarray(probabilities, np.float64), np.asarray(latent)
    if p.ndim != 2 or rows.ndim != 2 or len(p) != len(rows):
        raise InputError(
            f"probabilities and latent must have one row per text, got the shapes {p.shape} and {rows.shape}."
        )
    known = np.fromiter(labeled, np.int64, len(labeled))
    free = np.ones(len(rows), np.bool_)
    free[known] = False
    if excluded is not None:
        free &= ~np.asarray(excluded, np.bool_)
    candidates = np.flatnonzero(free)
    has_words = rows[candidates].any(axis=1)
    candidates, wordless = candidates[has_words], candidates[~has_words]
    K = p.shape[1]
    spread = K < 2 or len(known) < LABELS_PER_CLASS * K
    if spread:
        chosen = _representative(rows, candidates, known, size)
    else:
        chosen = _uncertain(p, rows, candidates, known, size)
    return np.concatenate([chosen, wordless])[:size]


def _uncertain(
    p: np.ndarray, rows: np.ndarray, candidates: np.ndarray, known: np.ndarray, size: int
) -> np.ndarray:
    """Return the candidates with the largest (1 - margin) (1 - similarity), one after the other."""
    largest = np.partition(p[candidates], -2, axis=1)[:, -2:]
    uncertainty = 1.0 - (largest[:, 1] - largest[:, 0])
    few = np.argsort(-uncertainty, kind="stable")[: max(UNCERTAIN, size)]
    candidates, uncertainty = candidates[few], uncertainty[few]
    near = (rows[candidates] @ rows[known].T).max(axis=1, initial=0.0)
    chosen: list[int] = []
    left = np.ones(len(candidates), np.bool_)
    while left.any() and len(chosen) < size:
        # The smallest positive novelty lets uncertainty decide among copies of labelled texts.
        score = np.where(left, uncertainty * np.maximum(1.0 - near, 1e-6), -1.0)
        best = int(score.argmax())
        chosen.append(int(candidates[best]))
        left[best] = False
        near = np.maximum(near, rows[candidates] @ rows[candidates[best]])
    return np.array(chosen, np.int64)


def _representative(rows: np.ndarray, candidates: np.ndarray, known: np.ndarray, size: int) -> np.ndarray:
    """Return the candidates that add most to the similarity of all texts to the nearest chosen one."""
    everyone = rows[_evenly(np.flatnonzero(rows.any(axis=1)), REPRESENTATIVES)]
    few = _evenly(candidates, max(REPRESENTATIVES, size))
    similar = np.maximum(everyone @ rows[few].T, 0.0)
    nearest = (everyone @ rows[known].T).max(axis=1, initial=0.0)
    chosen: list[int] = []
    left = np.ones(len(few), np.bool_)
    while left.any() and len(chosen) < size:
        gain = np.where(left, np.maximum(similar - nearest[:, None], 0.0).sum(axis=0), -1.0)
        best = int(gain.argmax())
        chosen.append(int(few[best]))
        left[best] = False
        nearest = np.maximum(nearest, similar[:, best])
    return np.array(chosen, np.int64)


def _evenly(numbers: np.ndarray, count: int) -> np.ndarray:
    """Return at most so many of the numbers, evenly spaced."""
    if len(numbers) <= count:
        return numbers
    return numbers[np.arange(count) * len(numbers) // count]
