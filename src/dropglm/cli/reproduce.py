"""``dropglm reproduce``: run the paper's experiments."""

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dropglm.base.progress import Progress, clear_bar, in_words
from dropglm.base.registry import lookup
from dropglm.cli import options, terminal
from dropglm.cli.errors import BadInputError
from dropglm.cli.options import OUTPUT, File, bad_option, refusing

if TYPE_CHECKING:
    from dropglm.experiments import ExperimentRun


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Names of the experiments to run, or 'list' to show all of them."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Run all experiments.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Use less data and fewer seeds, to finish in seconds.")
    ] = False,
    subset: Annotated[
        bool,
        typer.Option(
            "--subset", help="Run only a part of a full run, of at most 30 minutes; its results are kept."
        ),
    ] = False,
    out: Annotated[
        Path, OUTPUT.option("Folder for the raw results and the page.", "--out", "-o"), File.WRITTEN
    ] = Path("reproduced"),
    quiet: options.Quiet = False,
) -> None:
    """Run the paper's experiments, print their tables and write a page with figures.

    Every fit adds a line to NAME.jsonl. Fits that already have a line are not run again:
    an interrupted run resumes where it stopped, and for a complete run only
    the tables and figures are produced again.
    With --subset, the fits are some of those of a full run, which later
    uses their results.
    The page (index.html, or quick.html with --quick) shows all experiments with
    results in the folder, not only those named on the command line.
    """
    from dropglm import experiments

    if names and "list" in names:
        if len(names) > 1:
            raise bad_option("NAMES", "list cannot be combined with experiments.")
        if everything:
            raise bad_option("--all", "list already shows all experiments.")
        listed = experiments.list_experiments(experiments.EXPERIMENTS)
        terminal.print_table(listed.title, listed.header, listed.rows, words=len(listed.header))
        return
    if bool(names) == everything:
        both = "give names or --all, not both."
        raise bad_option("NAMES", both if names else "give names or --all; list shows the names.")
    with refusing():
        known = experiments.EXPERIMENTS
        chosen = {name: lookup(known, name, "experiment") for name in names or known}
    if out.exists() and not out.is_dir():
        raise bad_option("--out", f"{out} is a file; give a folder.")
    if quick and subset:
        raise bad_option("--subset", "cannot be combined with --quick.")
    without = [name for name, each in chosen.items() if not (each.subset() if subset else each.fits(quick))]
    kind = "subset" if subset else "quick version"
    if len(without) == len(chosen):
        raise bad_option("--subset" if subset else "--quick", f"{', '.join(without)}: there is no {kind}.")
    for name in without:
        del chosen[name]
        if not quiet:
            terminal.message(f"{name} is skipped, since it has no {kind}.")
    out.mkdir(parents=True, exist_ok=True)
    if not os.access(out, os.W_OK):
        raise bad_option("--out", f"{out} is not writable.")
    # Before hours of work: can figures be drawn, and can all result files be read?
    experiments.require_matplotlib()
    runs = {
        name: experiments.ExperimentRun(name, each, out, quick=quick, subset=subset)
        for name, each in known.items()
    }
    chosen_runs = {name: runs[name] for name in chosen}
    try:
        _run(chosen_runs, quiet=quiet)
    except KeyboardInterrupt:
        terminal.message("finished fits are kept; run the same command to resume.")
        raise
    if not any(run.lines for run in chosen_runs.values()):
        raise BadInputError(f"{', '.join(chosen)}: no results, since no data set is available.")
    compared = experiments.comparisons(chosen_runs)
    if compared.rows:
        terminal.print_table(compared.title, compared.header, compared.rows)
    path = experiments.report(runs, out)
    if not quiet:
        terminal.message(f"wrote {path}.")
    empty = [name for name in names or () if name in chosen_runs and not chosen_runs[name].lines]
    if empty:
        raise BadInputError(f"{', '.join(empty)}: no results, since the data sets are not available.")


def _run(runs: Mapping[str, "ExperimentRun"], *, quiet: bool) -> None:
    """Run the missing fits and print the tables, one experiment after the other."""
    missing = {name: run.missing for name, run in runs.items()}
    costs = [fit.cost for fits in missing.values() for fit in fits]
    with Progress("fits", costs=costs, shown=not quiet) as progress:
        for name, run in runs.items():
            run.run(progress=progress, tell=partial(_left_out, name))
            lines = run.lines
            clear_bar()
            if not lines:
                terminal.message(f"{name} has no results, since none of its data sets is available.")
                continue
            for table in run.experiment.tabulate(lines):
                terminal.print_table(table.title, table.header, table.rows)
            left = progress.seconds_left()
            if missing[name] and progress.done != progress.total and left is not None and not quiet:
                terminal.message(f"{name} is finished, {in_words(left)} left.")


def _left_out(name: str, sentence: str) -> None:
    terminal.message(f"{name}: {sentence}")
