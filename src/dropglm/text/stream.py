"""Training on a table that is read as a stream, with checkpoints."""

import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from dropglm.base import checks, model_files
from dropglm.base.threads import ahead
from dropglm.core.online import DivergenceError
from dropglm.tables import Batch, Table, TableError, class_names, to_classes
from dropglm.tables.errors import listed
from dropglm.text.file_contents import CHECKPOINTS
from dropglm.text.labels import class_numbers
from dropglm.text.ngrams.hashed import NamedRows
from dropglm.text.online_text_model import OnlineTextModel

KIND = "OnlineTraining"
MOST_LISTED = 10  # bad rows whose messages are kept
MAX_CLASSES = 1000
CHARACTERS = 1 << 20  # of the texts of a batch
MOST_WORKERS = 3  # threads that prepare texts, with the one that learns; learning takes half the time
# The fields of a training that are in its checkpoint, besides the model
SAVED = tuple(name for name in CHECKPOINTS[KIND].parts if name != "model")


def table_settings(table: Table) -> dict[str, Any]:
    """Return how a table is read, with the format and delimiter that apply if none are given."""
    return {
        "text": table.text,
        "label": table.label,
        "format": table.found_format.name,
        "encoding": table.encoding,
        "delimiter": table.separator,
    }


def find_classes(table: Table, *, skip_bad: bool) -> list[str]:
    """Return the names of all classes of a table, sorted, from one pass over it."""
    found: set[str] = set()
    for batch in table.batches(skip_bad=skip_bad):
        found.update(batch.labels)
        if len(found) > MAX_CLASSES:
            raise TableError(
                f"{table.name}: the column {table.label!r} has more than {MAX_CLASSES:,} different labels; "
                "choose the column that holds the classes, or list the classes."
            )
    if len(found) < 2:
        raise TableError(
            f"{table.name}: all rows have the label {min(found)!r}; at least two classes are needed."
        )
    return sorted(found)


class _Prepared(NamedTuple):
    """The rows of a batch, ready to learn from."""

    numbers: np.ndarray  # the class of each row, or -1
    known: np.ndarray  # the rows with a class
    features: list[NamedRows]  # of these rows


def _prepare(
    batch: Batch, features_of: Callable[[Sequence[str]], list[NamedRows]], classes: np.ndarray
) -> tuple[Batch, _Prepared]:
    numbers = class_numbers(batch.labels, classes)
    known = np.flatnonzero(numbers >= 0)
    texts = batch.texts if len(known) == len(numbers) else batch.take(known.tolist()).texts
    return batch, _Prepared(numbers, known, features_of(texts) if len(known) else [])


@dataclass
class OnlineTraining:
    """A model in training, and its position in the table.

    Attributes
    ----------
    model : OnlineTextModel
        The classifier that is being trained.
    origin : dict
        What else the result depends on, such as the columns of the table. Whoever resumes from a checkpoint
        can compare it.
    epoch, row : int
        Number of completed passes, and of rows already processed in the current pass.
    bad_rows : int
        Number of rows that were skipped.
    first_bad_rows : list of str
        Messages about the first ten of them.
    class_changes : int
        Number of rows whose class differs from that of the row before.
    last_class : int
        Class number of the last row.
    last_learnt_row, last_learnt_checksum : int
        Number and checksum of the last row that was learnt from.
    """

    model: OnlineTextModel
    origin: dict[str, Any] = field(default_factory=dict)
    epoch: int = 0
    row: int = 0
    bad_rows: int = 0
    first_bad_rows: list[str] = field(default_factory=list)
    class_changes: int = 0
    last_class: int = -1
    last_learnt_row: int = 0
    last_learnt_checksum: int = 0

    @classmethod
    def start(
        cls, model: OnlineTextModel, names: Sequence[str], origin: dict[str, Any] | None = None
    ) -> "OnlineTraining":
        """Return a training of a new model for classes of these names, at the first row."""
        return cls(model.reset(to_classes(names).tolist()), origin or {})

    @property
    def class_names(self) -> list[str]:
        """The names of the classes, in the order of the model."""
        return class_names(self.model.classes_.tolist())

    @property
    def progressive_counts(self) -> tuple[float, float]:
        """Number of rows predicted before learning from them, and number of correct predictions."""
        scores = self.model.model._progressive_scores
        return scores.weight, scores.correct

    def learn(
        self, source: Table, *, epochs: int = 1, on_bad: Callable[[str], None] | None = None
    ) -> Iterator[None]:
        """Complete the passes over the table; yield after each batch.

        ``on_bad`` is called with a message about each bad row, which is then skipped; None raises the first
        error.
        """
        while self.epoch < epochs:
            for batch, prepared in self._prepared(source, skip_bad=on_bad is not None):
                messages = [(bad.row, str(bad)) for bad in batch.bad]
                messages += self._learn(source, batch, prepared, strict=on_bad is None)
                for _, message in sorted(messages):
                    self.bad_rows += 1
                    if self.bad_rows <= MOST_LISTED:
                        self.first_bad_rows.append(message)
                    if on_bad is not None:
                        on_bad(message)
                self.row = batch.last_row
                yield
            self.epoch, self.row, self.last_learnt_row = self.epoch + 1, 0, 0

    def _remaining(self, source: Table, *, skip_bad: bool) -> Iterator[Batch]:
        """Yield the rest of the table, after checking that the last row learnt from is still the same."""
        start = self.last_learnt_row - 1 if self.last_learnt_row else self.row
        batches = source.batches(skip_bad=skip_bad, start=start, characters=CHARACTERS)
        if not self.last_learnt_row:
            yield from batches
            return
        first = next(batches, None)
        if first is None or list(first.rows[:1]) != [self.last_learnt_row]:
            raise TableError(
                f"{source.name}: the table ends before row {self.last_learnt_row:,}, where training stopped; "
                "continue with the same table."
            )
        if _checksum(first, 0) != self.last_learnt_checksum:
            raise TableError(
                f"{source.name}: row {self.last_learnt_row:,}, where training stopped, has changed; "
                "continue with the same table."
            )
        # The rows between the last one learnt from and the last one processed were bad, and are already
        # counted.
        processed = self.row
        for batch in chain([first], batches):
            rest = batch.after(processed)
            if rest.rows or rest.bad:
                yield rest

    def _prepared(self, source: Table, *, skip_bad: bool) -> Iterator[tuple[Batch, _Prepared]]:
        """Yield the rest of the table and the features of its texts.

        With several threads, others read and prepare the next batches while this one learns. A pipe is not
        read ahead: its next row may arrive late or never, and stopping would have to wait for it.
        """
        threads = checks.threads(self.model.n_jobs)
        in_parallel = threads > 1 and os.path.isfile(source.name)
        workers = [
            partial(_prepare, features_of=features_of, classes=self.model.classes_)
            for features_of in self.model.preparers(min(threads, MOST_WORKERS) if in_parallel else 1)
        ]
        batches = self._remaining(source, skip_bad=skip_bad)
        yield from ahead(batches, workers) if in_parallel else map(workers[0], batches)

    def _learn(
        self, source: Table, batch: Batch, prepared: "_Prepared", *, strict: bool
    ) -> list[tuple[int, str]]:
        """Learn from the rows with known classes; return row numbers of and messages about the others."""
        numbers, known = prepared.numbers, prepared.known
        messages = [
            (
                batch.rows[k],
                f"{source.name}: {batch.place(k)} has the label {batch.labels[k]!r}, which is not one of the "
                f"classes {listed(self.class_names)}.",
            )
            for k in np.flatnonzero(numbers < 0).tolist()
        ]
        if messages and strict:
            raise TableError(messages[0][1])
        if len(known):
            n, steps = 0, self.model.model.t_
            try:
                for features in prepared.features:
                    part = numbers[known[n : n + features.n_texts]]
                    self.model.learn(features, part, np.ones(len(part)))
                    n += features.n_texts
            except DivergenceError as error:
                k = int(known[max(error.step - steps, 1) - 1])
                raise TableError(
                    f"{source.name}: training has diverged at {batch.place(k)}, because the coefficients "
                    f"overflow; lower rate (now {error.rate:g}).",
                    "rate",
                ) from None
            sequence = np.append(self.last_class, numbers[known])
            self.class_changes += int((sequence[1:] != sequence[:-1]).sum())
            self.last_class = int(sequence[-1])
            last = int(known[-1])
            self.last_learnt_row, self.last_learnt_checksum = batch.rows[last], _checksum(batch, last)
        return messages

    @property
    def sorted_by_class(self) -> bool:
        """Whether most rows follow a row of their own class: too few changes for a model to learn online."""
        counts = self.model.counts
        expected_changes = counts.sum() * (1.0 - ((counts / max(counts.sum(), 1)) ** 2).sum())
        return bool(self.class_changes < 0.2 * expected_changes)

    def save(self, path: str | PathLike[str]) -> None:
        """Write a checkpoint; training that is resumed from it gives a bit-identical model."""
        saved = {name: getattr(self, name) for name in SAVED}
        model_files.write(path, KIND, {"model": self.model.to_state()} | saved, CHECKPOINTS[KIND])

    @classmethod
    def load(cls, path: str | PathLike[str], *, trust: bool = False) -> "OnlineTraining":
        """Read a checkpoint; see ``load_model`` for ``trust``."""
        _, state = model_files.read(path, CHECKPOINTS, trust=trust)
        with model_files.reporting_damage(path):
            fields = {name: state[name] for name in SAVED} | {"first_bad_rows": list(state["first_bad_rows"])}
            return cls(OnlineTextModel.from_state(state["model"]), **fields)


def _checksum(batch: Batch, k: int) -> int:
    return zlib.crc32(f"{batch.labels[k]}\n{batch.texts[k]}".encode())
