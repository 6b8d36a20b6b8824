"""Tables of texts and labels, as the commands read them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from dropglm import tables
from dropglm.progress import Progress

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Reading:
    """How to read tables: the columns, and what their files look like."""

    text: str
    label: str
    encoding: str | None
    delimiter: str | None
    quiet: bool

    def __post_init__(self) -> None:
        if self.text == self.label:
            raise typer.BadParameter(f"{self.text!r} is the column of texts.", param_hint="--label")

    def labelled(self, table: str, format: str | None = None) -> tuple[list[str], "np.ndarray"]:
        """The texts and labels of a table."""
        import numpy as np

        frame = self._read(table, self.text, self.label, format)
        y = frame[self.label].to_numpy()
        # Numbers with fractions are names of classes here, not a scale: as they are written.
        return frame[self.text].to_list(), np.array(
            [repr(v) for v in y.tolist()]
        ) if y.dtype.kind == "f" else y

    def unlabelled(self, table: str, text: str | None = None) -> list[str]:
        """The texts of a table without labels, which may have another name there."""
        column = text or self.text
        texts: list[str] = self._read(table, column, None, None)[column].to_list()
        return texts

    def _read(self, table: str, text: str, label: str | None, format: str | None) -> Any:
        with Progress(f"Reading {table}", shown=not self.quiet):
            return tables.read(
                table, text, label, format=format, encoding=self.encoding, delimiter=self.delimiter
            )
