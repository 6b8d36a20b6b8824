"""One fit, once everything the user said has become arrays and objects."""

from dataclasses import dataclass

import numpy as np

from dropglm.estimators.features import Features
from dropglm.families import Family
from dropglm.objective import Block, Labels, Objective, semi_supervised
from dropglm.penalties import Penalty


@dataclass(frozen=True)
class Problem:
    """Rows, labels and weights of a fit; the penalties are for ``objective`` to add."""

    features: Features
    family: type[Family]
    y: np.ndarray  # (n, K)
    weights: np.ndarray  # (n,)
    unlabeled_weights: np.ndarray | None = None  # (m,)
    fit_intercept: bool = True

    def objective(self, penalty: Penalty | None, ridge: np.ndarray, discount: float) -> Objective:
        """What to minimise, given λ for every coefficient and the discount α of the unlabelled rows."""
        features = self.features
        labeled = Block(features.labeled, self.weights, Labels(self.y, self.weights))
        unlabeled = None
        if features.unlabeled is not None and self.unlabeled_weights is not None:
            unlabeled = Block(features.unlabeled, self.unlabeled_weights)
        return Objective(
            semi_supervised(labeled, unlabeled, discount if penalty is not None else 0.0),
            self.family,
            penalty,
            ridge,
            fit_intercept=self.fit_intercept,
            threads=features.threads,
        )

    def null_model(self) -> tuple[np.ndarray, np.ndarray]:
        """β = 0, and the intercept that is then best; the natural place to start."""
        K = self.y.shape[1]
        beta = np.zeros((self.features.labeled.shape[1], K), self.features.labeled.dtype)
        if not self.fit_intercept:
            return beta, np.zeros(K)
        mean = (self.weights[:, None] * self.y).sum(axis=0) / self.weights.sum()
        return beta, self.family.natural_parameter(mean)
