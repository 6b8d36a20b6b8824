"""The texts that are shown next, some chosen by the model and a fixed share drawn at random."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from dropglm.labelling.snapshot import Guess

TRIES = 200  # to draw a text that was not answered, before all are looked at


class Item(NamedTuple):
    """A text to label.

    Attributes
    ----------
    number : int
        Number of the text.
    source : str
        ``"chosen"`` to learn from, ``"random"``, or how a text was found whose label was taken back.
    guess : Guess or None
        What the model predicts, before the text is labelled.
    """

    number: int
    source: str
    guess: Guess | None = None


class Upcoming:
    """Texts to show, in their order.

    Parameters
    ----------
    random_share : float
        Share of the texts that are drawn at random. They serve to estimate the accuracy, so they are shown
        when the model can predict them: those that were due before are made up for afterwards.

    Examples
    --------
    >>> upcoming = Upcoming(0.5)
    >>> guess = Guess(0, 0.9, [])
    >>> upcoming.replace([Item(7, "chosen"), Item(8, "chosen")], [Item(3, "random", guess)])
    >>> [upcoming.take(lambda number: number != 7).number for _ in range(2)]
    [8, 3]
    """

    def __init__(self, random_share: float) -> None:
        self.random_share = random_share
        self._due = 0.0  # random texts that are to be shown, less those that were shown
        # Shown before all others, such as a text that was left for another.
        self._first: deque[Item] = deque()
        self._chosen: deque[Item] = deque()
        self._random: deque[Item] = deque()

    def replace(self, chosen: Iterable[Item], random: Iterable[Item]) -> None:
        """Set the texts to show."""
        self._chosen, self._random = deque(chosen), deque(random)

    def put_back(self, item: Item) -> None:
        """Show a text before all others."""
        self._first.appendleft(item)

    def take(self, is_free: Callable[[int], bool]) -> Item | None:
        """Remove and return the next text that is free; None if there are no more."""
        for waiting in (self._first, self._chosen, self._random):
            while waiting and not is_free(waiting[0].number):
                waiting.popleft()
        if self._first:
            return self._first.popleft()
        self._due += self.random_share
        is_due = self._due >= 1.0 - 1e-9
        counts = bool(self._random) and (self._random[0].guess is not None or self.random_share == 1.0)
        if (is_due and counts) or not self._chosen:
            self._due -= is_due and counts
            return self._random.popleft() if self._random else None
        return self._chosen.popleft()


def draw(copy_of: Sequence[int], is_free: Callable[[int], bool], rng: np.random.Generator) -> Item | None:
    """Draw a text that is free, and no copy of another one, before there is a model; None if there is none.

    Examples
    --------
    >>> draw([0, 1, 1], lambda number: number > 0, np.random.default_rng(0))
    Item(number=1, source='random', guess=None)
    """
    n = len(copy_of)
    for draws in (rng.integers(0, n, TRIES), rng.permutation(n)):
        for number in draws.tolist():
            if copy_of[number] == number and is_free(number):
                return Item(number, "random")
    return None
