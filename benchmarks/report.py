"""Run the benchmarks and write the results into docs/measured.md; ``benchmarks.readme`` shortens them.

DROPGLM_DATA=… python -m benchmarks.report
"""

import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from benchmarks import cold_start, fits, streaming, sweep, vectorizing, whole_job
from benchmarks.markdown import ROOT, table
from benchmarks.processes import in_fresh_process

Rows = Sequence[Sequence[str]]
JOB = "From files to a model: IMDB bigrams, 25,000 labelled and 50,000 unlabelled reviews"


def processor() -> str:
    """Return the number of cores and the name of the processor."""
    names = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    return f"{len(names)} cores of {names[0].split(':')[1].strip() if names else platform.machine()}"


def machine() -> str:
    """Return the processor and the versions of the libraries."""
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn", "numba"))
    return f"{processor()}; Python {platform.python_version()}, {libraries}"


def fit_tables() -> dict[str, fits.Table]:
    """Return the tables of the benchmark of fits, by title."""
    tables: dict[str, fits.Table] = {}
    for n in (1, 2):
        tables |= in_fresh_process(fits.measure, n)
    return tables | {"Peak memory of a fit": in_fresh_process(fits.memory, 2)}


CONDITIONS = (
    "All measurements use the IMDB reviews with unigrams and bigrams, on {machine}. Models are trained on"
    " 25,000 labelled reviews; in the first row dropglm is also trained on 50,000 unlabelled reviews, "
    "which CountVectorizer uses only for its vocabulary. dropglm fits logistic regression with dropout on"
    " two threads; the others fit plain L2 logistic regression. scikit-learn runs with two BLAS threads, "
    "which is not its fastest setting. Percentages are test accuracies. The speed of online learning from"
    " a file excludes start-up time, and Vowpal Wabbit reads texts that were tokenised beforehand."
)


def summary(job: Rows, vectorizers: Rows, whole_fits: Rows, in_memory: Rows, from_file: Rows) -> str:
    """Return the README's table, with one row per task, from the rows of the longer tables."""
    ours, all_texts, labelled = job
    words, fit, online = ({row[0]: row for row in rows} for rows in (vectorizers, whole_fits, in_memory))
    theirs, ngrams = words[vectorizing.THEIRS], words["NgramVectorizer, 2 threads"]
    dropout, default, snapml = (fit[name] for name in ("dropglm, gap 1e-4", "dropglm, default", "snapml"))
    # The fastest of scikit-learn's solvers: times are written as "5.37 s".
    sklearn = min(
        (row for row in whole_fits if row[0].startswith("scikit-learn")), key=lambda row: float(row[1][:-2])
    )
    sgd, river = online["`SGDClassifier(loss='log_loss')`"], online["River, LogisticRegression(AdaGrad)"]
    stream, wabbit, _ = from_file
    return table(
        ("", "dropglm", "others"),
        [
            (
                "from files to a model",
                f"{ours[1]}, {ours[3]} %",
                f"CountVectorizer and LogisticRegression: {all_texts[1]}, {all_texts[3]} %; without the "
                f"unlabelled reviews {labelled[1]}, {labelled[3]} %",
            ),
            (
                "vectorize 100,000 reviews",
                f"{ngrams[1]}, {ngrams[4]}",
                f"CountVectorizer: {theirs[1]}, {theirs[4]}",
            ),
            (
                "fit 25,000 rows",
                f"{dropout[1]} to a relative objective gap of 1e-4, {dropout[3]} %; {default[1]} at the "
                f"default tolerance, {default[3]} %",
                f"{sklearn[0]}: {sklearn[1]}, {sklearn[3]} %; snapml: {snapml[1]}, {snapml[3]} %",
            ),
            (
                "learn online from memory, rows per second",
                online["`OnlineLogisticRegression('dropout')`"][2],
                f"SGDClassifier: {sgd[2]}; River: {river[2]}",
            ),
            ("learn online from a file, rows per second", stream[3], f"Vowpal Wabbit: {wabbit[3]}"),
        ],
    )


def main() -> None:
    job = whole_job.measure()
    vectorized = [vectorizing.measure(number) for number in range(len(vectorizing.CASES))]
    in_memory = in_fresh_process(streaming.parsed)
    from_file = streaming.files()
    whole_fits = fit_tables()
    sweeps = dict(in_fresh_process(sweep.titled_measure, *case) for case in sweep.CASES)
    cold = cold_start.measure()

    parts = [
        "# Measurements\n\nWritten by `make bench`; do not edit.\n",
        f"Machine: {machine()}.\n",
        f"## {JOB}\n\nTime of the whole process; the faster of two alternating runs.\n\n"
        f"{table(whole_job.HEADER, job)}\n",
        "## Vectorizers\n\nEach in its own process; the faster of two alternating runs.\n",
        *(
            f"### {title}\n\n{table(case.header, rows)}\n"
            for case, (title, rows) in zip(vectorizing.CASES, vectorized, strict=True)
        ),
        "## Online learning\n\n### One pass over IMDB's bigrams in memory\n\n"
        f"The fastest of {streaming.ROUNDS} alternating runs on one thread. River is timed on "
        f"{streaming.RIVER_ROWS:,} rows.\n\n{table(streaming.PARSED, in_memory)}\n",
        "### From a file to a model\n\nTime of the whole process; the fastest of three alternating runs. "
        "For Vowpal Wabbit the texts were tokenised beforehand; the longer file repeats the reviews ten "
        f"times.\n\n{table(streaming.FILES, from_file)}\n",
        "## Fits\n\ndropglm fits logistic regression with dropout 0.5 and l2 = 1 on two threads, to a "
        "relative objective gap of 1e-4 (tol = 1e-2) and at its default tolerance. The others fit plain L2 "
        "logistic regression at C = 0.1, at their default tolerances; scikit-learn runs with two BLAS "
        "threads, which is not its fastest setting. The fastest of three alternating fits.\n",
        *(f"### {title}\n\n{table(*rows)}\n" for title, rows in whole_fits.items()),
        "## One value and gradient of the penalty on IMDB's bigrams\n\n"
        "The fastest of many alternating calls, with BLAS limited to one thread. SciPy's two products are "
        "all that one step of plain ridge regression needs; the penalty also computes a variance and its "
        "derivative.\n",
        *(f"### {title}\n\n{table(('', 'time'), rows)}\n" for title, rows in sweeps.items()),
        f"## Cold start\n\n{table(('', 'time'), cold)}\n",
    ]
    (ROOT / "docs" / "measured.md").write_text("\n".join(parts), encoding="utf-8")
    print((ROOT / "docs" / "measured.md").read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
