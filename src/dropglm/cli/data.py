"""``dropglm data``: the data sets that come with the library's name."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dropglm import tables
from dropglm.cli import options, terminal
from dropglm.cli.endings import BadInputError, bad_input, ending

if TYPE_CHECKING:
    from dropglm import datasets

app = typer.Typer(no_args_is_help=True, help="List, fetch, find and export data sets.")

Name = Annotated[str, typer.Argument(help="Name of the data set; dropglm data list shows all.")]


@app.command("list")
@ending
def list_all(json: options.Json = False) -> None:
    """Show all data sets, and where each lies now."""
    from dropglm import datasets

    lines = datasets.listing()
    if json:
        terminal.as_json([vars(line) | {"path": line.path and str(line.path)} for line in lines])
        return
    terminal.table(
        "Data sets",
        ("name", "what it is", "place", "rows", "MB to fetch"),
        (
            (
                line.name,
                line.summary,
                _place(line),
                f"{line.rows:,}" if line.rows else "",
                f"{line.megabytes:.1f}" if line.megabytes else "",
            )
            for line in lines
        ),
        words=3,
    )


@app.command()
@ending
def fetch(name: Name) -> None:
    """Download a data set unless it is there already, and show its file."""
    from dropglm import datasets

    with bad_input():
        typer.echo(datasets.fetch(name))


@app.command()
@ending
def path(name: Name) -> None:
    """Show the file of a data set; fails if it is not on this machine."""
    from dropglm import datasets

    with bad_input():
        found = datasets.where(name)
    if found is None:
        raise BadInputError(f"{name} is not on this machine; dropglm data fetch {name} downloads it.")
    typer.echo(found)


@app.command()
@ending
def export(
    name: Name,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Table of texts with labels; by default NAME.csv.", show_default=False
        ),
    ] = None,
    out_format: options.OutFormat = None,
) -> None:
    """Write the texts of a data set to tables that the other commands read.

    Texts without labels and texts to test on, where it has them, go to tables of their own beside the first.
    """
    from dropglm import datasets

    with bad_input():
        data = datasets.load_dataset(name)
    if data.texts is None:
        raise BadInputError(f"{name} has features, not texts; load_dataset({name!r}) in Python gives them.")
    first = out or Path(f"{name}.csv")
    stem, suffixes = first.name.partition(".")[0], first.name.partition(".")[2]
    parts = {
        first: (data.texts, data.y),
        first.with_name(f"{stem}_unlabeled.{suffixes}"): (data.unlabeled, None),
        first.with_name(f"{stem}_test.{suffixes}"): (data.texts_test, data.y_test),
    }
    for path, (texts, y) in parts.items():
        if texts is not None:
            _write(path, texts, y, out_format)
            typer.echo(f"{path}: {len(texts):,} texts")


def _write(path: Path, texts: Any, y: Any, format: str | None) -> None:
    import polars as pl

    columns = {"text": texts.tolist()} | ({} if y is None else {"label": y.tolist()})
    tables.write(pl.DataFrame(columns), path, format=format)


def _place(line: "datasets.Listing") -> str:
    """Where it lies, or where it would come from."""
    if line.path is not None:
        return str(line.path)
    if line.rows is None:
        return "made on the spot"
    return "not here" if line.megabytes else "not here, no download"
