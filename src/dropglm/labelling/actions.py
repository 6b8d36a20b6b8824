"""Actions of an annotator that can be undone."""
# ruff: noqa: D102 (docstrings are inherited)

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dropglm.labelling.answers import Answer, Answers

EXCERPT = 40  # characters of a text, or of the name of a class, in a sentence


class Action:
    """What is needed to take an action back."""

    @property
    def numbers(self) -> list[int]:
        """Numbers of the texts that were answered."""
        return []

    def can_undo(self, answers: "Answers") -> bool:
        """Return whether the action can still be taken back."""
        raise NotImplementedError

    def undo(self, answers: "Answers") -> None:
        """Take the action back."""
        raise NotImplementedError

    def sentence(self, answers: "Answers") -> str:
        """Return, before the action is taken back, a sentence of what is the case afterwards."""
        raise NotImplementedError


@dataclass(frozen=True)
class Answered(Action):
    """Texts were labelled, skipped or kept; ``before`` is what was known of them."""

    before: "dict[int, Answer | None]"

    @property
    def numbers(self) -> list[int]:
        return list(self.before)

    def can_undo(self, answers: "Answers") -> bool:
        return True

    def undo(self, answers: "Answers") -> None:
        for number, answer in self.before.items():
            if answer is None:
                del answers.by_text[number]
            else:
                answers.by_text[number] = answer

    def sentence(self, answers: "Answers") -> str:
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
class Added(Action):
    """A class was added."""

    number: int

    def can_undo(self, answers: "Answers") -> bool:
        return self.number in answers.names and not answers.is_used(self.number)

    def undo(self, answers: "Answers") -> None:
        answers.class_names.remove(self.number)

    def sentence(self, answers: "Answers") -> str:
        return f"the class {quoted(answers.names[self.number])} is removed."


@dataclass(frozen=True)
class Renamed(Action):
    """A class was renamed; ``name`` is the one that it had."""

    number: int
    name: str

    def can_undo(self, answers: "Answers") -> bool:
        return self.number in answers.names and self.name not in answers.classes

    def undo(self, answers: "Answers") -> None:
        answers.class_names.restore_name(self.number, self.name)

    def sentence(self, answers: "Answers") -> str:
        return f"the class {quoted(answers.names[self.number])} is {quoted(self.name)} again."


@dataclass(frozen=True)
class Removed(Action):
    """A class was removed, which was at some place in the list of classes."""

    number: int
    name: str
    place: int

    def can_undo(self, answers: "Answers") -> bool:
        return self.number not in answers.names and self.name not in answers.classes

    def undo(self, answers: "Answers") -> None:
        answers.class_names.put_back(self.number, self.name, self.place)

    def sentence(self, answers: "Answers") -> str:
        return f"the class {quoted(self.name)} is back."


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
