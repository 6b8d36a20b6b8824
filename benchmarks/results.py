"""Write the results of the experiments into docs/paper/, docs/results.md and the README, from raw results.

python -m benchmarks.results [FOLDER]

Each document has a block between two marks that this script replaces; the text around it is written by hand.
The pages of some experiments show their first figures, which are stored beside them.
If results of an experiment are missing, the block on its page is left as it is, and so is the summary of all
experiments.
"""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks import readme
from benchmarks.markdown import ROOT, fill, table
from dropglm.experiments import EXPERIMENTS, Experiment, ExperimentRun, comparisons
from dropglm.experiments.report import ERRORS, describe

PICTURED = ("few-labels",)


def write(
    root: Path, folder: Path, experiments: Mapping[str, Experiment], tell: Callable[[str], None] = print
) -> None:
    runs = {name: ExperimentRun(name, experiment, folder) for name, experiment in experiments.items()}
    incomplete = False
    for name, run in runs.items():
        missing = len(run.missing)
        if missing:
            incomplete = True
            tell(f"docs/paper/{name}.md is unchanged: {folder} lacks {missing} results of {name}.")
        else:
            pictures = draw(run, root / "docs" / "paper") if name in PICTURED else ""
            fill(root / "docs" / "paper" / f"{name}.md", "results", page_block(run, pictures))
    if incomplete:
        tell("docs/results.md is unchanged.")
        return
    compared = comparisons(runs)
    summary = f"{table(compared.header, compared.rows)}\n\n{ERRORS}" if compared.rows else ""
    pages = "\n".join(f"- [{each.title}](paper/{name}.md)" for name, each in experiments.items())
    fill(root / "docs" / "results.md", "results", f"{summary}\n\n{pages}".lstrip())


def draw(run: ExperimentRun, folder: Path) -> str:
    """Store the figures of the first caption, and return the Markdown that shows them."""
    import matplotlib as mpl

    caption, figures = next(iter(run.experiment.draw(run.lines).items()))
    paths = [folder / f"{run.name}-{number}.svg" for number in range(1, len(figures) + 1)]
    # The same numbers give the same file.
    with mpl.rc_context({"svg.hashsalt": "dropglm", "svg.fonttype": "none"}):
        for figure, path in zip(figures, paths, strict=True):
            figure.savefig(path, metadata={"Date": None})
    return "\n".join([*(f"![{caption}]({path.name})" for path in paths), "", caption])


def page_block(run: ExperimentRun, pictures: str = "") -> str:
    """Return the protocol, the versions behind the results, figures if there are any, and the tables."""
    lines = run.lines
    tables = run.experiment.tabulate(lines)
    headed = [f"### {each.title}\n\n{table(each.header, each.rows)}" for each in tables]
    return "\n\n".join([*describe(run, lines), *([pictures] if pictures else []), *headed])


if __name__ == "__main__":
    write(ROOT, Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "reproduced", EXPERIMENTS)
    readme.fill_tables()
