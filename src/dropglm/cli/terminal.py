"""What people see: results on standard output, everything else on standard error."""

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

MOST_CLASSES = 20  # in a table
BAR = 12  # characters
BAR_EVERY, LOG_EVERY = 0.5, 60.0  # seconds between two drawings, or two lines where nobody watches
CLEARED = "\r\x1b[K"  # the line, in a terminal


class Terminal(Console):
    """A console that leaves it to the command what to do when nobody reads its output any more."""

    def on_broken_pipe(self) -> None:
        """Say so, where rich would leave with code 1."""
        raise BrokenPipeError


out = Terminal(highlight=False)
err = Terminal(stderr=True, highlight=False)


def complain(sentence: str) -> None:
    """A sentence on standard error, on one line whatever the width; a bar that stands there goes."""
    clear()
    sys.stderr.write(f"dropglm: {sentence}\n")


def clear() -> None:
    """Take away a bar."""
    if err.is_terminal:
        sys.stderr.write(CLEARED)
        sys.stderr.flush()


def bar(share: float, sentence: str) -> None:
    """A bar and a sentence, as much of it as there is room for, in place of the one before."""
    text = f"{'━' * round(BAR * share):<{BAR}} {sentence}"
    sys.stderr.write(f"{CLEARED}{text[: err.width - 1]}")
    sys.stderr.flush()


def percentage(share: float, sentence: str) -> None:
    """What ``bar`` says, on a line that stays."""
    complain(f"{share:.0%} done, {sentence}")


def course(quiet: bool) -> tuple[Callable[[float, str], None] | None, float]:
    """What tells how far a long run is, and every how many seconds: nothing, a bar, or lines in a log."""
    if quiet:
        return None, 0.0
    return (bar, BAR_EVERY) if err.is_terminal else (percentage, LOG_EVERY)


@contextmanager
def step(doing: str, *, quiet: bool = False) -> Iterator[None]:
    """Say what is going on, with a spinner in a terminal, and how long it took."""
    if quiet:
        yield
        return
    start = time.perf_counter()
    with err.status(escape(doing)):
        yield
    err.print(f"{escape(doing)}: {time.perf_counter() - start:.1f} s", style="dim")


def bars(quiet: bool) -> int:
    """``verbose`` for the library: bars in a terminal, unless nobody wants them."""
    return int(not quiet and err.is_terminal)


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
