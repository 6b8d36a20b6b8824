"""``dropglm data``: list, download, find and export data sets."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dropglm import tables
from dropglm.cli import options, terminal
from dropglm.cli.errors import BadInputError
from dropglm.cli.files import check_distinct, check_output_table, distinct_files

if TYPE_CHECKING:
    from dropglm import datasets

app = typer.Typer(no_args_is_help=True, help="List, download, find and export data sets.")

Name = Annotated[str, typer.Argument(help="Name of the data set; see dropglm data list.")]


@app.command("list")
def list_all(json: options.Json = False) -> None:
    """List all data sets, and where each one is stored."""
    from dropglm import datasets

    lines = datasets.listing()
    if json:
        terminal.print_json([vars(line) | {"path": line.path and str(line.path)} for line in lines])
        return
    terminal.print_table(
        "Data sets", ("name", "description", "location", "rows", "download (MB)"), map(_cells, lines), words=3
    )


@app.command()
def fetch(name: Name) -> None:
    """Download a data set unless it is already on this machine, and print the path of its file."""
    from dropglm import datasets

    _refuse_generated(name)
    typer.echo(datasets.fetch(name))


@app.command()
def path(name: Name) -> None:
    """Print the path of a data set; fail if it is not on this machine."""
    from dropglm import datasets

    _refuse_generated(name)
    found = datasets.where(name)
    if found is None:
        raise BadInputError(f"{name} is not on this machine; download it with: dropglm data fetch {name}.")
    typer.echo(found)


@app.command()
@distinct_files
def export(
    name: Name,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Table to write the labelled texts to; by default NAME.csv."),
        options.File.WRITTEN,
    ] = None,
    out_format: options.OutFormat = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing files.")] = False,
) -> None:
    """Write the texts of a data set to tables that the other commands read.

    Unlabelled texts and test texts, if there are any, are written to separate
    tables, NAME_unlabeled.csv and NAME_test.csv.
    """
    from dropglm import datasets

    first = out or Path(f"{name}.csv")
    check_output_table(first, out_format)
    data = datasets.load_dataset(name)
    if data.texts is None:
        raise BadInputError(f"{name} has features, not texts; load it in Python with load_dataset({name!r}).")
    if isinstance(data.y[0], list):
        raise BadInputError(f"{name} has sentences with tags; load it in Python with load_dataset({name!r}).")
    stem, suffixes = first.name.partition(".")[0], first.name.partition(".")[2]
    parts: dict[Path, tuple[Any, Any]] = {first: (data.texts, data.y)}
    if data.unlabeled is not None:
        parts[first.with_name(f"{stem}_unlabeled.{suffixes}")] = data.unlabeled, None
    if data.texts_test is not None:
        parts[first.with_name(f"{stem}_test.{suffixes}")] = data.texts_test, data.y_test
    check_distinct([("--out", path) for path in parts], [datasets.where(name)])
    for path in parts:
        if path.is_file() and not force:
            raise options.bad_option(
                "--out", f"{path} exists; choose another file, or overwrite it with --force."
            )
    for path, (texts, y) in parts.items():
        columns = {"text": texts.tolist()} | ({} if y is None else {"label": y.tolist()})
        tables.write(columns, path, format=out_format)
        typer.echo(f"{path}: {len(texts):,} texts")


def _refuse_generated(name: str) -> None:
    """Refuse a data set that has no file."""
    from dropglm import datasets

    if any(line.name == name and line.rows is None for line in datasets.listing()):
        raise BadInputError(
            f"{name} is generated and has no file; use dropglm data export {name} to write its texts to a "
            f"table, or load_dataset({name!r}) in Python."
        )


def _cells(line: "datasets.Listing") -> tuple[str, ...]:
    """Return a row of the list; its third cell says where a data set is stored, or how to get it."""
    place = "not downloaded" if line.megabytes else "not on this machine, no download"
    if line.path is not None or line.rows is None:
        place = str(line.path or "generated")
    rows = f"{line.rows:,}" if line.rows else ""
    return line.name, line.summary, place, rows, f"{line.megabytes:.1f}" if line.megabytes else ""
