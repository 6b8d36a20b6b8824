"""The commands, and what they tell the shell when they end."""

import os
import sys
import warnings
from typing import Annotated, Any

import click
import typer

import dropglm
from dropglm.cli import terminal
from dropglm.cli.data import app as data
from dropglm.cli.evaluate import evaluate
from dropglm.cli.explain import explain
from dropglm.cli.predict import predict
from dropglm.cli.train import train

# What scripts can rely on; the help says it too.
FAILED, USAGE, BAD_INPUT, INTERRUPTED = 1, 2, 3, 130

app = typer.Typer(
    name="dropglm",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    epilog="Exit codes: 0 done, 2 wrong options, 3 bad input (a table, a model file, a data set), 1 any "
    "other failure, 130 interrupted.",
)
for command in (train, predict, evaluate, explain):
    app.command()(command)
app.add_typer(data, name="data")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dropglm {dropglm.__version__}")
        raise typer.Exit


@app.callback()
def dropglm_command(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Train text classifiers on labelled and unlabelled texts, and see what they have learnt."""


def run(arguments: list[str] | None = None) -> int:
    """Run a command line; the exit code."""
    warnings.showwarning = _warn
    try:
        code = app(arguments, standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        # Usage errors know how to show themselves.
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        terminal.complain("interrupted.")
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has enough. Python would complain once more when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ValueError, TypeError, OSError, ImportError) as error:
        terminal.complain(str(error))
        return BAD_INPUT
    except MemoryError:
        terminal.complain("there is not enough memory; try fewer --ngrams or --max-features.")
        return FAILED
    return code if isinstance(code, int) else 0


def _warn(message: Any, *_: Any, **__: Any) -> None:
    terminal.complain(f"warning: {message}")
