"""Run the benchmarks and write the results into docs/measured.md; ``benchmarks.readme`` shortens them.

DROPGLM_DATA=… python -m benchmarks.report [SECTION …] [--cores FILE]

Each section is written as soon as it is measured, and the others are left as they are. After an
interruption, name the sections that are still missing. ``--cores`` inserts the tables of
``benchmarks.cores``, which may come from another machine.
"""

import argparse
import platform
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from benchmarks import cold_start, fits, same_gap, streaming, sweep, vectorizing, whole_job
from benchmarks.markdown import ROOT, table
from benchmarks.processes import in_fresh_process
from benchmarks.text import imdb

Rows = Sequence[Sequence[str]]
Tables = Iterable[tuple[str, Sequence[str], Rows]]  # title, header and rows
PAGE = ROOT / "docs" / "measured.md"
BLOCK = re.compile(r"<!-- (\w+): start -->\n(.*?)\n?<!-- \1: stop -->", re.DOTALL)
NOT_YET = "Not measured yet."


class Section(NamedTuple):
    """A section of the page: its heading, a paragraph, and what measures its tables."""

    heading: str
    words: str
    measure: Callable[[], Tables]


def machine() -> str:
    """Return the processor and the versions of the libraries."""
    names = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    processor = f"{len(names)} cores of {names[0].split(':')[1].strip() if names else platform.machine()}"
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn", "numba"))
    return f"{processor}; Python {platform.python_version()}, {libraries}"


def jobs() -> Tables:
    for title, rows in whole_job.measure_all(list(whole_job.JOBS)):
        yield title, whole_job.HEADER, rows


def gaps() -> Tables:
    return [(title, same_gap.HEADER, rows) for title, rows in in_fresh_process(_gaps)]


def _gaps() -> list[tuple[str, same_gap.Rows]]:
    return list(same_gap.tables(imdb(2)))


def other_fits() -> Tables:
    for title, (header, rows) in in_fresh_process(fits.tables):
        yield title, header, rows
    yield "Peak memory of a fit", *in_fresh_process(fits.memory, 2)


def vectorizers() -> Tables:
    for number, case in enumerate(vectorizing.CASES):
        title, rows = vectorizing.measure(number)
        yield title, case.header, rows


def online() -> Tables:
    yield "One pass over IMDB's bigrams in memory", streaming.PARSED, in_fresh_process(streaming.parsed)
    yield "From a file to a model", streaming.FILES, streaming.files()


def penalties() -> Tables:
    for case in sweep.CASES:
        title, rows = in_fresh_process(sweep.titled_measure, *case)
        yield title, ("", "time"), rows


def starts() -> Tables:
    yield "Commands", cold_start.HEADER, cold_start.processes()
    yield "After an installation", cold_start.INSTALLED, cold_start.after_installation()
    yield "First results", cold_start.FIRST, list(cold_start.first_results())


SECTIONS = {
    "jobs": Section(
        "From files to a tuned model",
        "Time of the whole process, from a table to a model file: the fastest of three alternating runs of "
        "the first job, one run of the others. scikit-learn runs with the fastest of its settings (1 or 2 "
        "processes, 1 or 2 threads of BLAS, float32 or float64, scored by log loss or accuracy), which was "
        "found on a part of the texts. It learns from the labelled texts only, and from single words unless "
        "stated; dropglm uses words and pairs of words. Peak memory is that of the largest process.",
        jobs,
    ),
    "gaps": Section(
        "Fits compared with other libraries",
        "IMDB's bigrams, 25,000 × 741,605. All libraries fit plain L2 logistic regression at C = 0.1, and "
        "dropglm also dropout 0.5 with l2 = 1. Every fit has the fewest iterations, or the largest "
        "tolerance, that bring the library's own objective within the relative gap of its minimum, and the "
        "fastest of the library's settings. The fastest of three alternating fits.",
        gaps,
    ),
    "fits": Section(
        "Other fits",
        "IMDB's bigrams, dropout 0.5 and l2 = 1, on two threads.",
        other_fits,
    ),
    "vectorizers": Section(
        "Vectorizers", "Each in its own process; the faster of two alternating runs.", vectorizers
    ),
    "online": Section(
        "Online learning",
        f"In memory: the fastest of {streaming.ROUNDS} alternating runs on one thread; River is timed on "
        f"{streaming.RIVER_ROWS:,} rows. From a file: time of the whole process, the fastest of three "
        "alternating runs. For Vowpal Wabbit the texts were tokenised beforehand; the longer file repeats "
        "the reviews ten times.",
        online,
    ),
    "penalties": Section(
        "One value and gradient of the penalty on IMDB's bigrams",
        "The fastest of many alternating calls, with BLAS limited to one thread. SciPy's two products are "
        "all that one step of plain ridge regression needs; the penalty also computes a variance and its "
        "derivative.",
        penalties,
    ),
    "starts": Section(
        "Starting up",
        f"Fresh processes. Commands: {cold_start.ROUNDS} alternating runs. After an installation: the "
        "fastest first and the fastest second run of README's commands, over "
        f"{cold_start.INSTALLATIONS} installations of the wheel. First results: the time inside a process "
        "after the imports, medians of five.",
        starts,
    ),
}
CORES = "Threads"  # the heading of the section that benchmarks.cores fills


def write(new: dict[str, str]) -> None:
    """Write the page, with new blocks and those that it has already."""
    blocks = dict(BLOCK.findall(PAGE.read_text(encoding="utf-8"))) | new
    parts = ["# Measurements\n\nWritten by `make bench`; do not edit.\n", _block("machine", blocks)]
    for name, section in SECTIONS.items():
        parts.append(f"## {section.heading}\n\n{section.words}\n\n{_block(name, blocks)}")
    words = "Written by `benchmarks.cores`. Processor time includes that of threads that watch for work."
    parts.append(f"## {CORES}\n\n{words}\n\n{_block('cores', blocks)}")
    PAGE.write_text("\n".join(parts), encoding="utf-8")


def _block(name: str, blocks: dict[str, str]) -> str:
    return f"<!-- {name}: start -->\n{blocks.get(name, NOT_YET)}\n<!-- {name}: stop -->\n"


def in_markdown(tables: Tables) -> Iterator[str]:
    """Yield the tables with their titles, and print each."""
    for title, header, rows in tables:
        part = f"### {title}\n\n{table(header, rows)}"
        print(f"{part}\n", flush=True)
        yield part


CONDITIONS = (
    "Measured on {machine}. Tuned models and the prediction are whole processes, with all imports. "
    "The other libraries run with the fastest of the settings that were tried (processes, threads of BLAS, "
    "precision), and learn from the labelled texts only. Percentages are test accuracies. {fits}The speed "
    "of learning from a file excludes start-up time, and Vowpal Wabbit reads texts that were tokenised "
    "beforehand."
)
# Only if the table has fits.
OF_FITS = (
    "A fit is timed until its objective is within 1e-4 of the minimum, relatively; the others fit plain L2. "
)


def stored() -> dict[str, list[tuple[list[str], list[list[str]]]]]:
    """Return the tables of the page by section, each as its header and its rows."""
    found = {}
    for name, block in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        tables = []
        for part in re.split(r"^### ", block, flags=re.MULTILINE)[1:]:
            lines = [line for line in part.splitlines() if line.startswith("|")]
            header, _, *rows = ([cell.strip() for cell in line.split("|")[1:-1]] for line in lines)
            tables.append((header, rows))
        found[name] = tables
    return found


def summary() -> str:
    """Return the README's table, with one row per task, from the tables of the page that are there."""
    found = {name: [rows for _, rows in tables] for name, tables in stored().items()}
    rows: list[tuple[str, ...]] = []
    for job, (ours, theirs) in zip(whole_job.JOBS.values(), found["jobs"], strict=False):
        rows.append(
            (
                f"tuned model: {job.title}",
                f"{ours[1]}, {ours[5]} %",
                f"tf-idf and LogisticRegressionCV: {theirs[1]}, {theirs[5]} %",
            )
        )
    for rows_of_fits in found["gaps"][-1:]:
        fit = {row[0]: row for row in rows_of_fits}
        sklearn = next(row for name, row in fit.items() if name.startswith("scikit-learn"))  # the fastest
        others = "; ".join(f"{row[0]}: {row[2]}, {row[5]} %" for row in (sklearn, fit["snapml"]))
        our_rows = [fit[name] for name in same_gap.OURS]
        own = "; ".join(f"{row[0].removeprefix('dropglm, ')}: {row[2]}, {row[5]} %" for row in our_rows)
        rows.append(("one fit, IMDB bigrams", own, others))
    for rows_of_words in found["vectorizers"][:1]:
        words = {row[0]: row for row in rows_of_words}
        theirs, ours = words[vectorizing.THEIRS], words["NgramVectorizer, 2 threads"]
        others = f"{theirs[0]}: {theirs[1]}, {theirs[4]}"
        rows.append(("bigrams of 100,000 reviews", f"{ours[1]}, {ours[4]}", others))
    for theirs, ours, *_ in found["starts"][:1]:
        rows.append(("predict one text", f"{ours[0]}: {ours[1]}", f"{theirs[0]}: {theirs[1]}"))
    for rows_of_rules in found["online"][:1]:
        rules = {row[0]: row for row in rows_of_rules}
        theirs, ours = (
            rules["`SGDClassifier(loss='log_loss')`"],
            rules["`OnlineLogisticRegression('dropout')`"],
        )
        river = rules["River, LogisticRegression(AdaGrad)"]
        others = f"SGDClassifier: {theirs[2]}; River: {river[2]}"
        rows.append(("learn online from memory, rows per second", ours[2], others))
    for ours, theirs, _ in found["online"][1:2]:
        rows.append(("learn online from a file, rows per second", ours[3], f"Vowpal Wabbit: {theirs[3]}"))
    return table(("", "dropglm", "others"), rows)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    parser.add_argument("--cores", type=Path)
    options = parser.parse_args()
    if options.cores is not None:
        write({"cores": options.cores.read_text(encoding="utf-8").strip()})
    names = options.sections or ([] if options.cores else list(SECTIONS))
    for name in names:
        print(f"# {name}", flush=True)
        block = "\n\n".join(in_markdown(SECTIONS[name].measure()))
        write({name: block, "machine": f"Machine: {machine()}."})


if __name__ == "__main__":
    main()
