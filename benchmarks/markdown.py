"""Markdown tables, and blocks of a document that scripts replace."""

from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent

Rows = list[tuple[str, ...]]


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    safe = [[cell.replace("|", r"\|") for cell in row] for row in (header, ("---",) * len(header), *rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in safe)


def fill(path: Path, name: str, block: str) -> None:
    """Replace the text between the two marks of that name, and nothing else."""
    start, stop = f"<!-- {name}: start -->", f"<!-- {name}: stop -->"
    text = path.read_text(encoding="utf-8")
    if [text.count(start), text.count(stop)] != [1, 1] or text.index(start) > text.index(stop):
        raise ValueError(f"{path} must have exactly one {start} followed by one {stop}.")
    head, rest = text.split(start)
    _, tail = rest.split(stop)
    path.write_text(f"{head}{start}\n{block}\n{stop}{tail}", encoding="utf-8")
