"""Below each table that a command has written, the day on which it last changed.

Commands write tables between two marks, ``<!-- NAME: start -->`` and ``<!-- NAME: stop -->``. The day is that
of the newest commit that changed a row of the tables between them. Without the history of the repository,
there are no dates.
"""

import re
import subprocess
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path

from sphinx.application import Sphinx

STOP = re.compile(r"^<!-- ([\w-]+): stop -->$", re.MULTILINE)
# On other pages, {written PAGE NAME} is the day of a table.
ELSEWHERE = re.compile(r"\{written (\S+) ([\w-]+)\}")


def git(folder: Path, *arguments: str) -> str | None:
    """Return what a command of git prints, or None if it fails or there is no git."""
    command = ["git", "-C", str(folder), *arguments]
    try:
        return subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout
    except (OSError, subprocess.CalledProcessError):
        return None


@cache
def has_history(folder: Path) -> bool:
    """Return whether the folder is part of a clone with all commits."""
    return (git(folder, "rev-parse", "--is-shallow-repository") or "").strip() == "false"


def day_of_table(page: Path, name: str) -> date | None:
    """Return the day of the newest commit that changed the table of that name on a page."""
    if not has_history(page.parent):
        return None
    # With -C, a row that was moved from another page keeps its day.
    lines = f"/<!-- {name}: start -->/,/<!-- {name}: stop -->/"
    found = git(page.parent, "blame", "-C", "--line-porcelain", "-L", lines, "--", page.name)
    if found is None:
        return None
    # Of each line: its commit with the time, then the line itself after a tab.
    times = re.findall(r"^author-time (\d+)$(?:\n[^\t].*)*\n\t\|", found, flags=re.MULTILINE)
    return datetime.fromtimestamp(max(map(int, times)), UTC).date() if times else None


def add_dates(sphinx: Sphinx, docname: str, source: list[str]) -> None:
    """Add the day below every table of a page, and where it is asked for."""

    def dated(mark: re.Match[str]) -> str:
        day = day_of_table(Path(sphinx.env.doc2path(docname)), mark[1])
        return mark[0] if day is None else f"{mark[0]}\n\n{{.written}}\nWritten on {day:%-d %B %Y}.\n"

    def elsewhere(asked: re.Match[str]) -> str:
        page = Path(sphinx.env.srcdir, asked[1])
        if f"<!-- {asked[2]}: stop -->" not in page.read_text(encoding="utf-8"):
            raise ValueError(f"{asked[1]} has no table {asked[2]}.")
        day = day_of_table(page, asked[2])
        return "" if day is None else f"{day:%Y\u2011%m\u2011%d}"

    source[0] = ELSEWHERE.sub(elsewhere, source[0])
    if "stop -->" in source[0]:
        source[0] = STOP.sub(dated, source[0])


def setup(sphinx: Sphinx) -> dict[str, bool]:
    """Register the change of sources."""
    sphinx.connect("source-read", add_dates)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
