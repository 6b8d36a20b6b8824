"""Texts whose prediction differs from their label, in the terminal, as JSON and as a table to write."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dropglm import tables
from dropglm.cli import terminal
from dropglm.tables.parquet import import_polars

if TYPE_CHECKING:
    from dropglm.text.label_check import Disagreement

EXCERPT = 100  # characters of a text in the terminal


def print_disagreements(title: str, found: "Sequence[Disagreement]") -> None:
    """Print excerpts of the texts, with the rows of the table counted from 1."""
    terminal.table(
        title,
        ("row", "text", "label", "predicted", "probability"),
        (
            (
                f"{one.row + 1:,}",
                _excerpt(one.text),
                str(one.label),
                str(one.predicted),
                f"{one.probability:.2f}",
            )
            for one in found
        ),
        words=4,
    )


def disagreements_to_json(found: "Sequence[Disagreement]") -> list[dict[str, Any]]:
    """Return the entries in plain types, with the rows of the table counted from 1."""
    return [one._asdict() | {"row": one.row + 1} for one in found]


def write_disagreements(found: "Sequence[Disagreement]", path: str) -> None:
    """Write the entries as a table with whole texts, in a format that follows from the name of the file."""
    from dropglm.text.label_check import Disagreement

    rows = [(one.row + 1, *one[1:]) for one in found]
    columns = {name: [row[k] for row in rows] for k, name in enumerate(Disagreement._fields)}
    tables.write(import_polars().DataFrame(columns), path)


def _excerpt(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= EXCERPT else f"{words[: EXCERPT - 1]}…"
