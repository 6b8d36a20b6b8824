"""A model of the texts of a pool, fitted to the labels that there are so far."""

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dropglm.blocks import Blocks, PerBlock
from dropglm.estimators import LogisticRegression
from dropglm.families import Multinomial

if TYPE_CHECKING:
    from dropglm.labelling.pool import TextPool


class PoolModel:
    """A model of the texts of a pool; ``TextPool.fit`` returns one.

    Attributes
    ----------
    classes : list of str
        The classes of the labels, sorted.
    probabilities : ndarray of shape (n, K)
        Probabilities of the classes for all texts of the pool, labelled or not. With fewer than two classes
        nothing has been learnt, and all of them are 1.
    coef : ndarray of shape (d, K)
        Coefficients of the n-grams.
    """

    def __init__(
        self, pool: "TextPool", classes: list[str], probabilities: np.ndarray, coef: np.ndarray
    ) -> None:
        self.pool = pool
        self.classes = classes
        self.probabilities = probabilities
        self.coef = coef

    @property
    def is_trained(self) -> bool:
        """Whether there are labels of at least two classes."""
        return len(self.classes) > 1

    @cached_property
    def predicted(self) -> np.ndarray:
        """Number of the most probable class of each text; all are 0 with fewer than two classes."""
        return self.probabilities.argmax(axis=1) if self.classes else np.zeros(len(self.pool), np.int64)

    def words_behind(self, number: int, k: int = 8) -> list[tuple[str, float]]:
        """Return the n-grams of a text that contribute most to its predicted class, the largest first.

        Parameters
        ----------
        number : int
            Number of the text.
        k : int, default=8
            Maximal number of n-grams.

        Returns
        -------
        list of (str, float)
            N-grams with their contributions to the predictor of the predicted class, less the mean of all
            classes; negative ones speak against it. Empty with fewer than two classes.
        """
        if not self.is_trained:
            return []
        row = self.pool.X[[number]]
        weights = row.data * self.coef[row.indices, self.predicted[number]]
        order = np.argsort(-np.abs(weights), kind="stable")[:k]
        order = order[np.argsort(-weights[order], kind="stable")]
        names = self.pool.vectorizer.ngrams_.names(row.indices[order])
        return [(name, float(weight)) for name, weight in zip(names, weights[order], strict=True) if weight]

    def words_of_classes(self, k: int = 10) -> dict[str, list[tuple[str, float]]]:
        """Return the n-grams that speak most for each class, the largest first.

        Parameters
        ----------
        k : int, default=10
            Maximal number of n-grams per class.

        Returns
        -------
        dict of str to list of (str, float)
        """
        if not self.is_trained:
            return {name: [] for name in self.classes}
        found = {}
        for number, name in enumerate(self.classes):
            weights = self.coef[:, number]
            top = np.argpartition(-weights, min(k, len(weights)) - 1)[:k]
            top = top[np.argsort(-weights[top], kind="stable")]
            top = top[weights[top] > 0.0]
            names = self.pool.vectorizer.ngrams_.names(top)
            found[name] = [(word, float(weight)) for word, weight in zip(names, weights[top], strict=True)]
        return found


def fit_pool_model(pool: "TextPool", labels: Mapping[int, str], start: PoolModel | None) -> PoolModel:
    """Return a model of the pool."""
    classes, n = sorted(set(labels.values())), len(pool)
    if len(classes) < 2:
        return PoolModel(pool, classes, np.ones((n, len(classes))), np.empty((0, len(classes))))
    rows = np.fromiter(labels, np.int64, len(labels))
    y = np.array([classes.index(label) for label in labels.values()])
    blocks = () if pool.prior is None else (pool.prior.blocks[-1].rows,)
    X = Blocks(pool.X, *blocks)
    model = LogisticRegression(
        dropout=PerBlock(0.5, *[0.0] * len(blocks)),
        l2=0.1,
        l2_weights=PerBlock("uniform", *[0.1] * len(blocks)),
        n_jobs=pool.n_jobs,
    )
    model.fit(X[rows], y)
    beta = model.coef_.T
    eta = X @ beta + model.intercept_
    d = pool.X.shape[1]
    coef = beta[:d]
    if pool.prior is not None:
        coef = coef + pool.prior.blocks[-1].fold_back(beta[d:])
    if len(classes) == 2:
        eta, coef = np.hstack([-eta, eta]) / 2, np.hstack([-coef, coef]) / 2
    else:
        coef = coef - coef.mean(axis=1, keepdims=True)
    return PoolModel(pool, classes, Multinomial.mean(np.asarray(eta, np.float64)), coef)
