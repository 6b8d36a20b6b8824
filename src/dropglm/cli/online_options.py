"""Options of ``dropglm train --online``."""

from pathlib import Path
from typing import Annotated

import typer

PANEL = "Online"

Online = Annotated[
    bool,
    typer.Option(
        "--online",
        help="Learn row by row while reading, for tables larger than memory and for pipes.",
        rich_help_panel=PANEL,
    ),
]
Rule = Annotated[str, typer.Option(help="adagrad, dropout, arow or sgd.", rich_help_panel=PANEL)]
Rate = Annotated[
    float | None,
    typer.Option(help="Step size; by default the rule's own.", show_default=False, rich_help_panel=PANEL),
]
Bits = Annotated[
    int, typer.Option(help="N-grams are hashed to 2^bits columns.", min=1, max=30, rich_help_panel=PANEL)
]
Classes = Annotated[
    str | None,
    typer.Option(
        help="All labels, with commas between them; by default a first pass over the table finds them.",
        show_default=False,
        rich_help_panel=PANEL,
    ),
]
Epochs = Annotated[int, typer.Option(help="Passes over the table.", min=1, rich_help_panel=PANEL)]
BadRows = Annotated[
    str, typer.Option(help="What to do about a row that cannot be used: stop or skip.", rich_help_panel=PANEL)
]
Checkpoint = Annotated[
    Path | None,
    typer.Option(
        help="File to keep the state in on the way; if it is there, the run goes on from it.",
        show_default=False,
        rich_help_panel=PANEL,
    ),
]
Every = Annotated[
    int, typer.Option(help="Rows from one checkpoint to the next.", min=1, rich_help_panel=PANEL)
]
StartFrom = Annotated[
    Path | None,
    typer.Option(
        help="Model to go on from: one of train, whose n-grams are kept, or one of train --online.",
        show_default=False,
        rich_help_panel=PANEL,
    ),
]
