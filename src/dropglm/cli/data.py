"""``dropglm data``: the data sets that come with the library's name."""

from typing import Annotated

import typer

from dropglm import datasets
from dropglm.cli import options, terminal

app = typer.Typer(no_args_is_help=True, help="List, fetch and find data sets.")

Name = Annotated[str, typer.Argument(help="Name of the data set; dropglm data list shows all.")]


@app.command("list")
def list_all(json: options.Json = False) -> None:
    """Show all data sets, and where each lies now."""
    lines = datasets.listing()
    if json:
        terminal.as_json([vars(line) | {"path": line.path and str(line.path)} for line in lines])
        return
    terminal.table(
        "Data sets",
        ("name", "what it is", "terms", "place", "rows", "MB to fetch"),
        (
            (
                line.name,
                line.summary,
                line.terms,
                str(line.path or ""),
                f"{line.rows:,}" if line.rows else "",
                f"{line.megabytes:.1f}" if line.megabytes else "",
            )
            for line in lines
        ),
        words=4,
    )


@app.command()
def fetch(name: Name) -> None:
    """Download a data set unless it is there already, and show its file."""
    typer.echo(datasets.fetch(name))


@app.command()
def path(name: Name) -> None:
    """Show the file of a data set; fails if it is not on this machine."""
    found = datasets.where(name)
    if found is None:
        raise OSError(f"{name} is not on this machine; dropglm data fetch {name} downloads it.")
    typer.echo(found)
