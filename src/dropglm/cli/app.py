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
from dropglm.cli.options import Subcommand, our_spelling
from dropglm.cli.predict import predict
from dropglm.cli.reproduce import reproduce
from dropglm.cli.serve import serve
from dropglm.cli.tag import app as tag
from dropglm.cli.train import train


class Commands(TyperGroup):
    """The commands; an error in one of them becomes a sentence on standard error and an exit code."""

    def make_context(self, *arguments: Any, **settings: Any) -> Any:
        """Parse the options; this prints the help and the version, which may fail."""
        with report_errors():
            return super().make_context(*arguments, **settings)
        raise typer.Exit  # the reader of the help has read enough

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command; ``show`` is also an option of others, so it is not among SPELLINGS."""
        return super().get_command(ctx, {"show": "explain"}.get(cmd_name, cmd_name))

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was chosen."""
        with report_errors(ctx):
            return super().invoke(ctx)


app = typer.Typer(
    name="dropglm",
    cls=Commands,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "token_normalize_func": our_spelling},
    pretty_exceptions_enable=False,
    epilog=EXIT_CODES,
)
for command in (train, predict, evaluate, explain, label, serve, export, card, reproduce, compile):
    app.command(cls=Subcommand)(distinct_files(command))
app.add_typer(tag, name="tag")
app.add_typer(data, name="data")


def _version(wanted: bool) -> None:
    if wanted:
        from dropglm import __version__

        typer.echo(f"dropglm {__version__}")
        raise typer.Exit


@app.command("help")
def help(
    context: typer.Context,
    command: Annotated[list[str] | None, typer.Argument(help="Command, such as train.")] = None,
) -> None:
    """Show the help of a command."""
    assert context.parent is not None
    context.parent.command.main([*(command or ()), "--help"], prog_name="dropglm")


@app.callback()
def dropglm(
    version: Annotated[
        bool,
        typer.Option("--version", "-V", callback=_version, is_eager=True, help="Show the version and exit."),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error; must precede the command name.")
    ] = False,
) -> None:
    """Train text classifiers on labelled and unlabelled texts, and see what they have learnt."""
    terminal.announce_compilation()
