"""The state of labelling that follows from the entries of a journal."""

from dataclasses import dataclass, replace
from functools import singledispatchmethod

from dropglm.labelling.entries import (
    ClassAdded,
    ClassRenamed,
    Entry,
    Kept,
    Labelled,
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

    Classes have numbers, in the order in which they were added, so that they can be renamed.

    Parameters
    ----------
    numbers : TextNumbers
        The texts that are labelled.

    Attributes
    ----------
    classes : list of str
        Names by number.
    by_text : dict of int to Answer
        Answers by number of the text, in the order in which they were given. Copies share the answer of the
        first of them. Numbers of texts that are not in the table are negative.

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
    {}
    """

    def __init__(self, numbers: TextNumbers) -> None:
        self.numbers = numbers
        self.classes: list[str] = []
        self.by_text: dict[int, Answer] = {}
        self._former: dict[str, int] = {}  # numbers of classes by the names that they had before
        self._before: list[dict[int, Answer | None]] = []  # for each answer, what was known of its texts

    def labels(self) -> dict[int, str]:
        """Return the labels of the texts of the table, also of copies of labelled texts."""
        found = self.class_numbers()
        return {
            number: self.classes[found[first]]
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
    def last(self) -> tuple[int, ...]:
        """Texts of the answer that would be undone next; empty if there is none."""
        return tuple(self._before[-1]) if self._before else ()

    def find_class(self, name: str) -> int | None:
        """Return the number of the class that has this name, or else had it before; None if there is none."""
        return self.classes.index(name) if name in self.classes else self._former.get(name)

    def class_number(self, name: str) -> int:
        """Return the number of a class, which is added if it is new."""
        if name not in self.classes:
            self.classes.append(name)
        return self.classes.index(name)

    @singledispatchmethod
    def apply(self, entry: Entry) -> None:
        """Change the state as an entry says."""
        raise TypeError(f"there are no entries of type {type(entry).__name__}.")

    @apply.register
    def _(self, entry: Labelled) -> None:
        label = self.class_number(entry.label)
        guess = None if entry.guess is None else self.class_number(entry.guess)
        self._answer(entry.texts, Answer(label, entry.source, guess, False, entry.time))

    @apply.register
    def _(self, entry: Skipped) -> None:
        self._answer(entry.texts, Answer(None, time=entry.time))

    @apply.register
    def _(self, entry: Kept) -> None:
        before: dict[int, Answer | None] = {}
        for number in map(self.numbers.number, entry.texts):
            if number in self.by_text:
                before.setdefault(number, self.by_text[number])
                self.by_text[number] = replace(self.by_text[number], kept=True)
        if before:
            self._before.append(before)

    @apply.register
    def _(self, entry: Undone) -> None:
        for number, answer in (self._before.pop() if self._before else {}).items():
            if answer is None:
                del self.by_text[number]
            else:
                self.by_text[number] = answer

    @apply.register
    def _(self, entry: ClassAdded) -> None:
        self.class_number(entry.name)

    @apply.register
    def _(self, entry: ClassRenamed) -> None:
        if entry.old in self.classes and entry.new not in self.classes:
            number = self.classes.index(entry.old)
            self.classes[number] = entry.new
            self._former[entry.old] = number

    def _answer(self, texts: tuple[TextReference, ...], new: Answer) -> None:
        before: dict[int, Answer | None] = {}
        for number in map(self.numbers.number, texts):
            old = before.setdefault(number, self.by_text.get(number))
            # A correction changes the label only: the text was drawn and predicted when it was first shown.
            # A text that was skipped has no such prediction, so that it is never part of the random share.
            self.by_text[number] = new if old is None else replace(old, label=new.label, kept=False)
        if new.source != "imported":  # nobody gave it on the page, and the table would bring it back
            self._before.append(before)
