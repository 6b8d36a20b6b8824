"""``dropglm reproduce``: the paper's experiments, run again."""

from pathlib import Path
from typing import Annotated

import typer

from dropglm.cli import options, terminal
from dropglm.cli.endings import BadInputError


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Experiments, by default all; list shows what there is.", show_default=False),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Less data and fewer seeds: in seconds.")] = False,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="Folder for raw results and pages.", rich_help_panel=options.HOW),
    ] = Path("reproduced"),
    quiet: options.Quiet = False,
) -> None:
    """Run the paper's experiments; tables here, and a page with figures for each in the folder.

    Every fit adds a line to NAME.jsonl; those that are there already are not run again, so that a run goes on
    where it was stopped, and one that is complete is only drawn again.
    """
    from dropglm import experiments
    from dropglm.registry import lookup

    if names == ["list"]:
        listed = experiments.listing(experiments.EXPERIMENTS)
        terminal.table(listed.title, listed.header, listed.rows, words=len(listed.header))
        return
    try:
        chosen = {
            name: lookup(experiments.EXPERIMENTS, name, "experiment")
            for name in names or experiments.EXPERIMENTS
        }
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    if out.exists() and not out.is_dir():
        raise typer.BadParameter(f"{out} is a file; name a folder.", param_hint="--out")
    out.mkdir(parents=True, exist_ok=True)
    for name, experiment in chosen.items():
        shown = bool(terminal.bars(quiet))
        experiments.run(name, experiment, out, quick=quick, shown=shown, tell=terminal.complain)
        lines = experiments.wanted(name, experiment, out, quick=quick)
        if not lines:
            raise BadInputError(f"{name} has no results: none of its data sets can be had.")
        for table in experiment.collect(lines):
            terminal.table(table.title, table.header, table.rows)
        path = experiments.report(name, experiment, out, lines, quick=quick)
        terminal.complain(f"the page is {path}")
