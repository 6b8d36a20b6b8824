"""What people see: results on standard output, everything else on standard error."""

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dropglm.progress import clear_bar, is_terminal

MOST_CLASSES = 20  # in a table


class Terminal(Console):
    """A console that leaves it to the command what to do when nobody reads its output any more."""

    def on_broken_pipe(self) -> None:
        """Say so, where rich would leave with code 1."""
        raise BrokenPipeError


out = Terminal(highlight=False)


def complain(sentence: str) -> None:
    """Write a sentence to standard error, on one line whatever the width."""
    clear_bar()
    print(f"dropglm: {sentence}", file=sys.stderr)


def verbosity(quiet: bool) -> int:
    """Return ``verbose`` for the library: progress bars in a terminal, unless they are not wanted."""
    return int(not quiet and is_terminal())


def table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]], *, words: int = 1) -> None:
    """A table on standard output; all columns but the first ``words`` are numbers."""
    out.print(f"\n[bold]{escape(visible(title))}[/bold]")
    grid = Table(header_style="bold")
    for number, name in enumerate(header):
        grid.add_column(escape(name), justify="left" if number < words else "right", overflow="fold")
    for row in rows:
        grid.add_row(*(escape(visible(cell)) for cell in row))
    out.print(grid)


def top_table(top: dict[Any, list[Any]]) -> None:
    """The n-grams that speak most for each class."""
    rows = [
        (str(label), ", ".join(f"{entry.ngram} {entry.weight:+.2f}" for entry in entries))
        for label, entries in list(top.items())[:MOST_CLASSES]
    ]
    table("What speaks for each class", ("class", "n-grams, and what each adds"), rows, words=2)
    if len(top) > MOST_CLASSES:
        out.print(f"… and {len(top) - MOST_CLASSES:,} more classes")


def pairs(rows: Iterable[tuple[str, str]]) -> None:
    """Headings with statements, on standard output."""
    grid = Table.grid(padding=(0, 2))
    for heading, statement in rows:
        grid.add_row(f"[bold]{escape(heading)}[/bold]", escape(visible(statement)))
    out.print(grid)


def visible(text: str) -> str:
    """The text without characters that would move the cursor or change colours."""
    return "".join(c if c.isprintable() else "\N{WHITE SQUARE}" for c in text)


def as_json(content: Any) -> None:
    """JSON on standard output."""
    print(json.dumps(content, indent=2, ensure_ascii=False))
