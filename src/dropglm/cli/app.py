"""The commands, and what happens when one of them fails."""

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from dropglm.cli import terminal
from dropglm.cli.compile import compile
from dropglm.cli.data import app as data
from dropglm.cli.errors import EXIT_CODES, report_errors
from dropglm.cli.evaluate import evaluate
from dropglm.cli.explain import explain
from dropglm.cli.export import card, export
from dropglm.cli.files import distinct_files
from dropglm.cli.label import label
from dropglm.cli.predict import predict
from dropglm.cli.reproduce import reproduce
from dropglm.cli.serve import serve
from dropglm.cli.tag import app as tag
from dropglm.cli.train import train

# Options of other programs, and ours that means the same.
ELSEWHERE = dict.fromkeys(("--jobs", "--n-jobs", "--n_jobs", "--n-threads", "-j"), "--threads")


def _suggest_our_option(error: Exception) -> None:
    """Name our option in the error about one of another program."""
    ours = ELSEWHERE.get(getattr(error, "option_name", ""))
    command = getattr(getattr(error, "ctx", None), "command", None)
    if command is not None and any(ours in parameter.opts for parameter in command.params):
        error.possibilities = [ours]  # type: ignore[attr-defined]


class Commands(TyperGroup):
    """The commands; an error in one of them becomes a sentence on standard error and an exit code."""

    def make_context(self, *arguments: Any, **settings: Any) -> Any:
        """Parse the options; this prints the help and the version, which may fail."""
        with report_errors():
            return super().make_context(*arguments, **settings)
        raise typer.Exit  # the reader of the help has read enough

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was chosen."""
        with report_errors(ctx):
            try:
                return super().invoke(ctx)
            except Exception as error:
                _suggest_our_option(error)
                raise


app = typer.Typer(
    name="dropglm",
    cls=Commands,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    epilog=EXIT_CODES,
)
for command in (train, predict, evaluate, explain, label, serve, export, card, reproduce, compile):
    app.command()(distinct_files(command))
app.add_typer(tag, name="tag")
app.add_typer(data, name="data")


def _version(wanted: bool) -> None:
    if wanted:
        from dropglm import __version__

        typer.echo(f"dropglm {__version__}")
        raise typer.Exit


@app.callback()
def dropglm(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error; must precede the command name.")
    ] = False,
) -> None:
    """Train text classifiers on labelled and unlabelled texts, and see what they have learnt."""
    terminal.announce_compilation()
