"""The commands."""

from typing import Annotated

import typer

from dropglm import __version__
from dropglm.cli.data import app as data
from dropglm.cli.endings import CODES, ending
from dropglm.cli.evaluate import evaluate
from dropglm.cli.explain import explain
from dropglm.cli.predict import predict
from dropglm.cli.reproduce import reproduce
from dropglm.cli.train import train

app = typer.Typer(
    name="dropglm",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    epilog=CODES,
)
for command in (train, predict, evaluate, explain, reproduce):
    app.command()(ending(command))
app.add_typer(data, name="data")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dropglm {__version__}")
        raise typer.Exit


@app.callback()
def dropglm(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Train text classifiers on labelled and unlabelled texts, and see what they have learnt."""
