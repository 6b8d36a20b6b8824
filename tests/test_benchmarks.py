"""Benchmarks import without their optional libraries, and what they wrote is consistent."""

import importlib
import re
from pathlib import Path

import benchmarks
import pytest
from benchmarks import fits, report, streaming, vectorizing, whole_job
from benchmarks.markdown import ROOT

MEASURED = (ROOT / "docs" / "measured.md").read_text(encoding="utf-8")


def section(title):
    """Header and rows of the table below the first heading that contains the title."""
    below = next(part for part in re.split(r"^##+ ", MEASURED, flags=re.M) if title in part.splitlines()[0])
    lines = [line for line in below.splitlines() if line.startswith("|")]
    cells = [tuple(cell.strip() for cell in line[1:-1].split("|")) for line in lines]
    return cells[0], cells[2:]


@pytest.mark.parametrize("path", sorted(Path(benchmarks.__file__).parent.glob("*.py")), ids=lambda p: p.stem)
def test_every_benchmark_imports(path):
    assert importlib.import_module(f"benchmarks.{path.stem}".removesuffix(".__init__")).__doc__


@pytest.mark.parametrize(
    ("title", "header"),
    [
        ("From files to a model", whole_job.HEADER),
        ("Bigrams of 100,000 reviews", vectorizing.HEADER),
        ("in memory", streaming.PARSED),
        ("From a file to a model", streaming.FILES),
    ],
)
def test_the_stored_tables_have_the_headers_of_the_benchmarks(title, header):
    assert section(title)[0] == header


def test_the_readmes_table_follows_from_the_stored_measurements():
    titles = (
        "From files to a model",
        "Bigrams of 100,000 reviews",
        "9,205,029 non-zeros: compared",
        "in memory",
        "From a file to a model",
    )
    block = re.search(
        r"<!-- measured: start -->\n(.*)\n<!-- measured: stop -->",
        (ROOT / "README.md").read_text(encoding="utf-8"),
        re.S,
    )[1]
    processor = re.search(r"^Machine: (.*?);", MEASURED, re.M)[1]
    expected = report.summary(*(section(title)[1] for title in titles))
    assert block == f"{expected}\n\n{report.CONDITIONS.format(machine=processor)}"


@pytest.mark.parametrize("part", fits.PARTS)
def test_every_profiled_function_exists(part):
    """A renamed function would silently take no time."""
    name, function = fits.PARTS[part]
    files = list((ROOT / "src" / "dropglm").rglob(name))
    assert any(f"def {function}(" in path.read_text(encoding="utf-8") for path in files)
