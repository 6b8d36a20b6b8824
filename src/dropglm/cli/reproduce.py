"""``dropglm reproduce``: the paper's experiments, run again."""

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dropglm.cli import options, terminal
from dropglm.cli.endings import BadInputError
from dropglm.progress import Progress, clear_bar, in_words

if TYPE_CHECKING:
    from dropglm.experiments import Experiment
    from dropglm.experiments.experiment import Line


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Experiments; list shows what there is.", show_default=False),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All experiments.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Less data and fewer seeds: in seconds.")] = False,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="Folder for raw results and the page.", rich_help_panel=options.HOW),
    ] = Path("reproduced"),
    quiet: options.Quiet = False,
) -> None:
    """Run the paper's experiments; tables here, and a page with figures in the folder.

    Every fit adds a line to NAME.jsonl; those that are there already are not run again, so that a run goes on
    where it was stopped, and one that is complete is only drawn again. The page has all experiments that have
    lines in the folder, not only those named: index.html, or quick.html for quick runs.
    """
    from dropglm import experiments

    if names and "list" in names:
        if len(names) > 1:
            raise typer.BadParameter("list stands alone.", param_hint="NAMES")
        if everything:
            raise typer.BadParameter("list shows all by itself.", param_hint="--all")
        listed = experiments.listing(experiments.EXPERIMENTS)
        terminal.table(listed.title, listed.header, listed.rows, words=len(listed.header))
        return
    if bool(names) == everything:
        why = (
            "name experiments or say --all, not both."
            if names
            else "name experiments, or say --all; list shows them."
        )
        raise typer.BadParameter(why, param_hint="NAMES")
    chosen = _chosen(experiments.EXPERIMENTS, names)
    if out.exists() and not out.is_dir():
        raise typer.BadParameter(f"{out} is a file; name a folder.", param_hint="--out")
    slow = [name for name, each in chosen.items() if not each.fits(quick)]
    if len(slow) == len(chosen):
        raise typer.BadParameter(f"{', '.join(slow)}: no quick form.", param_hint="--quick")
    for name in slow:
        del chosen[name]
        if not quiet:
            terminal.complain(f"{name} is left out: it has no quick form.")
    out.mkdir(parents=True, exist_ok=True)
    if not os.access(out, os.W_OK):
        raise typer.BadParameter(f"{out} cannot be written to.", param_hint="--out")
    # What would only be missed after hours of work: a way to draw, and files that can be read.
    experiments.ready_to_draw()
    for name, experiment in experiments.EXPERIMENTS.items():
        experiments.to_do(name, experiment, out, quick=quick)
    try:
        lines = _run(chosen, out, quick=quick, quiet=quiet)
    except KeyboardInterrupt:
        terminal.complain("what is done is kept; the same command goes on from there.")
        raise
    if not any(lines.values()):
        raise BadInputError(f"{', '.join(chosen)}: no results, since no data set can be had.")
    compared = experiments.comparisons(chosen, lines)
    if compared.rows:
        terminal.table(compared.title, compared.header, compared.rows)
    path = experiments.report(experiments.EXPERIMENTS, out, quick=quick)
    if not quiet:
        terminal.complain(f"the page is {path}")
    empty = [name for name in names or () if not lines.get(name, True)]
    if empty:
        raise BadInputError(f"{', '.join(empty)}: no results, since the data sets cannot be had.")


def _chosen(known: Mapping[str, "Experiment"], names: list[str] | None) -> dict[str, "Experiment"]:
    """By default all."""
    from dropglm.registry import lookup

    try:
        return {name: lookup(known, name, "experiment") for name in names or known}
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def _run(
    chosen: Mapping[str, "Experiment"], out: Path, *, quick: bool, quiet: bool
) -> dict[str, list["Line"]]:
    """Run what is missing and show the tables, experiment by experiment; the lines of each."""
    from dropglm import experiments

    fits = {name: experiments.to_do(name, each, out, quick=quick) for name, each in chosen.items()}
    costs = [fit.cost for each in fits.values() for fit in each]
    lines = {}
    with Progress("fits", costs=costs, shown=not quiet) as progress:
        for name, experiment in chosen.items():
            left_out = partial(_left_out, name)
            experiments.run(name, experiment, out, quick=quick, progress=progress, tell=left_out)
            lines[name] = experiments.wanted(name, experiment, out, quick=quick)
            clear_bar()
            if not lines[name]:
                terminal.complain(f"{name} has no results: none of its data sets can be had.")
                continue
            for table in experiment.collect(lines[name]):
                terminal.table(table.title, table.header, table.rows)
            left = progress.seconds_left()
            if fits[name] and progress.done != progress.total and left is not None and not quiet:
                terminal.complain(f"{name} is done, {in_words(left)} left.")
    return lines


def _left_out(name: str, sentence: str) -> None:
    terminal.complain(f"{name}: {sentence}")
