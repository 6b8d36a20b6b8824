"""A model of the texts of a pool, fitted to the labels that there are so far."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dropglm.estimators.blend import all_classes
from dropglm.families import Multinomial
from dropglm.labelling.refit import LabeledTexts, Predictor, Settings, choose_settings, refit
from dropglm.text.top_ngrams import words_first

if TYPE_CHECKING:
    from dropglm.labelling.pool import TextPool


class PoolModel:
    """A model of the texts of a pool; ``TextPool.fit`` returns one.

    Parameters
    ----------
    pool : TextPool
        The texts.
    classes : list of str
        The classes of the labels, sorted.
    predictor : Predictor, optional
        The fitted model; None with fewer than two classes.
    settings : Settings, optional
        The settings that cross-validation has chosen; None with fewer than two classes.

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
    coef : ndarray of shape (d, K)
        Coefficients of the n-grams; those of all classes sum to 0. Computed when first asked for.
    settings : Settings or None
        The settings that cross-validation has chosen; None with fewer than two classes.

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
        predictor: Predictor | None = None,
        settings: Settings | None = None,
    ) -> None:
        self.pool = pool
        self.classes = classes
        self.settings = settings
        self._predictor = predictor
        if predictor is None:
            self.probabilities = np.ones((len(pool), len(classes)))
        else:
            self.probabilities = Multinomial.mean(all_classes(predictor.eta))

    @property
    def is_trained(self) -> bool:
        """Whether there are labels of at least two classes."""
        return self._predictor is not None

    @cached_property
    def predicted(self) -> np.ndarray:
        """Number of the most probable class of each text; all are 0 with fewer than two classes."""
        return self.probabilities.argmax(axis=1) if self.classes else np.zeros(len(self.pool), np.int64)

    @cached_property
    def coef(self) -> np.ndarray:
        """Coefficients of the n-grams, of shape (d, K); those of all classes sum to 0."""
        if self._predictor is None:
            return np.zeros((self.pool.X.shape[1], len(self.classes)), self.pool.X.dtype)
        coef, latent = self._predictor.ngrams, self._predictor.latent
        if len(latent):
            ngrams, directions = self.pool.directions
            coef = coef.copy()
            coef[ngrams] += directions @ latent
        if coef.shape[1] == 1:
            return np.hstack([-coef, coef]) / 2
        return coef - coef.mean(axis=1, keepdims=True)

    def predict_proba(self, texts: Iterable[str]) -> np.ndarray:
        """Return the probabilities of the classes for texts that need not be in the pool.

        Parameters
        ----------
        texts : iterable of str
            Texts.

        Returns
        -------
        ndarray of shape (m, K)
            All of them are 1 with fewer than two classes.
        """
        X = self.pool.vectorizer.transform(texts)
        if self._predictor is None:
            return np.ones((X.shape[0], len(self.classes)))
        intercept = all_classes(self._predictor.intercept[None, :])
        return Multinomial.mean(np.asarray(X @ self.coef, np.float64) + intercept)

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
            predicted class to those that speak most against it. A contribution is the part of the predictor
            of the class, less the mean of all classes. Empty with fewer than two classes.
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
        """Return the n-grams that speak most for each class, with their coefficients, the largest first.

        Parameters
        ----------
        k : int, default=10
            Maximal number of n-grams per class.

        Returns
        -------
        dict of str to list of (str, float)
            N-grams that consist of words come before those with punctuation. They are ranked by coefficient
            times the root of the number of texts, so that frequent n-grams come before rare ones.
        """
        if not self.is_trained:
            return {name: [] for name in self.classes}
        found = {}
        for number, name in enumerate(self.classes):
            weights, names = self.coef[:, number], self.pool.vectorizer.ngrams_.names
            top = words_first(names, np.flatnonzero(weights > 0.0), weights * self.pool.scale, k)
            found[name] = [(ngram, float(weights[j])) for ngram, j in top]
        return found


def fit_pool_model(pool: "TextPool", labels: Mapping[int, str], start: PoolModel | None) -> PoolModel:
    """Return a model of the pool, with the settings of an earlier one if they can serve again."""
    labeled = LabeledTexts.of(labels)
    if len(labeled.classes) < 2:
        return PoolModel(pool, labeled.classes)
    settings = None if start is None else start.settings
    if settings is None or not settings.serve(labeled):
        settings = choose_settings(pool, labeled)[0]
    return PoolModel(pool, labeled.classes, refit(pool, labeled, settings), settings)
