"""Rounds of naive Bayes that also count unlabelled rows, with the labels that the model predicts for them.

    η ← t η + c ν,    ν = X r,    r from the totals  n_kj = Σ_labelled y_ik x_ij + Σ_unlabelled p_ik x_ij

p = softmax(η) are the predicted labels of unlabelled rows. A few labels say little about most features, but
the model's predictions for thousands of rows, right more often than not, show which class each feature
belongs to. t and c are found as in ``blend``, from held-out rows: the model of every fold predicts its own
labels, which its held-out rows have not influenced. All terms are linear in the features, so the model stays
linear. The rounds end when the loss of held-out rows grows by more than its standard error, or when they have
come to a fixed point, where held-out rows cannot tell the next round from the last.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dropglm.base.gpu_arrays import to_host
from dropglm.base.threads import each
from dropglm.core.objective import Coefficients
from dropglm.places.rows import TrainingRows
from dropglm.search.blend import Blend, Prior, Priors, fit_blend, losses_of
from dropglm.search.naive_bayes import beside_zeros, ratios_of
from dropglm.search.scoring import standard_error_of_rows

# ε and a of the ratios (see ``ratios_of``), and the priors of t and c. Accuracy and log loss with 50 and 100
# labels, means over seven sets of texts in a prototype: 75.98 / .614 and 79.28 / .544; with ε = 1
# 75.43 / .640 and 78.78 / .564; with ε = 0.1 and a = 0 74.96 / .652 and 79.04 / .562.
FLOOR, PSEUDO_TOTAL = 0.03, 0.3
ROUND_PRIOR = Prior(mean=0.5, strength=3.0, smallest=0.15)
ROUND_PRIORS = Priors(ROUND_PRIOR, ROUND_PRIOR)
# Change of the predictors of held-out rows in a round, relative to the largest, below which they are at a
# fixed point. With 100 labels of rt and 4,000 unlabelled rows, the third round changes them by 0.22, the 72nd
# by 0.001.
SETTLED = 1e-3
MOST = 1000  # rounds; there is no proof that they approach a fixed point


class Round(NamedTuple):
    """The result of a round."""

    blend: Blend
    ratios: np.ndarray  # r of all labelled and unlabelled rows, (d, K), or (d, 1) for two classes
    eta: np.ndarray  # predictors of the held-out rows of all folds


class Rounds:
    """What the rounds share.

    Parameters
    ----------
    rows : TrainingRows
        Labelled and unlabelled rows; of blocks only the first is counted.
    held_out_weights : ndarray
        Weights of the held-out rows of all folds, in the loss.
    """

    def __init__(self, rows: TrainingRows, held_out_weights: np.ndarray) -> None:
        self.rows = rows
        self.held_out_weights = held_out_weights
        self.y = rows.data.y[np.concatenate([fold.test for fold in rows.folds])]
        self._labeled = rows.class_totals([*range(len(rows.folds)), None])

    def run(self, count: int, eta: np.ndarray, models: Sequence[Coefficients]) -> list[Round]:
        """Return at most ``count`` rounds, and at most ``MOST``.

        Parameters
        ----------
        count : int
        eta : ndarray
            Predictors of the held-out rows of all folds.
        models : sequence of Coefficients
            The models of the folds and, last, that of all rows: β of all features, (d, K), and b.
        """
        rounds: list[Round] = []
        losses = losses_of(eta, self.y)
        for number in range(min(count, MOST)):
            ratios = self.ratios(models)
            nu = self.held_out_predictors(ratios[:-1])
            blend = fit_blend(eta, nu, self.y, self.held_out_weights, calibrate=True, priors=ROUND_PRIORS)
            before, eta, previous = eta, blend(eta, nu), losses
            losses = losses_of(eta, self.y)
            if self._is_worse(losses - previous):
                break
            rounds.append(Round(blend, ratios[-1], eta))
            if np.abs(eta - before).max() <= SETTLED * np.abs(eta).max():
                break
            if number + 1 < count:
                models = [blend.coefficients(model, r) for model, r in zip(models, ratios, strict=True)]
        return rounds

    def ratios(self, models: Sequence[Coefficients]) -> list[np.ndarray]:
        """Return naive Bayes' ratios of the rows of each fold and of all rows, and of unlabelled ones.

        ``models`` predict the labels of unlabelled rows. Each result has the shape (d, K).
        """
        features, unlabeled = self.rows.features, self.rows.unlabeled_totals(models)

        def of_both(item: tuple[Any, np.ndarray]) -> np.ndarray:
            in_order, totals = item
            totals = totals.astype(np.float64)
            totals[features.orders[0]] += to_host(in_order)
            return ratios_of(totals, floor=FLOOR, pseudo_total=PSEUDO_TOTAL).astype(features.dtype)

        return each(of_both, list(zip(self._labeled, unlabeled, strict=True)), features.threads)

    def held_out_predictors(self, ratios: Sequence[np.ndarray]) -> np.ndarray:
        """Return the predictors ν of the held-out rows of all folds, given the ratios of each fold."""
        rows, features = self.rows, self.rows.features
        (_, columns, _), (_, last, _) = features.blocks[0], features.blocks[-1]
        return np.concatenate(
            rows.answered(
                [
                    rows.held_out_predictors(fold, beside_zeros(r[features.orders[0]], columns, last.stop))
                    for fold, r in enumerate(ratios)
                ]
            )
        )

    def _is_worse(self, differences: np.ndarray) -> bool:
        """Return whether the mean loss of held-out rows has grown by more than its standard error."""
        w = self.held_out_weights / self.held_out_weights.sum()
        # A row that was held out several times counts once.
        error = standard_error_of_rows(differences, w, independent=self.held_out_weights.sum())
        return bool(w @ differences > error)
