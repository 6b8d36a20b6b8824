"""What remains of labelling: a table of labels, a trained model, and predictions for all texts."""

import os
import shutil
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dropglm import tables
from dropglm.base.errors import InputError
from dropglm.base.registry import lookup
from dropglm.labelling.session import LabellingSession
from dropglm.tables import Table
from dropglm.tables.formats import import_polars

if TYPE_CHECKING:
    from polars import DataFrame

    from dropglm.text import TextClassifier

TEXT, LABEL = "text", "label"  # columns that dropglm train reads unless others are named
DRAWN = "drawn_at_random"  # column that dropglm train --validation-column takes
PREFIX = "table_"  # of columns of the table that have the name of one of ours
BATCH = 10_000  # rows
SAMPLE = 5000  # texts without labels whose mean probability is made the accuracy; at most twice as many


def write_labels(session: LabellingSession, path: str | os.PathLike[str], table: Table | None = None) -> int:
    """Write the labelled rows as a table that ``dropglm train`` reads, and return how many there are.

    The table has the columns ``text``, ``label`` and ``drawn_at_random``, then all others. The third is true
    for texts that were drawn at random, on which a guarantee can rest. Other columns with these names get the
    prefix ``table_``. Copies of labelled texts are among the rows. Memory is bounded by a batch of rows.

    Parameters
    ----------
    session : LabellingSession
    path : str or path-like
        The suffix decides the format.
    table : Table, optional
        The table that the texts come from, which is read again. Without it, there are no other columns. Rows
        without text are not those of a text of the session.
    """
    with session.lock:
        labels, drawn = session.answers.labels(), set(session.answers.drawn())
    if not labels:
        raise InputError("There are no labels yet.")
    copy_of = session.answers.numbers.copy_of
    rows = _labelled_rows(
        session, labels, table, drawn={number: copy_of[number] in drawn for number in labels}
    )
    tables.write((frame.filter(frame[LABEL].is_not_null()) for frame in rows), path)
    return len(labels)


def train_model(
    session: LabellingSession,
    *,
    text_column: str | None = TEXT,
    label_column: str | None = LABEL,
    n_jobs: int | None = None,
) -> "TextClassifier":
    """Return a tuned ``TextClassifier`` of the labels so far, which also learns from all other texts.

    Its probabilities are calibrated on the texts drawn at random, as they were held out by cross-validation;
    what it answers with a given error is an estimate from the same texts (``tuned_model``).

    Parameters
    ----------
    session : LabellingSession
    text_column, label_column : str or None
        Columns that the model file names.
    n_jobs : int or None, default=None
        Number of threads; None means 1.
    """
    with session.lock:
        names, found = dict(session.answers.names), session.answers.class_numbers()
        drawn = session.answers.drawn()
    labels = {number: names[found[number]] for number in sorted(found)}
    if len(set(labels.values())) < 2:
        raise InputError("A model needs labels of at least two classes.")
    y = tables.to_classes(tables.class_names(labels.values()))  # those of dropglm train
    copy_of, how = session.answers.numbers.copy_of, {"embedder": session.embedder, "n_jobs": n_jobs}
    model = tuned_model(session.texts, dict(zip(labels, y, strict=True)), drawn, copy_of, **how)
    model.text_column_, model.label_column_ = text_column, label_column
    return model


def tuned_model(
    texts: Sequence[str],
    labels: Mapping[int, Any],
    drawn: Collection[int],
    copy_of: Sequence[int],
    **how: Any,
) -> "TextClassifier":
    """Return a tuned ``TextClassifier``, calibrated on the labelled texts that were drawn at random.

    Each of them is predicted by cross-validation, so that what the model answers with a given error is an
    estimate; without such texts, the model is that of ``TextClassifier``.

    Parameters
    ----------
    texts : sequence of str
        Texts with and without labels.
    labels : mapping of int to object
        The label of each labelled text, by its number.
    drawn : collection of int
        Numbers of the labelled texts that were drawn at random.
    copy_of : sequence of int
        For each text, the number of the first equal one.
    **how
        Parameters of ``TextClassifier``.
    """
    import numpy as np

    from dropglm.text import TextClassifier

    # Copies of a labelled text are left out: a copy in another fold would make cross-validation too
    # optimistic.
    rest = [text for text, first in zip(texts, copy_of, strict=True) if first not in labels]
    model = TextClassifier(random_state=0, **how)
    names = list(labels.values())
    y = np.array(names, object if isinstance(names[0], str) else None)  # names keep the type of tables
    model.fit([texts[number] for number in labels], y, X_unlabeled=rest or None)
    calibrate_on_drawn(model, labels, drawn, rest)
    return model


def calibrate_on_drawn(
    model: "TextClassifier", labels: Mapping[int, Any], drawn: Collection[int], rest: Sequence[str]
) -> None:
    """Calibrate a model that was tuned on these labels on the texts drawn at random, if there are any.

    ``rest`` are texts without labels.
    """
    import numpy as np

    from dropglm.labelling.calibration import scale_to_accuracy
    from dropglm.text.guarantees import Evidence
    from dropglm.text.labels import find_class_numbers

    p, y = model.cv_probabilities_, find_class_numbers(list(labels.values()), model.classes_)
    used = ~np.isnan(p[:, 0]) & np.isin(list(labels), list(drawn))
    if not used.any() or not rest:
        return
    p, y = p[used], y[used]
    some = rest[:: max(1, len(rest) // SAMPLE)]
    scale = scale_to_accuracy(model.predict_proba(some), p.argmax(axis=1) == y)
    p = p**scale
    evidence = Evidence.of(p / p.sum(axis=1, keepdims=True), y, "estimate")
    model._stored_model().rely_on(evidence, scale)


def write_predictions(
    session: LabellingSession,
    model: "TextClassifier",
    path: str | os.PathLike[str],
    table: Table | None = None,
) -> None:
    """Write a table of all texts with their labels, the predicted classes and the probabilities of these.

    Parameters
    ----------
    session : LabellingSession
    model : TextClassifier
        From ``train_model``.
    path : str or path-like
        The suffix decides the format.
    table : Table, optional
        As in ``write_labels``. The columns ``label``, which is missing where there is none, ``predicted`` and
        ``probability`` follow the texts; rows without text have none of them.
    """
    with session.lock:
        labels = session.answers.labels()
    tables.write(_labelled_rows(session, labels, table, model), path)


def _labelled_rows(
    session: LabellingSession,
    labels: dict[int, str],
    table: Table | None,
    model: "TextClassifier | None" = None,
    drawn: dict[int, bool] | None = None,
) -> "Iterator[DataFrame]":
    """Yield the rows of the table with their labels and, if given, which were drawn, and predictions."""
    pl = import_polars()
    types = {LABEL: pl.String}
    if drawn is not None:
        types |= {DRAWN: pl.Boolean}
    if model is not None:
        types |= {"predicted": pl.String, "probability": pl.Float64}
    for numbers, frame in _rows(session, table, list(types)):
        ours: dict[str, dict[Any, Any]] = {LABEL: labels, DRAWN: drawn or {}}
        known = [number for number in numbers if number is not None]
        if model is not None and known:
            p = model.predict_proba([session.texts[number] for number in known])
            predicted = tables.class_names(model.classes_[p.argmax(axis=1)].tolist())
            ours["predicted"] = dict(zip(known, predicted, strict=True))
            ours["probability"] = dict(zip(known, p.max(axis=1).round(4).tolist(), strict=True))
        for place, (name, dtype) in enumerate(types.items(), 1):
            by_number = ours.get(name, {})  # None, the number of rows without text, is not in it
            frame.insert_column(place, pl.Series(name, list(map(by_number.get, numbers)), dtype))
        yield frame


def _rows(
    session: LabellingSession, table: Table | None, ours: list[str]
) -> "Iterator[tuple[list[int | None], DataFrame]]":
    """Yield the rows of the table with the numbers of their texts; no column has one of our names.

    If they are read, those without text have no number.
    """
    texts = session.texts
    start = 0
    for frame in _only_texts(texts) if table is None else all_columns(table):
        given = frame.to_series(0)
        there = [table is None or has_text(text) for text in given]
        after = accumulate(there, initial=start)
        numbers = [number if one else None for number, one in zip(after, there, strict=False)]
        stop = start + sum(there)
        if table is not None and given.filter(there).to_list() != list(texts[start:stop]):
            raise _changed()
        start = stop
        yield numbers, frame.rename(_new_names(frame.columns, ours))
    if start != len(texts):
        raise _changed()


def has_text(text: str | None) -> bool:
    """Return whether there is a text in a row: not null, and not only blanks.

    Examples
    --------
    >>> [has_text(text) for text in ("a", " ", None, "")]
    [True, False, False, False]
    """
    return text is not None and text.strip() != ""


def all_columns(table: Table) -> "Iterator[DataFrame]":
    """Read a table again, with all columns; the texts come first."""
    pl = import_polars()
    others = tuple(name for name in table.column_names() if name != table.text)
    for batch in replace(table, label=None, keep=others).batches():
        columns = {table.text: list(batch.texts), **batch.others}
        yield pl.DataFrame(columns, dict.fromkeys(columns, pl.String))


def _only_texts(texts: Any) -> "Iterator[DataFrame]":
    pl = import_polars()
    for start in range(0, len(texts), BATCH):
        yield pl.DataFrame({TEXT: list(map(_storable, texts[start : start + BATCH]))})


def _new_names(columns: list[str], ours: list[str]) -> dict[str, str]:
    """Return new names of columns: the first is that of the texts, and all others differ from ours.

    Examples
    --------
    >>> _new_names(["review", "text", "id", "label", "table_label"], ["label"]).values()
    dict_values(['text', 'table_text', 'id', 'table_table_label', 'table_label'])
    """
    taken, names = {TEXT, *ours, *columns[1:]}, {columns[0]: TEXT}
    for name in columns[1:]:
        free = (PREFIX * k + name for k in count(1))
        names[name] = next(new for new in free if new not in taken) if name in (TEXT, *ours) else name
        taken.add(names[name])
    return names


def _changed() -> InputError:
    return InputError("The table has changed since labelling began, so nothing was exported; start again.")


def _storable(text: str) -> str:
    """Return a text without halves of surrogate pairs, which no file in UTF-8 can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


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
    table : Table, optional
        The table that the texts come from, whose other columns are exported as well; the model file names its
        columns of texts and labels.
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
        table: Table | None = None,
        *,
        n_jobs: int | None = None,
    ) -> None:
        self.session = session
        self.paths = {
            "labels": Path(f"{stem}.labelled.csv"),
            "model": Path(f"{stem}.model.skops"),
            "predictions": Path(f"{stem}.predictions.csv"),
        }
        self.state: ExportState | None = None
        text = TEXT if table is None else table.text
        label = (table and table.label) or ("class" if text == LABEL else LABEL)
        self._columns = {"text_column": text, "label_column": label}
        self._n_jobs = n_jobs
        self._model: tuple[int, TextClassifier] | None = None  # with the version of its labels
        self._own: set[Path] = set()  # files that this run has written
        self._thread: threading.Thread | None = None
        self._writers: dict[str, Callable[[Path], object]] = {
            "labels": lambda path: write_labels(session, path, table),
            "model": lambda path: self._trained().save(path),
            "predictions": lambda path: write_predictions(session, self._trained(), path, table),
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
        is_earlier = path.is_file() and path not in self._own
        copy = path.with_name(f".{path.name}.copy")
        try:
            if is_earlier:
                shutil.copy2(path, copy)
            self._writers[what](path)
            self._own.add(path)
            # Only now: if writing fails, the file that was kept before is still there.
            return copy.replace(path.with_name(f"{path.stem}.before{path.suffix}")) if is_earlier else None
        finally:
            copy.unlink(missing_ok=True)

    def _trained(self) -> "TextClassifier":
        """Return a model of the present labels, the last one if they have not changed."""
        version = self.session.version
        if self._model is None or self._model[0] != version:
            self._model = version, train_model(self.session, n_jobs=self._n_jobs, **self._columns)
        return self._model[1]
