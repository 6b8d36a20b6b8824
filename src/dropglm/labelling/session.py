"""Labelling of some texts, with a model that learns in the background; the state behind the page."""

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dropglm.base.errors import InputError
from dropglm.labelling import journal
from dropglm.labelling.answers import StoredAnswers
from dropglm.labelling.background_trainer import (
    WORDS,
    BackgroundTrainer,
    Guess,
    Item,
    LabelsToLearn,
    Snapshot,
    SuspiciousLabels,
)
from dropglm.labelling.journal import JournalEntry, TextReference
from dropglm.tables import class_names

if TYPE_CHECKING:
    from dropglm.text.fitted_model import AnyTextModel

TRIES = 200  # to draw a text that was not answered, before all are looked at
FEWEST_OUTCOMES = 10  # texts drawn at random; fewer say nothing about how many texts are right
# Of the texts that are accepted together, as a check: one in five, and at least three. Every third text that
# is shown is one of these while there are any: at once, one would remember the list.
CHECK_SHARE, FEWEST_CHECKS, CHECK_EVERY = 0.2, 3, 3


class ChangedError(InputError):
    """The session was changed by someone else, such as another tab of the browser."""


class TextQueue:
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
    due_checks : callable
        Returns the texts that are to be asked again.
    order : sequence of int or None, default=None
        Texts to show instead of those that the model chooses, in this order; nothing else follows them.

    Attributes
    ----------
    current : Item or None
        The text on the screen; None if all have an answer.

    Examples
    --------
    >>> answered = set()
    >>> screen = TextQueue(0.2, [0, 1, 1], lambda number: number not in answered, 0)
    >>> for _ in range(2):
    ...     screen.show_next()
    ...     answered.add(screen.current.number)
    >>> sorted(answered)
    [0, 1]
    >>> screen.show_next()
    >>> screen.current
    """

    def __init__(
        self,
        random_share: float,
        copy_of: Sequence[int],
        is_free: Callable[[int], bool],
        seed: int | None,
        due_checks: Callable[[], Sequence[int]] = list,
        order: Sequence[int] | None = None,
    ) -> None:
        self.current: Item | None = None
        self._random_share, self._copy_of, self._is_free = random_share, copy_of, is_free
        self._due_checks, self._since_check = due_checks, 0
        self._due = 0.0  # random texts that are to be shown, less those that were shown
        # Shown before all others, such as a text that was left for another.
        self._first: deque[Item] = deque()
        self._has_order = order is not None
        self._chosen = deque(Item(copy_of[number], "chosen") for number in order or ())
        self._random: deque[Item] = deque()
        self._earlier: dict[int, Item] = {}  # with the guesses that were made before the label was known
        self._snapshot: Snapshot | None = None
        self._rng = np.random.default_rng(seed)

    def show_next(self) -> None:
        """Show the next text."""
        if self.current is not None:
            self._earlier[self.current.number] = self.current
        following = self._next() or (None if self._has_order else self._draw())
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
        self._random = deque(random)
        if not self._has_order:
            self._chosen = deque(chosen)
        if self.current is None:
            self.show_next()
        else:
            self.current = self._with_guess(self.current)

    def _next(self) -> Item | None:
        """Remove and return the next text that is free; None if there are no more."""
        for waiting in (self._first, self._chosen, self._random):
            while waiting and not self._is_free(waiting[0].number):
                waiting.popleft()
        if self._first:
            return self._first.popleft()
        checks, ends = self._due_checks(), not self._chosen and (self._has_order or not self._random)
        self._since_check += 1
        if checks and (self._since_check >= CHECK_EVERY or ends):
            self._since_check = 0
            return Item(checks[0], "check")
        if ends and self._has_order:
            return None
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
        is_known = model is None or item.number in model.labelled or item.source == "check"
        if item.guess is not None or model is None or is_known:
            return item
        return item._replace(guess=model.guess(item.number, WORDS))


class LabellingSession:
    """Texts, their labels so far, and a model that learns from them while labelling continues.

    Every answer is stored in a journal before the method returns. A session with the same journal continues
    where the last one ended.

    Parameters
    ----------
    texts : sequence of str
        Texts to label.
    path : str or path-like
        The journal; it is created if it does not exist.
    classes : iterable of str, default=()
        Names of classes to start with. More can be added at any time.
    labels : mapping of int to str, optional
        Labels that some texts have already, by number of the text. They are used for texts that have no
        answer in the journal. Copies share one label; if their labels differ, none of them is used.
    start_from : TextClassifier or OnlineTextClassifier, optional
        A trained model whose guesses are used while there are few labels.
    embedder : str, callable, object with a method ``encode`` or None, default=None
        Model that computes embeddings of the texts, as in ``TextClassifier``. All texts are embedded in the
        background; until then, models use n-grams alone.
    random_share : float, default=0.2
        Share of the texts that are drawn at random and not chosen by the model; they give an estimate of the
        accuracy that is not biased by the choice, and probabilities are calibrated on them.
    order : sequence of int, optional
        Numbers of the texts to ask for, in this order, instead of those that the model chooses, such as those
        that another model has left open. The random share is still one of all texts. After the last one,
        ``current`` is None.
    n_jobs : int or None, default=None
        Number of threads of a fit; None means all cores but one.
    seed : int or None, default=None
        Seed of the texts that are drawn at random.

    Attributes
    ----------
    texts : sequence of str
    answers : Answers
        Classes and answers so far.
    current : Item or None
        The text to label now; None if all are labelled or skipped.
    snapshot : Snapshot or None
        The newest model.
    suspects : SuspiciousLabels or None
        Labels that may be wrong, when they were last looked for.

    See Also
    --------
    TextPool : The texts and models behind a session.
    choose_texts : The texts to label next.

    Examples
    --------
    >>> import tempfile
    >>> from dropglm.labelling import LabellingSession
    >>> texts = ["a lovely film", "a dull film", "lovely music", "so dull"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with LabellingSession(texts, f"{folder}/labels.jsonl", classes=["good", "bad"]) as session:
    ...         while session.current is not None:
    ...             label = "good" if "lovely" in texts[session.current.number] else "bad"
    ...             item = session.answer(label)
    ...     with LabellingSession(texts, f"{folder}/labels.jsonl") as session:
    ...         sorted(session.answers.labels().items())
    [(0, 'good'), (1, 'bad'), (2, 'good'), (3, 'bad')]
    """

    def __init__(
        self,
        texts: Sequence[str],
        path: str | os.PathLike[str],
        *,
        classes: Iterable[str] = (),
        labels: Mapping[int, str] | None = None,
        start_from: "AnyTextModel | None" = None,
        embedder: Any = None,
        random_share: float = 0.2,
        order: Sequence[int] | None = None,
        n_jobs: int | None = None,
        seed: int | None = None,
    ) -> None:
        if not (isinstance(random_share, (int, float)) and 0.0 <= random_share <= 1.0):
            raise InputError(f"random_share must be a number from 0 to 1, got {random_share!r}.")
        if not len(texts):
            raise InputError("There are no texts to label.")
        self.texts, self.embedder = texts, embedder
        self.snapshot: Snapshot | None = None
        self.suspects: SuspiciousLabels | None = None
        self.lock = threading.RLock()  # of all that can be seen; never held while the disk is waited for
        self._acting = threading.RLock()  # one action at a time; taken before the other lock
        self._labels_version = 0  # version at the last change of a label
        start_classes = [] if start_from is None else class_names(start_from.classes_.tolist())
        self.answers = StoredAnswers(texts, path, [*classes, *start_classes], labels or {})
        self._start_classes = {name: self.answers.class_number(name) for name in start_classes}
        threads = max((os.cpu_count() or 1) - 1, 1) if n_jobs is None else n_jobs
        self._rng = np.random.default_rng(seed)  # of checks
        self._screen = TextQueue(
            float(random_share),
            self.answers.numbers.copy_of,
            self.is_free,
            seed,
            self.answers.due_checks,
            None if order is None else list(map(self.answers.check_number, order)),
        )
        self._learner = BackgroundTrainer(
            texts,
            self._renew,
            self._take_suspects,
            copy_of=self.answers.numbers.copy_of,
            start_from=start_from,
            embedder=embedder,
            n_jobs=threads,
            seed=seed,
        )
        with self.lock:
            self._learn()
            self._screen.show_next()

    # What is known.

    @property
    def current(self) -> Item | None:
        """The text to label now; None if all are labelled or skipped."""
        return self._screen.current

    @property
    def path(self) -> os.PathLike[str]:
        """The file of the journal."""
        return self.answers.journal.path

    @property
    def version(self) -> int:
        """Number of entries of the journal: it grows with each change."""
        return self.answers.version

    @property
    def is_learning(self) -> bool:
        """Whether a model is being fitted, or features are being computed."""
        return self._learner.is_busy

    @property
    def is_ready(self) -> bool:
        """Whether models can be fitted without delay: the features of all texts are computed."""
        return self._learner.is_ready

    @property
    def problem(self) -> str | None:
        """Why nothing was learnt from the last labels, in a sentence; None if nothing is wrong."""
        return self._learner.problem

    @property
    def notices(self) -> list[str]:
        """Sentences about the journal and the table that whoever labels should know."""
        return self.answers.notices

    def guess(self, number: int) -> Guess | None:
        """Return what the newest model predicts for a text.

        Parameters
        ----------
        number : int
            Number of the text.

        Returns
        -------
        Guess or None
            The prediction; None while there is no model.
        """
        return None if self.snapshot is None else self.snapshot.guess(number)

    def is_free(self, number: int) -> bool:
        """Return whether a text has neither a label nor was skipped.

        Parameters
        ----------
        number : int
            Number of the text.

        Returns
        -------
        bool
            True if the text is still to be labelled.
        """
        return self.answers.numbers.copy_of[number] not in self.answers.by_text

    # What an annotator does. Each method stores its entry before anything changes.

    def answer(
        self, label: str, number: int | None = None, *, source: str = "search", seen: int | None = None
    ) -> Item | None:
        """Label the current text, or another one, and return the next text to label.

        Parameters
        ----------
        label : str
            Name of a class.
        number : int, optional
            Another text, which may have a label that this one corrects.
        source : str, default="search"
            How another text was found: ``"search"`` or ``"bulk"``.
        seen : int, optional
            The version that the annotator has seen; there is an error if it is not the current one.

        Returns
        -------
        Item or None
            The next text to label; None if there are no more.
        """
        with self._action(seen):
            self.answers.check_class(label)
            text, item, guess = self._reference(number), self.current, None
            if item is not None and item.number == text.number:
                source = item.source
                guess = item.guess and self.answers.names.get(item.guess.label)
            return self._store(journal.Labeled((text,), label, source, guess, _now()), text)

    def answer_all(self, labels: Mapping[int, str], *, seen: int | None = None) -> Item | None:
        """Label several texts, by number, in one action, and return the next text to label.

        Texts that have an answer keep it: it was given on purpose, perhaps after these texts were listed.

        Parameters
        ----------
        labels : mapping of int to str
            Names of classes, by number of the text.
        seen : int, optional
            The version that the annotator has seen; there is an error if it is not the current one.

        Returns
        -------
        Item or None
            The next text to label; None if there are no more.
        """
        with self._action(seen):
            return self._label_together(labels)

    def accept(self, labels: Mapping[int, str], *, seen: int | None = None) -> Item | None:
        """Label some of the texts that the model is surest of in one action, as ``answer_all`` does.

        One in five, at least three, is asked again later, as a check of how many were right: see
        ``dropglm.labelling.panels.right_among_surest``. There is an error until at least ten texts drawn at
        random have shown how good the model is.

        Parameters
        ----------
        labels : mapping of int to str
            Names of classes, by number of the text.
        seen : int, optional
            The version that the annotator has seen; there is an error if it is not the current one.

        Returns
        -------
        Item or None
            The next text to label; None if there are no more.
        """
        with self._action(seen):
            return self._label_together(labels, checked=True)

    @property
    def why_not_accept(self) -> str | None:
        """Why texts cannot be accepted together yet, in a sentence; None if they can."""
        n = len(self.answers.outcomes())
        if n >= FEWEST_OUTCOMES:
            return None
        return (
            "Texts can be accepted together when it is known how many are right "
            f"({n} of {FEWEST_OUTCOMES} random texts answered)."
        )

    def skip(self, number: int | None = None, *, seen: int | None = None) -> Item | None:
        """Leave a text without a label, also if it had one, and return the next text to label.

        Parameters
        ----------
        number : int, optional
            Another text than the current one.
        seen : int, optional
            The version that the annotator has seen; there is an error if it is not the current one.

        Returns
        -------
        Item or None
            The next text to label; None if there are no more.
        """
        with self._action(seen):
            text = self._reference(number)
            return self._store(journal.Skipped((text,), _now()), text)

    def keep(self, number: int, *, seen: int | None = None) -> None:
        """Confirm a label that looked suspicious.

        Parameters
        ----------
        number : int
            Number of the text.
        seen : int, optional
            The version that the annotator has seen; there is an error if it is not the current one.
        """
        with self._action(seen):
            text = self._reference(number)
            if self.is_free(text.number):
                raise InputError(f"Text {text.number} has no label to keep.")
            self._store(journal.Confirmed((text,), _now()))

    def undo(self, *, seen: int | None = None) -> list[int]:
        """Take the last action back and return its texts; a text that has no answer now is shown again.

        Parameters
        ----------
        seen : int, optional
            The version that the annotator has seen; there is an error if it is not the current one.

        Returns
        -------
        list of int
            Numbers of the texts whose answers were taken back.
        """
        with self._action(seen):
            action = self.answers.last
            if action is None:
                raise InputError("There is nothing to undo.")
            numbers = [number for number in action.numbers if number >= 0]
            sources = {number: self.answers.by_text[number].source for number in numbers}
            entry = journal.Undone(_now())
            self.answers.journal.append(entry)
            with self.lock:
                self.answers.apply(entry)
                open_ones = [n for n in numbers if self.is_free(n) or self.answers.is_due(n)]
                if len(numbers) == 1 and open_ones:
                    self._screen.go_back_to(open_ones[0], sources[open_ones[0]])
                elif self.current is None or self._is_stale(self.current):
                    self._screen.show_next()
                if action.numbers:
                    self._learn()
            return numbers

    def add_class(self, name: str, *, seen: int | None = None) -> None:
        """Add a class.

        Parameters
        ----------
        name : str
            Name of the class.
        seen : int, optional
            The version that the annotator has seen; there is an error if it is not the current one.
        """
        with self._action(seen):
            self._store(journal.ClassAdded(self.answers.new_name(name), is_undoable=True))

    def rename_class(self, old: str, new: str, *, seen: int | None = None) -> None:
        """Rename a class; its labels have the new name from then on.

        Parameters
        ----------
        old, new : str
            The name so far, and the new one.
        seen : int, optional
            The version that the annotator has seen; there is an error if it is not the current one.
        """
        with self._action(seen):
            self.answers.check_class(old)
            if old != new:
                self._store(journal.ClassRenamed(old, self.answers.new_name(new, old)))

    def remove_class(self, name: str, *, seen: int | None = None) -> None:
        """Remove a class that no text has.

        Parameters
        ----------
        name : str
            Name of the class.
        seen : int, optional
            The version that the annotator has seen; there is an error if it is not the current one.
        """
        with self._action(seen):
            self.answers.check_unused(name)
            self._store(journal.ClassRemoved(name))

    def look_for_suspects(self) -> None:
        """Look for suspicious labels in the background, unless those of the present labels are known."""
        with self.lock:
            if self.suspects is None or self.suspects.version != self._labels_version:
                self._learner.check(self._lesson())

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the model has learnt from all labels; return False if it takes longer.

        Parameters
        ----------
        timeout : float, optional
            Seconds to wait at most; by default without limit.

        Returns
        -------
        bool
            Whether the model has learnt from all labels.
        """
        return self._learner.wait(timeout)

    def close(self) -> None:
        """Stop learning and close the journal.

        This does not wait for the features of all texts, if they are still being computed; Python does so
        when it ends.
        """
        self._learner.close()
        with self._acting:
            self.answers.journal.close()

    @property
    def has_ended(self) -> bool:
        """Whether a session that was closed does nothing any more, not even compute features."""
        return self._learner.has_ended

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Inside.

    @contextmanager
    def _action(self, seen: int | None) -> Iterator[None]:
        """Wait for other actions; raise an error if this is not the version that the annotator has seen."""
        with self._acting:
            if seen is not None and seen != self.version:
                raise ChangedError("The labels were changed in another tab; reload the page.")
            yield

    def _is_stale(self, item: Item) -> bool:
        """Return whether a text is shown as a check that is not due any more."""
        return item.source == "check" and not self.answers.is_due(item.number)

    def _reference(self, number: int | None) -> TextReference:
        """Return the reference to a text, by default to the current one."""
        if number is not None:
            return self.answers.numbers.reference(self.answers.check_number(number))
        if self.current is None:
            raise InputError("All texts are labelled or skipped.")
        return self.answers.numbers.reference(self.current.number)

    def _label_together(self, labels: Mapping[int, str], *, checked: bool = False) -> Item | None:
        """Label several texts in one action; some of them are to be asked again if they are checked."""
        if not labels:
            raise InputError("There are no texts to label.")
        for label in labels.values():
            self.answers.check_class(label)
        found = {self._reference(number): label for number, label in labels.items()}  # copies share one
        found = {text: label for text, label in found.items() if self.is_free(text.number)}
        if not found:
            raise InputError("All of these texts have an answer already.")
        problem = self.why_not_accept if checked else None
        if problem is not None:
            raise InputError(problem)
        n = min(max(round(CHECK_SHARE * len(found)), FEWEST_CHECKS), len(found)) if checked else 0
        texts = list(found)
        checks = tuple(texts[k] for k in sorted(self._rng.choice(len(texts), n, replace=False).tolist()))
        entry = journal.LabeledTogether((*found,), (*found.values(),), _now(), checks)
        return self._store(entry, *found)

    def _lesson(self) -> LabelsToLearn:
        labels = {number: str(label) for number, label in self.answers.class_numbers().items()}
        answered = [number for number in self.answers.by_text if number >= 0]
        drawn = self.answers.drawn()
        return LabelsToLearn(self._labels_version, labels, answered, self._start_classes, drawn)

    def _learn(self) -> None:
        self._labels_version = self.version
        self._learner.learn(self._lesson())

    def _store(self, entry: JournalEntry, *answered: TextReference) -> Item | None:
        """Store an entry and return the current text; learn if texts were answered."""
        self.answers.journal.append(entry)  # without the lock, since the disk may be slow
        with self.lock:
            self.answers.apply(entry)
            if self.current is not None and self.current.number in {text.number for text in answered}:
                self._screen.show_next()
            if answered:
                self._learn()
            return self.current

    # The learner calls these in its thread.

    def _renew(self, snapshot: Snapshot, chosen: list[Item], random: list[Item]) -> None:
        with self.lock:
            self.snapshot = snapshot
            self._screen.renew(snapshot, chosen, random)

    def _take_suspects(self, found: SuspiciousLabels) -> None:
        with self.lock:
            self.suspects = found


def _now() -> float:
    return round(time.time(), 2)
