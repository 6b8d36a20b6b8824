"""Tables of texts and labels, as the commands read them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dropglm import tables
from dropglm.cli import terminal

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

    def labelled(self, table: str, format: str | None = None) -> tuple[list[str], "np.ndarray"]:
        """The texts and labels of a table."""
        frame = self._read(table, self.text, self.label, format)
        return frame[self.text].to_list(), frame[self.label].to_numpy()

    def unlabelled(self, table: str, text: str | None = None) -> list[str]:
        """The texts of a table without labels, which may have another name there."""
        column = text or self.text
        texts: list[str] = self._read(table, column, None, None)[column].to_list()
        return texts

    def _read(self, table: str, text: str, label: str | None, format: str | None) -> Any:
        with terminal.step(f"Reading {table}", quiet=self.quiet):
            return tables.read(
                table, text, label, format=format, encoding=self.encoding, delimiter=self.delimiter
            )
