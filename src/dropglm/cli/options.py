"""Options that several commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

TABLES, HOW, MODEL = "Tables", "Output", "Model"


def _known_format(given: str | None) -> str | None:
    from dropglm.tables.formats import find_format

    return given if given is None else _or_bad(given, lambda: find_format("", given))


def _known_encoding(given: str | None) -> str | None:
    from dropglm.tables.decoding import find_codec

    return given if given is None else _or_bad(given, lambda: find_codec(given))


def _one_character(given: str | None) -> str | None:
    from dropglm.tables.formats import check_delimiter

    return given if given is None else _or_bad(given, lambda: check_delimiter(given))


def _not_zero(given: int) -> int:
    if given == 0:
        raise typer.BadParameter("1 is one thread, -1 all cores.")
    return given


def _or_bad(given: str, check: Callable[[], object]) -> str:
    try:
        check()
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    return given


ModelFile = Annotated[Path, typer.Argument(help="Model file, written by dropglm train.", show_default=False)]
Text = Annotated[str, typer.Option("--text", "-t", help="Column with the texts.", rich_help_panel=TABLES)]
Label = Annotated[str, typer.Option("--label", "-l", help="Column with the labels.", rich_help_panel=TABLES)]
Format = Annotated[
    str | None,
    typer.Option(
        callback=_known_format,
        help="csv, tsv, jsonl, parquet or txt (a text a line), also csv.gz and so on; by default the suffix "
        "tells.",
        show_default=False,
        rich_help_panel=TABLES,
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        callback=_known_encoding,
        help="Encoding of the tables, such as cp1252; by default UTF-8.",
        show_default=False,
        rich_help_panel=TABLES,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        help="What parts the fields of a CSV.",
        callback=_one_character,
        show_default=False,
        rich_help_panel=TABLES,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Write JSON to standard output.", rich_help_panel=HOW)]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="No progress on standard error.", rich_help_panel=HOW)
]
Threads = Annotated[
    int, typer.Option(help="Threads; -1 is all cores.", callback=_not_zero, rich_help_panel=HOW)
]
OutFormat = Annotated[
    str | None,
    typer.Option(
        callback=_known_format,
        help="csv, tsv, jsonl, parquet or txt (just the first column); by default the suffix of --out tells, "
        "and standard output is jsonl.",
        show_default=False,
        rich_help_panel=HOW,
    ),
]
