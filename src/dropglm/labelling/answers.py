"""Classes and answers: the state of labelling that follows from the entries of a journal.

Every entry is stored before it counts, and every action of an annotator can be undone. Texts have numbers
and hashes, so that answers find their texts again after the table has changed. Equal texts, but for case and
white space, have one number: that of the first of them.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import ClassVar, Literal

from dropglm.base.errors import InputError, InputTypeError
from dropglm.base.progress import plural
from dropglm.labelling import journal
from dropglm.labelling.journal import Journal, JournalEntry, TextReference
from dropglm.tables import class_names
from dropglm.text.copies import copy_keys, first_copies
from dropglm.text.labels import class_hints, similar_classes


def text_hash(text: str) -> str:
    """Return a short hash of a text.

    Examples
    --------
    >>> text_hash("a lovely film")
    '2f20b2a7c447'
    """
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


class TextNumbers:
    """The numbers of the texts of a table.

    Parameters
    ----------
    texts : sequence of str

    Attributes
    ----------
    copy_of : list of int
        For each text, the number of the first one that is equal but for case and white space.
    n_different : int
        Number of texts, where equal ones count once.
    moved : set of str
        Hashes of the texts that have another number than their references name.
    missing : dict of str to int
        Negative numbers for texts that are not in the table, by hash.

    Examples
    --------
    >>> reference = TextNumbers(["a", "b"]).reference(0)
    >>> TextNumbers(["b", "a"]).number(reference), TextNumbers(["b", "c"]).number(reference)
    (1, -1)
    >>> TextNumbers(["A", "b", "a"]).number(reference)  # the third text is a copy of the first
    0
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        self.copy_of: list[int] = first_copies(copy_keys(texts, str.casefold)).tolist()
        self.n_different = sum(first == number for number, first in enumerate(self.copy_of))
        self.missing: dict[str, int] = {}
        self.moved: set[str] = set()
        self._numbers: dict[str, int] | None = None

    def reference(self, number: int) -> TextReference:
        """Return the reference to a text."""
        number = self.copy_of[number]
        return TextReference(number, text_hash(self.texts[number]))

    def number(self, reference: TextReference) -> int:
        """Return the number of the text of a reference, or of the text that it is a copy of.

        The number is negative if the table does not have the text.
        """
        number, hashed = reference
        if number < len(self.texts) and text_hash(self.texts[number]) == hashed:
            return self.copy_of[number]
        if self._numbers is None:  # the table was changed: hash all its texts, 0.1 s for 50,000
            self._numbers = {}
            for other, text in enumerate(self.texts):
                self._numbers.setdefault(text_hash(text), other)
        found = self._numbers.get(hashed)
        if found is None:
            return self.missing.setdefault(hashed, -1 - len(self.missing))
        self.moved.add(hashed)
        return self.copy_of[found]


LONGEST_NAME = 100  # characters
EXCERPT = 40  # characters of a text, or of the name of a class, in a sentence


def checked_name(name: str) -> str:
    """Return the name of a class without blanks around it; raise an error if it cannot be one.

    As in tables, 1.0 is the class 1.

    Examples
    --------
    >>> checked_name(" good "), checked_name("1.0")
    ('good', '1')
    """
    if isinstance(name, str) and not name.strip():
        raise InputError("A class needs a name, and this one is blank.")
    if not isinstance(name, str) or not name.isprintable():
        raise InputError(f"The name of a class must be a line of text, got {name!r}.")
    if len(name.strip()) > LONGEST_NAME:
        raise InputError(
            f"The name of a class must have at most {LONGEST_NAME} characters, got {len(name.strip())}: "
            f"{name.strip()[:30]}…"
        )
    return class_names([name.strip()])[0]


@dataclass(frozen=True)
class AnswerAction:
    """Texts were labelled, skipped or kept; ``before`` is what was known of them."""

    before: "dict[int, Answer | None]"

    @property
    def numbers(self) -> list[int]:
        """Numbers of the texts that were answered."""
        return list(self.before)

    def can_undo(self, answers: "Answers") -> bool:
        """Return whether the action can still be taken back."""
        return True

    def undo(self, answers: "Answers") -> None:
        """Take the action back."""
        for number, answer in self.before.items():
            if answer is None:
                del answers.by_text[number]
            else:
                answers.by_text[number] = answer

    def sentence(self, answers: "Answers") -> str:
        """Return, before the action is taken back, a sentence of what is the case afterwards."""
        if len(self.before) > 1:
            return f"the answers for {len(self.before)} texts are taken back."
        ((number, old),) = self.before.items()
        text = "a text that is not in the table" if number < 0 else quoted(answers.numbers.texts[number])
        is_now = _name(answers, answers.by_text[number])
        if old is None:
            return f"{text} is no longer {is_now}."
        was = _name(answers, old)
        return f"{text} is {was} again." if was != is_now else f"{text} is {was}, but no longer confirmed."


@dataclass(frozen=True)
class ClassAction:
    """A class was added, renamed or removed.

    ``old`` and ``new`` are its names before and after, None if there was no such class. A class that was
    removed had the given place in the list of classes.
    """

    number: int
    old: str | None
    new: str | None
    place: int = 0
    numbers: ClassVar[list[int]] = []

    def can_undo(self, answers: "Answers") -> bool:
        """Return whether the action can still be taken back."""
        if (self.number in answers.names) != (self.new is not None):
            return False
        return not answers.is_used(self.number) if self.old is None else self.old not in answers.classes

    def undo(self, answers: "Answers") -> None:
        """Take the action back; the name that a renaming gave is forgotten."""
        if self.old is None:
            answers.remove_class(self.number)
        elif self.new is None:
            items = list(answers.names.items())
            answers.names = dict([*items[: self.place], (self.number, self.old), *items[self.place :]])
        else:
            answers.names[self.number] = self.old

    def sentence(self, answers: "Answers") -> str:
        """Return, before the action is taken back, a sentence of what is the case afterwards."""
        if self.new is None:
            return f"the class {quoted(self.old or '')} is back."
        is_now = f"the class {quoted(answers.names[self.number])} is"
        return f"{is_now} removed." if self.old is None else f"{is_now} {quoted(self.old)} again."


def quoted(text: str) -> str:
    """Return the beginning of a text in quotation marks.

    Examples
    --------
    >>> print(quoted("a  lovely film"), quoted("fun " * 20))
    “a lovely film” “fun fun fun fun fun fun fun fun fun fun…”
    """
    # Blanks are joined only in the beginning of the text, which may be very long.
    words = " ".join(text[: 4 * EXCERPT].split()) or "(empty text)"
    return f"“{words}”" if len(words) <= EXCERPT else f"“{words[: EXCERPT - 1].rstrip()}…”"


def _name(answers: "Answers", answer: "Answer") -> str:
    return "skipped" if answer.label is None else quoted(answers.names[answer.label])


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
        Number of the class that was predicted before it was labelled; of a text that is to be asked again,
        the class that was accepted.
    kept : bool
        Whether its label was confirmed.
    time : float
        When it was labelled first, in seconds since 1970.
    check : {"due", "done"} or None
        Whether it is to be asked again, or was, since it was accepted together with others.
    """

    label: int | None
    source: str = "chosen"
    guess: int | None = None
    kept: bool = False
    time: float = 0.0
    check: Literal["due", "done"] | None = None


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
    names : dict of int to str
        Names of the classes by number, in the order in which they are shown; classes that were removed are
        not among them. A number is never given to another class: models and earlier answers refer to it.
    version : int
        Number of entries that have changed the answers.

    Examples
    --------
    >>> answers = Answers(TextNumbers(["a lovely film", "a dull film"]))
    >>> text = answers.numbers.reference(1)
    >>> answers.apply(journal.ClassAdded("bad"), journal.Labeled((text,), "bad"))
    >>> answers.apply(journal.ClassRenamed("bad", "poor"))
    >>> answers.labels()
    {1: 'poor'}
    >>> answers.apply(journal.Undone())
    >>> answers.labels()
    {1: 'bad'}
    >>> answers.apply(journal.ClassAdded("good"), journal.ClassRenamed("good", "fine"))
    >>> answers.apply(journal.ClassRemoved("bad"))  # a class that has labels is not removed
    >>> answers.names, answers.find_class("good")
    ({0: 'bad', 1: 'fine'}, 1)
    """

    def __init__(self, numbers: TextNumbers) -> None:
        self.numbers = numbers
        self.by_text: dict[int, Answer] = {}
        self.names: dict[int, str] = {}
        self.version = 0
        self._former: dict[str, int] = {}  # numbers of classes by the names that they had before
        self._n_classes = 0  # also of those that were removed
        self._actions: list[AnswerAction | ClassAction] = []  # those that are not undone, nor undo others

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

    def drawn(self) -> list[int]:
        """Return the labelled texts that were drawn at random."""
        return [number for number in self.class_numbers() if self.by_text[number].source == "random"]

    def due_checks(self) -> list[int]:
        """Return the texts that were accepted together with others and are to be asked again."""
        return [number for number in self.by_text if number >= 0 and self.is_due(number)]

    def is_due(self, number: int) -> bool:
        """Return whether a text is to be asked again."""
        return number in self.by_text and self.by_text[number].check == "due"

    def checks(self, label: int) -> list[bool]:
        """Return, for the texts accepted as a class that were asked again, whether they belong to it."""
        return [
            answer.label == label
            for number, answer in self.by_text.items()
            if answer.check == "done" and answer.guess == label and number >= 0
        ]

    @property
    def last(self) -> AnswerAction | ClassAction | None:
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
        for number, other in self.names.items():
            if other == name:
                return number
        number = self._former.get(name, -1)
        return number if number in self.names else None

    def add_class(self, name: str) -> int:
        """Return the number of the class of this name, which is added if there is none.

        A class that was removed has its old number again.
        """
        found = self.find_class(name)
        if found is not None and self.names[found] == name:
            return found
        number = self._n_classes if found is not None else self._former.get(name, self._n_classes)
        self._n_classes = max(self._n_classes, number + 1)
        self.names[number] = name
        return number

    def remove_class(self, number: int) -> None:
        """Remove a class."""
        self._former[self.names.pop(number)] = number

    def apply(self, *entries: JournalEntry) -> None:
        """Change the state as entries say."""
        for entry in entries:
            self._apply(entry)
        self.version += len(entries)

    def _apply(self, entry: JournalEntry) -> None:
        before: dict[int, Answer | None] = {}
        match entry:
            case journal.Labeled():
                label = self.add_class(entry.label)
                guess = None if entry.guess is None else self.add_class(entry.guess)
                before = self._answer(entry.texts, Answer(label, entry.source, guess, False, entry.time))
                if entry.source == "imported":
                    before = {}  # nobody gave it on the page, and the table would bring it back
            case journal.LabeledTogether():
                checks = set(entry.checks)
                for text, name in zip(entry.texts, entry.labels, strict=True):
                    answer = Answer(self.add_class(name), "bulk", time=entry.time)
                    if text in checks:
                        answer = replace(answer, guess=answer.label, check="due")
                    before = self._answer((text,), answer) | before
            case journal.Skipped():
                before = self._answer(entry.texts, Answer(None, time=entry.time))
            case journal.Confirmed():
                for number in map(self.numbers.number, entry.texts):
                    if number in self.by_text:
                        before.setdefault(number, self.by_text[number])
                        self.by_text[number] = replace(_checked(self.by_text[number]), kept=True)
            case journal.Undone():
                action = self.last
                if action is not None:
                    del self._actions[max(k for k, one in enumerate(self._actions) if one is action)]
                    action.undo(self)
            case journal.ClassAdded():
                is_new = entry.name not in self.classes
                number = self.add_class(entry.name)
                if is_new and entry.is_undoable:
                    self._actions.append(ClassAction(number, None, entry.name))
            case journal.ClassRenamed():
                if entry.old in self.classes and entry.new not in self.classes:
                    number = self.add_class(entry.old)
                    self._former[entry.old] = number
                    self.names[number] = entry.new
                    self._actions.append(ClassAction(number, entry.old, entry.new))
            case journal.ClassRemoved():
                removed = self.find_class(entry.name)
                if removed is not None and entry.name in self.classes and not self.is_used(removed):
                    place = self.classes.index(entry.name)
                    self.remove_class(removed)
                    self._actions.append(ClassAction(removed, entry.name, None, place))
        if before:
            self._actions.append(AnswerAction(before))

    def _answer(self, texts: tuple[TextReference, ...], new: Answer) -> dict[int, Answer | None]:
        """Set the answers of texts, and return what was known of them."""
        before: dict[int, Answer | None] = {}
        for number in map(self.numbers.number, texts):
            old = before.setdefault(number, self.by_text.get(number))
            # A correction changes the label only: the text was drawn and predicted when it was first shown.
            # A text that was skipped has no such prediction, so that it is never part of the random share.
            self.by_text[number] = new if old is None else replace(_checked(old), label=new.label, kept=False)
        return before


def _checked(answer: Answer) -> Answer:
    """Return an answer after its text was answered again."""
    return replace(answer, check="done") if answer.check else answer


class StoredAnswers(Answers):
    """The answers of a journal, which grow with it.

    Parameters
    ----------
    texts : sequence of str
    path : str or path-like
        The journal; it is created if it does not exist.
    classes : iterable of str
        Classes that are added unless the journal has them.
    labels : mapping of int to str
        Labels by number of the text; they are added for texts without an answer.

    Attributes
    ----------
    journal : Journal
    disputed : list of int
        Texts whose copies have different labels in ``labels``, as long as they are not answered.
    """

    def __init__(
        self,
        texts: Sequence[str],
        path: str | os.PathLike[str],
        classes: Iterable[str] = (),
        labels: Mapping[int, str] | None = None,
    ) -> None:
        _check_texts(texts)
        super().__init__(TextNumbers(texts))
        self.journal = Journal(path)
        try:
            self.apply(*self.journal.entries)
            self._begin(classes, labels or {})
        except BaseException:
            self.journal.close()
            raise

    def append(self, *entries: JournalEntry) -> None:
        """Store entries, then change the answers as they say."""
        if entries:
            self.journal.append(*entries)
            self.apply(*entries)

    @property
    def disputed(self) -> list[int]:
        """Texts without an answer whose copies came with different labels."""
        return sorted(self._unclear - self.by_text.keys())

    @property
    def notices(self) -> list[str]:
        """Sentences about the journal and the table that whoever labels should know."""
        numbers, found = self.numbers, []
        if self.journal.dropped:
            found.append("The last answer before a crash was not complete and is not used.")
        if self.disputed:
            n, have = plural(len(self.disputed), "text"), "has" if len(self.disputed) == 1 else "have"
            found.append(
                f"{n} of the table {have} copies with different labels; none of these is used, and you will "
                "be asked."
            )
        if numbers.moved:
            n, was = plural(len(numbers.moved), "answered text"), "was" if len(numbers.moved) == 1 else "were"
            found.append(f"The table has changed: {n} moved to another row and {was} found again.")
        if numbers.missing:
            n = plural(len(numbers.missing), "answered text")
            answers = "its answer is" if len(numbers.missing) == 1 else "their answers are"
            found.append(f"The table has changed: {n} cannot be found in it, and {answers} not used.")
        if self._added:
            before, added = map(", ".join, self._added)
            found.append(f"Classes of the labels so far: {before}; new: {added}.")
        found += class_hints(dict.fromkeys(self.classes))
        if len(self.classes) == 1:
            found.append(
                "There is only one class; add another one, since a model learns to tell classes apart."
            )
        return found

    def check_class(self, name: str) -> None:
        """Raise an error if there is no such class."""
        if name not in self.classes:
            raise InputError(f"There is no class {quoted(name)}; add it first.")

    def new_name(self, name: str, old: str | None = None) -> str:
        """Return the name that a class is to get, which another one must not have, not even in other case.

        ``old`` is the name that it has so far.
        """
        name = checked_name(name)
        for other in self.classes:
            if other == name:
                raise InputError(f"There is already a class {quoted(name)}.")
            if other != old and similar_classes([name, other]):
                raise InputError(
                    f"There is already a class {quoted(other)}; names must differ in more than case and "
                    "whitespace."
                )
        return name

    def check_unused(self, name: str) -> None:
        """Raise an error if there is no such class, or if a text has it."""
        self.check_class(name)
        if self.is_used(self.class_number(name)):
            raise InputError(f"The class {quoted(name)} has labels; rename it, or correct its labels first.")

    def check_number(self, number: int) -> int:
        """Return the number of a text, of the first one among copies; raise an error if there is none."""
        n = len(self.numbers.texts)
        if type(number) is not int or not 0 <= number < n:
            raise InputError(f"There is no text {number!r}; there are {n:,} texts.")
        return self.numbers.copy_of[number]

    def class_number(self, name: str) -> int:
        """Return the number of a class that exists under this name, or did so before it was renamed."""
        number = self.find_class(checked_name(name))
        assert number is not None
        return number

    def _begin(self, classes: Iterable[str], labels: Mapping[int, str]) -> None:
        names = dict.fromkeys(map(checked_name, [*classes, *labels.values()]))
        # A class that was renamed is not added again under its old name.
        before, added = list(self.classes), [n for n in names if self.find_class(n) is None]
        self.append(*map(journal.ClassAdded, added))
        self._added = (before, added) if before and added else None
        found: dict[int, set[int]] = {}
        for number, label in labels.items():
            found.setdefault(self.check_number(number), set()).add(self.class_number(label))
        found = {number: given for number, given in found.items() if number not in self.by_text}
        self._unclear = {number for number, given in found.items() if len(given) > 1}
        self.append(
            *(
                journal.Labeled((self.numbers.reference(number),), self.names[min(given)], "imported")
                for number, given in found.items()
                if number not in self._unclear
            )
        )


def _check_texts(texts: Sequence[str]) -> None:
    if isinstance(texts, str):
        raise InputTypeError("texts must be a list of strings, got a single string; put it into a list.")
    if set(map(type, texts)) <= {str}:  # fast, for very many texts
        return
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputTypeError(f"Text {number} (counted from 0) must be a string, got {text!r:.40}.")
