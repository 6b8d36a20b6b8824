"""Checkpoints: the state of a fit after each iteration, so that another process can continue it.

A checkpoint is a folder with one file per problem (one, or one per class against the rest). A file holds θ at
the end of every stage that is complete, and the solver's state in the current one.
"""

import hashlib
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from dropglm.base import model_files
from dropglm.base.files import FileError, replacing, synchronise_folder
from dropglm.core.objective import Objective
from dropglm.core.solvers import LBFGS, Callback, History, Result

# Settings that a continued fit may change.
FREE = ("client", "max_iter", "n_jobs", "verbose", "warm_start")
FILES = "problem-*.state"


class ProblemCheckpoint:
    """The file of a problem, whose stages are solved one after the other."""

    def __init__(self, path: Path, fingerprint: str) -> None:
        self.path = path
        self.fingerprint = fingerprint
        self.stage = 0  # the next one that is asked for
        self.finished: list[dict[str, Any]] = []
        self.current: dict[str, Any] | None = None
        if path.exists():
            self._read()

    def minimize(
        self, solver: LBFGS, objective: Objective, start: np.ndarray, callback: Callback | None
    ) -> tuple[np.ndarray, Result]:
        """Return what ``solver.minimize`` returns, continued or looked up where it was solved before."""
        number, self.stage = self.stage, self.stage + 1
        if number < len(self.finished):
            return _solved(self.finished[number])
        theta, result = solver.minimize(objective, start, callback, self)
        self.finished.append(_stage(theta, result))
        self.current = None
        self._write()
        return theta, result

    def load(self) -> dict[str, Any] | None:
        """Return the solver's last state in the current stage."""
        return self.current

    def save(self, state: dict[str, Any]) -> None:
        """Write the solver's state."""
        self.current = state
        self._write()

    def _write(self) -> None:
        content = {"fit": self.fingerprint, "finished": self.finished, "current": self.current or {}}
        with replacing(self.path) as stream:
            model_files.write_archive(content, stream)

    def _read(self) -> None:
        try:
            content = model_files.from_archive(self.path.read_bytes())
            fingerprint = content["fit"]
        except (ValueError, KeyError, TypeError, EOFError, BadZipFile):
            raise FileError(f"{self.path} is not a checkpoint of dropglm; choose another path.") from None
        if fingerprint != self.fingerprint:
            raise FileError(
                f"The checkpoint {self.path} belongs to a fit with other settings or other data; remove it, "
                "or choose another path."
            )
        self.finished, self.current = content["finished"], content["current"] or None


def checkpoint_folder(path: str | os.PathLike[str]) -> Path:
    """Return the folder of a checkpoint, created if it does not exist.

    Raises
    ------
    FileError
        If that is not possible; a fit asks before it reads its rows.
    """
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = "is not a folder" if folder.exists() else f"cannot be created ({error.strerror})"
        raise FileError(f"The checkpoint {folder} {reason}; choose another path.") from None
    synchronise_folder(folder.parent)
    return folder


def checkpointed(
    path: str | os.PathLike[str] | None, model: Any, surveys: Sequence[Any], problems: Sequence[Any]
) -> list[Any]:
    """Return problems whose solver keeps its state at a path, if one is given."""
    if path is None:
        return list(problems)
    folder, fingerprint = checkpoint_folder(path), fingerprint_of(model, *surveys)
    return [
        replace(problem, checkpoint=ProblemCheckpoint(folder / FILES.replace("*", str(k)), fingerprint))
        for k, problem in enumerate(problems)
    ]


def remove_checkpoint(path: str | os.PathLike[str] | None) -> None:
    """Remove the files of a checkpoint, and the folder if it holds nothing else."""
    if path is None:
        return
    for file in Path(path).glob(FILES):
        file.unlink()
    with suppress(OSError):
        Path(path).rmdir()


def fingerprint_of(model: Any, *arrays: Any) -> str:
    """Return a hash of a model's settings and of what is known of its data."""
    found = hashlib.sha256(type(model).__name__.encode())
    for name, value in sorted(model.get_params(deep=False).items()):
        if name not in FREE:
            found.update(name.encode())
            _update(found, value)
    for array in arrays:
        _update(found, array)
    return found.hexdigest()


def _update(found: Any, value: Any) -> None:
    if isinstance(value, np.ndarray):
        found.update(f"{value.dtype}{value.shape}".encode())
        found.update(repr(value.tolist()).encode() if value.dtype == object else value.tobytes())
    elif isinstance(value, (list, tuple)):
        for one in value:
            _update(found, one)
    else:
        found.update(repr(value).encode())


def _stage(theta: np.ndarray, result: Result) -> dict[str, Any]:
    return {
        "theta": theta,
        "status": result.status,
        "numbers": [result.n_iter, result.passes, result.objective, result.gradient_norm],
        "history": np.array(result.history),
    }


def _solved(stage: dict[str, Any]) -> tuple[np.ndarray, Result]:
    n_iter, passes, objective, gradient_norm = stage["numbers"]
    history = History(*stage["history"])
    return stage["theta"], Result(stage["status"], n_iter, passes, objective, gradient_norm, history)
