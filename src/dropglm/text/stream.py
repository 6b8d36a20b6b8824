"""Learning from a table that is read as it is learnt from, and going on where it was stopped."""

import zlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from dropglm import model_files, tables
from dropglm.tables import Batch, RowError, TableError
from dropglm.text.online_classifier import OnlineTextClassifier

KIND = "OnlineTraining"
MOST_LISTED = 10  # messages about bad rows that are kept
MOST_CLASSES = 1000


@dataclass(frozen=True)
class Source:
    """A table of texts and labels, and how to read it; see ``tables.stream``."""

    path: str
    text: str = "text"
    label: str = "label"
    format: str | None = None
    encoding: str | None = None
    delimiter: str | None = None

    def batches(self, start: int = 0, on_bad: Callable[[RowError], None] | None = None) -> Iterator[Batch]:
        """Its rows, but for the first ``start`` of them."""
        return tables.stream(
            self.path,
            self.text,
            self.label,
            on_bad=on_bad,
            start=start,
            format=self.format,
            encoding=self.encoding,
            delimiter=self.delimiter,
        )

    def classes(self, *, skip_bad: bool) -> list[str]:
        """All labels, in order, from a pass over the whole table."""
        found: Counter[str] = Counter()
        for batch in self.batches(on_bad=(lambda _: None) if skip_bad else None):
            found.update(batch.labels)
            if len(found) > MOST_CLASSES:
                raise TableError(
                    f"{self.path}: {self.label!r} has more than {MOST_CLASSES:,} different labels; name the "
                    "column of classes, or all classes."
                )
        if len(found) < 2:
            raise TableError(f"{self.path}: all rows have the label {next(iter(found))!r}; two are needed.")
        return sorted(found)


class _Read(NamedTuple):
    """What was read at a time: a batch, unless there was none, and the bad rows before and behind it."""

    batch: Batch | None
    bad: list[RowError]

    def after(self, row: int) -> "_Read":
        """What stands behind that row."""
        batch = self.batch and self.batch.after(bisect_right(self.batch.rows, row))
        return _Read(batch if batch and batch.rows else None, [bad for bad in self.bad if bad.row > row])

    @property
    def last(self) -> int:
        """The number of the last row."""
        return max([bad.row for bad in self.bad[-1:]] + (self.batch.rows[-1:] if self.batch else []))


@dataclass
class OnlineTraining:
    """A model, and how far it has come in a table.

    Attributes
    ----------
    model : OnlineTextClassifier
        The classifier that is being trained.
    classes : dict
        The class that each spelling of a label stands for.
    origin : dict
        What else the result depends on; for whoever goes on from a file to compare.
    epoch, row : int
        Passes that are done, and rows of the next one.
    bad_rows : int
        Rows that were passed over.
    first_bad_rows : list of str
        The complaints about the first of them.
    """

    model: OnlineTextClassifier
    classes: dict[str, Any]
    origin: dict[str, Any] = field(default_factory=dict)
    epoch: int = 0
    row: int = 0
    bad_rows: int = 0
    first_bad_rows: list[str] = field(default_factory=list)
    class_changes: int = 0  # rows whose class differs from that of the row before
    last_class: int = -1  # class number of the last row
    last_learnt_row: int = 0  # the number of the last row that was learnt from
    last_learnt_checksum: int = 0

    @classmethod
    def start(
        cls, model: OnlineTextClassifier, classes: dict[str, Any], origin: dict[str, Any] | None = None
    ) -> "OnlineTraining":
        """Return a training at the first row; a model that is not fitted yet is prepared for the classes."""
        if not hasattr(model, "model_"):
            model._reset(list(classes.values()))
        return cls(model, classes, origin or {})

    @property
    def progressive_counts(self) -> tuple[float, float]:
        """Number of rows predicted before they were learnt from, and how many of them correctly."""
        n, correct, _ = self.model.model_._progressive_totals
        return float(n), float(correct)

    def learn(
        self, source: Source, *, epochs: int = 1, on_bad: Callable[[str], None] | None = None
    ) -> Iterator[None]:
        """Learn the rest of the passes over the table; yields after each batch.

        ``on_bad`` is told of each bad row, which is then passed over; None raises the first one.
        """
        while self.epoch < epochs:
            for read in self._rest(source, skip=on_bad is not None):
                complaints = [(bad.row, str(bad)) for bad in read.bad]
                if read.batch is not None:
                    complaints += self._learn(source, read.batch, strict=on_bad is None)
                for _, sentence in sorted(complaints):
                    self.bad_rows += 1
                    self.first_bad_rows += [sentence] * (self.bad_rows <= MOST_LISTED)
                    if on_bad is not None:
                        on_bad(sentence)
                self.row = read.last
                yield
            self.epoch, self.row, self.last_learnt_row = self.epoch + 1, 0, 0

    def _rest(self, source: Source, *, skip: bool) -> Iterator[_Read]:
        """What comes after the last row, once the row learnt last was met again."""
        if not self.last_learnt_row:
            yield from _reads(source, self.row, skip=skip)
            return
        reads = _reads(source, self.last_learnt_row - 1, skip=skip)
        met = next(reads, None)
        if met is None or met.batch is None or met.batch.rows[0] != self.last_learnt_row:
            raise TableError(
                f"{source.path}: the table ends before row {self.last_learnt_row:,}, learnt before."
            )
        if _checksum(met.batch, 0) != self.last_learnt_checksum:
            raise TableError(
                f"{source.path}: row {self.last_learnt_row:,} is another one than was learnt before."
            )
        # Between it and the last row there were bad rows only, which were counted before.
        passed = self.row
        for read in chain([met], reads):
            rest = read.after(passed)
            if rest.batch or rest.bad:
                yield rest

    def _learn(self, source: Source, batch: Batch, *, strict: bool) -> list[tuple[int, str]]:
        """Learn from the rows whose class is known; complaints about the others, with their rows."""
        number_of = {spelling: number for number, spelling in enumerate(self.classes)}
        numbers = np.array([number_of.get(label, -1) for label in batch.labels])
        known, unknown = np.flatnonzero(numbers >= 0), np.flatnonzero(numbers < 0)
        complaints = [
            (batch.rows[k], f"{source.path}: {batch.place(k)} has the unknown label {batch.labels[k]!r}.")
            for k in unknown.tolist()
        ]
        if complaints and strict:
            raise TableError(complaints[0][1])
        if len(known):
            values = list(self.classes.values())
            labels = [values[number] for number in numbers[known]]
            self.model.partial_fit([batch.texts[k] for k in known], labels, classes=values)
            follows = np.append(self.last_class, numbers[known])
            self.class_changes += int((follows[1:] != follows[:-1]).sum())
            self.last_class = int(follows[-1])
            self.last_learnt_row, self.last_learnt_checksum = (
                batch.rows[known[-1]],
                _checksum(batch, int(known[-1])),
            )
        return complaints

    @property
    def sorted_by_class(self) -> bool:
        """Whether rows of a class stand together, which a model that learns row by row does not survive."""
        counts = self.model.counts_
        mixed = counts.sum() * (1.0 - ((counts / max(counts.sum(), 1)) ** 2).sum())
        return bool(self.class_changes < 0.2 * mixed)

    def save(self, path: str | PathLike[str]) -> None:
        """Write all of it, so that ``load`` goes on as if it had not stopped."""
        kept = {name: getattr(self, name) for name in (*NUMBERS, "origin", "first_bad_rows")}
        spellings = {"spelled": list(self.classes), "values": list(self.classes.values())}
        model_files.write(path, KIND, {"model": self.model._to_state()} | kept | spellings)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "OnlineTraining":
        """What ``save`` wrote."""
        _, state = model_files.read(path, KIND)
        with model_files.reporting_damage(path):
            model = OnlineTextClassifier._from_state(state.get("model", {}))
        try:
            classes = dict(zip(state["spelled"], state["values"], strict=True))
            if sorted(classes.values()) != model.classes_.tolist():
                raise ValueError("its classes are not those of its model")
            numbers = {name: int(state[name]) for name in NUMBERS}
            return cls(
                model, classes, dict(state["origin"]), first_bad_rows=list(state["first_bad_rows"]), **numbers
            )
        except (KeyError, TypeError, ValueError) as error:
            raise model_files.ModelFileError(f"{path} is a damaged checkpoint: {error}.") from None


NUMBERS = (
    "epoch",
    "row",
    "bad_rows",
    "class_changes",
    "last_class",
    "last_learnt_row",
    "last_learnt_checksum",
)


def _checksum(batch: Batch, k: int) -> int:
    return zlib.crc32(f"{batch.labels[k]}\n{batch.texts[k]}".encode())


def _reads(source: Source, start: int, *, skip: bool) -> Iterator[_Read]:
    """The batches, each with the complaints about the bad rows up to it."""
    bad: list[RowError] = []
    for batch in source.batches(start, bad.append if skip else None):
        yield _Read(batch, bad.copy())
        bad.clear()
    if bad:
        yield _Read(None, bad)
