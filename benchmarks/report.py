"""Run the benchmarks and write what they measured into docs/measured.md and the README.

DROPGLM_DATA=… python -m benchmarks.report
"""

import platform
from importlib.metadata import version
from pathlib import Path

from benchmarks import cold_start, fits, streaming, sweep, vectorizing, whole_job
from benchmarks.markdown import ROOT, fill, table
from benchmarks.processes import in_fresh_process

JOB = "From files to a model: IMDB, 25,000 reviews with labels and 50,000 without, bigrams"


def machine() -> str:
    """Processor and versions, in a line."""
    processors = [
        line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")
    ]
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn", "numba"))
    name = processors[0].split(":")[1].strip() if processors else platform.machine()
    return f"{len(processors)} cores of {name}; Python {platform.python_version()}, {libraries}"


def fit_tables() -> dict[str, str]:
    """The benchmarks of whole fits, by title."""
    tables = {}
    for n in (1, 2):
        for title, rows in in_fresh_process(fits.measure, n).items():
            rivals = title.endswith("the rivals")
            header = ("", "time", "ours over it", "test accuracy", "gap") if rivals else ("", "", "", "")
            tables[title] = table(header, rows)
    tables["Peak memory of a fit"] = table(("", "CSR arrays", "", ""), in_fresh_process(fits.memory, 2))
    return tables


def main() -> None:
    job = table(whole_job.HEADER, whole_job.measure())
    vectorized, vectorizers = vectorizing.measure()
    words = table(vectorizing.HEADER, vectorizers)
    rows_parsed = table(streaming.PARSED, in_fresh_process(streaming.parsed))
    rows_from_files = table(streaming.FILES, streaming.files())
    whole = fit_tables()
    results = dict(in_fresh_process(sweep.titled_measure, *case) for case in sweep.CASES)
    cold = cold_start.measure()

    parts = [
        "# What is measured\n\nWritten by `make bench`; do not edit.\n",
        f"Machine: {machine()}.\n",
        f"## {JOB}\n\nProcesses from start to end, the faster of two in turns.\n\n{job}\n",
        "## Vectorizers\n\nIn processes of their own, the faster of two in turns.\n\n"
        f"### {vectorized}\n\n{words}\n",
        "## Learning row by row\n\n### One pass over parsed rows: IMDB, bigrams\n\n"
        f"The fastest of {streaming.ROUNDS} in turns on one thread; {streaming.RIVER_ROWS:,} rows for "
        f"River.\n\n{rows_parsed}\n",
        "### From a file to a model, row by row\n\nWhole processes, the fastest of three in turns. Words "
        "were cut beforehand for Vowpal Wabbit; the longer file has the same reviews ten times.\n\n"
        f"{rows_from_files}\n",
        "## Whole fits\n\nOurs is logistic regression with dropout 0.5 and l2 = 1 on two threads, to a "
        "relative objective gap of 1e-4 (tol = 1e-2) and at its default tolerance; rivals are plain L2 at "
        "C = 0.1, at their own tolerances. The fastest of three fits in turns, in one run.\n",
        *(f"### {title}\n\n{rows}\n" for title, rows in whole.items()),
        "## The sweep: one value and gradient on IMDB's bigrams\n\n"
        "The fastest of many calls in turns, in one run, BLAS limited to one thread. SciPy's two products "
        "are all that one step of plain ridge regression needs; the penalty's sweep computes a variance "
        "and its slope on top.\n",
    ]
    for title, rows in results.items():
        parts.append(f"### {title}\n\n{table(('', 'fastest'), rows)}\n")
    parts.append(f"## Cold start\n\n{table(('', 'time'), cold)}\n")
    (ROOT / "docs" / "measured.md").write_text("\n".join(parts), encoding="utf-8")

    rivals = next(
        f"{title}\n\n{rows}" for title, rows in whole.items() if "bigrams" in title and "rivals" in title
    )
    online = f"One pass over IMDB's bigrams, row by row:\n\n{rows_parsed}"
    block = f"{JOB}:\n\n{job}\n\n{vectorized}:\n\n{words}\n\n{rivals}\n\n{online}"
    fill(ROOT / "README.md", "measured", block)
    print((ROOT / "docs" / "measured.md").read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
