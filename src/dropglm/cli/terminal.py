"""Output: results on standard output, everything else on standard error.

Only functions that print tables import rich, which takes 10 ms.
"""

import json
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from dropglm.base.progress import before_compiling, plural, write_line

if TYPE_CHECKING:
    from rich.console import Console

    from dropglm.text.metrics import Disagreement, Metrics, MultilabelMetrics

LONGEST = 50  # characters of an n-gram; a word may be a whole encoded picture
MOST_CLASSES = 20  # in a table
EXCERPT = 100  # characters of a text in a list


@cache
def _out() -> "Console":
    """Return the console on standard output, which raises an error if the reader of its output has gone."""
    from rich.console import Console

    class Terminal(Console):
        def on_broken_pipe(self) -> None:
            """Raise the error, where rich would exit with code 1."""
            raise BrokenPipeError

    return Terminal(highlight=False)


def message(sentence: str) -> None:
    """Write a sentence to standard error, on one line whatever the width."""
    write_line(f"dropglm: {sentence}")


def announce_compilation(quiet: bool = False) -> None:
    """Let users know when functions have to be compiled, which takes seconds, and why."""
    before_compiling(None if quiet else lambda reason: message(f"compiling functions, since {reason}."))


def print_table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]], *, words: int = 1) -> None:
    """Print a table to standard output; the columns after the first ``words`` hold numbers."""
    from rich.markup import escape
    from rich.table import Table

    _out().print(f"\n[bold]{escape(printable(title))}[/bold]")
    grid = Table(header_style="bold")
    for number, name in enumerate(header):
        grid.add_column(
            escape(printable(name)), justify="left" if number < words else "right", overflow="fold"
        )
    for row in rows:
        grid.add_row(*(escape(printable(cell)) for cell in row))
    _out().print(grid)


def print_top_ngrams(top: dict[Any, list[Any]]) -> None:
    """Print the n-grams that favour each class most, in their order."""
    rows = [
        (str(label), ", ".join(f"{excerpt(entry.ngram, LONGEST)} {entry.weight:+.2f}" for entry in entries))
        for label, entries in list(top.items())[:MOST_CLASSES]
    ]
    title = "N-grams that favour each class, ranked by weight and by how many texts have them"
    print_table(title, ("class", "n-grams with their weights"), rows, words=2)
    if len(top) > MOST_CLASSES:
        _out().print(f"… and {len(top) - MOST_CLASSES:,} more classes")


def excerpt(text: str, longest: int) -> str:
    """Return the beginning of a text, with an ellipsis if there is more."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def print_pairs(rows: Iterable[tuple[str, str]]) -> None:
    """Print headings, each with a statement, to standard output."""
    from rich.markup import escape
    from rich.table import Table

    grid = Table.grid(padding=(0, 2))
    for heading, statement in rows:
        grid.add_row(f"[bold]{escape(heading)}[/bold]", escape(printable(statement)))
    _out().print(grid)


def without_label(n: int, what: str) -> list[tuple[str, str]]:
    """Return the heading and the statement about the rows of a table without a label, if there are any."""
    return [("without label", f"{plural(n, 'row')} of the table, {what}")] if n else []


def printable(text: str) -> str:
    """Replace characters that would move the cursor or change colours."""
    return "".join(c if c.isprintable() else "\N{WHITE SQUARE}" for c in text)


def print_json(content: Any) -> None:
    """Print JSON to standard output, in ASCII unless the output is encoded in UTF-8."""
    is_utf = (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    print(json.dumps(content, indent=2, ensure_ascii=not is_utf))


def print_classes(measures: "Metrics | MultilabelMetrics", title: str) -> None:
    """Print precision, recall and F1 of each class, of those with the lowest F1 if there are many."""
    shown = measures.by_class
    if len(shown) > MOST_CLASSES:
        title += f": the {MOST_CLASSES} with the lowest F1 (--json lists all)"
        known = [one for one in shown if one.f1 is not None]
        shown = sorted(known, key=lambda one: one.f1 or 0.0)[:MOST_CLASSES]

    def number(value: float | None) -> str:
        return "-" if value is None else f"{value:.3f}"

    rows = (
        (str(one.label), number(one.precision), number(one.recall), number(one.f1), f"{one.texts:,}")
        for one in shown
    )
    print_table(title, ("class", "precision", "recall", "F1", "texts"), rows)


def print_disagreements(title: str, found: "Sequence[Disagreement]") -> None:
    """Print excerpts of texts whose prediction differs from their label, with rows counted from 1."""
    rows = (
        (
            f"{one.row + 1:,}",
            excerpt(" ".join(one.text.split()), EXCERPT),
            str(one.label),
            str(one.predicted),
            f"{one.probability:.2f}",
        )
        for one in found
    )
    print_table(title, ("row", "text", "label", "predicted", "probability"), rows, words=4)


def disagreements_to_json(found: "Sequence[Disagreement]") -> list[dict[str, Any]]:
    """Return the entries in plain types, with the rows of the table counted from 1."""
    return [one._asdict() | {"row": one.row + 1} for one in found]
