"""An append-only file of entries, in which nothing that was acknowledged is lost.

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
from collections.abc import Iterable
from pathlib import Path
from typing import Self

from dropglm.files import FileError, synchronise_folder
from dropglm.labelling.entries import Entry, from_record, to_record
from dropglm.labelling.file_lock import lock_file

VERSION = 1
HEADER = b'{"dropglm": "labels", "version": %d}\n' % VERSION
MARK = b"\1"  # in place of the first byte of entries that are not stored yet


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
    entries : list of Entry
        All entries, in the order in which they were appended.
    dropped : int
        Number of bytes of an incomplete last line that were removed when the file was opened.

    See Also
    --------
    LabellingSession : Stores its answers in a journal.

    Examples
    --------
    >>> import tempfile
    >>> from dropglm.labelling.entries import ClassAdded
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Journal(f"{folder}/texts.labels.jsonl") as journal:
    ...         journal.append(ClassAdded("good"))
    ...     with Journal(f"{folder}/texts.labels.jsonl") as journal:
    ...         journal.entries
    [ClassAdded(name='good', is_undoable=False)]
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.entries: list[Entry] = []
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

    def append(self, *entries: Entry) -> None:
        """Store entries on the disk: all of them, or none if there is an error.

        Parameters
        ----------
        *entries : Entry
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

    def _parsed(self, lines: Iterable[bytes]) -> list[Entry]:
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


def _line(entry: Entry) -> bytes:
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
