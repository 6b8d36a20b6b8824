"""Write the results of the experiments into docs/paper/, docs/results.md and the README, from raw results.

python -m benchmarks.results [FOLDER]

Each document has a block between two marks that this script replaces; the text around it is written by hand.
The pages of some experiments show figures, which are stored beside them.
If results of an experiment are missing, the block on its page is left as it is, and so is the summary of all
experiments. Where the subset of an experiment is complete, its page has what there is: between marks of its
own if the page has any, so that it stands beside older results of all fits.
"""

import sys
from collections.abc import Callable, Mapping
from itertools import count, islice
from pathlib import Path

from benchmarks import readme
from benchmarks.markdown import ROOT, fill, table
from dropglm.experiments import EXPERIMENTS, Experiment, ExperimentRun, comparisons
from dropglm.experiments.report import ERRORS, describe

# How many captions are shown with their figures, from the first.
PICTURED = {"few-labels": 2, "encoders": 1, "labelling": 1}


def write(
    root: Path, folder: Path, experiments: Mapping[str, Experiment], tell: Callable[[str], None] = print
) -> None:
    runs = {name: ExperimentRun(name, experiment, folder) for name, experiment in experiments.items()}
    incomplete = False
    for name, run in runs.items():
        missing = len(run.missing)
        incomplete |= bool(missing)
        part = ExperimentRun(name, run.experiment, folder, subset=True)
        if missing and (part.missing or not run.experiment.subset()):
            tell(f"docs/paper/{name}.md is unchanged: {folder} lacks {missing} results of {name}.")
        else:
            page = root / "docs" / "paper" / f"{name}.md"
            apart = "<!-- subset: start -->" in page.read_text(encoding="utf-8")
            # Beside older results, the figures are those of all fits.
            captions = 0 if apart and missing else PICTURED.get(name, 0)
            block = page_block(run, draw(run, root / "docs" / "paper", captions))
            if apart:
                fill(page, "subset", block if missing else "")
            if not (apart and missing):
                fill(page, "results", block)
    if incomplete:
        tell("docs/results.md is unchanged.")
        return
    compared = comparisons(runs)
    summary = f"{table(compared.header, compared.rows)}\n\n{ERRORS}" if compared.rows else ""
    pages = "\n".join(f"- [{each.title}](paper/{name}.md)" for name, each in experiments.items())
    fill(root / "docs" / "results.md", "results", f"{summary}\n\n{pages}".lstrip())


def draw(run: ExperimentRun, folder: Path, captions: int) -> str:
    """Store the figures of the first captions, and return the Markdown that shows them."""
    import matplotlib as mpl

    shown: list[str] = []
    paths = (f"{run.name}-{number}.svg" for number in count(1))
    drawn = islice(run.experiment.draw(run.lines).items(), captions) if captions else ()
    # The same numbers give the same file.
    with mpl.rc_context({"svg.hashsalt": "dropglm", "svg.fonttype": "none"}):
        for caption, figures in drawn:
            for figure, path in zip(figures, paths, strict=False):
                figure.savefig(folder / path, metadata={"Date": None})
                shown.append(f"![{caption}]({path})")
            shown += ["", caption, ""]
    return "\n".join(shown).rstrip()


def page_block(run: ExperimentRun, pictures: str = "") -> str:
    """Return the protocol, the versions behind the results, figures if there are any, and the tables."""
    lines = run.lines
    tables = run.experiment.tabulate(lines)
    headed = [f"## {each.title}\n\n{table(each.header, each.rows)}" for each in tables]
    return "\n\n".join([*describe(run, lines), *([pictures] if pictures else []), *headed])


if __name__ == "__main__":
    write(ROOT, Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "reproduced", EXPERIMENTS)
    readme.fill_tables()
