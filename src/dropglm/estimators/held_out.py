"""The held-out rows of a cross-validation, and the scores of their predictors."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dropglm.dependencies import each_in_teams
from dropglm.estimators.blend import PRIORS, PRIORS_BESIDE_OTHERS, Blend, Priors, fit_blend
from dropglm.estimators.grid import Candidate
from dropglm.estimators.held_out_rows import HeldOutRows
from dropglm.estimators.l2_weights import L2Weights
from dropglm.estimators.logistic import LogisticRegression
from dropglm.estimators.naive_bayes import log_ratios
from dropglm.estimators.outcome import Outcome
from dropglm.estimators.paths import Fit
from dropglm.estimators.scoring import RowScorer, takes_weights
from dropglm.estimators.validation import TrainingData
from dropglm.families import Multinomial


class HeldOut:
    """The held-out rows, fold by fold.

    Predictors are those of all held-out rows, or of the held-out rows of the first folds.

    Parameters
    ----------
    data : TrainingData
        All labelled rows.
    held_out : HeldOutRows
    scorer : callable
        A scorer of scikit-learn.
    row_scorer : callable or None
        Returns the score of each row, given log probabilities and classes, if the score is their mean.
    joint : bool
        Whether more than two classes are fitted in one multinomial model.
    weighted : bool
        Whether scores are weighted by the sample weights, if the scorer supports it.
    calibrate, naive_bayes : bool
        Whether predictors are scaled, and whether naive Bayes' are added; see ``blend``.
    priors : Priors or None
        Those of the two factors; None means those for the number of blocks of a candidate.
    """

    def __init__(
        self,
        data: TrainingData,
        held_out: HeldOutRows,
        scorer: Any,
        row_scorer: RowScorer | None,
        *,
        joint: bool,
        weighted: bool,
        calibrate: bool,
        naive_bayes: bool,
        priors: Priors | None = None,
    ) -> None:
        self.data = data
        self.held_out = held_out
        self.features = held_out.features
        self.folds = folds = held_out.folds
        self.scorer = scorer
        self.row_scorer = row_scorer
        self.weighted = weighted and takes_weights(scorer)
        self.calibrate = calibrate
        self.priors = priors
        self.rows = np.concatenate([fold.test for fold in folds])
        self.ends = np.cumsum([len(fold.test) for fold in folds])
        times = np.bincount(self.rows, minlength=len(data.y))
        self.weights = (data.weights / np.maximum(times, 1))[self.rows]  # a row counts once
        self.naive_bayes = naive_bayes
        self._nu: list[np.ndarray] = []  # naive Bayes' predictors, fold by fold
        # Rows are scored by their predictors, which this model returns unchanged.
        K = 1 if len(data.classes) == 2 else len(data.classes)
        self.identity = LogisticRegression()
        softmax = joint or calibrate or naive_bayes
        self.identity.multi_class_ = "multinomial" if softmax else "ovr"
        self.identity.classes_, self.identity.n_features_in_ = data.classes, K
        self.identity.coef_, self.identity.intercept_ = np.eye(K), np.zeros(K)

    def naive_bayes_ratios(self, weights: np.ndarray) -> np.ndarray:
        """Return naive Bayes' log ratios of the labelled rows with these weights."""
        indicators = (self.data.y[:, None] == np.arange(len(self.data.classes))).astype(np.float64)
        return log_ratios(self.features.labeled, indicators, weights)

    def prepare(self, stop: int) -> None:
        """Compute naive Bayes' predictors of the held-out rows of the first folds, without their labels."""
        if not self.naive_bayes:
            return
        self.held_out.prepare(range(stop))
        for fold in range(len(self._nu), stop):
            ratios = self.naive_bayes_ratios(self.folds[fold].times * self.data.weights)
            self._nu.append(self.held_out.dot(fold, ratios.astype(self.features.labeled.dtype)))

    def outcomes(self, items: Sequence[tuple[Candidate, tuple[Fit, ...]]]) -> list[Outcome]:
        """Return the outcomes of candidates, given their fits to the first folds."""
        return each_in_teams(self._outcome, items, self.features.threads)

    def _outcome(self, item: tuple[Candidate, tuple[Fit, ...]]) -> Outcome:
        """Blend the held-out predictors of a candidate, and score them."""
        candidate, fits = item
        eta = np.concatenate([np.hstack(fit.eta) for fit in fits])
        blend, eta = self.blend(eta, candidate.l2_weights)
        return Outcome(fits, blend, eta, self.scores(eta), self.row_scores(eta))

    def blend(self, eta: np.ndarray, l2_weights: L2Weights) -> tuple[Blend, np.ndarray]:
        """Return the blend that fits the rows best, and the blended predictors."""
        blocks = len(self.features.widths) - len(l2_weights.left_out)
        n = len(eta)
        # naive Bayes is of the first block
        adds_nu = self.naive_bayes and 0 not in l2_weights.left_out
        nu = np.concatenate(self._nu)[:n] if adds_nu else None
        blend = fit_blend(
            eta,
            nu,
            self.data.y[self.rows[:n]],
            self.weights[:n],
            calibrate=self.calibrate,
            priors=self.priors or (PRIORS_BESIDE_OTHERS if blocks > 1 else PRIORS),
            threads=self.features.threads,
        )
        return blend, blend(eta, nu)

    @property
    def score_weights(self) -> np.ndarray:
        """Weights of the labelled rows within the score of a fold."""
        return self.data.sample_weights if self.weighted else np.ones(len(self.data.y))

    def scores(self, eta: np.ndarray) -> np.ndarray:
        """Return the score of every fold; NaN for folds without predictors."""
        scores = np.full(len(self.folds), np.nan)
        parts = np.split(eta, self.ends[self.ends < len(eta)])
        for fold, part in enumerate(parts):
            rows = self.folds[fold].test
            weights = {"sample_weight": self.data.sample_weights[rows]} if self.weighted else {}
            y = self.data.classes[self.data.y[rows]]
            scores[fold] = self.scorer(self.identity, part, y, **weights)
        return scores

    def row_scores(self, eta: np.ndarray) -> np.ndarray | None:
        """Return the score of every row, if the score is their mean."""
        if self.row_scorer is None:
            return None
        return self.row_scorer(self.identity.predict_log_proba(eta), self.data.y[self.rows[: len(eta)]])

    def accuracy(self, outcome: Outcome, folds: int) -> float:
        """Return the share of the held-out rows of the first folds with the right prediction.

        A row counts once.
        """
        log_p, times = self._log_probabilities(outcome.eta[: self.ends[folds - 1]])
        held_out = times > 0
        return float(np.mean(log_p[held_out].argmax(axis=1) == self.data.y[held_out]))

    def probabilities(self, eta: np.ndarray) -> np.ndarray:
        """Return the probabilities of each labelled row when it was held out; NaN if it never was."""
        total, times = self._log_probabilities(eta)
        with np.errstate(invalid="ignore"):
            return Multinomial.mean(total / np.where(times, times, np.nan)[:, None])

    def _log_probabilities(self, eta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums of the log probabilities of each labelled row, and how often it was held out."""
        log_p = self.identity.predict_log_proba(eta)
        rows = self.rows[: len(eta)]
        times = np.bincount(rows, minlength=len(self.data.y))
        total = np.zeros((len(self.data.y), log_p.shape[1]))
        if times.max(initial=0) <= 1:
            total[rows] = log_p
        else:
            np.add.at(total, rows, log_p)
        return total, times
