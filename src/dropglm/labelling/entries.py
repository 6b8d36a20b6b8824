"""Entries of a journal of labels: what an annotator can do, each as one JSON object."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from dropglm.errors import InputError

# How a text came to be labelled: chosen by the model, drawn at random, among the surest of a class, found by
# search, or labelled in the table.
SOURCES = ("chosen", "random", "bulk", "search", "imported")


class TextReference(NamedTuple):
    """A text, by its number in the table and a short hash of its content."""

    number: int
    hash: str


@dataclass(frozen=True)
class Labelled:
    """Texts get a label, or another one than before.

    ``guess`` is the class that a model predicted for the text before it was labelled.
    """

    texts: tuple[TextReference, ...]
    label: str
    source: str = "chosen"
    guess: str | None = None
    time: float = 0.0


@dataclass(frozen=True)
class LabelledTogether:
    """Texts get labels in one action, each its own."""

    texts: tuple[TextReference, ...]
    labels: tuple[str, ...]
    time: float = 0.0

    def __post_init__(self) -> None:
        if len(self.texts) != len(self.labels):
            raise InputError("it does not have one label for each text.")


@dataclass(frozen=True)
class Skipped:
    """A text is left without a label; a label that it had is withdrawn."""

    texts: tuple[TextReference, ...]
    time: float = 0.0


@dataclass(frozen=True)
class Kept:
    """A label that looked suspicious is right."""

    texts: tuple[TextReference, ...]
    time: float = 0.0


@dataclass(frozen=True)
class Undone:
    """The last action that was not yet undone is taken back: an answer or a change of the classes."""

    time: float = 0.0


@dataclass(frozen=True)
class AnswerUndone:
    """The last answer that was not yet undone is taken back.

    The first journals have such entries; changes of the classes could not be undone.
    """

    time: float = 0.0


@dataclass(frozen=True)
class ClassAdded:
    """There is a new class.

    ``is_undoable`` is True if an annotator has added it, and False if it came with the table or the command.
    """

    name: str
    is_undoable: bool = False


@dataclass(frozen=True)
class ClassRenamed:
    """A class has another name from now on, also for labels before this entry."""

    old: str
    new: str


@dataclass(frozen=True)
class ClassRemoved:
    """A class that no answer has is removed."""

    name: str


Entry = (
    Labelled
    | LabelledTogether
    | Skipped
    | Kept
    | Undone
    | AnswerUndone
    | ClassAdded
    | ClassRenamed
    | ClassRemoved
)

KINDS: dict[str, type[Any]] = {
    "label": Labelled,
    "labels": LabelledTogether,
    "skip": Skipped,
    "keep": Kept,
    "undone": Undone,
    "undo": AnswerUndone,
    "class": ClassAdded,
    "rename": ClassRenamed,
    "remove": ClassRemoved,
}
_NAMES = {kind: name for name, kind in KINDS.items()}


def to_record(entry: Entry) -> dict[str, Any]:
    """Return an entry as JSON data.

    Examples
    --------
    >>> to_record(Labelled((TextReference(3, "9f"),), "good", time=12.0))
    {'entry': 'label', 'texts': [[3, '9f']], 'label': 'good', 'source': 'chosen', 'guess': None, 'time': 12.0}
    """
    record = {"entry": _NAMES[type(entry)], **asdict(entry)}
    if "texts" in record:
        record["texts"] = [list(text) for text in record["texts"]]
    if "labels" in record:
        record["labels"] = list(record["labels"])
    return record


def from_record(record: Any) -> Entry:
    """Return the entry of JSON data.

    Raises
    ------
    ValueError
        If it is not an entry.

    Examples
    --------
    >>> from_record({"entry": "class", "name": "good"})
    ClassAdded(name='good', is_undoable=False)
    """
    if not isinstance(record, Mapping) or record.get("entry") not in KINDS:
        raise InputError("it is not an entry of a journal of labels.")
    kind = KINDS[record["entry"]]
    fields = {name: value for name, value in record.items() if name != "entry"}
    for name, value in fields.items():
        check = CHECKS.get(name)
        if check is None or name not in kind.__dataclass_fields__ or not check(value):
            raise InputError(f"its field {name!r} is not one of an entry of this kind.")
    if "texts" in fields:
        fields["texts"] = tuple(TextReference(*text) for text in fields["texts"])
    if "labels" in fields:
        fields["labels"] = tuple(fields["labels"])
    try:
        entry: Entry = kind(**fields)
    except TypeError:
        raise InputError("a field of the entry is missing.") from None
    return entry


def _is_reference(given: Any) -> bool:
    return (
        isinstance(given, list)
        and len(given) == 2
        and type(given[0]) is int
        and given[0] >= 0
        and isinstance(given[1], str)
    )


CHECKS: dict[str, Callable[[Any], bool]] = {
    "texts": lambda given: isinstance(given, list) and bool(given) and all(map(_is_reference, given)),
    "label": lambda given: isinstance(given, str),
    "labels": lambda given: isinstance(given, list) and all(isinstance(name, str) for name in given),
    "source": lambda given: given in SOURCES,
    "guess": lambda given: given is None or isinstance(given, str),
    "time": lambda given: type(given) in (int, float),
    "name": lambda given: isinstance(given, str),
    "is_undoable": lambda given: isinstance(given, bool),
    "old": lambda given: isinstance(given, str),
    "new": lambda given: isinstance(given, str),
}
