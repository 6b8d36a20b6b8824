"""The scores of the candidates of a search whose rows are in partitions."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import NamedTuple

import numpy as np

from dropglm.estimators.blend import (
    PRIOR_ALONE,
    PRIORS,
    PRIORS_BESIDE_OTHERS,
    SMALLEST_SPREAD,
    Blend,
    Priors,
    Quadratic,
    best_factors,
)
from dropglm.estimators.grid import Candidate
from dropglm.estimators.naive_bayes import ratios_of
from dropglm.estimators.outcome import Outcome
from dropglm.estimators.paths import Fit
from dropglm.partitions.features import PartitionedFeatures
from dropglm.partitions.held_out import (
    NAIVE_BAYES,
    Additions,
    BlendLoss,
    FoldModel,
    ScoresByFold,
    Scoring,
    Spread,
    extend,
    labeled_rows,
    predict,
    quadratic_of,
)
from dropglm.partitions.requests import ClassTotals
from dropglm.partitions.rounds import Rounds

# Coefficients of this many bytes are sent at a time: with more, sending takes longer than the round itself.
MESSAGE = 1 << 26


class Kept(NamedTuple):
    """A candidate's predictors, which are with the partitions, and what is known of them."""

    key: int
    blend: Blend
    scores: np.ndarray  # by fold; NaN for folds that it was not fitted to
    hits: np.ndarray  # rows that it predicts correctly, of each fold that it was fitted to


class PartitionedHeldOut:
    """The held-out rows, in partitions.

    Parameters
    ----------
    features : PartitionedFeatures
    class_factors : ndarray of shape (K,)
        Factors of the weights of each class.
    rows, weights : ndarrays of shape (folds,)
        The number of held-out rows of each fold, and the sum of their sample weights.
    scoring : Scoring
    calibrate, naive_bayes : bool
        Whether predictors are scaled, and whether naive Bayes' are added.
    priors : Priors or None
        Those of the two factors; None means those for the number of blocks.

    Attributes
    ----------
    rounds : Rounds
        How to ask for sums over held-out rows.
    dropped : set of int
        Keys of candidates whose predictors are no longer needed.
    """

    def __init__(
        self,
        features: PartitionedFeatures,
        class_factors: np.ndarray,
        rows: np.ndarray,
        weights: np.ndarray,
        scoring: Scoring,
        *,
        calibrate: bool,
        naive_bayes: bool,
        priors: Priors | None,
    ) -> None:
        self.features = features
        self.rows = rows
        self.weights = weights
        self.scoring = scoring
        self.calibrate = calibrate
        self.naive_bayes = naive_bayes and 0 not in features.left_out
        blocks = len(features.widths) - len(features.left_out)
        self.priors = priors or (PRIORS_BESIDE_OTHERS if blocks > 1 else PRIORS)
        self._fitted_folds = 0  # with naive Bayes' predictors
        self._keys = count()
        self._engine = features.rounds.engine
        self.rounds = Rounds(
            self._engine, self._engine.keep(labeled_rows, features.rounds.parts, class_factors)
        )
        self.dropped: set[int] = set()

    def naive_bayes_ratios(self, folds: Sequence[int | None]) -> list[np.ndarray]:
        """Return naive Bayes' log ratios of the rows that each fold trains on; None means all rows."""
        features = self.features
        d = len(features.order)
        found = []
        for totals in features.rounds.ask(*(ClassTotals(d, features.dtype, fold) for fold in folds)):
            _, columns, _ = features.blocks[0]
            own = ratios_of(totals.dense()[columns].astype(np.float64), threads=features.threads)
            ratios = np.zeros((d, own.shape[1]))
            ratios[columns] = own
            found.append(ratios)
        return found

    def prepare(self, stop: int) -> None:
        """Let the partitions predict the held-out rows of the first folds by naive Bayes."""
        if not self.naive_bayes or stop <= self._fitted_folds:
            return
        folds = range(self._fitted_folds, stop)
        ratios = self.naive_bayes_ratios(folds)
        self._add(
            FoldModel(NAIVE_BAYES, fold, ((own.astype(self.features.dtype), np.zeros(own.shape[1])),))
            for fold, own in zip(folds, ratios, strict=True)
        )
        self._fitted_folds = stop

    def outcomes(self, items: Sequence[tuple[Candidate, tuple[Fit, ...]]]) -> list[Outcome]:
        """Return the outcomes of candidates, given their fits to the same first folds."""
        stop = len(items[0][1])
        keys = [self._key_of(fits) for _, fits in items]
        self._add(
            FoldModel(key, fold, fit.eta)
            for key, (_, fits) in zip(keys, items, strict=True)
            for fold, fit in enumerate(fits)
            if not isinstance(fit.eta[0], int)
        )
        spread = self._spread(stop)
        blends = self.rounds.each(lambda key: self._blend(key, stop, spread), keys)
        requests = [
            ScoresByFold(key, blend, stop, self.scoring) for key, blend in zip(keys, blends, strict=True)
        ]
        outcomes = []
        for request, (_, fits), sums in zip(requests, items, self.rounds.ask(*requests), strict=True):
            totals, hits = np.split(sums.numbers, 2)
            scores = np.full(len(self.rows), np.nan)
            scores[:stop] = totals / self.weights[:stop]
            kept = Kept(request.key, request.blend, scores, hits)
            fits = tuple(fit._replace(eta=(request.key,)) for fit in fits)
            outcomes.append(Outcome(fits, request.blend, kept, scores, kept))
        return outcomes

    def accuracy(self, outcome: Outcome, folds: int) -> float:
        """Return the share of the held-out rows of the first folds that a candidate predicts correctly."""
        return float(outcome.eta.hits[:folds].sum() / self.rows[:folds].sum())

    def _key_of(self, fits: tuple[Fit, ...]) -> int:
        """Return the number under which the predictors of a candidate are kept."""
        return fits[0].eta[0] if isinstance(fits[0].eta[0], int) else next(self._keys)

    def _add(self, models: Iterable[FoldModel]) -> None:
        """Let the partitions predict held-out rows and keep the predictors."""
        chunks = list(_chunks(models))
        predicted = [self._engine.keep(predict, self.features.rounds.parts, chunk) for chunk in chunks]
        additions = Additions(
            tuple(tuple((model.key, model.fold) for model in chunk) for chunk in chunks),
            frozenset(self.dropped),
        )
        parts = [list(part) for part in zip(self.rounds.parts, *predicted, strict=True)]
        self.rounds.parts = self._engine.keep(extend, parts, additions)

    def _spread(self, stop: int) -> float:
        """Return the standard deviation of naive Bayes' predictors, or 0 if they are not added."""
        if not self.naive_bayes:
            return 0.0
        (sums,) = self.rounds.ask(Spread(stop))
        spread = float(np.sqrt(sums.numbers[0] / sums.numbers[1]))
        return spread if spread > SMALLEST_SPREAD else 0.0

    def _blend(self, key: int, stop: int, spread: float) -> Blend:
        """Return the blend that fits the held-out rows of the first folds best."""
        adds_nu = spread > 0.0
        priors = [self.priors.scale if adds_nu else PRIOR_ALONE] * self.calibrate
        priors += [self.priors.naive_bayes] * adds_nu

        def loss(factors: Sequence[float]) -> Quadratic:
            (sums,) = self.rounds.ask(BlendLoss(key, stop, self.calibrate, spread, factors))
            return quadratic_of(sums.numbers, len(factors))

        factors = best_factors(loss, priors)
        return Blend(factors[0] if self.calibrate else 1.0, factors[-1] / spread if adds_nu else 0.0)


def _chunks(models: Iterable[FoldModel]) -> Iterator[list[FoldModel]]:
    """Yield the models in groups that can be sent in one message."""
    chunk: list[FoldModel] = []
    size = 0
    for model in models:
        own = sum(beta.nbytes for beta, _ in model.problems)
        if chunk and size + own > MESSAGE:
            yield chunk
            chunk, size = [], 0
        chunk.append(model)
        size += own
    if chunk:
        yield chunk
