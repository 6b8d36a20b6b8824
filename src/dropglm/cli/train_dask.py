"""``dropglm train --dask``: from tables that the workers of a Dask cluster read to a model file."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import typer

from dropglm.base.progress import Progress
from dropglm.cli import terminal
from dropglm.cli.errors import FAILED, BadInputError
from dropglm.cli.inputs_outputs import check_columns, check_distinct, save_model
from dropglm.cli.options import TrainOptions, bad_option
from dropglm.cli.reports import print_training
from dropglm.tables import Table, find_files

if TYPE_CHECKING:
    from distributed import Client


def train_dask(
    address: str, options: TrainOptions, table: Table, settings: dict[str, Any], start: float
) -> None:
    """Fit a classifier to the rows of all tables and save it.

    ``table`` says how the tables are read; those without labels may have another column of texts, and have
    the format that their names say.
    """
    check_columns(table.text, table.label)
    check_address(address)
    unlabeled = [str(path) for path in options.unlabeled or ()]
    if "-" in (*options.tables, *unlabeled):
        raise bad_option("--dask", "standard input cannot be read by several processes.")
    files = [replace(table, path=path) for path in find_files(options.tables)]
    other = replace(table, text=options.unlabeled_text or table.text, label=None, format=None)
    more = [replace(other, path=path) for path in find_files(unlabeled)]
    out, checkpoint, quiet = options.out, options.checkpoint, options.quiet
    check_distinct([("--out", out)], [file.name for file in (*files, *more)])
    if checkpoint is not None and checkpoint.resolve() in out.resolve().parents:
        raise bad_option(
            "--out",
            f"{out} is in the folder of --checkpoint, which is removed after the training; choose another "
            "one.",
        )
    from dropglm.dask import TextClassifier
    from dropglm.dask.engine import DaskEngine, connected
    from dropglm.dask.partitions import table_partitions
    from dropglm.places.partitions.checkpoint import remove_checkpoint

    # After an interrupt, a local scheduler may fail to forget tasks that nobody wants; it ends anyway.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    with _sentences(), connected(address) as client:
        if not quiet:
            terminal.message(dashboard(client))
        engine = DaskEngine(client)
        model = TextClassifier(**settings)
        count = len(files) + len(more)
        with Progress(f"Reading {count:,} file{'s' * (count != 1)}", shown=not quiet):
            labelled = table_partitions(engine, files)
            others = table_partitions(engine, more) if more else []
        model.fit_parts(engine, labelled, others, checkpoint)
    local = model.to_local()
    save_model(local, table, options)
    remove_checkpoint(checkpoint)
    not_measured = dict.fromkeys(("validation", "suspicious_labels", "baseline"))
    print_training(local, options, start, content=not_measured)


def check_address(address: str) -> None:
    """Refuse what cannot be the address of a scheduler."""
    scheme, _, place = address.partition("://")
    if address != "local" and not (scheme and place.rpartition(":")[2].isdecimal()):
        raise bad_option("--dask", f"must be local or an address such as tcp://HOST:8786, got {address!r}.")


def dashboard(client: "Client") -> str:
    """Return a sentence with the address of Dask's dashboard and the size of the cluster."""
    workers, threads = len(client.nthreads()), sum(client.nthreads().values())
    count = f"{workers} worker{'s' * (workers != 1)}, {threads} thread{'s' * (threads != 1)}"
    needs = "" if find_spec("bokeh") else " (it needs bokeh on the scheduler)"
    return f"Dask runs with {count}; its dashboard is {client.dashboard_link}{needs}."


@contextmanager
def _sentences() -> Iterator[None]:
    """Turn errors of workers into errors with a sentence."""
    try:
        yield
    except TimeoutError as error:
        if str(error):
            raise
        terminal.message("Dask did not answer in time; the machine may be too busy. Try again.")
        raise typer.Exit(FAILED) from error
    except ImportError as error:
        if error.name is None:
            raise
        raise BadInputError(
            f"a Dask worker cannot import {error.name}; install the same packages on all machines."
        ) from error
