"""One fit to the labelled texts of a pool: the model of ``TextClassifier``, with settings that are kept.

    η ← t₀ η + c₀ X r₀,    η ← t η + c X r  in each round

The first η is that of logistic regression with dropout on n-grams and latent features, r₀ are naive Bayes'
ratios of the labelled texts, and r those of all texts of the pool, with the classes predicted so far. The
factors are found by cross-validation (see ``dropglm.estimators.blend`` and ``rounds``). This takes several
fits, so they are kept until the number of labels has doubled: in between, a refit is one fit and a few
products with the matrix of n-grams.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from dropglm.blocks import PerBlock
from dropglm.design import Design
from dropglm.estimators import LogisticRegression, LogisticRegressionCV
from dropglm.estimators.blend import PRIORS, Blend, all_classes
from dropglm.estimators.naive_bayes import log_ratios, ratios_of
from dropglm.estimators.rounds import FLOOR, PSEUDO_TOTAL, ROUND_PRIORS
from dropglm.families import Multinomial
from dropglm.text.latent_prior import LATENT_L2_WEIGHTS
from dropglm.text.tuning import MANY_CLASSES

if TYPE_CHECKING:
    from dropglm.labelling.pool import TextPool

DROPOUT = 0.5
L2 = (0.1, 0.01)
FOLDS = 5
ROUNDS = 2
# The relative norm of the gradient: the objective is within about 1e-4 of its minimum.
TOL = 1e-2
# Texts of the pool that take part in the cross-validation of the rounds: factors need no more.
SAMPLE = 5000
# Settings are chosen again when there are so many times as many labels.
GROWTH = 2.0


class Settings(NamedTuple):
    """The settings of a refit, and for what they were chosen.

    Attributes
    ----------
    n_labels : int
        Number of labels when they were chosen.
    many_classes : bool
        Whether there were more than ten classes: how l2 is spread over the n-grams depends on it.
    l2 : float
    first : Blend or None
        The factors t₀ and c₀; None means the means of their priors.
    rounds : tuple of Blend or None
        The factors of each round, likewise.
    """

    n_labels: int
    many_classes: bool
    l2: float = L2[-1]
    first: Blend | None = None
    rounds: tuple[Blend | None, ...] = (None,)

    def serve(self, labeled: "LabeledTexts") -> bool:
        """Return whether these settings can be used again, for about as many labels."""
        n, many = len(labeled.y), len(labeled.classes) > MANY_CLASSES
        return self.n_labels < GROWTH * n < GROWTH**2 * self.n_labels and self.many_classes == many


class LabeledTexts(NamedTuple):
    """Numbers of the labelled texts, the numbers of their classes, and the classes."""

    rows: np.ndarray
    y: np.ndarray
    classes: list[str]

    @classmethod
    def of(cls, labels: Mapping[int, str]) -> Self:
        """Return the texts in the order of their numbers, so that the order of labelling does not matter."""
        classes = sorted(set(labels.values()))
        place = {name: number for number, name in enumerate(classes)}
        rows = np.array(sorted(labels), np.int64)
        return cls(rows, np.array([place[labels[row]] for row in rows.tolist()], np.int64), classes)

    @property
    def indicators(self) -> np.ndarray:
        """1 for the class of each text, 0 for the others; shape (n, K)."""
        return (self.y[:, None] == np.arange(len(self.classes))).astype(np.float64)


class Predictor(NamedTuple):
    """A linear model of the pool and its predictors.

    Attributes
    ----------
    eta : ndarray of shape (n, K), or (n, 1) for two classes
        Predictors of all texts.
    ngrams : ndarray of shape (d, K) or (d, 1)
        Coefficients of the n-grams.
    latent : ndarray of shape (k, K) or (k, 1)
        Coefficients of the latent features; empty without them.
    intercept : ndarray of shape (K,) or (1,)
    """

    eta: np.ndarray
    ngrams: np.ndarray
    latent: np.ndarray
    intercept: np.ndarray

    def blended(self, blend: Blend | None, nu: np.ndarray, ratios: np.ndarray) -> Self:
        """Return t η + c ν; None means that t and the share of ν are the means of their priors."""
        if blend is None:
            spread = float(np.std(all_classes(nu) - all_classes(nu).mean(axis=1, keepdims=True)))
            prior = ROUND_PRIORS
            blend = Blend(prior.scale.mean, prior.naive_bayes.mean / spread if spread > 0.0 else 0.0)
        t, c = blend
        return type(self)(
            blend(self.eta, nu), t * self.ngrams + c * ratios, t * self.latent, t * self.intercept
        )


def refit(pool: "TextPool", labeled: LabeledTexts, settings: Settings) -> Predictor:
    """Fit the model with given settings; there are at least two classes."""
    model = LogisticRegression(
        dropout=_per_block(pool, DROPOUT, 0.0),
        l2=settings.l2,
        l2_weights=_l2_weights(pool, labeled),
        discount=0.0,
        tol=TOL,
        n_jobs=pool.n_jobs,
    )
    model.fit(pool.features[labeled.rows], labeled.y)
    d = pool.X.shape[1]
    ngrams, latent = model.coef_[:, :d].T, model.coef_[:, d:].T
    eta = pool.design.dot(np.ascontiguousarray(ngrams)) + model.intercept_
    if len(latent):
        eta = eta + pool.features.blocks[1] @ latent
    found = Predictor(eta, ngrams, latent, model.intercept_)

    # Naive Bayes of the labelled texts.
    indicators, dtype = labeled.indicators, pool.X.dtype
    ratios = log_ratios(Design(pool.X[labeled.rows]), indicators, np.ones(len(labeled.y))).astype(dtype)
    found = found.blended(settings.first, pool.design.dot(ratios), ratios)

    # Naive Bayes of all texts, with predicted classes.
    for blend in settings.rounds:
        p = Multinomial.mean(all_classes(found.eta))
        p[labeled.rows] = indicators
        totals = pool.design.transposed_dot(p.astype(dtype)).astype(np.float64)
        ratios = ratios_of(totals, floor=FLOOR, pseudo_total=PSEUDO_TOTAL).astype(dtype)
        found = found.blended(blend, pool.design.dot(ratios), ratios)
    return found


def choose_settings(pool: "TextPool", labeled: LabeledTexts) -> tuple[Settings, np.ndarray | None]:
    """Choose the settings by cross-validation; also return the probabilities of held-out texts.

    If every class has a single text, none can be held out, and the settings are the means of the priors.
    """
    settings = Settings(len(labeled.y), len(labeled.classes) > MANY_CLASSES)
    if np.bincount(labeled.y).max() < 2:
        return settings, None
    search = LogisticRegressionCV(
        dropout=_per_block(pool, DROPOUT, 0.0),
        l2=L2,
        l2_weights=_l2_weights(pool, labeled),
        discount=0.0,
        cv=FOLDS,
        extend_l2=False,
        naive_bayes=True,
        rounds=ROUNDS,
        tol=TOL,
        n_jobs=pool.n_jobs,
    )
    others = np.setdiff1d(pool.sample, labeled.rows)
    unlabeled = pool.features[others] if len(others) else None
    rows = pool.features[labeled.rows], labeled.y
    search._finish(search._search(*rows, X_unlabeled=unlabeled, priors=PRIORS))
    first = Blend(search.scale_, search.naive_bayes_)
    chosen = settings._replace(l2=search.l2_, first=first, rounds=tuple(search.rounds_))
    return chosen, search.cv_probabilities_


def _per_block(pool: "TextPool", ngrams: Any, latent: Any) -> PerBlock:
    return PerBlock(ngrams, *[latent] * (len(pool.features.blocks) - 1))


def _l2_weights(pool: "TextPool", labeled: LabeledTexts) -> PerBlock:
    """Return those that ``TextClassifier`` uses for this number of classes."""
    rule = "uniform" if len(labeled.classes) > MANY_CLASSES else "naive_bayes"
    return _per_block(pool, rule, LATENT_L2_WEIGHTS[rule])
