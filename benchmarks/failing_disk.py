"""A disk that fails: the calls of a process are logged, one of them goes wrong, or the power is cut."""

import builtins
import errno
import io
import itertools
import os
import pickle
import signal
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

SECONDS = 120  # that a process may take
Record = tuple[Any, ...]  # of a log: the kind of a call, its path, and what else it was given

# Where each fault can happen.
EVERY = ("create", "open", "write", "sync", "truncate", "rename", "remove", "mkdir", "chmod", "close")
PLACES = {
    "error": EVERY,
    "full": ("create", "write", "mkdir"),
    "short": ("write",),
    "kill": EVERY,
    "torn": ("write",),
}


# The calls of a process, one of which fails.


class Fault(NamedTuple):
    """What happens at a call, counted from 0, and whether it happens at later calls as well."""

    kind: str
    at: int
    lasts: bool = False


class Calls:
    """The calls of this process that change files below a folder: all are logged, and one may fail."""

    def __init__(self, folder: Path, log: Path, fault: Fault | None) -> None:
        self.folder, self.fault, self.count = str(folder), fault, 0
        self.paths: dict[int, str] = {}  # of open files
        self.log, self._append = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND), os.write

    def install(self) -> None:
        """Stand between this process and the system."""
        for name in ("open", "write", "fsync", "ftruncate", "close", "replace"):
            setattr(os, name, partial(getattr(self, f"_{name}"), getattr(os, name)))
        for name, kind in (("unlink", "remove"), ("rmdir", "remove"), ("mkdir", "mkdir"), ("chmod", "chmod")):
            setattr(os, name, partial(self._named, getattr(os, name), kind))
        builtins.open = io.open = partial(self._stream, builtins.open)

    def note(self, *record: Any) -> None:
        """Append a record to the log: a call, or what was found at the start or acknowledged."""
        self._append(self.log, pickle.dumps(record))

    def call(self, do: Callable[[], Any], kind: str, path: str, *more: Any) -> Any:
        """Make a call and log it, unless it is to fail."""
        fault, number, self.count = self.fault, self.count, self.count + 1
        if fault and (
            number == fault.at or (number > fault.at and fault.lasts and kind in PLACES[fault.kind])
        ):
            if kind == "close":
                do()  # also if it returns an error
            if fault.kind in ("kill", "torn"):
                os.kill(os.getpid(), signal.SIGKILL)
            code = errno.EIO if fault.kind == "error" else errno.ENOSPC
            raise OSError(code, os.strerror(code))
        found = do()
        self.note(kind, path, *more)
        return found

    def put(self, write: Callable[[Any], int], path: str, at: int, data: Any) -> int:
        """Write bytes, or half of them before a fault."""
        data = bytes(data)
        if self.fault and self.count == self.fault.at and self.fault.kind in ("short", "full", "torn"):
            half = data[: len(data) // 2]
            write(half)
            self.note("write", path, at, half)
            if self.fault.kind == "short":
                self.count += 1
                return len(half)
        return self.call(lambda: write(data), "write", path, at, data)

    def _open(self, real: Any, path: Any, flags: int, *more: Any, **options: Any) -> int:
        if not self._is_ours(path):
            return real(path, flags, *more, **options)
        kind = "create" if flags & os.O_CREAT and not os.path.exists(path) else "open"
        file = self.call(lambda: real(path, flags, *more, **options), kind, os.fspath(path))
        self.paths[file] = os.fspath(path)
        return file

    def _stream(self, real: Any, path: Any, mode: str = "r", *more: Any, **options: Any) -> Any:
        is_ours = not isinstance(path, int) and self._is_ours(path) and set(mode) & set("wx")
        return io.BufferedWriter(Stream(self, path, mode)) if is_ours else real(path, mode, *more, **options)

    def _write(self, real: Any, file: int, data: Any) -> int:
        if file not in self.paths:
            return real(file, data)
        return self.put(partial(real, file), self.paths[file], os.lseek(file, 0, os.SEEK_CUR), data)

    def _fsync(self, real: Any, file: int) -> None:
        # Only power cuts depend on it, which are simulated; waiting for the disk would take most of the time.
        self.call(lambda: None, "sync", self.paths[file])

    def _ftruncate(self, real: Any, file: int, size: int) -> None:
        self.call(lambda: real(file, size), "truncate", self.paths[file], size)

    def _close(self, real: Any, file: int) -> None:
        path = self.paths.pop(file, None)
        return real(file) if path is None else self.call(lambda: real(file), "close", path)

    def _replace(self, real: Any, old: Any, new: Any) -> None:
        self.call(lambda: real(old, new), "rename", os.fspath(old), os.fspath(new))

    def _named(self, real: Any, kind: str, path: Any, *more: Any, **options: Any) -> None:
        if not self._is_ours(path):
            return real(path, *more, **options)
        return self.call(lambda: real(path, *more, **options), kind, os.fspath(path))

    def _is_ours(self, path: Any) -> bool:
        return f"{os.fspath(path)}{os.sep}".startswith(self.folder + os.sep)


class Stream(io.FileIO):
    """A file that ``open`` has opened for writing."""

    def __init__(self, calls: Calls, path: Any, mode: str) -> None:
        self.calls, self.path = calls, os.fspath(path)
        record = ("truncate", self.path, 0) if os.path.exists(path) else ("create", self.path)
        calls.call(lambda: io.FileIO.__init__(self, self.path, mode), *record)
        calls.paths[self.fileno()] = self.path

    def write(self, data: Any) -> int:
        """Write some bytes."""
        return self.calls.put(super().write, self.path, self.tell(), data)

    def close(self) -> None:
        """Close the file."""
        if not self.closed and self.calls.paths.pop(self.fileno(), ""):
            self.calls.call(super().close, "close", self.path)
        super().close()


class Run(NamedTuple):
    """What a process did: its log, and whether it came to its end."""

    log: list[Record]
    is_complete: bool

    @property
    def found(self) -> int:
        """What was there at its start; -1 if it did not come to its end."""
        return next(record[1] for record in self.log if record[0] == "found") if self.is_complete else -1

    @property
    def why(self) -> str:
        """The error that ended it."""
        return next((record[1] for record in self.log if record[0] == "failed"), "it was killed")


Work = Callable[[Path, Calls], None]


def run(work: Work, folder: Path, fault: Fault | None = None) -> Run:
    """Do the work in a process of its own."""
    log = folder.with_suffix(".log")
    log.unlink(missing_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the threads of this process have no locks
        child = os.fork()
    if child == 0:
        code, calls = 1, Calls(folder, log, fault)
        try:
            signal.alarm(SECONDS)
            for stream in (1, 2):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
            time.time = lambda: 0.0  # so that equal work writes equal bytes
            calls.install()
            work(folder, calls)
            code = 0
        except BaseException:
            calls.note("failed", traceback.format_exc())
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    records = []
    with open(log, "rb") as written, suppress(EOFError):
        while True:
            records.append(pickle.load(written))
    return Run(records, status == 0)


# What a power cut leaves.


class File:
    """The bytes of a file that are safe, and the writes since then, as (offset, bytes) or a size."""

    def __init__(self) -> None:
        self.safe = b""
        self.pending: list[Any] = []

    def after(self, writes: Iterable[Any]) -> bytes:
        """Return the contents if these writes have reached the disk."""
        content = bytearray(self.safe)
        for write in writes:
            if isinstance(write, int):
                content[write:] = bytes(max(write - len(content), 0))
            else:
                at, data = write
                content.extend(bytes(max(at - len(content), 0)))
                content[at : at + len(data)] = data
        return bytes(content)

    def outcomes(self) -> set[bytes]:
        """Return what may be left: nothing, all, or a part of the writes, also with a gap at the start."""
        pieces = []
        for write in self.pending:
            half = 0 if isinstance(write, int) else len(write[1]) // 2
            pieces += [(write[0], write[1][:half]), (write[0] + half, write[1][half:])] if half else [write]
        return {self.after(some) for some in (*(pieces[:n] for n in (0, 1, -1)), pieces, pieces[1:])}


# A folder, a name in it that goes, a name that comes, and what has this name; None is a folder.
Change = tuple[str, str | None, str | None, File | None]


def after_power_cut(log: Iterable[Record]) -> Iterator[dict[str, bytes | None]]:
    """Yield what a folder, empty at first, may hold if the power fails after these calls.

    Bytes are safe once their file is synchronised, and names once their folder is. Of all other changes, any
    may be lost: every subset of those of names is tried, and some parts of those of bytes.
    """
    now: dict[str, File | None] = {}
    safe: dict[str, File | None] = {}
    changes: list[Change] = []  # of names that are not safe
    folders = set()
    for kind, path, *more in log:
        file, change = now.get(path), None
        if kind in ("create", "mkdir"):
            now[path] = File() if kind == "create" else None
            change = (None, path)
            folders |= {path} if kind == "mkdir" else set()
        elif kind == "remove":
            now.pop(path)
            change = (path, None)
        elif kind == "rename":
            now[more[0]] = now.pop(path)
            change = (path, more[0])
        elif file is not None and kind in ("write", "truncate"):
            file.pending.append(tuple(more) if kind == "write" else more[0])
        elif file is not None and kind == "sync":
            file.safe, file.pending = file.after(file.pending), []
        elif kind == "sync":
            _apply(safe, [done for done in changes if done[0] == path])
            changes = [left for left in changes if left[0] != path]
        if change is not None:
            changes.append((os.path.dirname(path), *change, now.get(change[1] or "")))
    for some in itertools.chain(*(itertools.combinations(changes, n) for n in range(len(changes) + 1))):
        names = dict(safe)
        _apply(names, some)
        choices = [
            [(path, content) for content in ([None] if file is None else file.outcomes())]
            for path, file in names.items()
            if all(above in names for above in folders if path.startswith(above + os.sep))
        ]
        yield from map(dict, itertools.product(*choices))


def _apply(names: dict[str, File | None], changes: Iterable[Change]) -> None:
    for _, old, new, file in changes:
        names.pop(old or "", None)
        if new is not None:
            names[new] = file
