"""Exports that run in the background, one at a time, to files beside the journal."""

import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dropglm.errors import InputError
from dropglm.labelling.exports import ReadRows, train_model, write_labels, write_predictions
from dropglm.labelling.session import LabellingSession
from dropglm.registry import lookup

if TYPE_CHECKING:
    from dropglm.text import TextClassifier


class ExportState(NamedTuple):
    """What became of the last export.

    Attributes
    ----------
    what : str
        ``"labels"``, ``"model"`` or ``"predictions"``.
    path : Path
        The file.
    is_running : bool
    problem : str or None
        Why the file could not be written.
    kept : Path or None
        Where a file is now that was there before.
    """

    what: str
    path: Path
    is_running: bool
    problem: str | None = None
    kept: Path | None = None


class Exports:
    """Files of labels, of a trained model and of predictions, written when they are asked for.

    A file that was there before the first export is kept, with ``.before`` in its name; later exports replace
    those of the same run.

    Parameters
    ----------
    session : LabellingSession
    stem : str or path-like
        What the names of the files start with: ``reviews`` gives ``reviews.labelled.csv``,
        ``reviews.model.skops`` and ``reviews.predictions.csv``.
    text_column, label_column : str
        Columns that the model file names.
    read_rows : callable, optional
        Reads the rows of the table, whose other columns are exported as well; see ``write_labels``.
    n_jobs : int or None, default=None
        Number of threads of the training.

    Attributes
    ----------
    state : ExportState or None
        The last export; None if there was none.
    """

    def __init__(
        self,
        session: LabellingSession,
        stem: str | Path,
        *,
        text_column: str = "text",
        label_column: str = "label",
        read_rows: ReadRows | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.session = session
        self.paths = {
            "labels": Path(f"{stem}.labelled.csv"),
            "model": Path(f"{stem}.model.skops"),
            "predictions": Path(f"{stem}.predictions.csv"),
        }
        self.state: ExportState | None = None
        self._columns = {"text_column": text_column, "label_column": label_column}
        self._n_jobs = n_jobs
        self._model: tuple[int, TextClassifier] | None = None  # with the version of its labels
        self._own: set[Path] = set()  # files that this run has written
        self._thread: threading.Thread | None = None
        self._writers: dict[str, Callable[[Path], object]] = {
            "labels": lambda path: write_labels(session, path, read_rows),
            "model": lambda path: self._trained().save(path),
            "predictions": lambda path: write_predictions(session, self._trained(), path, read_rows),
        }

    def start(self, what: str) -> None:
        """Write the file of the labels, the model or the predictions, in the background."""
        path = lookup(self.paths, what, "export")
        if self.state is not None and self.state.is_running:
            raise InputError(f"{self.state.path.name} is being written; wait for it.")
        self.state = ExportState(what, path, True)
        self._thread = threading.Thread(target=self._run, args=(what, path), name="export", daemon=True)
        self._thread.start()

    def wait(self, timeout: float | None = None) -> None:
        """Wait until the file is written."""
        if self._thread is not None:
            self._thread.join(timeout)

    def _run(self, what: str, path: Path) -> None:
        problem = kept = None
        try:
            kept = self._write(what, path)
        except Exception as error:  # reported to whoever asked for the file
            problem = str(error) or type(error).__name__
        self.state = ExportState(what, path, False, problem, kept)

    def _write(self, what: str, path: Path) -> Path | None:
        """Write the file, and return where a file of an earlier run is now."""
        if path in self._own or not path.is_file():
            self._writers[what](path)
            self._own.add(path)
            return None
        copy = path.with_name(f".{path.name}.copy")
        try:
            shutil.copy2(path, copy)
            self._writers[what](path)
            self._own.add(path)
            # Only now: if writing fails, the file that was kept before is still there.
            return copy.replace(path.with_name(f"{path.stem}.before{path.suffix}"))
        finally:
            copy.unlink(missing_ok=True)

    def _trained(self) -> "TextClassifier":
        """Return a model of the present labels, the last one if they have not changed."""
        version = self.session.version
        if self._model is None or self._model[0] != version:
            self._model = version, train_model(self.session, n_jobs=self._n_jobs, **self._columns)
        return self._model[1]
