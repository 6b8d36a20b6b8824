"""An append-only file of what annotators do, in which nothing that was acknowledged is lost.

The file is JSON Lines: a line that says what the file is, then one line per entry. An entry is written and
synchronised with the disk before ``append`` returns. If a crash interrupts this, the last line is incomplete;
it was never acknowledged and is removed when the file is opened again. Several entries begin with a mark
until all of them are stored, since a power cut may lose any part of them. Line ends of Windows and a
byte-order mark, which some editors add, are accepted.
"""

import contextlib
import errno
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

from dropglm.base.errors import InputError
from dropglm.base.files import FileError, synchronise_folder

# How a text came to be labelled: chosen by the model, drawn at random, among the surest of a class, found by
# search, labelled in the table, or asked again after it was accepted with others.
SOURCES = ("chosen", "random", "bulk", "search", "imported", "check")
VERSION = 1
HEADER = b'{"dropglm": "labels", "version": %d}\n' % VERSION
MARK = b"\1"  # in place of the first byte of entries that are not stored yet


class TextReference(NamedTuple):
    """A text, by its number in the table and a short hash of its content."""

    number: int
    hash: str


@dataclass(frozen=True)
class Labeled:
    """Texts get a label, or another one than before.

    ``guess`` is the class that a model predicted for the text before it was labelled.
    """

    texts: tuple[TextReference, ...]
    label: str
    source: str = "chosen"
    guess: str | None = None
    time: float = 0.0


@dataclass(frozen=True)
class LabeledTogether:
    """Texts get labels in one action, each its own; some of them are to be asked again as a check."""

    texts: tuple[TextReference, ...]
    labels: tuple[str, ...]
    time: float = 0.0
    checks: tuple[TextReference, ...] = ()

    def __post_init__(self) -> None:
        if len(self.texts) != len(self.labels):
            raise InputError("it does not have one label for each text.")
        if not set(self.checks) <= set(self.texts):
            raise InputError("it asks again for a text that it does not label.")


@dataclass(frozen=True)
class Skipped:
    """A text is left without a label; a label that it had is withdrawn."""

    texts: tuple[TextReference, ...]
    time: float = 0.0


@dataclass(frozen=True)
class Confirmed:
    """A label that looked suspicious is right."""

    texts: tuple[TextReference, ...]
    time: float = 0.0


@dataclass(frozen=True)
class Undone:
    """The last action that was not yet undone is taken back: an answer or a change of the classes."""

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


JournalEntry = (
    Labeled | LabeledTogether | Skipped | Confirmed | Undone | ClassAdded | ClassRenamed | ClassRemoved
)

KINDS: dict[str, type[Any]] = {
    "label": Labeled,
    "labels": LabeledTogether,
    "skip": Skipped,
    "keep": Confirmed,
    "undone": Undone,
    "class": ClassAdded,
    "rename": ClassRenamed,
    "remove": ClassRemoved,
}
_NAMES = {kind: name for name, kind in KINDS.items()}


def to_record(entry: JournalEntry) -> dict[str, Any]:
    """Return an entry as data that JSON can hold.

    Examples
    --------
    >>> json.dumps(to_record(Skipped((TextReference(3, "9f"),), time=12.0)))
    '{"entry": "skip", "texts": [[3, "9f"]], "time": 12.0}'
    """
    return {"entry": _NAMES[type(entry)], **asdict(entry)}


def from_record(record: Any) -> JournalEntry:
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
    for name in {"texts", "checks"} & fields.keys():
        fields[name] = tuple(TextReference(*text) for text in fields[name])
    if "labels" in fields:
        fields["labels"] = tuple(fields["labels"])
    try:
        entry: JournalEntry = kind(**fields)
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
    "checks": lambda given: isinstance(given, list) and all(map(_is_reference, given)),
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


if sys.platform == "win32":
    import msvcrt

    BEYOND = 2**31 - 2  # Windows also keeps others from reading bytes that are locked

    def lock_file(file: int) -> bool:
        """Lock an open file; return False if another process has locked it."""
        os.lseek(file, BEYOND, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            os.lseek(file, 0, os.SEEK_SET)
        return True

else:
    import fcntl

    def lock_file(file: int) -> bool:
        """Lock an open file; return False if another process has locked it."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


class JournalError(FileError):
    """A journal that cannot be opened or extended; the message says why in a sentence."""


class Journal:
    """An open journal, locked against other processes.

    Parameters
    ----------
    path : str or path-like
        The file; it is created if it does not exist.

    Attributes
    ----------
    path : Path
    entries : list of JournalEntry
        All entries, in the order in which they were appended.
    dropped : int
        Number of bytes of an incomplete last line that were removed when the file was opened.

    See Also
    --------
    LabellingSession : Stores its answers in a journal.

    Examples
    --------
    >>> import tempfile
    >>> from dropglm.labelling.journal import ClassAdded
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Journal(f"{folder}/texts.labels.jsonl") as journal:
    ...         journal.append(ClassAdded("good"))
    ...     with Journal(f"{folder}/texts.labels.jsonl") as journal:
    ...         journal.entries
    [ClassAdded(name='good', is_undoable=False)]
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.entries: list[JournalEntry] = []
        self.dropped = 0
        self._has_rest = False  # of a write that failed, beyond the end
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        except OSError as error:
            raise JournalError(f"{self.path}: {_reason(error)}.") from error
        try:
            if not lock_file(self._file):
                raise JournalError(f"{self.path}: another process is using this file.")
            self._end = self._read()
            if self._end == 0:
                self._write(HEADER)
        except BaseException:
            os.close(self._file)
            raise

    def append(self, *entries: JournalEntry) -> None:
        """Store entries on the disk: all of them, or none if there is an error.

        Parameters
        ----------
        *entries : JournalEntry
            What to store.

        Raises
        ------
        JournalError
            If they could not be stored, as on a full disk. The journal is then as it was before.
        """
        self._check_untouched()
        self._write(b"".join(map(_line, entries)))
        self.entries.extend(entries)

    def close(self) -> None:
        """Close and unlock the file."""
        if self._file >= 0:
            file, self._file = self._file, -1  # closed also if there is an error
            os.close(file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self) -> int:
        """Read all entries, remove an incomplete last line, and return the length of the rest."""
        try:
            if not os.path.isfile(self.path):
                raise JournalError(f"{self.path}: this is not a file.")
            with open(self._file, "rb", closefd=False) as stream:
                data = stream.read()
            whole = data[: data.find(b"\n" + MARK) + 1 or None]
            end = whole.rfind(b"\n") + 1
            lines = whole[:end].splitlines(keepends=True)
            if lines and b"\0" in lines[-1]:
                # After a loss of power, a page of the last write may be missing and read as zeros.
                end -= len(lines.pop())
            if lines or not _begins_header(data):
                self._check_header(lines[0] if lines else data)
            self.entries = self._parsed(lines[1:])
            self.dropped = len(data) - end
            if self.dropped:
                os.ftruncate(self._file, end)
            if end == 0:
                synchronise_folder(self.path.parent)  # the name of a new file
            os.fsync(self._file)  # what is shown from now on, although a killed process has written it
        except OSError as error:
            raise JournalError(f"{self.path}: {_reason(error)}.") from error
        return end

    def _check_header(self, line: bytes) -> None:
        """Raise an error unless the first line is that of a journal, with any line end or byte-order mark."""
        try:
            header = json.loads(line)
        except ValueError:
            header = None
        if not isinstance(header, dict) or header.get("dropglm") != "labels":
            raise JournalError(f"{self.path}: this is not a journal of labels.")
        if header.get("version") != VERSION:
            raise JournalError(f"{self.path}: another version of dropglm wrote this file.")

    def _parsed(self, lines: Iterable[bytes]) -> list[JournalEntry]:
        entries = []
        for number, line in enumerate(lines, 2):
            try:
                entries.append(from_record(json.loads(line)))
            except ValueError as error:
                is_json = not isinstance(error, (json.JSONDecodeError, UnicodeError))
                why = str(error).rstrip(".") if is_json else "not JSON"
                raise JournalError(
                    f"{self.path}: line {number} is damaged ({why}), "
                    "so its answer is unknown; nothing was changed and all other lines are kept. Replace the "
                    "file by a copy from before, or delete this line, and label its text again."
                ) from None
        return entries

    def _check_untouched(self) -> None:
        """Raise an error if the file was removed, replaced or edited since it was opened."""
        if self._file < 0:
            raise JournalError(f"{self.path}: the journal is closed.")
        try:
            here, there = os.fstat(self._file), os.stat(self.path)
        except OSError as error:
            raise JournalError(f"{self.path}: {_reason(error)}; the answer was not stored.") from error
        if not os.path.samestat(here, there):
            raise JournalError(f"{self.path}: the file was replaced; the answer was not stored.")
        if here.st_size != self._end and not self._has_rest:
            raise JournalError(f"{self.path}: another program changed the file; the answer was not stored.")

    def _write(self, data: bytes) -> None:
        """Write at the end and synchronise; after an error, remove what was written."""
        try:
            if self._has_rest:
                os.ftruncate(self._file, self._end)
                self._has_rest = False
            several = data.count(b"\n") > 1
            for start, part in [(0, MARK), (1, data[1:]), (0, data[:1])] if several else [(0, data)]:
                os.lseek(self._file, self._end + start, os.SEEK_SET)
                rest = memoryview(part)
                while rest:
                    rest = rest[os.write(self._file, rest) :]
                os.fsync(self._file)
        except OSError as error:
            self._has_rest = True
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self._end)
                self._has_rest = False
                os.fsync(self._file)
            raise JournalError(f"{self.path}: {_reason(error)}; the answer was not stored.") from error
        self._end += len(data)


def _begins_header(data: bytes) -> bool:
    """Return whether this is the first line, or a part of it with zeros in place of what is missing."""
    same = all(byte in (0, right) for byte, right in zip(data, HEADER, strict=False))
    return same and len(data) <= len(HEADER)


def _line(entry: JournalEntry) -> bytes:
    return json.dumps(to_record(entry), ensure_ascii=True, separators=(",", ":")).encode() + b"\n"


def _reason(error: OSError) -> str:
    known: dict[int | None, str] = {
        errno.ENOSPC: "the disk is full",
        errno.EACCES: "you may not write here (permission denied)",
        errno.EROFS: "the disk is read-only",
        errno.EISDIR: "this is a folder; name a file in it",
        errno.ENOENT: "the file or its folder does not exist",
    }
    return known.get(error.errno, error.strerror or str(error))
