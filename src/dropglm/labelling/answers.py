"""The state of labelling that follows from the entries of a journal."""

from dataclasses import dataclass, replace
from functools import singledispatchmethod

from dropglm.errors import InputTypeError
from dropglm.labelling.actions import Action, Added, Answered, Removed, Renamed
from dropglm.labelling.classes import Classes
from dropglm.labelling.entries import (
    AnswerUndone,
    ClassAdded,
    ClassRemoved,
    ClassRenamed,
    Entry,
    Kept,
    Labelled,
    LabelledTogether,
    Skipped,
    TextReference,
    Undone,
)
from dropglm.labelling.text_numbers import TextNumbers


@dataclass(frozen=True)
class Answer:
    """What is known of one text.

    Attributes
    ----------
    label : int or None
        Number of its class; None if it was skipped.
    source : str
        How it came to be labelled first.
    guess : int or None
        Number of the class that was predicted before it was labelled.
    kept : bool
        Whether its label was confirmed.
    time : float
        When it was labelled first, in seconds since 1970.
    """

    label: int | None
    source: str = "chosen"
    guess: int | None = None
    kept: bool = False
    time: float = 0.0


class Answers:
    """Classes and answers; each entry of a journal changes them.

    Classes have numbers, so that they can be renamed and removed.

    Parameters
    ----------
    numbers : TextNumbers
        The texts that are labelled.

    Attributes
    ----------
    by_text : dict of int to Answer
        Answers by number of the text, in the order in which they were given. Copies share the answer of the
        first of them. Numbers of texts that are not in the table are negative.
    class_names : Classes
        Names of the classes by number.

    Examples
    --------
    >>> answers = Answers(TextNumbers(["a lovely film", "a dull film"]))
    >>> text = answers.numbers.reference(1)
    >>> for entry in (ClassAdded("bad"), Labelled((text,), "bad"), ClassRenamed("bad", "poor")):
    ...     answers.apply(entry)
    >>> answers.labels()
    {1: 'poor'}
    >>> answers.apply(Undone())
    >>> answers.labels()
    {1: 'bad'}
    """

    def __init__(self, numbers: TextNumbers) -> None:
        self.numbers = numbers
        self.by_text: dict[int, Answer] = {}
        self.class_names = Classes()
        self._actions: list[Action] = []  # those that are not undone, nor undo others

    @property
    def names(self) -> dict[int, str]:
        """Names of the classes by number; classes that were removed are not among them."""
        return self.class_names.names

    @property
    def classes(self) -> list[str]:
        """Names of the classes, in the order in which they are shown."""
        return list(self.names.values())

    def labels(self) -> dict[int, str]:
        """Return the labels of the texts of the table, also of copies of labelled texts."""
        found = self.class_numbers()
        return {
            number: self.names[found[first]]
            for number, first in enumerate(self.numbers.copy_of)
            if first in found
        }

    def class_numbers(self) -> dict[int, int]:
        """Return the labels as numbers of classes in the order of answers; of copies, that of the first."""
        return {
            number: answer.label
            for number, answer in self.by_text.items()
            if answer.label is not None and number >= 0
        }

    def outcomes(self) -> list[tuple[int, bool]]:
        """Return the texts of the random share that were predicted, and whether the prediction was right."""
        return [
            (number, answer.guess == answer.label)
            for number, answer in self.by_text.items()
            if answer.source == "random" and answer.guess is not None and answer.label is not None
        ]

    @property
    def last(self) -> Action | None:
        """The action that would be undone next; None if there is none."""
        return next((action for action in reversed(self._actions) if action.can_undo(self)), None)

    def recent(self, k: int) -> list[int]:
        """Return the texts that were answered, corrected or confirmed last, the last one first."""
        found: dict[int, None] = {}
        for action in reversed(self._actions):
            found |= dict.fromkeys(number for number in reversed(action.numbers) if number >= 0)
            if len(found) >= k:
                break
        return list(found)[:k]

    def is_used(self, number: int) -> bool:
        """Return whether any answer has this class."""
        return any(answer.label == number for answer in self.by_text.values())

    def find_class(self, name: str) -> int | None:
        """Return the number of the class that has this name, or else had it before; None if there is none."""
        return self.class_names.find(name)

    @singledispatchmethod
    def apply(self, entry: Entry) -> None:
        """Change the state as an entry says."""
        raise InputTypeError(f"there are no entries of type {type(entry).__name__}.")

    @apply.register
    def _(self, entry: Labelled) -> None:
        label = self.class_names.add(entry.label)
        guess = None if entry.guess is None else self.class_names.add(entry.guess)
        before = self._answer(entry.texts, Answer(label, entry.source, guess, False, entry.time))
        if entry.source != "imported":  # nobody gave it on the page, and the table would bring it back
            self._actions.append(Answered(before))

    @apply.register
    def _(self, entry: LabelledTogether) -> None:
        before: dict[int, Answer | None] = {}
        for text, name in zip(entry.texts, entry.labels, strict=True):
            answer = Answer(self.class_names.add(name), "bulk", time=entry.time)
            before = self._answer((text,), answer) | before
        self._actions.append(Answered(before))

    @apply.register
    def _(self, entry: Skipped) -> None:
        self._actions.append(Answered(self._answer(entry.texts, Answer(None, time=entry.time))))

    @apply.register
    def _(self, entry: Kept) -> None:
        before: dict[int, Answer | None] = {}
        for number in map(self.numbers.number, entry.texts):
            if number in self.by_text:
                before.setdefault(number, self.by_text[number])
                self.by_text[number] = replace(self.by_text[number], kept=True)
        if before:
            self._actions.append(Answered(before))

    @apply.register
    def _(self, entry: Undone) -> None:
        self._undo(self.last)

    @apply.register
    def _(self, entry: AnswerUndone) -> None:
        answers = (action for action in reversed(self._actions) if isinstance(action, Answered))
        self._undo(next(answers, None))

    @apply.register
    def _(self, entry: ClassAdded) -> None:
        is_new = entry.name not in self.classes
        number = self.class_names.add(entry.name)
        if is_new and entry.is_undoable:
            self._actions.append(Added(number))

    @apply.register
    def _(self, entry: ClassRenamed) -> None:
        if entry.old in self.classes and entry.new not in self.classes:
            number = self.class_names.add(entry.old)
            self.class_names.rename(number, entry.new)
            self._actions.append(Renamed(number, entry.old))

    @apply.register
    def _(self, entry: ClassRemoved) -> None:
        number = self.find_class(entry.name)
        if number is not None and entry.name in self.classes and not self.is_used(number):
            place = self.classes.index(entry.name)
            self.class_names.remove(number)
            self._actions.append(Removed(number, entry.name, place))

    def _answer(self, texts: tuple[TextReference, ...], new: Answer) -> dict[int, Answer | None]:
        """Set the answers of texts, and return what was known of them."""
        before: dict[int, Answer | None] = {}
        for number in map(self.numbers.number, texts):
            old = before.setdefault(number, self.by_text.get(number))
            # A correction changes the label only: the text was drawn and predicted when it was first shown.
            # A text that was skipped has no such prediction, so that it is never part of the random share.
            self.by_text[number] = new if old is None else replace(old, label=new.label, kept=False)
        return before

    def _undo(self, action: Action | None) -> None:
        if action is not None:
            del self._actions[max(place for place, one in enumerate(self._actions) if one is action)]
            action.undo(self)
