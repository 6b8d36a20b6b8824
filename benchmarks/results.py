"""Write what the experiments found into docs/paper/, docs/results.md and the README, from raw lines.

python -m benchmarks.results [FOLDER]

Each document has a block for it; the prose around is written by people. Where lines of an experiment are
missing, its page keeps the block that it has, and so does the summary, which is of all experiments.
"""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.markdown import ROOT, fill, table
from dropglm.experiments import EXPERIMENTS, Experiment, comparisons, wanted
from dropglm.experiments.experiment import Line
from dropglm.experiments.report import ERRORS, said


def write(
    root: Path, folder: Path, experiments: Mapping[str, Experiment], tell: Callable[[str], None] = print
) -> None:
    lines = {name: wanted(name, experiment, folder) for name, experiment in experiments.items()}
    missing = {name: len(each.fits(False)) - len(lines[name]) for name, each in experiments.items()}
    for name, experiment in experiments.items():
        if missing[name]:
            tell(f"docs/paper/{name}.md keeps its block: {folder} lacks {missing[name]} lines of {name}.")
        else:
            fill(root / "docs" / "paper" / f"{name}.md", "results", block(experiment, lines[name]))
    if any(missing.values()):
        tell("docs/results.md and README.md keep theirs.")
        return
    compared = comparisons(experiments, lines)
    summary = f"{table(compared.header, compared.rows)}\n\n{ERRORS}" if compared.rows else ""
    pages = "\n".join(f"- [{each.title}](paper/{name}.md)" for name, each in experiments.items())
    fill(root / "docs" / "results.md", "results", f"{summary}\n\n{pages}".lstrip())
    fill(root / "README.md", "results", summary)


def block(experiment: Experiment, lines: list[Line]) -> str:
    """The protocol, what the lines were made with, and the tables."""
    tables = [f"### {each.title}\n\n{table(each.header, each.rows)}" for each in experiment.collect(lines)]
    return "\n\n".join([*said(experiment, lines), *tables])


if __name__ == "__main__":
    write(ROOT, Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "reproduced", EXPERIMENTS)
