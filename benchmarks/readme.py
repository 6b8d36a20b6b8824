"""Fill the tables of the README and of docs/results.md, and the examples of the README and of pages of docs/.

python -m benchmarks.readme            everything; the examples take a minute or two
python -m benchmarks.readme --tables   tables and picture only

Each number in these tables comes from a page that ``make reproduce`` or ``make bench`` has written. An
example is a block of Python or of shell commands; its output replaces the block of text or console output
that follows it.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmarks import report
from benchmarks.markdown import ROOT, fill, table
from dropglm.experiments.few_labels import LABELED_ONLY, OURS, OURS_UNLABELED, TFIDF, WITH_UNLABELED

PAGES = ("README.md", "docs/training.md", "docs/mathematics.md", "docs/dask.md", "docs/exporting.md")
RESULTS, PICTURE = "docs/results.md", "docs/accuracy.svg"
RIVALS = (*LABELED_ONLY, *WITH_UNLABELED)
FENCE = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
SHORTENED = "…\n"  # the last line of a console block that shows the output up to its first empty line
EMPTY_LINE = "\n\n"
NEXT = "--- next block ---\n"


class Page(NamedTuple):
    """The tables of a page that a benchmark or an experiment has filled."""

    path: str

    def table(self, title: str) -> tuple[list[str], list[list[str]]]:
        """Return the header and the rows of the first table below a heading that contains the title."""
        lines = [line for line in self._part(title).splitlines() if line.startswith("|")]
        header, _, *rows = ([cell.strip() for cell in line.split("|")[1:-1]] for line in lines)
        return header, rows

    def heading(self, title: str) -> str:
        """Return the heading of that table."""
        return self._part(title).partition("\n")[0]

    def has(self, title: str) -> bool:
        """Return whether there is such a table."""
        return bool(self._parts(title))

    @property
    def seeds(self) -> str:
        """How many seeds there are, in words, by the first heading that says so."""
        found = re.search(r"^#.* (\d+ seeds?)$", (ROOT / self.path).read_text(encoding="utf-8"), re.MULTILINE)
        return found[1] if found else "all seeds"

    def _part(self, title: str) -> str:
        found = self._parts(title)
        if not found:
            raise LookupError(f"{self.path} has no table with {title!r} in its title.")
        return found[0]

    def _parts(self, title: str) -> list[str]:
        """Return the parts of the page that have a table and the title in their heading."""
        text = (ROOT / self.path).read_text(encoding="utf-8")
        parts = re.split(r"^#+ ", text, flags=re.MULTILINE)
        return [part for part in parts if title in part.partition("\n")[0] and "\n|" in part]

    def row(self, title: str, name: str) -> list[str]:
        """Return the cells of a row, which is named by its first cell."""
        _, rows = self.table(title)
        for row in rows:
            if row[0] == name:
                return row
        raise LookupError(f"{self.path}: {title!r} has no row {name!r}, only {[row[0] for row in rows]}.")


def above_paper(features: str) -> str:
    """Return on how many of the paper's six data sets our accuracy is above the paper's, in words."""
    header, rows = Page("docs/paper/thirds.md").table(f"{features}: test accuracy")
    gaps = [row[header.index("gap")] for row in rows]
    return f"{sum(gap.startswith('+') for gap in gaps)} of {len(gaps)}"


def accuracy() -> str:
    """Return the table of accuracies on IMDB, and what the other experiments show."""
    imdb, simulation = Page("docs/paper/imdb.md"), Page("docs/paper/simulation.md")
    sizes = ("unigrams", "bigrams", "trigrams")
    columns = [imdb.table("Every method, tuned")[0].index(size) for size in sizes]
    l2, nbsvm = (imdb.row("Every method, tuned", name) for name in ("L2", "NB-SVM"))
    # Each row: method, the paper's accuracy, with unlabelled rows; ours, with unlabelled rows.
    beside = [imdb.row("The paper's table", name) for name in ("Drop-Uni", "Drop-Bi", "Drop-Tri")]
    rows = [
        ("L2 logistic regression", *(l2[column] for column in columns)),
        ("NB-SVM", *(nbsvm[column] for column in columns)),
        ("dropglm", *(row[3] for row in beside)),
        ("dropglm with 50,000 unlabelled reviews", *(row[4] for row in beside)),
        ("the paper with 50,000 unlabelled reviews", *(row[2] for row in beside)),
    ]
    # Each row: method, our accuracy, its standard error, the paper's accuracy.
    ridge, dropout = (simulation.row("active rows", name)[1:4] for name in ("ridge, λ = 32", "gaussian"))
    prose = (
        "Models are trained on 25,000 labelled reviews and tested on 25,000. Settings are chosen by "
        "cross-validation on the training reviews; the standard error is about 0.2. On the paper's six data "
        "sets, each split into thirds (labelled, unlabelled, test), dropglm is more accurate than the paper "
        f"on {above_paper('unigrams')} with unigrams and on {above_paper('more features')} with a "
        "larger feature set, which was selected using test results of other splits, so the second count is "
        "optimistic. In the paper's simulation of rare but useful features, the accuracy on rows that "
        f"contain such features is {dropout[0]} ± {dropout[1]} with dropout and {ridge[0]} ± {ridge[1]} with "
        f"an L2 penalty (paper: {dropout[2]} and {ridge[2]})."
    )
    header = ("IMDB, test accuracy in per cent", *sizes)
    return f"{table(header, rows)}\n\n{prose}"


def few_labels(path: str = "docs/paper/few-labels.md") -> str:
    """Return the README's tables of few labels: of the older data sets, and of new ones if there are any."""
    page, mean, new = Page(path), "data sets: accuracy in per cent", "New data sets. Mean over"
    older, rivals, sets = _ours_and_best_rivals(page, mean)
    some = (
        " Columns with fewer data sets leave out those in which some class would have fewer than two labels."
    )
    fewer = some if re.search(r" sets? \|", older.partition("\n")[0]) else ""
    prose = (
        f"Mean test accuracy in per cent over {sets} data sets and {page.seeds}, with default settings; the "
        f"remaining training texts are the unlabelled ones. Of the {rivals} rivals with results on all data "
        f"sets, the table shows tf-idf and those with the highest mean in some column.{fewer} "
        f"[Few labels]({path}) has every data set, rival and standard error."
    )
    blocks = [older, prose]
    if page.has(new):
        added, _, sets = _ours_and_best_rivals(page, new)
        blocks += [f"The same over {sets} further data sets:", added]
    return "\n\n".join(blocks)


def _ours_and_best_rivals(page: Page, title: str) -> tuple[str, int, str]:
    """Return a table of ours and of each rival that is the best one somewhere, and the numbers behind it.

    These are the number of rivals with results on all data sets, and that of the data sets.
    """
    header, rows = page.table(title)
    found = {row[0]: row[1::2] for row in rows}
    # A rival without results on some data set has no mean.
    rivals = {name: found[name] for name in RIVALS if "-" not in found.get(name, ["-"])}
    labels = header[1::2]
    best = {max(rivals, key=lambda name: float(rivals[name][k])) for k in range(len(labels))}
    shown = [("tf-idf and logistic regression", "no", *found[TFIDF])]
    for name, cells in rivals.items():
        if name in best - {TFIDF}:
            shown.append((name, "yes" if name in WITH_UNLABELED else "no", *cells))
    shown += [
        ("`TextClassifier`", "no", *found[OURS]),
        ("`TextClassifier`", "yes", *(f"**{cell}**" for cell in found[OURS_UNLABELED])),
    ]
    sets = re.search(r"(\d+) data sets", page.heading(title))
    assert sets is not None
    return table(("method", "uses unlabelled texts", *labels), shown), len(rivals), sets[1]


def unlabelled() -> str:
    """Return what unlabelled texts change in the docstrings experiment, in words."""
    page, title = Page("docs/paper/docstrings.md"), "Gain of unlabelled texts"
    header, (_, *cells) = page.table(title)[0][1::2], page.row(title, "dropout + unlabelled, tuned")
    gains = [
        f"{gain} ± {error} at {labels}"
        for labels, gain, error in zip(header, cells[::2], cells[1::2], strict=True)
    ]
    return (
        "The figure shows the accuracy of predicting the package of a docstring, with tuned settings; points "
        "and error bars are means and standard errors over ten seeds. Dropout is more accurate than L2 at "
        "every number of labels tested. Here unlabelled texts are used in the noising penalty only, as in "
        "the paper, not for latent features and rounds of naive Bayes; then they reduce accuracy when there "
        "are few labels: on the same splits, they change the accuracy of dropout by "
        f"{', '.join(gains[:-1])} and {gains[-1]}, in percentage points."
    )


def speed() -> str:
    """Return the README's table of times and speeds."""
    machine = re.search(r"^Machine: ([^;]*);", report.PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert machine is not None
    fits = report.OF_FITS if report.stored()["gaps"] else ""
    return f"{report.summary()}\n\n{report.CONDITIONS.format(machine=machine[1], fits=fits)}"


def draw(path: Path) -> None:
    """Draw accuracy against the number of labels, from the page of the docstrings experiment."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    header, rows = Page("docs/paper/docstrings.md").table("Accuracy")
    labels = [int(cell.removesuffix(" labels")) for cell in header[1::2]]
    found = {row[0]: [float(cell) for cell in row[1:]] for row in rows}
    drawn = "\n".join(" ".join(row) for row in rows)  # so that a test can tell which numbers a picture shows
    with mpl.rc_context({"svg.hashsalt": "dropglm", "svg.fonttype": "none", "font.family": "sans-serif"}):
        figure = Figure(figsize=(6.4, 3.4), layout="constrained", facecolor="white")
        ax = figure.subplots()
        for method, shape, colour, shift in (
            ("dropout + unlabelled", "o-", "#0072B2", 1.0),
            ("dropout", "s-", "#E69F00", 1.02),
            ("L2", "^--", "#666666", 0.98),
        ):
            cells, x = found[f"{method}, tuned"], [shift * n for n in labels]
            ax.errorbar(
                x, cells[0::2], cells[1::2], fmt=shape, color=colour, capsize=2, markersize=4, label=method
            )
        ax.set_xscale("log")
        ax.set_xticks(labels, [str(n) for n in labels])
        ax.minorticks_off()
        ax.set(xlabel="labelled texts", ylabel="test accuracy, per cent")
        ax.legend(frameon=False, loc="lower right")
        figure.savefig(path, metadata={"Date": None, "Description": drawn})


def fill_tables() -> None:
    """Fill the tables of the README and of the page of results from other pages, and draw its picture."""
    fill(ROOT / "README.md", "few-labels", few_labels())
    fill(ROOT / "README.md", "measured", speed())
    fill(ROOT / RESULTS, "accuracy", f"{unlabelled()}\n\n{accuracy()}")
    draw(ROOT / PICTURE)


def examples(text: str, languages: tuple[str, str]) -> Iterator[tuple[str, str | None]]:
    """Yield each block of code in the first language, and the output in the second shown right after it."""
    blocks = FENCE.findall(text)
    for (language, code), (after, shown) in zip(blocks, [*blocks[1:], ("", "")], strict=True):
        if language == languages[0]:
            yield code, shown if after == languages[1] else None


def run_python(blocks: list[str]) -> list[str]:
    """Run blocks of Python one after the other in one process; return what each one prints."""
    program = f"\nprint({NEXT!r}, end='')\n".join(blocks)
    command = [sys.executable, "-W", "error", "-c", program]
    return subprocess.run(command, check=True, capture_output=True, encoding="utf-8", cwd=ROOT).stdout.split(
        NEXT
    )


def run_shell(block: str, folder: Path) -> list[str]:
    """Run the commands of a block, but not those that install; return what each one prints."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    outputs = []
    for command in block.splitlines():
        if command.startswith("dropglm") or "| dropglm" in command:
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=folder,
                capture_output=True,
                encoding="utf-8",
                env={**os.environ, "PATH": path, "COLUMNS": "80"},
            )
            if done.returncode:
                raise RuntimeError(f"{command}: {done.stderr}")
            outputs.append(re.sub(r" +$", "", done.stdout, flags=re.MULTILINE))
    return outputs


def fill_examples(path: Path) -> None:
    """Replace the outputs that a page shows by what its examples print now."""
    text = path.read_text(encoding="utf-8")
    printed = iter(run_python([code for code, _ in examples(text, ("python", "text"))]))
    pieces, end, output = [], 0, ""
    with TemporaryDirectory() as folder:
        for block in FENCE.finditer(text):
            language, content = block.groups()
            if language == "python":
                output = next(printed)
            elif language == "sh":
                output = "".join(run_shell(content, Path(folder))[-1:])
            elif language in ("text", "console"):
                short = content.endswith(SHORTENED)
                new = f"{output.partition(EMPTY_LINE)[0]}\n{SHORTENED}" if short else output
                pieces += [text[end : block.start(2)], new]
                end = block.end(2)
    path.write_text("".join([*pieces, text[end:]]), encoding="utf-8")


if __name__ == "__main__":
    fill_tables()
    if "--tables" not in sys.argv[1:]:
        for page in PAGES:
            fill_examples(ROOT / page)
