"""Learning from a table that is read as it is learnt from, and going on where it was stopped."""

import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dropglm import model_files, tables
from dropglm.tables import Batch, RowError, TableError
from dropglm.text.model import opened
from dropglm.text.online import OnlineTextClassifier

KIND = "OnlineTraining"
HEAD = 1 << 16  # bytes by which a file is known again
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

    def fingerprint(self) -> int:
        """A checksum of how the file begins, which stays when rows are added; 0 for a pipe."""
        if not Path(self.path).is_file():
            return 0
        with open(self.path, "rb") as file:
            return zlib.crc32(file.read(HEAD))


class _Read(NamedTuple):
    """What was read at a time: a batch, unless there was none, and the bad rows before and behind it."""

    batch: Batch | None
    bad: list[RowError]

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
    classes : dict
        The class that each spelling of a label stands for.
    epoch, row : int
        Passes that are done, and rows of the next one.
    bad : int
        Rows that were passed over.
    fingerprint : int
        How the table is known again.
    """

    model: OnlineTextClassifier
    classes: dict[str, Any]
    fingerprint: int = 0
    epoch: int = 0
    row: int = 0
    bad: int = 0
    switches: int = 0  # rows of another class than the row before
    last: int = -1  # the class of the last row

    def learn(
        self, source: Source, *, epochs: int = 1, on_bad: Callable[[str], None] | None = None
    ) -> Iterator[None]:
        """Learn the rest of the passes over the table; yields after each batch.

        ``on_bad`` is told of each bad row, which is then passed over; None raises the first one.
        """
        while self.epoch < epochs:
            for read in _reads(source, self.row, skip=on_bad is not None):
                complaints = [(bad.row, str(bad)) for bad in read.bad]
                if read.batch is not None:
                    complaints += self._learn(source, read.batch, strict=on_bad is None)
                for _, sentence in sorted(complaints):
                    if on_bad is not None:
                        on_bad(sentence)
                self.bad += len(complaints)
                self.row = read.last
                yield
            self.epoch, self.row = self.epoch + 1, 0

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
            follows = np.append(self.last, numbers[known])
            self.switches += int((follows[1:] != follows[:-1]).sum())
            self.last = int(follows[-1])
        return complaints

    @property
    def ordered(self) -> bool:
        """Whether rows of a class stand together, which a model that learns row by row does not survive."""
        counts = self.model.counts_
        mixed = counts.sum() * (1.0 - ((counts / max(counts.sum(), 1)) ** 2).sum())
        return bool(self.switches < 0.2 * mixed)

    def save(self, path: str | PathLike[str]) -> None:
        """Write all of it, so that ``load`` goes on as if it had not stopped."""
        numbers = {name: getattr(self, name) for name in NUMBERS}
        spellings = {"spelled": list(self.classes), "values": list(self.classes.values())}
        model_files.write(path, KIND, {"model": self.model.to_state()} | numbers | spellings)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "OnlineTraining":
        """What ``save`` wrote."""
        _, state = model_files.read(path, KIND)
        model = opened(OnlineTextClassifier, path, state.get("model", {}))
        try:
            classes = dict(zip(state["spelled"], state["values"], strict=True))
            return cls(model, classes, **{name: int(state[name]) for name in NUMBERS})
        except (KeyError, TypeError, ValueError) as error:
            raise model_files.ModelFileError(f"{path} is a damaged checkpoint: {error}.") from None


NUMBERS = ("fingerprint", "epoch", "row", "bad", "switches", "last")


def _reads(source: Source, start: int, *, skip: bool) -> Iterator[_Read]:
    """The batches, each with the complaints about the bad rows up to it."""
    bad: list[RowError] = []
    for batch in source.batches(start, bad.append if skip else None):
        yield _Read(batch, bad.copy())
        bad.clear()
    if bad:
        yield _Read(None, bad)
