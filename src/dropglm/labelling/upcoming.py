"""The texts that are shown next, some chosen by the model and a fixed share drawn at random."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from dropglm.labelling.snapshot import Guess, Snapshot

TRIES = 200  # to draw a text that was not answered, before all are looked at
WORDS = 12  # behind a guess


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


class Screen:
    """The text that is labelled now; the next ones are chosen by the model, or drawn at random.

    Parameters
    ----------
    random_share : float
        Share of the texts that are drawn at random. They serve to estimate the accuracy, so they are shown
        when the model can predict them: those that were due before are made up for afterwards.
    copy_of : sequence of int
        For each text, the number of the first equal one; only these are shown.
    is_free : callable
        Whether the text of a number has no answer.
    seed : int or None
        Seed of the texts that are drawn before there is a model.

    Attributes
    ----------
    current : Item or None
        The text on the screen; None if all have an answer.

    Examples
    --------
    >>> answered = set()
    >>> screen = Screen(0.2, [0, 1, 1], lambda number: number not in answered, 0)
    >>> for _ in range(2):
    ...     screen.move_on()
    ...     answered.add(screen.current.number)
    >>> sorted(answered)
    [0, 1]
    >>> screen.move_on()
    >>> screen.current
    """

    def __init__(
        self, random_share: float, copy_of: Sequence[int], is_free: Callable[[int], bool], seed: int | None
    ) -> None:
        self.current: Item | None = None
        self._random_share, self._copy_of, self._is_free = random_share, copy_of, is_free
        self._due = 0.0  # random texts that are to be shown, less those that were shown
        # Shown before all others, such as a text that was left for another.
        self._first: deque[Item] = deque()
        self._chosen: deque[Item] = deque()
        self._random: deque[Item] = deque()
        self._earlier: dict[int, Item] = {}  # with the guesses that were made before the label was known
        self._snapshot: Snapshot | None = None
        self._rng = np.random.default_rng(seed)

    def move_on(self) -> None:
        """Show the next text."""
        if self.current is not None:
            self._earlier[self.current.number] = self.current
        following = self._next() or self._draw()
        self.current = following and self._with_guess(following)

    def go_back_to(self, number: int, source: str) -> None:
        """Show a text again whose answer was taken back; the one on the screen follows it.

        ``source`` is how the text came to be labelled, if it was not on the screen.
        """
        if self.current is not None:
            self._first.appendleft(self.current)
        self.current = self._with_guess(self._earlier.get(number, Item(number, source)))

    def renew(self, snapshot: Snapshot, chosen: Iterable[Item], random: Iterable[Item]) -> None:
        """Take over what a new model has chosen; the text on the screen stays, perhaps with a first guess."""
        self._snapshot = snapshot
        self._chosen, self._random = deque(chosen), deque(random)
        if self.current is None:
            self.move_on()
        else:
            self.current = self._with_guess(self.current)

    def _next(self) -> Item | None:
        """Remove and return the next text that is free; None if there are no more."""
        for waiting in (self._first, self._chosen, self._random):
            while waiting and not self._is_free(waiting[0].number):
                waiting.popleft()
        if self._first:
            return self._first.popleft()
        self._due += self._random_share
        is_due = self._due >= 1.0 - 1e-9
        counts = bool(self._random) and (self._random[0].guess is not None or self._random_share == 1.0)
        if (is_due and counts) or not self._chosen:
            self._due -= is_due and counts
            return self._random.popleft() if self._random else None
        return self._chosen.popleft()

    def _draw(self) -> Item | None:
        """Draw a text that is free, and no copy of another one, before there is a model."""
        n = len(self._copy_of)
        for draws in (self._rng.integers(0, n, TRIES), self._rng.permutation(n)):
            for number in draws.tolist():
                if self._copy_of[number] == number and self._is_free(number):
                    return Item(number, "random")
        return None

    def _with_guess(self, item: Item) -> Item:
        """Return a text with a guess: that which it has, or that of a model that has not seen its label."""
        model = self._snapshot
        if item.guess is not None or model is None or item.number in model.labelled:
            return item
        return item._replace(guess=model.guess(item.number, WORDS))
