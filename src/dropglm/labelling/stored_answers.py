"""Answers that are stored in a journal before they count."""

import os
from collections.abc import Iterable, Mapping, Sequence

from dropglm.errors import InputError, InputTypeError
from dropglm.labelling.actions import quoted
from dropglm.labelling.answers import Answers
from dropglm.labelling.classes import checked_name
from dropglm.labelling.entries import ClassAdded, Entry, Labelled
from dropglm.labelling.journal import Journal
from dropglm.labelling.text_numbers import TextNumbers
from dropglm.text.similar_classes import class_hints, similar_classes


class StoredAnswers:
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
    answers : Answers
    disputed : list of int
        Texts whose copies have different labels in ``labels``, as long as they are not answered.
    version : int
        Number of entries that have changed the answers.
    """

    def __init__(
        self,
        texts: Sequence[str],
        path: str | os.PathLike[str],
        classes: Iterable[str] = (),
        labels: Mapping[int, str] | None = None,
    ) -> None:
        _check_texts(texts)
        self.answers = Answers(TextNumbers(texts))
        self.version = 0
        self.journal = Journal(path)
        try:
            self.apply(*self.journal.entries)
            self._begin(classes, labels or {})
        except BaseException:
            self.journal.close()
            raise

    def append(self, *entries: Entry) -> None:
        """Store entries, then change the answers as they say."""
        if entries:
            self.journal.append(*entries)
            self.apply(*entries)

    def apply(self, *entries: Entry) -> None:
        """Change the answers as stored entries say."""
        for entry in entries:
            self.answers.apply(entry)
        self.version += len(entries)

    @property
    def disputed(self) -> list[int]:
        """Texts without an answer whose copies came with different labels."""
        return sorted(self._unclear - self.answers.by_text.keys())

    @property
    def notices(self) -> list[str]:
        """Sentences about the journal and the table that whoever labels should know."""
        numbers, found = self.answers.numbers, []
        if self.journal.dropped:
            found.append("The last answer before a crash was not complete and is not used.")
        if self.disputed:
            n, have = _count(len(self.disputed), "text"), "has" if len(self.disputed) == 1 else "have"
            found.append(
                f"{n} of the table {have} copies with different labels; none of these is used, and you will "
                "be asked."
            )
        if numbers.moved:
            n, was = _count(numbers.moved, "answered text"), "was" if numbers.moved == 1 else "were"
            found.append(f"The table has changed: {n} moved to another row and {was} found again.")
        if numbers.missing:
            n = _count(len(numbers.missing), "answered text")
            answers = "its answer is" if len(numbers.missing) == 1 else "their answers are"
            found.append(f"The table has changed: {n} cannot be found in it, and {answers} not used.")
        if self._added:
            before, added = map(", ".join, self._added)
            found.append(f"Classes of the labels so far: {before}; new: {added}.")
        found += class_hints(dict.fromkeys(self.answers.classes), "leave the label empty in the table")
        if len(self.answers.classes) == 1:
            found.append(
                "There is only one class; add another one, since a model learns to tell classes apart."
            )
        return found

    def check_class(self, name: str) -> None:
        """Raise an error if there is no such class."""
        if name not in self.answers.classes:
            raise InputError(f"There is no class {quoted(name)}; add it first.")

    def new_name(self, name: str, old: str | None = None) -> str:
        """Return the name that a class is to get, which another one must not have, not even in other case.

        ``old`` is the name that it has so far.
        """
        name = checked_name(name)
        for other in self.answers.classes:
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
        if self.answers.is_used(self.class_number(name)):
            raise InputError(f"The class {quoted(name)} has labels; rename it, or correct its labels first.")

    def check_number(self, number: int) -> int:
        """Return the number of a text, of the first one among copies; raise an error if there is none."""
        n = len(self.answers.numbers.texts)
        if type(number) is not int or not 0 <= number < n:
            raise InputError(f"There is no text {number!r}; there are {n:,} texts.")
        return self.answers.numbers.copy_of[number]

    def class_number(self, name: str) -> int:
        """Return the number of a class that exists under this name, or did so before it was renamed."""
        number = self.answers.find_class(name.strip())
        assert number is not None
        return number

    def _begin(self, classes: Iterable[str], labels: Mapping[int, str]) -> None:
        names = dict.fromkeys(map(checked_name, [*classes, *labels.values()]))
        # A class that was renamed is not added again under its old name.
        before, added = list(self.answers.classes), [n for n in names if self.answers.find_class(n) is None]
        self.append(*map(ClassAdded, added))
        self._added = (before, added) if before and added else None
        found: dict[int, set[int]] = {}
        for number, label in labels.items():
            found.setdefault(self.check_number(number), set()).add(self.class_number(label))
        found = {number: given for number, given in found.items() if number not in self.answers.by_text}
        self._unclear = {number for number, given in found.items() if len(given) > 1}
        self.append(
            *(
                Labelled(
                    (self.answers.numbers.reference(number),), self.answers.names[min(given)], "imported"
                )
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


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
