"""An annotator who answers from the true labels: what a labelling session would have learnt, label by label.

Texts are labelled in batches of ten. The model is fitted again after each batch, and chooses the texts of the
next, except that a share of them is drawn at random. Each of those is predicted before it is labelled. Some
texts of the pool are never labelled: they measure the accuracy.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from dropglm.experiments.few_labels_texts import MAX_TEST, all_texts
from dropglm.labelling import PoolModel, TextPool, choose_texts, estimate_accuracy

BATCH = 10


class Annotated(NamedTuple):
    """A pool of texts with their true labels."""

    pool: TextPool
    truth: np.ndarray

    def parts(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of the texts that are never labelled, and of those that may be."""
        order = np.random.default_rng(seed).permutation(len(self.truth))
        n_test = min(len(order) // 3, MAX_TEST)
        return order[:n_test], order[n_test:]


@lru_cache(maxsize=1)
def annotated(name: str, load: Callable[..., Any], most: int | None = None) -> Annotated:
    """Return the pool of a data set, or of its first texts."""
    texts, y = all_texts(name, load)
    return Annotated(TextPool(texts[:most].tolist(), n_jobs=1), np.asarray(y[:most]).astype(str))


class Strategy(NamedTuple):
    """How texts are chosen.

    Attributes
    ----------
    random_share : float
        Share of the texts that are drawn at random; the model chooses the others.
    refit_every : int
        Number of labels between two fits.
    """

    random_share: float
    refit_every: int = BATCH


def simulate(
    data: Annotated, *, strategy: Strategy, labels: int, measured: tuple[int, ...], seed: int
) -> dict:
    """Label texts up to a number of labels, and return the accuracies on the way.

    Returns
    -------
    dict
        ``labels`` and ``accuracy``, of the texts that are never labelled, after every fit; ``estimates`` has
        for each number of labels in ``measured`` the accuracy for the texts that are left and for those that
        are never labelled, and the estimate with its interval.
    """
    test, rest = data.parts(seed)
    rng, session = np.random.default_rng([seed, 1]), Session(data, test)
    waiting = rng.permutation(rest)  # in the order in which texts are drawn at random
    found: dict[str, Any] = {"labels": [], "accuracy": [], "estimates": {}}
    while len(session.labels) < labels:
        size = min(strategy.refit_every, labels - len(session.labels))
        drawn = round(strategy.random_share * size)
        for number in session.first_free(waiting, drawn):
            session.answer(number, at_random=True)
        for number in session.choose(size - drawn):
            session.answer(number, at_random=False)
        session.refit()
        n = len(session.labels)
        found["labels"].append(n)
        found["accuracy"].append(session.accuracy(test))
        if n in measured and session.outcomes:
            left = rest[[number not in session.labels for number in rest.tolist()]]
            found["estimates"][str(n)] = {
                "left": session.accuracy(left),
                "test": found["accuracy"][-1],
                **estimate_accuracy(session.outcomes)._asdict(),
            }
    return found


class Session:
    """The answers so far, and the model fitted to them."""

    def __init__(self, data: Annotated, never: np.ndarray) -> None:
        self.data = data
        self.labels: dict[int, str] = {}
        self.outcomes: list[bool] = []
        self.model: PoolModel = data.pool.fit({})
        self.excluded = data.pool.copy_of != np.arange(len(data.pool))
        self.excluded[never] = True

    def first_free(self, waiting: np.ndarray, count: int) -> list[int]:
        """Return the first texts that have no label and are no copies."""
        free = (int(i) for i in waiting if not self.excluded[i] and int(i) not in self.labels)
        return [number for number, _ in zip(free, range(count), strict=False)]

    def choose(self, count: int) -> list[int]:
        """Return the texts that the model chooses."""
        if not count:
            return []
        pool, p = self.data.pool, self.model.probabilities
        return choose_texts(p, pool.latent, self.labels, size=count, excluded=self.excluded).tolist()

    def answer(self, number: int, *, at_random: bool) -> None:
        """Label a text."""
        truth = str(self.data.truth[number])
        if at_random and self.model.is_trained:
            self.outcomes.append(self._guess(number) == truth)
        self.labels[number] = truth

    def refit(self) -> None:
        """Fit the model to all labels."""
        self.model = self.data.pool.fit(self.labels, self.model)

    def accuracy(self, numbers: np.ndarray) -> float:
        """Return the share of these texts that the model predicts correctly."""
        guesses = np.array(self.model.classes)[self.model.predicted[numbers]]
        return float(np.mean(guesses == self.data.truth[numbers]))

    def _guess(self, number: int) -> str:
        return self.model.classes[self.model.predicted[number]]


def labels_needed(curve: Mapping[int, float], accuracy: float) -> float | None:
    """Return after how many labels a curve first reaches an accuracy, between its points by a line.

    Examples
    --------
    >>> labels_needed({10: 0.6, 20: 0.7, 30: 0.9}, 0.8)
    25.0
    >>> labels_needed({10: 0.6, 20: 0.7}, 0.8)
    """
    before: tuple[int, float] | None = None
    for n, value in sorted(curve.items()):
        if value >= accuracy:
            if before is None:
                return float(n)
            return float(before[0] + (n - before[0]) * (accuracy - before[1]) / (value - before[1]))
        before = n, value
    return None
