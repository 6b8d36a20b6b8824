"""The text on the screen of an annotator, and the one that follows it."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from dropglm.labelling.snapshot import Snapshot
from dropglm.labelling.upcoming import Item, Upcoming, draw

WORDS = 12  # behind a guess


class Screen:
    """The text that is labelled now; the next ones are chosen by the model, or drawn at random.

    Parameters
    ----------
    random_share : float
        Share of the texts that are drawn at random.
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
        self._copy_of, self._is_free = copy_of, is_free
        self._upcoming = Upcoming(random_share)
        self._earlier: dict[int, Item] = {}  # with the guesses that were made before the label was known
        self._snapshot: Snapshot | None = None
        self._rng = np.random.default_rng(seed)

    def move_on(self) -> None:
        """Show the next text."""
        if self.current is not None:
            self._earlier[self.current.number] = self.current
        following = self._upcoming.take(self._is_free) or draw(self._copy_of, self._is_free, self._rng)
        self.current = following and self._with_guess(following)

    def go_back_to(self, number: int, source: str) -> None:
        """Show a text again whose answer was taken back; the one on the screen follows it.

        ``source`` is how the text came to be labelled, if it was not on the screen.
        """
        if self.current is not None:
            self._upcoming.put_back(self.current)
        self.current = self._with_guess(self._earlier.get(number, Item(number, source)))

    def renew(self, snapshot: Snapshot, chosen: Iterable[Item], random: Iterable[Item]) -> None:
        """Take over what a new model has chosen; the text on the screen stays, perhaps with a first guess."""
        self._snapshot = snapshot
        self._upcoming.replace(chosen, random)
        if self.current is None:
            self.move_on()
        else:
            self.current = self._with_guess(self.current)

    def _with_guess(self, item: Item) -> Item:
        """Return a text with a guess: that which it has, or that of a model that has not seen its label."""
        model = self._snapshot
        if item.guess is not None or model is None or item.number in model.labelled:
            return item
        return item._replace(guess=model.guess(item.number, WORDS))
