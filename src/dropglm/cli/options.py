"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

TABLES, HOW, MODEL = "Tables", "Output", "Model"

ModelFile = Annotated[Path, typer.Argument(help="Model file, written by dropglm train.", show_default=False)]
Text = Annotated[str, typer.Option("--text", "-t", help="Column with the texts.", rich_help_panel=TABLES)]
Label = Annotated[str, typer.Option("--label", "-l", help="Column with the labels.", rich_help_panel=TABLES)]
Format = Annotated[
    str | None,
    typer.Option(
        help="csv, tsv, jsonl, parquet or txt (a text a line), also csv.gz and so on; by default the suffix "
        "tells.",
        show_default=False,
        rich_help_panel=TABLES,
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        help="Encoding of the tables, such as cp1252; by default UTF-8.",
        show_default=False,
        rich_help_panel=TABLES,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(help="What parts the fields of a CSV.", show_default=False, rich_help_panel=TABLES),
]
Json = Annotated[bool, typer.Option("--json", help="Write JSON to standard output.", rich_help_panel=HOW)]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="No progress on standard error.", rich_help_panel=HOW)
]
Threads = Annotated[int, typer.Option(help="Threads; -1 is all cores.", rich_help_panel=HOW)]
