"""Designs of the held-out rows of each fold, for their predictors."""

from collections.abc import Iterable

import numpy as np

from dropglm.design import AnyDesign, BlockDesign
from dropglm.estimators.features import Features
from dropglm.estimators.folds import Fold


class HeldOutRows:
    """The held-out rows of each fold, which take as much memory as X by rows.

    Parameters
    ----------
    features : Features
    folds : list of Fold
    """

    def __init__(self, features: Features, folds: list[Fold]) -> None:
        self.features = features
        self.folds = folds
        self._designs: dict[int, AnyDesign] = {}

    def prepare(self, folds: Iterable[int]) -> None:
        """Store the rows of these folds, before threads use them at the same time."""
        for fold in folds:
            if fold not in self._designs:
                self._designs[fold] = self.features.labeled.take(self.folds[fold].test)
                for block in self._designs[fold].blocks:
                    _ = block.design.rows

    def release(self) -> None:
        """Forget the rows that are stored; they can be prepared again."""
        self._designs.clear()

    def dot(self, fold: int, beta: np.ndarray, left_out: frozenset[int] = frozenset()) -> np.ndarray:
        """Return Xβ for the held-out rows of a fold, without the blocks that are left out; shape (n, K)."""
        design = self._designs[fold]
        design.threads = self.features.threads
        if left_out:
            assert isinstance(design, BlockDesign)
            design = design.without(left_out)
        return design.dot(beta)
